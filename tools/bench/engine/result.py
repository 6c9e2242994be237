"""The figures of a workload at a level: rates, times per pod, memory, and how fast the machine was.

Rates are pods (not cycles) per second of wall time; times per pod are those of all runs together; CPU is that of the
middle run, memory that of the greediest, the calibration that of the middle run.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

import msgspec


class Figures(msgspec.Struct, kw_only=True):
    """The outcome of one run; times in nanoseconds, `laps_ns` one per pod, `phases_ns` summed over the attempts."""

    attempted: int
    scheduled: int
    wall_ns: int
    cpu_ns: int
    laps_ns: list[int]
    parse_ns: int
    build_ns: int
    snapshot_ns: int
    bytes_stored: int  # of the blobs, where made
    phases_ns: dict[str, int]


class Run(Figures, kw_only=True):
    """One run in a process of its own."""

    workload: str
    nodes: int
    existing_pods: int
    pods: int
    peak_rss_bytes: int
    calibration_ns: int


class Result(msgspec.Struct, kw_only=True):
    """The runs of one workload at one level; `pods_per_second` has one number per run."""

    workload: str
    level: str
    nodes: int
    existing_pods: int
    pods: int
    attempted: int
    scheduled: int
    pods_per_second: list[float]
    pods_per_second_median: float
    pods_per_second_best: float
    p50_ms: float
    p90_ms: float
    p99_ms: float
    cpu_ms_per_pod: float
    peak_rss_mb: float
    calibration_ms: float


class Details(msgspec.Struct, kw_only=True):
    """What came before the clock, in the middle run's milliseconds; bytes stored per attempt; and, in microseconds
    per pod, the phases of the fastest run's cycles as the engine's own stopwatch tells them."""

    parse_ms: float
    build_ms: float
    snapshot_ms: float
    bytes_per_attempt: float
    phases_us: dict[str, float]


def result_of(level: str, runs: Sequence[Run]) -> Result:
    """At least one run, all of the same workload."""
    first = runs[0]
    rates = [round(run.pods * 1e9 / run.wall_ns, 1) for run in runs]
    laps_ms = sorted(lap / 1e6 for run in runs for lap in run.laps_ns)
    return Result(
        workload=first.workload,
        level=level,
        nodes=first.nodes,
        existing_pods=first.existing_pods,
        pods=first.pods,
        attempted=first.attempted,
        scheduled=first.scheduled,
        pods_per_second=rates,
        pods_per_second_median=round(median(rates), 1),
        pods_per_second_best=max(rates),
        p50_ms=round(percentile(laps_ms, 50), 4),
        p90_ms=round(percentile(laps_ms, 90), 4),
        p99_ms=round(percentile(laps_ms, 99), 4),
        cpu_ms_per_pod=round(median(run.cpu_ns / run.pods / 1e6 for run in runs), 4),
        peak_rss_mb=round(max(run.peak_rss_bytes for run in runs) / 1e6, 1),
        calibration_ms=round(median(run.calibration_ns for run in runs) / 1e6, 1),
    )


def details_of(runs: Sequence[Run]) -> Details:
    """Of the same runs."""
    fastest = min(runs, key=lambda run: run.wall_ns)
    return Details(
        parse_ms=round(median(run.parse_ns for run in runs) / 1e6, 1),
        build_ms=round(median(run.build_ns for run in runs) / 1e6, 1),
        snapshot_ms=round(median(run.snapshot_ns for run in runs) / 1e6, 1),
        bytes_per_attempt=round(median(run.bytes_stored / max(run.attempted, 1) for run in runs), 1),
        phases_us={phase: round(spent / fastest.pods / 1e3, 1) for phase, spent in fastest.phases_ns.items()},
    )


def percentile(ordered: Sequence[float], percent: int) -> float:
    """The smallest number that at least this percentage does not exceed; 0 without numbers."""
    return ordered[max(0, -(-len(ordered) * percent // 100) - 1)] if ordered else 0.0
