"""What a second worker brings: two busy sources, and one; the peer is Heddle itself with one worker."""

from __future__ import annotations

import argparse
import contextlib
import os
import tempfile
import time
from pathlib import Path

import paths
from lab import pcap, shell
from lab.daemon import Daemon
from report import Results

PAIRS = 1000


def document(capture: Path, sources: int, workers: int) -> dict[str, object]:
    """Sources and sinks of their own, on networks of their own."""
    frames = pcap.read(capture)
    known = [":".join(f"{byte:02x}" for byte in frame[:6]) for frame in frames]
    networks = [{"name": f"net{n}", "static_fdb": [{"mac": mac, "port": f"sink{n}"}
                                                   for mac in known]} for n in range(sources)]
    ports = []
    for n in range(sources):
        ports.append({"name": f"sink{n}", "network": f"net{n}",
                      "ethdev": {"devargs": f"net_null{n},no-rx=1"}})
        ports.append({"name": f"source{n}", "network": f"net{n}",
                      "ethdev": {"devargs": f"net_pcap{n},rx_pcap={capture},infinite_rx=1"}})
    return {"settings": {"workers": workers}, "networks": networks, "ports": ports}


def measure(capture: Path, sources: int, workers: int, seconds: float, warm_up: float) -> float:
    """Mpps that left through all sinks."""
    with contextlib.closing(Daemon()) as daemon:
        daemon.start()
        daemon.client.apply(document(capture, sources, workers))
        paths.pin_workers(daemon, list(range(os.cpu_count() or 1))[-workers:])

        def transmitted() -> int:
            return sum(daemon.client.counters(f"sink{n}")["tx_frames"] for n in range(sources))
        time.sleep(warm_up)
        sent, start = transmitted(), time.monotonic()
        time.sleep(seconds)
        return (transmitted() - sent) / (time.monotonic() - start) / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(prog="./dev bench scaling", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--warm-up", type=float, default=4, help="time for queues to be placed")
    options = parser.parse_args()
    shell.raise_on_sigterm()

    results = Results("scaling")
    cases = {"two-sources": 2, "one-source": 1}
    with tempfile.TemporaryDirectory(prefix="heddle-bench-") as directory:
        capture = Path(directory) / "source.pcap"
        pcap.write(capture, pcap.udp_frames(PAIRS))
        for _ in range(options.rounds):
            for case, sources in cases.items():
                for workers in (1, 2):
                    mpps = measure(capture, sources, workers, options.seconds, options.warm_up)
                    results.add(f"{case}-{workers}-workers", mpps, "Mpps")
    results.print_values("Mpps")
    print()
    for case in cases:
        results.case(case, f"{case}-2-workers", [f"{case}-1-workers"], "Mpps")


if __name__ == "__main__":
    main()
