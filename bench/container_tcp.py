"""One TCP stream (cubic) between two namespaces: Heddle, the Linux bridge and OVS with DPDK.

Runs alternate: every round measures each way once, each built for that run and removed after it, so
that a busy-polling peer disturbs nobody else. Reported per run: Gbit/s, CPU-seconds of the whole
machine per GB, and ping RTT."""

from __future__ import annotations

import argparse

import paths
import tcp
from lab import shell

# case: our way, and the peers of whose medians the better counts
CASES = {
    "tap/bridge": ("heddle-tap", ["bridge", "bridge-rps"]),
    "netdev/bridge": ("heddle-netdev", ["bridge", "bridge-rps"]),
    "tap/ovs": ("heddle-tap", ["ovs-tap"]),
    "tap/ovs-tso": ("heddle-tap", ["ovs-tap-tso"]),
    "netdev/ovs-tso": ("heddle-netdev", ["ovs-netdev-tso"]),
}


def ways(cpu: int, pinned: bool) -> dict[str, tcp.Way]:
    ours = cpu if pinned else None
    return {
        "heddle-tap": lambda: paths.heddle("tap", ours),
        "bridge": lambda: paths.linux_bridge(rps=False),
        "heddle-netdev": lambda: paths.heddle("netdev", ours),
        "bridge-rps": lambda: paths.linux_bridge(rps=True),
        "ovs-tap": lambda: paths.open_vswitch("tap", False, cpu),
        "ovs-tap-tso": lambda: paths.open_vswitch("tap", True, cpu),
        "ovs-netdev-tso": lambda: paths.open_vswitch("netdev", True, cpu),
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="./dev bench container-tcp", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=5, help="of each run")
    parser.add_argument("--cpu", type=int, default=1, help="CPU of OVS's PMD thread")
    parser.add_argument("--pin", action="store_true",
                        help="also pin Heddle's worker to that CPU (default: the scheduler's choice)")
    parser.add_argument("--ways", nargs="+", choices=list(ways(1, False)),
                        help="only these ways")
    options = parser.parse_args()
    shell.raise_on_sigterm()

    chosen = {name: way for name, way in ways(options.cpu, options.pin).items()
              if not options.ways or name in options.ways}
    tcp.compare("container-tcp", chosen, CASES, paths.SERVER, options.rounds, options.seconds)


if __name__ == "__main__":
    main()
