"""Linux as a test bench: namespaces, links, raw frames, traffic, and a heddled of one's own.

Shared by the functional tests, the demo and the system benchmarks. Everything made here is named
after this process and removed by whoever made it; nothing else on the machine is touched.
"""
