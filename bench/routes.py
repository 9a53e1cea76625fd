"""What routes cost: a million prefixes loaded into one VRF through the API (seconds, bytes of resident
memory each), and 1,000 VRFs of ten prefixes. There is no peer: ratios are to the limits."""

from __future__ import annotations

import argparse
import contextlib
import tempfile
import time
from pathlib import Path

from l3_pps import prefixes, write_routes
from lab import shell
from lab.daemon import Daemon
from report import Results

SECONDS_LIMIT, BYTES_LIMIT, VRFS_LIMIT = 10.0, 100.0, 50.0


def document(routers: list[dict[str, object]]) -> dict[str, object]:
    return {"networks": [{"name": "one"}, {"name": "two"}], "routers": routers}


def load(results: Results, count: int) -> None:
    """One VRF."""
    with tempfile.TemporaryDirectory(prefix="heddle-bench-") as directory, \
            contextlib.closing(Daemon()) as daemon:
        path = Path(directory) / "routes"
        write_routes(path, prefixes(count))
        daemon.start()
        daemon.client.apply(document([{"name": "r", "interfaces": [
            {"network": "one", "addresses": ["172.16.1.254/24"]},
            {"network": "two", "addresses": ["172.16.2.254/24"]}]}]))
        before, start = daemon.resident_bytes(), time.monotonic()
        said = daemon.client.run("update-routes", "r", "--source", "bench", "-f", str(path))
        seconds = time.monotonic() - start
        each = (daemon.resident_bytes() - before) / count
        assert said.stdout.startswith(f"{count} routes added"), said.stdout
        results.add("load", seconds, "s", f"{count / seconds / 1000:.0f} thousand routes/s")
        results.add("memory", each, "bytes/prefix")
        results.line("load", seconds, SECONDS_LIMIT, "s")
        results.line("prefix", each, BYTES_LIMIT, "bytes")


def vrfs(results: Results, count: int) -> None:
    """Many VRFs, each with two interfaces and eight more routes."""
    with contextlib.closing(Daemon()) as daemon:
        daemon.start()
        before = daemon.resident_bytes()
        topology = {
            "networks": [{"name": f"n{number}"} for number in range(2 * count)],
            "routers": [{"name": f"r{number}", "interfaces": [
                {"network": f"n{2 * number}", "addresses": ["10.0.1.1/24"]},
                {"network": f"n{2 * number + 1}", "addresses": ["10.0.2.1/24"]}],
                "routes": [{"prefix": f"10.{route}.0.0/16",
                            "next_hops": [{"address": "10.0.2.2"}]} for route in range(8, 16)]}
                for number in range(count)]}
        start = time.monotonic()
        daemon.client.apply(topology)
        seconds = time.monotonic() - start
        megabytes = (daemon.resident_bytes() - before) / 1e6
        results.add("vrfs", megabytes, "MB", f"{count} VRFs with their {2 * count} networks; "
                    f"applied in {seconds:.1f} s")
        results.line("vrfs", megabytes, VRFS_LIMIT, "MB")


def main() -> None:
    parser = argparse.ArgumentParser(prog="./dev bench routes", description=__doc__)
    parser.add_argument("--prefixes", type=int, default=1_000_000)
    parser.add_argument("--vrfs", type=int, default=1000)
    options = parser.parse_args()
    shell.raise_on_sigterm()
    results = Results("routes")
    load(results, options.prefixes)
    vrfs(results, options.vrfs)


if __name__ == "__main__":
    main()
