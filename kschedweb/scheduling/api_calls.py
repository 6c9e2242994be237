"""Measures of writes made for the scheduler; upstream makes them one by one, here one transaction makes many."""

from __future__ import annotations

from collections.abc import Mapping

from kschedweb.common.metrics import RECORDER
from kschedweb.common.metrics.recorder import Series

TOTAL = "scheduler_async_api_call_execution_total"
DURATION = "scheduler_async_api_call_execution_duration_seconds"


def api_calls_measure(call_type: str, results: Mapping[str, int], seconds: float, *, cluster_id: int) -> None:
    """So many writes with each result, all in one transaction that took so long."""
    counts: dict[Series, float] = {}
    samples: dict[Series, list[float]] = {}
    for result, number in results.items():
        if number:
            counts[TOTAL, (call_type, result)] = number
            samples[DURATION, (call_type, result)] = [seconds] * number
    RECORDER.add(counts, samples, cluster_id=cluster_id)
