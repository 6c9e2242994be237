"""A pod of high priority takes the place of two others: from the search for victims to its binding, in the tables."""

from __future__ import annotations

import pytest

from kschedweb import views
from kschedweb.cluster.choices import LifecycleMode
from kschedweb.cluster.models import Change, Cluster, Event, Pod
from kschedweb.cluster.services import pod_delete
from kschedweb.common import packing
from kschedweb.lifecycle.runner import ControllerHost
from kschedweb.scheduling.choices import WorkStatus
from kschedweb.scheduling.models import Eviction
from kschedweb.scheduling.runner import bindings
from kschedweb.scheduling.runner.host import EngineHost
from kschedweb.traces import selectors
from kschedweb.traces.models import Attempt, EngineLog
from kschedweb.views import EventNoted
from tests.builders import make_manifest, make_node, make_pod
from tests.web.scheduling.conftest import lead, put, settle

pytestmark = pytest.mark.django_db(transaction=True)

SECOND = 1_000_000
START = 2_000_000_000 * SECOND


def important(name: str, cpu: str, node_name: str = "") -> dict[str, object]:
    built = make_pod(name).req(cpu=cpu).spec(priorityClassName="high")
    return (built.on(node_name).phase("Running") if node_name else built).manifest()


@pytest.fixture
def crowded(cluster: Cluster) -> Cluster:
    """Two small pods fill one node; another is full of a pod that is as important as the newcomer."""
    Cluster.objects.filter(pk=cluster.pk).update(lifecycle_mode=LifecycleMode.SIMULATE)
    nodes = [make_node(name).capacity(cpu="4").manifest() for name in ("n1", "n2")]
    equal = important("equal", "4", "n2")
    slow = [make_pod(name).req(cpu="2").on("n1").phase("Running").manifest() for name in ("low-a", "low-b")]
    put(cluster, make_manifest("PriorityClass", "high", value=100), *nodes, equal, *slow)
    return cluster


def comes(cluster: Cluster, scheduler: EngineHost) -> Pod:
    """The pod of high priority that needs the place of both small ones."""
    put(cluster, important("high", "3"))
    settle(scheduler)
    return Pod.objects.get(cluster=cluster, name="high")


def evict(cluster: Cluster, scheduler: EngineHost) -> list[int]:
    """Evictions in turn with the engine until there are none; how many each time."""
    counts: list[int] = []
    for _ in range(10):
        count = bindings.evictions_run(cluster.pk)
        if not count:
            return counts
        counts.append(count)
        settle(scheduler)
    raise AssertionError("evictions do not end")


def test_pod_of_high_priority_takes_the_place_of_two_others(crowded: Cluster) -> None:
    scheduler, controllers = lead(crowded), ControllerHost.build(crowded.pk)
    settle(scheduler)
    high = comes(crowded, scheduler)
    assert (high.node_name, high.nominated_node_name) == ("", "n1")
    # The last victim is asked for when the other is on its way.
    assert evict(crowded, scheduler) == [1, 1]

    victims = list(Pod.objects.filter(cluster=crowded, name__startswith="low-").order_by("name"))
    assert [victim.deletion_timestamp is not None for victim in victims] == [True, True]
    for victim in victims:
        assert victim.manifest["metadata"]["deletionGracePeriodSeconds"] == 30
        (target,) = [c for c in victim.manifest["status"]["conditions"] if c["type"] == "DisruptionTarget"]
        assert (target["status"], target["reason"]) == ("True", "PreemptionByScheduler")
        assert target["message"] == "default-scheduler: preempting to accommodate a higher priority pod"
    assert Pod.objects.get(cluster=crowded, name="equal").deletion_timestamp is None

    for turn in range(1, 4):
        controllers.step(START + turn * 60 * SECOND)
        settle(scheduler)
    assert not Pod.objects.filter(cluster=crowded, name__startswith="low-").exists()
    assert Pod.objects.get(cluster=crowded, name="high").node_name == "n1"


def test_scheduler_of_a_frozen_cluster_binds_and_preempts(crowded: Cluster) -> None:
    """Victims are deleted; no kubelet ends those that have a grace period, so they keep their place."""
    Cluster.objects.filter(pk=crowded.pk).update(lifecycle_mode=LifecycleMode.FROZEN)
    quick = make_pod("quick").req(cpu="4").spec(terminationGracePeriodSeconds=0).on("n3").phase("Running").manifest()
    put(crowded, make_node("n3").capacity(cpu="4"), quick)
    scheduler = lead(crowded)
    put(crowded, important("high-a", "4"), important("high-b", "4"))
    settle(scheduler)
    evict(crowded, scheduler)
    bindings.bindings_run(crowded.pk)
    settle(scheduler)
    stayed = Pod.objects.filter(cluster=crowded).exclude(name__startswith="high-").order_by("name")
    assert [(pod.name, pod.deletion_timestamp is not None) for pod in stayed] == [
        ("equal", False),
        ("low-a", True),
        ("low-b", True),
    ]
    newcomers = Pod.objects.filter(cluster=crowded, name__startswith="high-")
    assert sorted(newcomers.values_list("node_name", flat=True)) == ["", "n3"]


def test_preemption_leaves_its_records(crowded: Cluster) -> None:
    scheduler, controllers = lead(crowded), ControllerHost.build(crowded.pk)
    high = comes(crowded, scheduler)
    evict(crowded, scheduler)
    controllers.step(START + 60 * SECOND)
    settle(scheduler)
    first, *_, last = Attempt.objects.filter(cluster=crowded, pod_uid=high.uid).order_by("seq")
    told = first.preemption
    assert (first.result, first.nominated_node_name, last.result) == ("unschedulable", "n1", "scheduled")
    assert (told["node"], sorted(told["victims"])) == ("n1", ["default/low-a", "default/low-b"])
    assert (told["num_victims"], told["candidates"], told["num_pdb_violations"]) == (2, 1, 0)
    search = selectors.attempt_preemption(first, views.PreemptionQuery(outcome="candidate"))
    assert [found.node for found in search.nodes] == ["n1"]
    assert Eviction.objects.filter(cluster=crowded, status=WorkStatus.DONE, preemptor_uid=high.uid).count() == 2
    preempted = Event.objects.filter(cluster=crowded, reason="Preempted")
    assert sorted(preempted.values_list("name", flat=True).distinct()) == sorted(event.name for event in preempted)
    assert sorted(preempted.values_list("regarding_name", flat=True)) == ["low-a", "low-b"]
    verdicts = Change.objects.filter(cluster_id=crowded.pk, kind="Eviction")
    assert verdicts.count() == 2
    crowded.refresh_from_db()
    seqs = EngineLog.objects.filter(cluster=crowded).order_by("seq").values_list("seq", flat=True)
    assert list(seqs) == list(range(1, crowded.seq + 1))


def test_history_names_the_pod_that_took_the_place(crowded: Cluster) -> None:
    scheduler, controllers = lead(crowded), ControllerHost.build(crowded.pk)
    comes(crowded, scheduler)
    evict(crowded, scheduler)
    victim = Pod.objects.get(cluster=crowded, name="low-a")
    controllers.step(START + 60 * SECOND)
    settle(scheduler)
    pod_delete(cluster_id=crowded.pk, namespace="default", name="high", actor="test", grace_seconds=0)
    (told,) = (one for one in selectors.pod_log(crowded.pk, victim.uid, 100) if one.what == "Preempted")
    assert told.message == "Preempted by pod default/high on node n1"


def test_browsers_are_told_the_name_of_the_pod_that_took_the_place(crowded: Cluster) -> None:
    scheduler = settle(lead(crowded))
    before = selectors.head(crowded.pk)
    assert before is not None
    comes(crowded, scheduler)
    evict(crowded, scheduler)
    pod_delete(cluster_id=crowded.pk, namespace="default", name="high", actor="test", grace_seconds=0)
    told = [one.event for one in selectors.log_range(crowded.pk, before, 1000).events if isinstance(one, EventNoted)]
    for events in (told, selectors.snapshot(crowded.pk).events):
        notes = {event.note for event in events if event.reason == "Preempted"}
        assert notes == {"Preempted by pod default/high on node n1"}


def test_victims_that_are_gone_already_are_answered_for(crowded: Cluster) -> None:
    scheduler = lead(crowded)
    comes(crowded, scheduler)
    for name in ("low-a", "low-b"):
        pod_delete(cluster_id=crowded.pk, namespace="default", name=name, actor="test", grace_seconds=0)
    assert bindings.evictions_run(crowded.pk) == 1
    settle(scheduler)
    assert evict(crowded, scheduler) == [1]
    (verdict, _) = Change.objects.filter(cluster_id=crowded.pk, kind="Eviction").order_by("rv")
    told = packing.unpacked(verdict.object)
    assert told["gone_uids"] == told["pod_uids"] != []
    assert not Event.objects.filter(cluster=crowded, reason="Preempted").exists()
    assert Pod.objects.get(cluster=crowded, name="high").node_name == "n1"
