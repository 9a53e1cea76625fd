"""Compares ways for one TCP stream (cubic): alternating runs, every round each way once, each built for
that run and removed after it, so that a busy-polling peer disturbs nobody else."""

from __future__ import annotations

import contextlib
import statistics
from collections.abc import Callable, Mapping

import paths
from lab import iperf
from report import Results, machine_cpu_seconds

Way = Callable[[], contextlib.AbstractContextManager[paths.Connection]]
Cases = Mapping[str, tuple[str, list[str]]]  # case: our way, and peers of whom the better counts


def compare(benchmark: str, ways: Mapping[str, Way], cases: Cases, server: str, rounds: int,
            seconds: float) -> None:
    """Prints per run Gbit/s to `server`, CPU-seconds of the whole machine per GB and ping RTT; then the
    medians and the lines of the cases."""
    gbits = Results(benchmark)
    cpu_per_gb: dict[str, list[float]] = {}
    rtts: dict[str, list[float]] = {}
    for _ in range(rounds):
        for name, way in ways.items():
            with way() as path:
                rtt = paths.round_trip_us(path, server)
                before = machine_cpu_seconds()
                run = iperf.tcp(path.client, path.server, server, seconds)
                cost = (machine_cpu_seconds() - before) / (run.bytes / 1e9)
            gbits.add(name, run.gbits, "Gbit/s", f"{cost:.2f} CPU-s/GB, RTT {rtt:.0f} us")
            cpu_per_gb.setdefault(name, []).append(cost)
            rtts.setdefault(name, []).append(rtt)

    gbits.print_values("Gbit/s")
    print("\n# medians beside throughput")
    for name in gbits.values:
        print(f"  {name:<28} {statistics.median(cpu_per_gb[name]):.2f} CPU-s/GB   "
              f"RTT {statistics.median(rtts[name]):.0f} us")
    print()
    for case, (ours, peers) in cases.items():
        gbits.case(case, ours, peers, "Gbit/s")
