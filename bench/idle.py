"""CPU use of a daemon with 64 ports and no traffic, and the fate of the first packet afterwards.
There is no peer: the ratio is to the limit of 1 % of a core."""

from __future__ import annotations

import argparse
import time

from lab import shell
from lab.netns import Lab
from lab.raw import RawLink
from many_ports import idle_site
from report import Results

LIMIT = 1.0  # per cent of one core
FRAME = bytes.fromhex("ffffffffffff" "02005e000001" "88b5") + b"first".ljust(46, b"\0")


def main() -> None:
    parser = argparse.ArgumentParser(prog="./dev bench idle", description=__doc__)
    parser.add_argument("--ports", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    shell.raise_on_sigterm()

    results = Results("idle")
    delivered = 0
    with Lab() as lab, idle_site(lab, options.ports) as site:
        namespace = lab.namespaces[0]
        links = {name: RawLink(namespace, name) for name in ("v1", "t0")}
        for _ in range(options.rounds):
            cpu, start = site.daemon.cpu_seconds(), time.monotonic()
            time.sleep(options.seconds)
            share = (site.daemon.cpu_seconds() - cpu) / (time.monotonic() - start) * 100
            results.add("cpu", share, "% of a core")
            start = time.monotonic()
            links["v1"].send(FRAME)
            if links["t0"].collect(1, match=lambda frame: frame[12:14] == b"\x88\xb5"):
                delivered += 1
                print(f"  first packet after idle: {(time.monotonic() - start) * 1e6:.0f} us")
    results.print_values("% of a core")
    print()
    results.line("cpu", results.median("cpu") or 0, LIMIT, "%-of-a-core")
    results.line("first-packet", delivered, options.rounds, "packets-delivered")


if __name__ == "__main__":
    main()
