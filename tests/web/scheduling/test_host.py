"""One engine over real tables: what a step leaves behind, and what survives its end."""

import pytest

from kschedweb.cluster import follow
from kschedweb.cluster.models import Change, Cluster, Event, Pod
from kschedweb.scheduling import leases, services
from kschedweb.scheduling.choices import WorkStatus
from kschedweb.scheduling.leases import FencedOutError
from kschedweb.scheduling.models import Binding, EngineState
from kschedweb.scheduling.runner.host import REBUILD_SECONDS, SECONDS_PER_CHANGE
from kschedweb.traces.choices import StepKind
from kschedweb.traces.models import Attempt, EngineLog, EngineStep, QueueState
from tests.builders import make_node, make_pod
from tests.web.scheduling.conftest import bind_untold, lead, put, scheduled, settle

# A rebuild reads one moment in a transaction of its own, so these cannot run inside one.
pytestmark = pytest.mark.django_db(transaction=True)


def node(name: str, cpu: str = "4") -> dict[str, object]:
    return make_node(name).capacity(cpu=cpu).manifest()


def pod(name: str, cpu: str = "1") -> dict[str, object]:
    return make_pod(name).req(cpu=cpu, memory="1Gi").manifest()


def test_pods_are_bound_with_all_records_when_they_fit(cluster: Cluster) -> None:
    scheduled(cluster, node("n1"), node("n2"), *(pod(f"p{i}") for i in range(6)))
    assert Pod.objects.filter(cluster=cluster, node_name__in=["n1", "n2"]).count() == 6
    assert Binding.objects.filter(cluster=cluster, status=WorkStatus.DONE).count() == 6
    assert Attempt.objects.filter(cluster=cluster, result="scheduled").count() == 6
    assert Event.objects.filter(cluster=cluster, reason="Scheduled").count() == 6
    assert not QueueState.objects.filter(cluster=cluster).exists()


def test_engine_log_and_change_log_are_dense_after_a_run(cluster: Cluster) -> None:
    scheduled(cluster, node("n1"), *(pod(f"p{i}") for i in range(6)))
    cluster.refresh_from_db()
    seqs = list(EngineLog.objects.filter(cluster=cluster).order_by("seq").values_list("seq", flat=True))
    rvs = list(Change.objects.filter(cluster=cluster).order_by("rv").values_list("rv", flat=True))
    assert seqs == list(range(1, cluster.seq + 1))
    assert rvs == list(range(1, cluster.rv + 1))
    steps = list(EngineStep.objects.filter(cluster=cluster).order_by("id"))
    assert [(a.log_to, a.seq_to) for a in steps[:-1]] == [(b.log_from, b.seq_from) for b in steps[1:]]


def test_pod_that_fits_nowhere_says_why(cluster: Cluster) -> None:
    scheduled(cluster, node("n1", cpu="2"), pod("big", cpu="16"))
    row = Pod.objects.get(cluster=cluster, name="big")
    assert row.condition_reason == "Unschedulable"
    assert row.condition_message == (
        "0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: 0/1 nodes are available:"
        " 1 Preemption is not helpful for scheduling."
    )
    assert QueueState.objects.get(cluster=cluster).queue == "unschedulable"
    attempt = Attempt.objects.get(cluster=cluster)
    assert attempt.rejections == [
        {"plugin": "NodeResourcesFit", "reason": "Insufficient cpu", "code": "UnschedulableAndUnresolvable", "count": 1}
    ]


def test_engine_whose_log_was_cleared_away_begins_again_instead_of_waiting_for_it(cluster: Cluster) -> None:
    host = scheduled(cluster, node("n1", cpu="2"))
    seen = Cluster.objects.get(pk=cluster.pk).rv
    put(cluster, node("n2", cpu="32"))
    Change.objects.filter(cluster=cluster, rv__gt=seen).delete()
    with pytest.raises(follow.LogClearedError):
        host.step()


def test_new_leader_goes_on_from_the_tables_when_the_old_one_died_before_binding(cluster: Cluster) -> None:
    put(cluster, node("n1", cpu="4"), *(pod(f"p{i}") for i in range(6)))
    lead(cluster, "old").step()  # four decided, none bound
    assert Binding.objects.filter(cluster=cluster, status=WorkStatus.PENDING).count() == 4
    decided = set(Binding.objects.filter(cluster=cluster).values_list("pod_uid", "node_name"))
    settle(lead(cluster, "new"))
    assert set(Binding.objects.filter(cluster=cluster, status=WorkStatus.DONE).values_list("pod_uid", "node_name")) == (
        decided  # carried out as they were
    )
    assert Pod.objects.filter(cluster=cluster, node_name="n1").count() == 4
    assert Pod.objects.filter(cluster=cluster, node_name="").count() == 2


def test_rebuilt_engine_of_one_epoch_counts_its_pending_bindings_as_assumed(cluster: Cluster) -> None:
    put(cluster, node("n1", cpu="4"), *(pod(f"p{i}") for i in range(6)))
    host = lead(cluster)
    host.step()
    again = type(host)(cluster.pk, host.epoch)  # the process's engine was thrown away
    again.step()
    assert Binding.objects.filter(cluster=cluster).count() == 4  # no pod was decided a second time
    settle(again)
    assert Pod.objects.filter(cluster=cluster, node_name="n1").count() == 4


def test_fenced_out_engine_writes_nothing(cluster: Cluster) -> None:
    put(cluster, node("n1"), pod("a"))
    old = lead(cluster, "old")
    leases.fence_raise(cluster_id=cluster.pk, holder="new")
    with pytest.raises(FencedOutError):
        old.step()
    assert not EngineStep.objects.filter(cluster=cluster).exists()
    assert not EngineState.objects.filter(cluster=cluster).exists()


def test_binding_refused_by_the_store_sends_the_pod_back(cluster: Cluster) -> None:
    put(cluster, node("n1"), pod("a"))
    host = lead(cluster)
    host.step()
    bind_untold(cluster, "a", "elsewhere")
    assert services.bindings_carry_out(cluster_id=cluster.pk) == 1
    binding = Binding.objects.get(cluster=cluster)
    assert (binding.status, binding.message) == (
        WorkStatus.REFUSED,
        'Operation cannot be fulfilled on pods/binding "a": pod a is already assigned to node "elsewhere"',
    )
    host.step()
    assert Event.objects.filter(cluster=cluster, reason="FailedScheduling").count() == 1


def test_paused_cluster_attempts_nothing_and_steps_as_often_as_asked(cluster: Cluster) -> None:
    Cluster.objects.filter(pk=cluster.pk).update(pace="pause")
    host = scheduled(cluster, node("n1"), *(pod(f"p{i}") for i in range(3)))
    assert Attempt.objects.filter(cluster=cluster).count() == 0
    assert QueueState.objects.filter(cluster=cluster, queue="active").count() == 3
    Cluster.objects.filter(pk=cluster.pk).update(pace_steps_requested=2)
    settle(host)
    cluster.refresh_from_db()
    assert (Attempt.objects.filter(cluster=cluster).count(), cluster.pace_steps_done) == (2, 2)
    Cluster.objects.filter(pk=cluster.pk).update(pace="run")
    settle(host)
    cluster.refresh_from_db()
    assert (Attempt.objects.filter(cluster=cluster).count(), cluster.pace_steps_done) == (3, 2)


def test_step_without_anything_to_do_leaves_nothing_behind(cluster: Cluster) -> None:
    host = scheduled(cluster, node("n1"), pod("p"))
    steps = EngineStep.objects.count()
    assert host.step().changes == 0
    assert EngineStep.objects.count() == steps


def test_engine_is_built_anew_after_a_step_that_failed(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    host = scheduled(cluster, node("n1"))
    put(cluster, pod("p"))
    with monkeypatch.context() as broken, pytest.raises(ZeroDivisionError):
        broken.setattr(host, "_commit", lambda *_: 1 // 0)
        host.step()
    settle(host)
    assert Pod.objects.get().node_name == "n1"
    assert EngineStep.objects.filter(kind=StepKind.REBUILD).count() == 2


def test_two_runs_with_one_seed_decide_alike(db: None) -> None:
    placements = []
    for name in ("one", "two"):
        twin = Cluster.objects.create(name=name, seed=7)
        scheduled(twin, *(node(f"n{i}") for i in range(8)), *(pod(f"p{i}", cpu="500m") for i in range(40)))
        placements.append(sorted(Pod.objects.filter(cluster=twin).values_list("name", "node_name")))
    assert placements[0] == placements[1]
    assert len({node_name for _, node_name in placements[0]}) == 8


def test_repeat_of_a_decision_is_counted_and_not_stored_again(cluster: Cluster) -> None:
    host = scheduled(cluster, node("n1", cpu="2"), pod("big", cpu="16"))
    for size in ("2500m", "3"):  # the node grows, not enough, and its events wake the pod
        put(cluster, node("n1", cpu=size))
        settle(host)
    put(cluster, make_node("n2").capacity(cpu="20"))
    settle(host)
    assert Pod.objects.get(cluster=cluster).node_name == "n2"
    log = EngineLog.objects.filter(cluster=cluster, kind="attempt").count()
    stored = Attempt.objects.filter(cluster=cluster)
    assert log == sum(1 + attempt.repeat_count for attempt in stored)


def test_repeated_warning_is_one_event_with_a_count_even_after_a_rebuild(cluster: Cluster) -> None:
    put(cluster, node("n1", cpu="2"), pod("big", cpu="16"))
    host = lead(cluster)
    now = 1_790_000_000_000_000
    host.clock_us = lambda: now
    settle(host)
    for _ in range(2):
        now += 331_000_000  # what waits for an event is tried again after five minutes, and so within the series
        settle(host)
    host = type(host)(cluster.pk, host.epoch, clock_us=lambda: now)
    settle(host)
    event = Event.objects.get(cluster=cluster, reason="FailedScheduling")
    attempts = EngineLog.objects.filter(cluster=cluster, kind="attempt").count()
    assert (event.count, attempts) == (4, 4)
    assert (event.last_at - event.first_at).total_seconds() == pytest.approx(662, abs=0.1)
    counted = EngineLog.objects.filter(cluster=cluster, kind="event").order_by("seq")
    assert [entry.payload.get("counts") for entry in counted] == [None, *([[event.seq, n]] for n in (2, 3, 4))]
    now += 421_000_000  # longer than a series lasts
    settle(host)
    assert list(Event.objects.filter(cluster=cluster).order_by("id").values_list("count", flat=True)) == [4, 1]


def test_rebuilding_and_large_backlogs_ask_for_patience(cluster: Cluster) -> None:
    host, asked = lead(cluster), []
    host.be_patient = asked.append
    host.step()
    put(cluster, node("n1"), *(pod(f"p{i}") for i in range(99)))
    host.step()
    assert asked == [REBUILD_SECONDS, 100 * SECONDS_PER_CHANGE]
