"""One TCP stream (cubic) between two subnets: through heddled, tap ports, and through a router made of
a Linux namespace and two veth pairs. Alternating. Also ping RTT and CPU-seconds of the whole machine
per GB."""

from __future__ import annotations

import argparse
import contextlib
import statistics

import paths
from lab import iperf, shell
from report import Results, machine_cpu_seconds

CASES = {"tap/namespace": ("heddle-tap", ["namespace"]),
         "netdev/namespace": ("heddle-netdev", ["namespace"])}
WAYS = {"heddle-tap": lambda: paths.heddle_router("tap"),
        "namespace": paths.namespace_router,
        "heddle-netdev": lambda: paths.heddle_router("netdev")}


def main() -> None:
    parser = argparse.ArgumentParser(prog="./dev bench routed-tcp", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=5, help="of each run")
    options = parser.parse_args()
    shell.raise_on_sigterm()

    gbits = Results("routed-tcp")
    cost: dict[str, list[float]] = {}
    rtts: dict[str, list[float]] = {}
    for _ in range(options.rounds):
        for name, way in WAYS.items():
            with contextlib.ExitStack() as stack:
                path = stack.enter_context(way())
                rtt = iperf.ping_ms(path.client, paths.FAR, count=100, interval=0.01) * 1000
                before = machine_cpu_seconds()
                run = iperf.tcp(path.client, path.server, paths.FAR, options.seconds)
                spent = (machine_cpu_seconds() - before) / (run.bytes / 1e9)
            gbits.add(name, run.gbits, "Gbit/s", f"{spent:.2f} CPU-s/GB, RTT {rtt:.0f} us")
            cost.setdefault(name, []).append(spent)
            rtts.setdefault(name, []).append(rtt)
    gbits.print_values("Gbit/s")
    print("\n# medians beside throughput")
    for name in gbits.values:
        print(f"  {name:<28} {statistics.median(cost[name]):.2f} CPU-s/GB   "
              f"RTT {statistics.median(rtts[name]):.0f} us")
    print()
    for case, (ours, peers) in CASES.items():
        gbits.case(case, ours, peers, "Gbit/s")


if __name__ == "__main__":
    main()
