"""Measures what it costs scheduling that somebody reads the past: pods come to one cluster, and another is read.

Stretches with and without a reader take turns, so that what changes with time is in both.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import psycopg

from kschedweb.ops.client import Refused
from tools.bench import level3, resting
from tools.bench.engine.result import percentile
from tools.bench.pacing import Stream, Streamed
from tools.bench.promises import Promise
from tools.bench.running import RunningService, wait
from tools.bench.worker import Job

RATE = 60.0
PODS = 600  # of one stretch
TURNS = 4
PAUSE_SECONDS = 1.0  # of the reader, between two questions
MOST_SLOWER = 0.02
_POSITIONS = "SELECT log_to || '.' || seq_to FROM traces_enginestep WHERE cluster_id = %s ORDER BY id"


def measure(service: RunningService, job: Job) -> Iterator[Promise]:
    """The promise, about the scheduler's own CPU time; its text has the times of pods as well."""
    workload = job.workload()
    nodes = [level3.written(each) for each in workload.objects()]
    with psycopg.connect(service.database_url, autocommit=True) as database:
        past_id = level3.cluster_new(service, f"bench-past-{time.time_ns() // 1_000_000}")
        level3.load(service, past_id, nodes)
        level3.upload(service, past_id, [level3.written(each) for each in workload.pods()])
        level3.wait_bound(database, past_id, workload.num_pods)
        level3.settled(database, past_id)
        wait(lambda: database.execute(resting.UNPROVEN).fetchone() == (0,), "the proof of the history")
        positions = [position for (position,) in database.execute(_POSITIONS, [past_id])]
        stream = Stream(service, database, nodes)
        alone, beside = [], []
        reader = _Reader(service, past_id, positions)
        for _ in range(TURNS):
            alone.append(stream.run(PODS, RATE))
            with reader.reading():
                beside.append(stream.run(PODS, RATE))
        stream.close()
    service.client.call("DELETE", f"/api/clusters/{past_id}")
    yield _promise(alone, beside, reader.seconds)


@dataclass
class _Reader:
    """Asks for the whole cluster as it was at one random moment after the other; `seconds`: how long each took."""

    service: RunningService
    cluster_id: int
    positions: list[str]
    seconds: list[float] = field(default_factory=list)
    problem: Exception | None = None
    draws: random.Random = field(default_factory=lambda: random.Random(1))

    @contextmanager
    def reading(self) -> Iterator[None]:
        over = threading.Event()
        thread = threading.Thread(target=self._read, args=(over,))
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()
        if self.problem is not None:
            raise self.problem

    def _read(self, over: threading.Event) -> None:
        client = self.service.client
        try:
            while not over.wait(PAUSE_SECONDS):
                began = time.monotonic()
                client.call("GET", f"/api/clusters/{self.cluster_id}/snapshot?at={self.draws.choice(self.positions)}")
                self.seconds.append(time.monotonic() - began)
        except (Refused, OSError) as problem:
            self.problem = problem


def _promise(alone: list[Streamed], beside: list[Streamed], read_seconds: list[float]) -> Promise:
    def scheduler_ms(each: list[Streamed]) -> float:
        return sum(one.cpu_seconds["scheduler"] for one in each) / (TURNS * PODS) * 1000

    def laps(each: list[Streamed], share: int) -> float:
        return percentile(sorted(lap for one in each for lap in one.laps_ms), share)

    before, now = scheduler_ms(alone), scheduler_ms(beside)
    values: dict[str, Any] = {"scheduler_ms": now, "scheduler_ms_alone": before, "slower": now / before - 1}
    for share in (50, 95):
        values |= {f"p{share}_ms": laps(beside, share), f"p{share}_ms_alone": laps(alone, share)}
    text = (
        f"{TURNS * PODS:,} pods at {RATE:g}/s alone, as many beside a reader of {len(read_seconds)} moments (p50"
        f" {percentile(sorted(read_seconds), 50):.2f} s each): CPU of the scheduler {before:.2f} and {now:.2f} ms a"
        f" pod, {values['slower']:+.1%}, target at most {MOST_SLOWER:.0%}; from POST to bound p50"
        f" {values['p50_ms_alone']:.0f} and {values['p50_ms']:.0f} ms, p95 {values['p95_ms_alone']:.0f} and"
        f" {values['p95_ms']:.0f} ms"
    )
    return Promise("past", text, values, values["slower"] <= MOST_SLOWER)
