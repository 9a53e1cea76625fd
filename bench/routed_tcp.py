"""One TCP stream (cubic) between two subnets: through heddled, tap ports, and through a router made of
a Linux namespace and two veth pairs. Alternating. Also ping RTT and CPU-seconds of the whole machine
per GB."""

from __future__ import annotations

import argparse

import paths
import tcp
from lab import shell

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

    tcp.compare("routed-tcp", WAYS, CASES, paths.FAR, options.rounds, options.seconds)


if __name__ == "__main__":
    main()
