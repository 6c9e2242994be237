"""Moments and replays on 1,000 nodes, of a history of 100,000 entries: `pytest tests/bench/bench_past.py -s`.

Pods come 500 at a time; from 30,000 on as many end.

No speed is asserted. The history is made as the service makes it, engine and bindings in this process; KSCHED_ENTRIES
makes another length. No test of the suite: its name keeps it from being collected unless it is asked for.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Iterable
from random import Random
from typing import Any

import pytest
from django.db.models import Sum
from django.db.models.functions import Length

from kschedweb.cluster import clock
from kschedweb.cluster import services as cluster_services
from kschedweb.cluster.intake.objects import Item
from kschedweb.cluster.intake.problems import Place
from kschedweb.cluster.models import Cluster
from kschedweb.cluster.services.objects import PutOptions, objects_put
from kschedweb.cluster.services.requests import requests_carry_out
from kschedweb.common import collector
from kschedweb.ops import comparing
from kschedweb.scheduling import due
from kschedweb.scheduling.past import anonymising, exporting, moments, planning, proving
from kschedweb.scheduling.past.moments import Position
from kschedweb.scheduling.past.replaying import replay_of
from kschedweb.scheduling.runner import bindings
from kschedweb.traces.models import Attempt, Checkpoint, EngineStep
from scheduler_core.apiserver.requests import Delete, ObjectKey, Propagation, Request
from tests.builders import make_node, make_pod
from tests.web import tcp
from tests.web.scheduling.conftest import lead

pytestmark = pytest.mark.django_db(transaction=True)

ENTRIES = int(os.environ.get("KSCHED_ENTRIES", "100000"))
NODES = 1_000
PODS = 500  # that come at once
ALIVE = 30_000  # at most: then as many of the oldest end as come
POSITIONS = 40
FILED = 10_000  # cycles of the file whose size is told


@pytest.fixture(scope="session")
def django_db_modify_db_settings(django_db_modify_db_settings_parallel_suffix: None, postgres_url: str) -> None:
    """Start PostgreSQL before Django makes its test database."""


def put_objects(cluster: Cluster, manifests: Iterable[dict[str, Any]]) -> None:
    items = [Item(Place("bench"), each, str(each["apiVersion"]), str(each["kind"])) for each in manifests]
    objects_put(cluster_id=cluster.pk, items=items, options=PutOptions(), actor="bench")


def end_pods(cluster: Cluster, numbers: Iterable[int]) -> None:
    keys = [ObjectKey("Pod", "default", f"p{number}") for number in numbers if number >= 0]
    ends: list[Request] = [Delete(key, 0, Propagation.BACKGROUND) for key in keys]
    requests_carry_out(cluster_id=cluster.pk, requests=ends, actor="bench", now=clock.now_of(cluster.pk))


def made() -> Cluster:
    cluster = cluster_services.cluster_create(name="past", seed=1)
    nodes = (
        make_node(f"n{number:04}").zone(f"z{number % 3}").capacity(cpu="32", memory="128Gi", pods="110")
        for number in range(NODES)
    )
    put_objects(cluster, [node.manifest() for node in nodes])
    host = lead(cluster)
    number = 0
    while host._seq < ENTRIES:
        batch = range(number, number + PODS)
        put_objects(
            cluster,
            [make_pod(f"p{each}").req(cpu=f"{100 + each % 7 * 50}m", memory="256Mi").manifest() for each in batch],
        )
        end_pods(cluster, range(number - ALIVE, number + PODS - ALIVE))
        number += PODS
        while True:
            outcome = host.step()
            if not bindings.bindings_run(cluster.pk) and not outcome.changes and outcome.due_in != 0:
                break
    return cluster


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Seconds on the wall, and of the processor."""
    wall, cpu = time.monotonic(), time.process_time()
    work()
    return time.monotonic() - wall, time.process_time() - cpu


def told(name: str, taken: list[tuple[float, float]]) -> str:
    wall, cpu = (sorted(each[index] for each in taken) for index in (0, 1))
    at = min(len(wall) - 1, int(0.95 * len(wall)))
    of_cpu = f"CPU {statistics.median(cpu):.3f} and {cpu[at]:.3f}"
    return f"{name:<28} p50 {statistics.median(wall):.3f} s, p95 {wall[at]:.3f} s; {of_cpu}"


def checkpoint_line(cluster: Cluster) -> str:
    rows = Checkpoint.objects.filter(cluster=cluster)
    size = rows.aggregate(n=Sum(Length("engine") + Length("objects_packed")))["n"] or 0
    return f"{rows.count()} checkpoints, {size / 1e6:.1f} MB"


def filed(cluster: Cluster, places: list[tuple[int, int]]) -> None:
    """The file of the first steps that come to so many cycles, as it is and without names."""
    counted, end = 0, places[-1]
    rows = EngineStep.objects.filter(cluster=cluster).order_by("run", "step")
    for place, cycles in zip(places, rows.values_list("cycles", flat=True), strict=True):
        counted += cycles
        if counted >= FILED:
            end = place
            break
    made: list[bytes] = []

    def export() -> None:
        made.append(b"".join(exporting.written(planning.planned(cluster_id=cluster.pk, last=Position(*end)))))

    wall, cpu = timed(export)
    print(f"file of {counted:,} cycles: {len(made[0]) / 1e6:.1f} MB in {wall:.1f} s (CPU {cpu:.1f})")
    wall, cpu = timed(lambda: made.append(b"".join(anonymising.anonymised(made[0]))))
    print(f"the same without names: {len(made[1]) / 1e6:.1f} MB in {wall:.1f} s (CPU {cpu:.1f})")


def in_parts(cluster: Cluster, cycles: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """By several processes, as the command makes it: the time on the wall alone says something."""
    for name, value in (("DATABASE_URL", tcp.database_url()), ("DJANGO_SETTINGS_MODULE", "kschedweb.settings")):
        monkeypatch.setenv(name, value)
    for processes in (1, 2):
        found = comparing.outcome_of(cluster.pk, None, None, processes)
        assert found["difference"] is None and found["cycles"] == cycles
        print(f"replay by {processes}: {cycles / found['seconds']:,.0f} cycles a second")


def test_past_is_measured(valkey_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = made()
    collector.ease()
    cluster.refresh_from_db()
    steps = EngineStep.objects.filter(cluster=cluster)
    cycles = steps.aggregate(n=Sum("cycles"))["n"]
    stored = Attempt.objects.filter(cluster=cluster).aggregate(n=Sum(Length("matrix")))["n"] / 1e6
    print(f"\n{cluster.seq:,} entries, {cycles:,} cycles, {steps.count():,} steps, {NODES:,} nodes")
    print(f"matrices: {stored:.1f} MB")
    print(f"as the scheduler left them: {checkpoint_line(cluster)}")
    places = list(steps.order_by("run", "step").values_list("log_to", "seq_to"))
    asked = [Position(*place) for place in Random(1).choices(places, k=POSITIONS)]

    def look(position: Position) -> None:
        with moments.moment(cluster_id=cluster.pk, position=position) as found:
            assert found.scheduler is not None

    def cold(position: Position) -> tuple[float, float]:
        moments.forget()
        return timed(lambda: look(position))

    print(told("cold, before proving", [cold(position) for position in asked[: POSITIONS // 4]]))
    replay = replay_of(cluster.pk)
    wall, cpu = timed(replay.go)
    assert replay.difference is None and replay.cycles == cycles
    print(f"replay: {cycles / wall:,.0f} cycles a second ({cycles / cpu:,.0f} per second of CPU)")

    filed(cluster, places)

    monkeypatch.setattr(due, "REST_SECONDS", 0)

    def prove() -> None:
        while proving.prove(seconds=60) is not None:
            pass

    wall, cpu = timed(prove)
    print(f"proving with checkpoints: {cycles / wall:,.0f} cycles a second ({cycles / cpu:,.0f} per second of CPU)")
    print(f"after proving: {checkpoint_line(cluster)}")
    proving.forget()
    in_parts(cluster, cycles, monkeypatch)
    print(told("cold, after proving", [cold(position) for position in asked]))
    moments.forget()
    ahead = sorted(asked, key=lambda position: position.seq)
    print(told("in order, engine kept", [timed(lambda each=position: look(each)) for position in ahead]))  # type: ignore[misc]
    start = places.index(min(places, key=lambda place: abs(place[1] - cluster.seq // 2)))
    look(Position(*places[start]))
    print(
        told(
            "next step, engine kept",
            [timed(lambda each=place: look(Position(*each))) for place in places[start : start + 40]],
        )
    )  # type: ignore[misc]
