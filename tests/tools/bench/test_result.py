"""What is told of runs: the fields that readers of the JSON rely on, and how each is made of several runs."""

from __future__ import annotations

from itertools import count
from typing import Any

import msgspec

from tests.cases import cases
from tools.bench.engine.calibration import calibrate
from tools.bench.engine.meter import Meter
from tools.bench.engine.result import Run, details_of, percentile, result_of

FIELDS = [
    "workload", "level", "nodes", "existing_pods", "pods", "attempted", "scheduled", "pods_per_second",
    "pods_per_second_median", "pods_per_second_best", "p50_ms", "p90_ms", "p99_ms", "cpu_ms_per_pod", "peak_rss_mb",
    "calibration_ms",
]  # fmt: skip


def _run(**other: Any) -> Run:
    given: dict[str, Any] = {
        "workload": "W1", "nodes": 5, "existing_pods": 10, "pods": 4, "attempted": 5, "scheduled": 4,
        "wall_ns": 2_000_000, "cpu_ns": 1_000_000, "laps_ns": [100_000, 200_000, 300_000, 400_000], "parse_ns": 1,
        "build_ns": 2_000_000, "snapshot_ns": 3, "bytes_stored": 50, "phases_ns": {"filter": 8_000},
        "peak_rss_bytes": 10_000_000, "calibration_ns": 60_000_000,
    }  # fmt: skip
    return Run(**given | other)


RUNS = [
    _run(
        wall_ns=1_000_000,
        cpu_ns=3_000_000,
        phases_ns={"filter": 12_000},
        peak_rss_bytes=30_000_000,
        calibration_ns=90_000_000,
    ),
    _run(),
    _run(wall_ns=4_000_000, cpu_ns=2_000_000, laps_ns=[900_000] * 4, calibration_ns=70_000_000),
]


def test_result_has_exactly_the_fields_told() -> None:
    assert list(msgspec.to_builtins(result_of("L1", RUNS))) == FIELDS


def test_rates_are_pods_per_second_of_each_run() -> None:
    result = result_of("L1", RUNS)
    assert result.pods_per_second == [4000.0, 2000.0, 1000.0]
    assert (result.pods_per_second_median, result.pods_per_second_best) == (2000.0, 4000.0)


def test_times_per_pod_are_of_all_runs_together() -> None:
    result = result_of("L1", RUNS)
    assert (result.p50_ms, result.p90_ms, result.p99_ms) == (0.3, 0.9, 0.9)


def test_cpu_and_calibration_are_of_the_middle_run_and_memory_of_the_greediest() -> None:
    result = result_of("L1", RUNS)
    assert (result.cpu_ms_per_pod, result.calibration_ms, result.peak_rss_mb) == (0.5, 70.0, 30.0)


def test_details_are_of_the_middle_run_and_phases_of_the_fastest() -> None:
    assert msgspec.to_builtins(details_of(RUNS)) == {
        "parse_ms": 0.0, "build_ms": 2.0, "snapshot_ms": 0.0, "bytes_per_attempt": 10.0,
        "phases_us": {"filter": 3.0},
    }  # fmt: skip


@cases(
    "numbers, percent, want",
    ("of nothing", [], 50, 0.0),
    ("of one", [7.0], 99, 7.0),
    ("half of two", [1.0, 2.0], 50, 1.0),
    ("of a hundred", [float(n) for n in range(1, 101)], 90, 90.0),
    ("ninety-nine of a hundred", [float(n) for n in range(1, 101)], 99, 99.0),
)
def test_percentile_is_one_of_the_numbers(numbers: list[float], percent: int, want: float) -> None:
    assert percentile(numbers, percent) == want


def test_meter_leaves_pauses_out() -> None:
    ticks, cpu_ticks = count(0, 10), count(0, 1)
    meter = Meter(lambda: next(ticks), lambda: next(cpu_ticks))
    meter.start()
    meter.stop()
    next(ticks)  # the pause
    meter.start()
    meter.stop()
    assert (meter.wall_ns, meter.cpu_ns) == (20, 2)


def test_calibration_is_the_better_of_two_rounds() -> None:
    times = iter([0, 70, 100, 150])
    assert calibrate(lambda: next(times)) == 50
