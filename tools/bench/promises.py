"""Measures the promises besides the rate: latency on an idle cluster, many viewers. A line each.

Each is measured on a running service and compared with its target; the line ends with ok or missed.
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from tools.bench import level3
from tools.bench.engine.result import percentile
from tools.bench.running import RunningService
from tools.bench.worker import Job

LATENCY_PODS = 200
LATENCY_PAUSE_SECONDS = 0.25
LATENCY_P50_MS, LATENCY_P99_MS = 150.0, 500.0
MAX_SLOWER = 0.20


@dataclass(frozen=True, slots=True)
class Promise:
    """One line; `values` are what JSON carries."""

    name: str
    text: str
    values: dict[str, float]
    kept: bool

    @property
    def line(self) -> str:
        return f"{self.name}: {self.text}: {'ok' if self.kept else 'missed'}"

    def as_json(self) -> dict[str, object]:
        return {"promise": self.name, **self.values, "kept": self.kept}


def latency(service: RunningService, job: Job, *, pods: int = LATENCY_PODS) -> Promise:
    """Pods uploaded one at a time, with pauses; from the POST to the commit of the binding."""
    job = msgspec.structs.replace(job, pods=pods)
    run = level3.run(service, job, chunk=1, pause_seconds=LATENCY_PAUSE_SECONDS)
    laps_ms = sorted(lap / 1e6 for lap in run.laps_ns)
    p50, p99 = percentile(laps_ms, 50), percentile(laps_ms, 99)
    text = (
        f"{len(laps_ms)} pods, {run.nodes:,} idle nodes, from upload to bound: p50 {p50:.0f} ms, target under "
        f"{LATENCY_P50_MS:.0f}; p99 {p99:.0f} ms, target under {LATENCY_P99_MS:.0f}"
    )
    return Promise("latency", text, {"p50_ms": p50, "p99_ms": p99}, p50 < LATENCY_P50_MS and p99 < LATENCY_P99_MS)


def viewers(service: RunningService, job: Job, number: int) -> Promise:
    """Run the pods with one viewer and with many; fail when a viewer misses a frame."""
    alone = level3.run(service, job, viewers=1)
    many = level3.run(service, job, viewers=number)
    slower = many.wall_ns / alone.wall_ns - 1
    rates = [run.pods * 1e9 / run.wall_ns for run in (alone, many)]
    text = (
        f"{number} viewers got every frame; {rates[1]:.0f} pods/s, {rates[0]:.0f} with one viewer, "
        f"{slower:.0%} slower, target at most {MAX_SLOWER:.0%}"
    )
    return Promise("viewers", text, {"viewers": number, "slower": slower}, slower <= MAX_SLOWER)
