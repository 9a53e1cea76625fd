"""How benchmarks report: every value, medians, and one line per case."""

from __future__ import annotations

import os
import statistics
from collections import defaultdict
from pathlib import Path


def machine() -> str:
    """One line about where the numbers come from."""
    model = next((line.split(":", 1)[1].strip() for line in
                  Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")),
                 "unknown CPU")
    return f"{model}, {os.cpu_count()} CPUs, Linux {os.uname().release}"


class Results:
    """Values by series, in the order of measurement."""

    def __init__(self, benchmark: str) -> None:
        self.benchmark = benchmark
        self.values: dict[str, list[float]] = defaultdict(list)
        print(f"# {benchmark}: {machine()}", flush=True)

    def add(self, series: str, value: float, unit: str, note: str = "") -> None:
        self.values[series].append(value)
        print(f"  {series:<28} {value:10.3f} {unit}  {note}".rstrip(), flush=True)

    def median(self, series: str) -> float | None:
        values = self.values.get(series)
        return statistics.median(values) if values else None

    def print_values(self, unit: str) -> None:
        print(f"\n# all values, {unit}")
        for series, values in self.values.items():
            listed = " ".join(f"{value:.3f}" for value in values)
            print(f"  {series:<28} median {statistics.median(values):.3f}   of {listed}")

    def case(self, case: str, ours: str, peers: list[str], unit: str) -> None:
        """The line of a case: our median over the best median of the peers. Nothing if one is
        missing, as when only a part was run."""
        mine = self.median(ours)
        theirs = [median for peer in peers if (median := self.median(peer)) is not None]
        if mine is not None and theirs:
            self.line(case, mine, max(theirs), unit)

    def line(self, case: str, ours: float, peer: float, unit: str) -> None:
        ratio = ours / peer if peer else float("inf")
        print(f"{self.benchmark}/{case} ratio={ratio:.3f} ours={ours:.3f} peer={peer:.3f} "
              f"unit={unit}", flush=True)


def machine_cpu_seconds() -> float:
    """CPU time that the whole machine has spent on anything but idling."""
    fields = [int(field) for field in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]]
    user, nice, system, _, _, irq, softirq = fields[:7]
    return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")
