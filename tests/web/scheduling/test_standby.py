"""Two workers and one cluster, over real tables: who schedules, and who hears that leading has ended."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from types import SimpleNamespace

import pytest
from django.db import connection
from django.utils import timezone

from kschedweb.cluster.models import Change, Cluster, Pod
from kschedweb.common import wake
from kschedweb.common.hearing import Hearing
from kschedweb.scheduling import health, leases
from kschedweb.scheduling.models import Lease
from kschedweb.scheduling.runner import slices
from kschedweb.scheduling.runner.host import EngineHost, StepOutcome
from kschedweb.scheduling.runner.slices import (
    SHARED_SLICE_SECONDS,
    STREAM_CHANGES,
    STREAM_CYCLES,
    THIN_CYCLES,
)
from kschedweb.traces.models import Attempt
from tests.builders import make_node, make_pod
from tests.cases import cases
from tests.web.scheduling.conftest import put
from tests.web.scheduling.electors import led, worker

pytestmark = pytest.mark.django_db(transaction=True)


def outcomes(monkeypatch: pytest.MonkeyPatch, outcome: Callable[[int], StepOutcome]) -> list[int]:
    """Let engines' steps come to this, by the number of the step; the clusters of the steps."""
    steps: list[int] = []

    def step(host: EngineHost) -> StepOutcome:
        steps.append(host.cluster_id)
        return outcome(len(steps))

    monkeypatch.setattr(EngineHost, "step", step)
    return steps


def test_standby_schedules_nothing(busy: Cluster) -> None:
    leader, standby = worker("leader"), worker("standby")
    assert leader.elector.claim(busy.pk) is not None
    standby.ensure_leader(busy.pk)
    standby.slice(busy.pk)
    assert not standby.hosts and not Attempt.objects.exists()
    leader.slice(busy.pk)
    assert Attempt.objects.filter(cluster=busy, result="scheduled").count() == 1


@pytest.mark.parametrize("end", ["resign", "drop", "replaced"])
def test_stopped_is_called_however_leading_ends(cluster: Cluster, end: str) -> None:
    ended: list[int] = []
    elector = worker("one").elector
    elector.stopped = ended.append
    elector.tick()
    if end == "replaced":
        view = leases.lease_get(cluster_id=cluster.pk)
        assert view is not None
        assert leases.lease_acquire(view=view, holder="two", duration_seconds=15) is not None
        elector.tick()
    else:
        getattr(elector, end)(cluster.pk)
    assert ended == [cluster.pk] and not elector.led_clusters()


def test_worker_that_lost_its_lease_drops_the_engine_and_stands_by(busy: Cluster) -> None:
    loser = worker("loser")
    loser.elector.claim(busy.pk)
    loser.slice(busy.pk)
    assert busy.pk in loser.hosts
    leases.fence_raise(cluster_id=busy.pk, holder="winner")
    put(busy, make_pod("late").req(cpu="1", memory="1Gi"))
    loser.slice(busy.pk)
    assert not loser.hosts and not loser.elector.led_clusters()
    assert not Attempt.objects.filter(cluster=busy, name="late").exists()
    assert Pod.objects.get(cluster=busy, name="late").node_name == ""


@pytest.mark.parametrize("is_answered", [True, False], ids=["answered", "not answered"])
def test_leader_keeps_its_lease_when_its_wakings_are_answered(busy: Cluster, is_answered: bool) -> None:
    one = worker("one")
    clock = [time.monotonic()]
    one.elector.monotonic = lambda: clock[0]
    one.elector.wake = one.wake
    one.elector.tick()
    before = leases.lease_get(cluster_id=busy.pk)
    if is_answered:
        one.slice(busy.pk)
    clock[0] += one.elector.times.renew_deadline + 1
    one.elector.tick()
    after = leases.lease_get(cluster_id=busy.pk)
    assert before is not None and after is not None
    assert (after.version > before.version) == is_answered


def test_cluster_whose_slices_do_not_run_goes_to_the_standby(busy: Cluster) -> None:
    """The process hangs in a step of another cluster: what is due here is nobody's but the standby's."""
    idle = Cluster.objects.create(name="idle")
    one, two = worker("one"), worker("two")
    clock = [time.monotonic()]
    one.elector.monotonic = two.elector.monotonic = lambda: clock[0]
    one.elector.tick()
    two.elector.tick()
    one.slice(busy.pk)
    put(busy, make_pod("late").req(cpu="1", memory="1Gi"))

    def versions() -> dict[int, tuple[int, int]]:
        return {view.cluster_id: (view.version, view.beat or 0) for view in leases.leases_list()}

    # From now: building the engine took its time by the real clock.
    clock[0] = time.monotonic() + one.elector.times.renew_deadline + 1
    before = versions()
    one.elector.tick()
    assert versions()[busy.pk] > before[busy.pk], "what has been due for a moment only is no reason"
    Change.objects.update(at=timezone.now() - timedelta(seconds=60))
    Lease.objects.update(renewed_at=timezone.now() - timedelta(seconds=60))
    before = versions()
    one.elector.tick()
    assert versions()[busy.pk] == (before[busy.pk][0], 0)
    assert versions()[idle.pk] > before[idle.pk], "a cluster with nothing due is healthy"
    assert f"of cluster {busy.name}" in health.leader_election()
    two.elector.tick()
    clock[0] += two.elector.times.duration + 1
    two.elector.tick()
    one.elector.tick()
    assert busy.pk in two.elector.led_clusters() and busy.pk not in one.elector.led_clusters()
    two.slice(busy.pk)
    assert Attempt.objects.filter(cluster=busy, name="late", result="scheduled").exists()
    assert health.leader_election() == ""


def test_cluster_that_waited_for_its_extender_lets_others_go_first(
    busy: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = outcomes(monkeypatch, lambda _: StepOutcome(1, 0, 0.0, asked_seconds=5.0))
    one = worker("one")
    one.elector.claim(busy.pk)
    one.slice(busy.pk)
    assert len(steps) > 1, "alone it goes on at once"
    Cluster.objects.create(name="another")
    one.elector.tick()
    steps.clear()
    for _ in range(3):
        one.slice(busy.pk)
    assert steps == [busy.pk], "it rests, whoever wakes it"
    due_at = led(one, busy).due_at
    assert due_at is not None and due_at > time.monotonic() + 3
    led(one, busy).rests_until = time.monotonic() - 1
    one.slice(busy.pk)
    assert len(steps) == 2


def test_cluster_that_waited_no_longer_than_a_shared_slice_goes_on(
    busy: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    def third_is_last(number: int) -> StepOutcome:
        return StepOutcome(1, 0, 0.0 if number < 3 else None, asked_seconds=SHARED_SLICE_SECONDS)

    steps = outcomes(monkeypatch, third_is_last)
    one = worker("one")
    one.elector.claim(busy.pk)
    Cluster.objects.create(name="another")
    one.elector.tick()
    one.slice(busy.pk)
    assert steps == [busy.pk] * 3


@cases(
    "changes, cycles, waits",
    ("many changes, nothing to schedule", STREAM_CHANGES, 0, True),
    ("a pod was scheduled", STREAM_CHANGES, 1, False),
    ("few changes", STREAM_CHANGES - 1, 0, False),
)
def test_cluster_in_a_stream_of_changes_takes_them_in_together(
    busy: Cluster, monkeypatch: pytest.MonkeyPatch, changes: int, cycles: int, waits: bool
) -> None:
    steps = outcomes(monkeypatch, lambda _: StepOutcome(cycles, changes, None))
    monkeypatch.setattr(slices, "GATHER_SECONDS", 60.0)
    monkeypatch.setattr(slices, "STREAM_SECONDS", -1.0)  # this is about changes alone
    one = worker("one")
    one.elector.claim(busy.pk)
    one.slice(busy.pk)
    one.slice(busy.pk)
    assert len(steps) == (1 if waits else 2)
    assert (led(one, busy).due_at is not None) is waits, "nobody else would wake it"


@cases(
    "cycles, waits",
    ("several pods soon after another", [1, THIN_CYCLES + 1], True),
    ("so few that it keeps up with them", [THIN_CYCLES + 1, THIN_CYCLES], False),
    ("the first", [THIN_CYCLES + 1], False),
    ("the first after other changes", [0, 0, THIN_CYCLES + 1], False),
    ("many each time", [STREAM_CYCLES + 1, STREAM_CYCLES + 1], False),
    ("what comes of the first", [THIN_CYCLES + 1, 0], False),
)
def test_cluster_in_a_stream_of_pods_schedules_them_together(
    busy: Cluster, monkeypatch: pytest.MonkeyPatch, cycles: list[int], waits: bool
) -> None:
    left = [*cycles, 7]
    clock = [1000.0]

    def outcome(_: int) -> StepOutcome:
        clock[0] += 0.05
        return StepOutcome(left.pop(0), 1, None)

    outcomes(monkeypatch, outcome)
    monkeypatch.setattr(slices, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    one = worker("one")
    one.elector.monotonic = lambda: clock[0]
    one.elector.claim(busy.pk)
    for _ in cycles:
        one.slice(busy.pk)
    due_at = pytest.approx(clock[0] + 0.05) if waits else None
    assert led(one, busy).due_at == due_at, "nobody may wake it after the rest"
    clock[0] += 0.049
    one.slice(busy.pk)
    assert (left == [7]) is waits
    clock[0] += 0.002
    one.slice(busy.pk)
    assert left == []


def test_slice_that_lingers_serves_all_that_is_written_meanwhile(
    busy: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No message arrives: neither for the pod that comes late, nor for the cluster that is new."""
    monkeypatch.setattr(wake, "send", lambda *_, **__: None)
    one, elsewhere = worker("one"), ThreadPoolExecutor(1)
    one.hearing = Hearing(wake.READERS_CHANNEL)
    one.elector.claim(busy.pk)

    def write(make: Callable[[], Cluster], name: str) -> Cluster:
        def run() -> Cluster:
            try:
                cluster = make()
                put(cluster, make_node(f"of-{name}").capacity(cpu="4"), make_pod(name).req(cpu="1", memory="1Gi"))
                return cluster
            finally:
                connection.close()

        return elsewhere.submit(run).result()

    def first(cluster_id: int) -> bool:
        worked = one.slice(cluster_id)
        write(lambda: busy, "late")
        write(lambda: Cluster.objects.create(name="new"), "other")
        return worked

    one.serve(busy.pk, first)
    one.hearing.close()
    elsewhere.shutdown()
    bound = set(Attempt.objects.filter(result="scheduled").values_list("cluster__name", "name"))
    assert bound == {(busy.name, "a"), (busy.name, "late"), ("new", "other")}


def test_task_begins_with_what_was_written_while_none_was_under_way(
    busy: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody heard of it, and its message waits behind others, or is lost."""
    monkeypatch.setattr(wake, "send", lambda *_, **__: None)
    other = Cluster.objects.create(name="other")
    put(other, make_node("n").capacity(cpu="4"))
    one = worker("one")
    one.hearing = Hearing(wake.READERS_CHANNEL)
    for cluster in (busy, other):
        one.elector.claim(cluster.pk)
        one.slice(cluster.pk)
    put(other, make_pod("unheard").req(cpu="1"))
    one.serve(busy.pk, one.slice_run)
    one.hearing.close()
    assert Attempt.objects.filter(cluster=other, name="unheard", result="scheduled").exists()


def test_pods_far_apart_are_scheduled_at_once(busy: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    outcomes(monkeypatch, lambda _: StepOutcome(1, 1, None))
    monkeypatch.setattr(slices, "STREAM_SECONDS", -1.0)
    one = worker("one")
    one.elector.claim(busy.pk)
    for _ in range(3):
        one.slice(busy.pk)
    assert led(one, busy).rests_until == 0.0


@pytest.mark.parametrize("ends", ["well", "with an error"])
def test_slice_is_busy_while_its_step_runs_and_only_then(cluster: Cluster, ends: str) -> None:
    """The elector goes by it: a step that hangs has to cost the worker its lease, one that is over must not."""
    one = worker("one")
    late = [0.0]
    one.elector.monotonic = lambda: time.monotonic() + late[0]
    one.elector.tick()
    leads = led(one, cluster)
    versions: list[int] = []

    def renewed() -> int:
        one.elector.renew()
        view = leases.lease_get(cluster_id=cluster.pk)
        assert view is not None
        versions.append(view.version)
        return view.version

    class Step:
        epoch = leads.epoch

        def step(self) -> StepOutcome:
            before = renewed()  # it has only begun
            late[0] += one.elector.times.renew_deadline + 1
            assert renewed() == before
            if ends != "well":
                raise RuntimeError("a step that fails")
            return StepOutcome(cycles=0, changes=0, due_in=None)

    one.hosts[cluster.pk] = Step()  # type: ignore[assignment]
    if ends == "well":
        one.slice(cluster.pk)
    else:
        with pytest.raises(RuntimeError):
            one.slice(cluster.pk)
    assert leads.busy_since is None
    late[0] += one.elector.times.renew_deadline + 1
    assert renewed() == versions[-2] + 1
