"""Frames per second of pure switching on one worker: a pcap source of 60-byte frames that never ends,
to a null sink, destinations known. Peer: OVS with DPDK, action NORMAL, the same capture, the same
sink, the same CPU, alternating."""

from __future__ import annotations

import argparse
import contextlib
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import paths
from lab import pcap, shell
from lab.daemon import Daemon
from ovs import OpenVSwitch
from report import Results

SINK = "net_null1,no-rx=1"


def source(capture: Path) -> str:
    return f"net_pcap0,rx_pcap={capture},infinite_rx=1"


def destinations(capture: Path) -> list[str]:
    return sorted({":".join(f"{byte:02x}" for byte in frame[:6]) for frame in pcap.read(capture)})


@contextlib.contextmanager
def heddle(capture: Path, cpu: int) -> Iterator[Daemon]:
    """heddled that switches from the source to the sink, its worker pinned."""
    with contextlib.closing(Daemon()) as daemon:
        daemon.start()
        known = [{"mac": mac, "port": "sink"} for mac in destinations(capture)]
        daemon.client.apply({
            "settings": {"workers": 1},
            "networks": [{"name": "blue", "fdb_limit": 2 * len(known), "static_fdb": known}],
            "ports": [{"name": "sink", "ethdev": {"devargs": SINK}, "network": "blue"},
                      {"name": "source", "ethdev": {"devargs": source(capture)},
                       "network": "blue"}]})
        paths.pin_workers(daemon, [cpu])
        yield daemon


def measure_heddle(capture: Path, cpu: int, seconds: float, warm_up: float) -> tuple[float, float]:
    """Mpps that left through the sink, and cycles per frame."""
    with heddle(capture, cpu) as daemon:
        time.sleep(warm_up)
        sent, start = daemon.client.counters("sink")["tx_frames"], time.monotonic()
        time.sleep(seconds)
        sent = daemon.client.counters("sink")["tx_frames"] - sent
        elapsed = time.monotonic() - start
        cycles = daemon.client.get("workers")[0].get("cycles_per_frame", 0.0)
        return sent / elapsed / 1e6, cycles


def measure_ovs(capture: Path, cpu: int, seconds: float, warm_up: float) -> tuple[float, float]:
    """The same for OVS."""
    with OpenVSwitch(cpu) as ovs:
        ovs.add_device("sink", SINK)
        ovs.add_addresses("sink", destinations(capture))
        ovs.add_device("source", source(capture))
        time.sleep(warm_up)
        ovs.clear_cycles()
        sent, start = ovs.transmitted("sink"), time.monotonic()
        time.sleep(seconds)
        sent = ovs.transmitted("sink") - sent
        elapsed = time.monotonic() - start
        return sent / elapsed / 1e6, ovs.cycles_per_frame()


def main() -> None:
    parser = argparse.ArgumentParser(prog="./dev bench l2-pps", description=__doc__)
    parser.add_argument("--pairs", type=int, nargs="+", default=[1, 1000, 10000])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--warm-up", type=float, default=3)
    parser.add_argument("--cpu", type=int, default=1)
    parser.add_argument("--only", choices=["heddle", "ovs"])
    options = parser.parse_args()
    shell.raise_on_sigterm()

    results = Results("l2-pps")
    with tempfile.TemporaryDirectory(prefix="heddle-bench-") as directory:
        for pairs in options.pairs:
            capture = Path(directory) / f"{pairs}.pcap"
            pcap.write(capture, pcap.udp_frames(pairs))
            for _ in range(options.rounds):
                for name, measure in (("heddle", measure_heddle), ("ovs", measure_ovs)):
                    if options.only not in (None, name):
                        continue
                    mpps, cycles = measure(capture, options.cpu, options.seconds, options.warm_up)
                    results.add(f"{name}-{pairs}", mpps, "Mpps", f"{cycles:.0f} cycles/frame")
    results.print_values("Mpps")
    print()
    for pairs in options.pairs:
        results.case(str(pairs), f"heddle-{pairs}", [f"ovs-{pairs}"], "Mpps")


if __name__ == "__main__":
    main()
