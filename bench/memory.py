"""Resident memory of an idle daemon with default pools: without ports, with 64 and with 1,000. There
is no peer: the ratio is to the limit of 300 MB at 64 ports."""

from __future__ import annotations

import argparse

from lab import shell
from lab.netns import Lab
from many_ports import idle_site
from report import Results

LIMIT = 300.0  # MB


def resident_mb(ports: int) -> float:
    with Lab() as lab, idle_site(lab, ports) as site:
        return site.daemon.resident_bytes() / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(prog="./dev bench memory", description=__doc__)
    parser.add_argument("--many", type=int, default=1000, help="ports of the large daemon")
    options = parser.parse_args()
    shell.raise_on_sigterm()

    results = Results("memory")
    sizes = {}
    for ports in (0, 64, options.many):
        sizes[ports] = resident_mb(ports)
        results.add(f"{ports}-ports", sizes[ports], "MB resident")
    per_port = (sizes[options.many] - sizes[64]) / (options.many - 64) * 1000
    print(f"  cost of a port: {per_port:.1f} kB\n")
    results.line("64-ports", sizes[64], LIMIT, "MB")


if __name__ == "__main__":
    main()
