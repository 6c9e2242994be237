"""A clock that goes by steps waits for controllers and scheduler, and everything happens at its own time."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import psycopg
import pytest

from kschedweb.cluster import clock
from kschedweb.cluster.changes import unpack
from kschedweb.cluster.models import Change, ClockReading, Cluster, Pod
from kschedweb.cluster.selectors import change_event, change_rows
from kschedweb.cluster.services import clock_set, cluster_create, pace_set
from kschedweb.common import wake
from kschedweb.common.connections import database_parameters
from kschedweb.lifecycle import runner, timekeeper
from kschedweb.scheduling.models import Binding, EngineState
from kschedweb.scheduling.runner import bindings
from kschedweb.scheduling.runner.host import EngineHost
from kschedweb.scheduling.runner.sweep import sweep
from kschedweb.views import ClusterSetting
from scheduler_core.api.times import moment_of
from scheduler_core.controllers.annotations import RUN_SECONDS
from tests.builders import make_node, make_pod
from tests.web.scheduling.conftest import lead, put

pytestmark = pytest.mark.django_db(transaction=True)
SECOND = 1_000_000
NODE = make_node("n1").capacity(cpu="4").manifest()


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Cluster:
    monkeypatch.setattr("kschedweb.common.wake.send", lambda *_, **__: None)
    monkeypatch.setattr(runner, "_hosts", {})
    return cluster_create(name="c", lifecycle_mode="simulate", actor="a")


def batch(name: str, seconds: int, cpu: str = "1") -> dict[str, Any]:
    return make_pod(name).annotation({RUN_SECONDS: str(seconds)}).req(cpu=cpu).manifest()


def run(cluster: Cluster, host: EngineHost, until: Callable[[], bool]) -> None:
    """Let controllers, scheduler and bindings act in turn, as their workers do."""
    for _ in range(500):
        runner._act(cluster.pk)
        host.step()
        bindings.bindings_run(cluster.pk)
        if until():
            return
    raise AssertionError("it does not come to that")


def is_real(cluster: Cluster) -> bool:
    return not clock.Clock.of(Cluster.objects.get(pk=cluster.pk)).is_stepped


def test_skipped_hours_take_moments_and_pods_end_at_their_own_times(cluster: Cluster) -> None:
    put(cluster, NODE, batch("long", 7200), batch("short", 600))
    host = lead(cluster)
    run(cluster, host, lambda: Pod.objects.filter(cluster=cluster, node_name="n1").count() == 2)
    before = clock.now_of(cluster.pk)
    clock_set(cluster_id=cluster.pk, skip_seconds=3 * 3600.0, actor="a")
    run(cluster, host, lambda: is_real(cluster))
    assert clock.now_of(cluster.pk) - before >= 3 * 3600 * SECOND
    for name, seconds in (("long", 7200), ("short", 600)):
        # Ended pods may be cleared away by now; the log keeps how they ended.
        row = next(each for each in ended(cluster) if each["metadata"]["name"] == name)
        state = row["status"]["containerStatuses"][0]["state"]["terminated"]
        took = clock_time(state["finishedAt"]) - clock_time(state["startedAt"])
        assert took == timedelta(seconds=seconds)
    readings = list(ClockReading.objects.filter(cluster=cluster).order_by("at_us"))
    assert readings[-1].at_us - readings[0].at_us == 3 * 3600 * SECOND


def clock_time(text: str) -> datetime:
    return datetime.fromisoformat(text)


def ended(cluster: Cluster) -> list[dict[str, Any]]:
    rows = Change.objects.filter(cluster=cluster, kind="Pod").order_by("rv")
    found = [unpack(row.object) for row in rows]
    return [each for each in found if each["status"].get("phase") == "Succeeded"]


def test_skip_to_the_next_thing_stops_there(cluster: Cluster) -> None:
    put(cluster, NODE, batch("long", 86_400))
    host = lead(cluster)
    run(cluster, host, lambda: Pod.objects.filter(cluster=cluster, phase="Running").exists() or skip_next(cluster))
    clock_set(cluster_id=cluster.pk, skip="next", actor="a")
    before = clock.now_of(cluster.pk)
    run(cluster, host, lambda: is_real(cluster))
    assert clock.now_of(cluster.pk) > before


def skip_next(cluster: Cluster) -> bool:
    """Ask for the next thing, such as the end of a start delay; False."""
    if is_real(cluster):
        clock_set(cluster_id=cluster.pk, skip="next", actor="a")
    return False


def test_time_waits_for_the_scheduler(cluster: Cluster) -> None:
    put(cluster, NODE, batch("p", 60))
    clock_set(cluster_id=cluster.pk, mode="fast", actor="a")
    before = clock.now_of(cluster.pk)
    for _ in range(5):
        runner._act(cluster.pk)
    assert clock.now_of(cluster.pk) == before  # nobody has scheduled the pod yet
    found = timekeeper.read(cluster.pk)
    assert found is not None
    assert found.waits_for_scheduler()
    pace_set(cluster_id=cluster.pk, pace="pause", actor="a")
    host = lead(cluster)
    for _ in range(5):
        host.step()
        runner._act(cluster.pk)
    assert clock.now_of(cluster.pk) == before  # a paused scheduler has the pod ready
    pace_set(cluster_id=cluster.pk, pace="run", actor="a")
    run(cluster, host, lambda: any(ended(cluster)))
    assert clock.now_of(cluster.pk) - before >= 60 * SECOND


def test_frozen_cluster_has_a_clock_too(cluster: Cluster) -> None:
    Cluster.objects.filter(pk=cluster.pk).update(lifecycle_mode="frozen")
    put(cluster, NODE, batch("big", 5, cpu="64"))
    host = lead(cluster)
    run(cluster, host, lambda: not timekeeper_waits(cluster))
    before = clock.now_of(cluster.pk)
    clock_set(cluster_id=cluster.pk, skip_seconds=400.0, actor="a")
    run(cluster, host, lambda: is_real(cluster))
    assert clock.now_of(cluster.pk) - before >= 400 * SECOND


def test_leader_at_work_is_told_of_what_is_due_without_a_message(cluster: Cluster) -> None:
    """The clock is in no log: a slice that lingers would hear of it when it is over."""
    put(cluster, NODE, batch("big", 5, cpu="64"))
    host = lead(cluster)
    run(cluster, host, lambda: not timekeeper_waits(cluster))
    with psycopg.connect(**database_parameters(), autocommit=True) as listening:
        listening.execute(f"LISTEN {wake.LEADERS_CHANNEL}")
        clock_set(cluster_id=cluster.pk, skip_seconds=400.0, actor="a")
        run(cluster, host, lambda: is_real(cluster))
        told = [notice.payload for notice in listening.notifies(timeout=0)]
    assert len(told) > 1, "when the pod is to be tried again, and when the clock is let go"
    assert set(told) == {str(cluster.pk)}


def timekeeper_waits(cluster: Cluster) -> bool:
    found = timekeeper.read(cluster.pk)
    assert found is not None
    return found.waits_for_scheduler()


def test_sweep_keeps_a_clock_going(cluster: Cluster) -> None:
    runner._act(cluster.pk)
    assert ("lifecycle.tick", str(cluster.pk)) not in sweep()
    clock_set(cluster_id=cluster.pk, mode="factor", rate=5.0, actor="a")
    runner._hosts[cluster.pk].saved_at = 0.0
    runner._act(cluster.pk)
    assert ("lifecycle.tick", str(cluster.pk)) in sweep()


def test_sweep_wakes_controllers_when_something_is_due(cluster: Cluster) -> None:
    put(cluster, NODE, batch("p", 3600))
    host = lead(cluster)
    run(cluster, host, lambda: Pod.objects.filter(cluster=cluster, node_name="n1").exists())
    runner._hosts[cluster.pk].saved_at = 0.0
    runner._act(cluster.pk)
    row = Cluster.objects.get(pk=cluster.pk)
    assert row.controllers_due_us is not None
    assert row.controllers_rv == row.rv
    assert moment_of(row.controllers_due_us) > moment_of(clock.now_of(cluster.pk))
    assert ("lifecycle.tick", str(cluster.pk)) not in sweep()
    Cluster.objects.filter(pk=cluster.pk).update(clock_offset_us=3 * SECOND)
    assert ("lifecycle.tick", str(cluster.pk)) in sweep()


def test_end_of_a_skip_is_in_the_log_for_those_who_watch(cluster: Cluster) -> None:
    put(cluster, NODE)
    host = lead(cluster)
    clock_set(cluster_id=cluster.pk, skip_seconds=600, actor="a")
    run(cluster, host, lambda: is_real(cluster))
    told = [change_event(change) for change in change_rows(cluster.pk, 0, 1000)]
    skips = [event.cluster.clock_until_us is not None for event in told if isinstance(event, ClusterSetting)]
    assert skips[-2:] == [True, False]


def test_time_waits_for_controllers(cluster: Cluster) -> None:
    clock_set(cluster_id=cluster.pk, mode="fast", actor="a")
    before = clock.now_of(cluster.pk)
    rv = Cluster.objects.get(pk=cluster.pk).rv
    EngineState.objects.create(cluster_id=cluster.pk, rv_seen=rv)
    later = before + 60 * SECOND
    assert timekeeper.advance(cluster.pk, answered=rv - 1, due=later) == 0.0  # something was written meanwhile
    assert timekeeper.advance(cluster.pk, answered=rv, due=before) == 0.0  # they have something to do now
    assert clock.now_of(cluster.pk) == before
    timekeeper.advance(cluster.pk, answered=rv, due=later)
    assert clock.now_of(cluster.pk) == later


def test_clock_that_was_changed_meanwhile_stays_as_it_was_set(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock_set(cluster_id=cluster.pk, mode="fast", actor="a")
    row = Cluster.objects.get(pk=cluster.pk)
    EngineState.objects.create(cluster_id=cluster.pk, rv_seen=row.rv)
    wall = clock.wall_us

    def set_meanwhile() -> int:
        monkeypatch.setattr(clock, "wall_us", wall)
        clock_set(cluster_id=cluster.pk, mode="real", actor="b")
        return wall()

    monkeypatch.setattr(clock, "wall_us", set_meanwhile)
    timekeeper.advance(cluster.pk, answered=row.rv, due=(row.clock_at_us or 0) + 3600 * SECOND)
    assert is_real(cluster)
    assert clock.now_of(cluster.pk) - wall() < 60 * SECOND


def test_engine_under_a_stepped_clock_leaves_its_timers_to_the_timekeeper(cluster: Cluster) -> None:
    put(cluster, NODE, batch("big", 5, cpu="64"))
    host = lead(cluster)
    dues = [host.step().due_in for _ in range(3)]
    assert dues[-1] is not None  # what is unschedulable is looked at again after five minutes
    clock_set(cluster_id=cluster.pk, mode="factor", rate=2.0, actor="a")
    outcomes = [host.step() for _ in range(3)]
    assert outcomes[-1].is_stepped
    assert outcomes[-1].due_in is None or outcomes[-1].due_in < 3  # a checkpoint at most


def test_sweep_finds_bindings_of_a_cluster_that_is_ahead_of_the_wall(cluster: Cluster) -> None:
    Cluster.objects.filter(pk=cluster.pk).update(clock_offset_us=3600 * SECOND)
    put(cluster, NODE, batch("p", 60))
    host = lead(cluster)
    while not Binding.objects.filter(cluster_id=cluster.pk).exists():
        host.step()
    wanted = ("scheduling.bindings_run", str(cluster.pk))
    assert wanted not in sweep()
    Cluster.objects.filter(pk=cluster.pk).update(clock_offset_us=3603 * SECOND)
    assert wanted in sweep()
