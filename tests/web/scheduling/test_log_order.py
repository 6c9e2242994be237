"""The engine's log tells of every pod causes before effects, within a step as well."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kschedweb.cluster.models import Cluster
from kschedweb.scheduling import adapters
from kschedweb.scheduling.models import Binding, Eviction
from kschedweb.scheduling.remembered import Remembered
from kschedweb.scheduling.runner import bindings
from kschedweb.traces.models import EngineLog, full_payload
from kschedweb.traces.selectors.live import LogEntry
from scheduler_core.model.changes import Change, EvictionVerdict, ObjectDeleted
from scheduler_core.scheduler.scheduler import Budget
from tests.builders import make_manifest, make_node, make_pod
from tests.core.scheduler.harness import SECOND
from tests.core.scheduler.world import OPS, Op, changes_of, start_world
from tests.examples import examples
from tests.web.rest import logged_in
from tests.web.scheduling.conftest import lead, put, settle

TRIED_FROM = ("active", "backoff")


@dataclass
class Told:
    """What the log has told of a pod so far, by its uid."""

    tried: int = 0
    chosen: str | None = None  # the node its last attempt chose
    assumed_on: str = ""
    was_finished: bool = False


@dataclass
class Named:
    """What the log has told of a name so far.

    A pod that is gone may still be about to be bound when another has its name. When that fails, the other is put back
    in its place, with its number of attempts, as upstream does.
    """

    queue: str = ""
    tried: int = 0
    open_attempts: int = 0  # whose consequences have not all come


def check_causes(entries: Iterable[LogEntry]) -> None:
    """Raise AssertionError at the first entry that stands before what led to it."""
    names: dict[str, Named] = {}
    pods: dict[str, Told] = {}
    tried: set[str] = set()  # uids
    for entry in entries:
        if not entry.pod_uid:
            continue
        name, pod = names.setdefault(entry.pod_key, Named()), pods.setdefault(entry.pod_uid, Told())
        try:
            _check_one(entry, full_payload(entry), name, pod, tried)
        except AssertionError as error:
            raise AssertionError(f"{error}: {entry}") from error


def _check_one(entry: LogEntry, said: dict[str, Any], name: Named, pod: Told, tried: set[str]) -> None:
    if entry.kind == "queue":
        if said["event"] != "Discarded":  # popped a second time while it is being tried
            assert said["attempts"] <= name.tried, "a move knows of an attempt to come"
        if said["event"] == "ScheduleAttemptFailure":
            assert name.open_attempts, "put back before the attempt"
            name.open_attempts -= 1
        name.queue = said["queue"]
    elif entry.kind == "attempt":
        assert name.queue in TRIED_FROM, "tried before it was put into a queue"
        assert said["attempt"] > pod.tried or said["attempt"] == 1, "attempts out of order"
        name.queue, name.tried = "", max(name.tried, said["attempt"])
        name.open_attempts += 1
        pod.tried, pod.chosen = said["attempt"], said["node"]
        tried.add(entry.pod_uid)
    elif entry.kind == "cache" and said["kind"] == "assumed":
        assert pod.chosen is not None, "assumed before the attempt that chose"
        assert pod.chosen == said["node"], "assumed elsewhere than the attempt before it chose"
        pod.assumed_on, pod.was_finished = said["node"], False
    elif entry.kind == "cache" and said["kind"] in ("waiting", "finished", "forgotten"):
        assert pod.assumed_on == said["node"], f"{said['kind']} before it was assumed"
        pod.was_finished |= said["kind"] == "finished"
    elif entry.kind == "event" and said["reason"] == "Scheduled":
        assert pod.was_finished, "told as scheduled before it was"
        name.open_attempts -= 1
    elif entry.kind == "event" and said["reason"] == "FailedScheduling":
        assert name.tried, "told as failed before it was tried"
    elif entry.kind == "event" and said["reason"] == "Preempted":
        preemptor = said["note"].removeprefix("Preempted by pod ").partition(" ")[0]
        assert preemptor in tried, "preempted before the preemptor was tried"


@examples(60)
@given(ops=st.lists(OPS, min_size=1, max_size=2).map(lambda parts: sum(parts, [])), cycles=st.integers(1, 4))
def test_log_of_a_random_run_tells_causes_before_effects(ops: list[Op], cycles: int) -> None:
    world = start_world()
    log: list[LogEntry] = []
    remembered, digest, seq = Remembered(), b"", 0
    asked: list[Any] = []
    for step, op in enumerate(ops):
        changes: list[Change] = []
        for eviction in asked:
            changes.append(ObjectDeleted("Pod", eviction.namespace, eviction.name, eviction.pod_uid))
            changes.append(EvictionVerdict(eviction.preemptor_uid, True, "", pod_uids=(eviction.pod_uid,)))
        effects = world.step(*changes, *changes_of(world, op), budget=Budget(cycles), after=op[2] * SECOND)
        asked = list(effects.evictions)
        rows = adapters.step_rows(
            effects, kind="apply", seq=seq, run=1, step=step, rv=step, config_version=1, previous_digest=digest,
            now=world.now, remembered=remembered,
        )  # fmt: skip
        seq, digest = rows.seq_to, rows.digest
        log += [LogEntry(*row) for row in rows.log]
    assert [entry.seq for entry in log] == list(range(1, seq + 1))
    check_causes(log)


def test_move_is_told_with_its_attempts() -> None:
    move: Any = SimpleNamespace(
        to="active", event="PodAdd", attempts=3, at=5, backoff_expiration=None, plugins=(), hint_plugin=""
    )
    assert adapters.queue_payload(move, 5) == {"queue": "active", "event": "PodAdd", "attempts": 3}


@pytest.fixture
def crowded(db: None, cluster: Cluster) -> Cluster:
    """Pods tried several times, one that preempts two, and one that is bound late."""
    host = lead(cluster)
    low = [make_pod(f"low{n}").req(cpu="2").manifest() for n in range(4)]
    put(cluster, make_manifest("PriorityClass", "high", value=100), node("n1"), node("n2"), *low)
    settle(host)
    high = make_pod("high").req(cpu="4").spec(priorityClassName="high", terminationGracePeriodSeconds=0).manifest()
    put(cluster, high, make_pod("late").req(cpu="8"))
    host.step()
    bindings.evictions_run(cluster.pk)
    host.step()
    for number, size in enumerate(("5", "6", "16")):
        put(cluster, node(f"m{number}", size))
        settle(host)
        bindings.evictions_run(cluster.pk)
    return cluster


def node(name: str, cpu: str = "4") -> dict[str, Any]:
    manifest: dict[str, Any] = make_node(name).capacity(cpu=cpu, memory="64Gi", pods="110").manifest()
    return manifest


def history(cluster: Cluster, name: str) -> list[dict[str, Any]]:
    answer = logged_in().get(f"/api/clusters/{cluster.pk}/pods/default/{name}/history?limit=500")
    assert answer.status_code == 200, answer.content
    entries: list[dict[str, Any]] = answer.json()["entries"]
    return entries


@pytest.mark.django_db(transaction=True)
def test_stored_log_tells_causes_before_effects(crowded: Cluster) -> None:
    rows = EngineLog.objects.filter(cluster=crowded).order_by("seq").values_list(
        "seq", "rv", "step", "kind", "pod_uid", "pod_key", "payload", "at"
    )  # fmt: skip
    entries = [LogEntry(*row) for row in rows]
    assert Eviction.objects.filter(cluster=crowded).exists()
    check_causes(entries)


@pytest.mark.django_db(transaction=True)
def test_history_is_the_log_with_work_after_what_ordered_it_and_before_its_verdict(crowded: Cluster) -> None:
    for name in ("low0", "low1", "low2", "low3", "high", "late"):
        entries = history(crowded, name)
        seqs = [entry["seq"] for entry in entries if entry["seq"] is not None]
        assert seqs == sorted(seqs) and seqs
        told = [(entry["kind"], entry["what"]) for entry in entries]
        if ("binding", "done") in told:
            at = told.index(("binding", "done"))
            assert told.index(("cache", "assumed")) < at < told.index(("cache", "finished"))
        if ("eviction", "done") in told and ("event", "Preempted") in told:
            assert told.index(("eviction", "done")) < told.index(("event", "Preempted"))
    tries = [(entry["kind"], entry["what"]) for entry in history(crowded, "late")]
    assert tries[:3] == [("queue", "active"), ("attempt", "unschedulable"), ("queue", "unschedulable")]
    assert tries.count(("attempt", "scheduled")) == 1


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("hours", [-2, 2])
def test_order_of_a_history_does_not_depend_on_the_clocks_of_workers(crowded: Cluster, hours: int) -> None:
    before = {name: [(e["kind"], e["what"]) for e in history(crowded, name)] for name in ("low0", "high", "late")}
    for model in (Binding, Eviction):
        for row in model.objects.filter(cluster=crowded, finished_at__isnull=False):
            row.finished_at += timedelta(hours=hours)  # as a machine whose clock is wrong writes it
            row.save()
    after = {name: [(e["kind"], e["what"]) for e in history(crowded, name)] for name in before}
    assert after == before
