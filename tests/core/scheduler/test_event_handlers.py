"""What a change does to the cache and to the pods that wait."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from scheduler_core.model.changes import ObjectDeleted
from scheduler_core.model.effects import CacheMove, Effects, QueueMove
from scheduler_core.model.status import SUCCESS, Status
from tests.builders import make, make_node, make_pod
from tests.cases import cases
from tests.core.scheduler.harness import SECOND, Cluster, FilteringPlugin, ToldPlugins, profile, start
from tests.core.scheduler.shell import _cluster


@pytest.fixture
def cluster() -> Cluster:
    return _cluster(cpu="2")


def _tried(effects: Effects) -> list[str]:
    return [attempt.pod_key for attempt in effects.attempts]


def _used(cluster: Cluster) -> int:
    return cluster.scheduler.engine.cache.items["n0"].info.requested.milli_cpu


# Assigned pods


def test_assigned_pod_is_counted_updated_and_taken_off(cluster: Cluster) -> None:
    pod = make_pod().req(cpu="1").on("n0")
    cluster.put(pod.build())
    assert _used(cluster) == 1000
    cluster.put(make_pod().req(cpu="500m").on("n0").build())
    assert _used(cluster) == 500
    cluster.delete(pod.build())
    assert _used(cluster) == 0


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_finished_pod_is_gone(cluster: Cluster, phase: str) -> None:
    cluster.put(make_pod().req(cpu="1").on("n0").build())
    cluster.put(make_pod().req(cpu="1").on("n0").phase(phase).build())
    assert _used(cluster) == 0
    assert cluster.scheduler.engine.store.pod("default/pod") is None
    assert cluster.put(make_pod().on("n0").phase(phase).build()).is_empty


def test_finished_pod_makes_room_for_a_waiting_one(cluster: Cluster) -> None:
    cluster.put(make_pod("running").req(cpu="2").on("n0").build())
    assert cluster.attempt(make_pod().req(cpu="1").build()).result == "unschedulable"
    effects = cluster.step(make_pod("running").req(cpu="2").on("n0").phase("Succeeded").build(), after=2 * SECOND)
    assert _tried(effects) == ["default/pod"]
    assert effects.attempts[0].result == "scheduled"


def test_smaller_request_of_a_running_pod_makes_room(cluster: Cluster) -> None:
    cluster.put(make_pod("running").req(cpu="2").on("n0").build())
    cluster.step(make_pod().req(cpu="1").build())
    assert _tried(cluster.step(make_pod("running").req(cpu="1").on("n0").build(), after=2 * SECOND)) == ["default/pod"]


def test_namesake_with_another_uid_is_another_pod(cluster: Cluster) -> None:
    cluster.put(make_pod(uid="one").req(cpu="1").on("n0").build())
    cluster.put(make_pod(uid="two").req(cpu="2").on("n0").build())
    assert _used(cluster) == 2000
    cluster.step(ObjectDeleted("Pod", "default", "pod", uid="one"))  # late: meant for the one before
    assert _used(cluster) == 2000


def test_pod_bound_by_somebody_else_leaves_the_queue(cluster: Cluster) -> None:
    cluster.put(make_pod().req(cpu="1").build())
    effects = cluster.step(make_pod().req(cpu="1").on("n0").build())
    assert _tried(effects) == []
    assert _used(cluster) == 1000
    assert [move.kind for move in effects.moves if isinstance(move, CacheMove)] == ["confirmed"]
    assert [move.to for move in effects.moves if isinstance(move, QueueMove)] == [""]


# Pods that wait


def test_update_with_the_same_resource_version_is_ignored(cluster: Cluster) -> None:
    cluster.step(make_pod().req(cpu="9").build())
    pod = make_pod().req(cpu="1").build()
    same = msgspec.structs.replace(pod, metadata=msgspec.structs.replace(pod.metadata, resource_version="7"))
    assert _tried(cluster.step(same, after=2 * SECOND)) == ["default/pod"]
    again = msgspec.structs.replace(same, metadata=msgspec.structs.replace(same.metadata, labels={"a": "b"}))
    assert _tried(cluster.step(again, after=2 * SECOND)) == []


def test_own_update_that_helps_brings_the_pod_back(cluster: Cluster) -> None:
    cluster.step(make_pod().req(cpu="9").build())
    assert _tried(cluster.step(make_pod().req(cpu="9").label(a="b").build(), after=2 * SECOND)) == []
    assert _tried(cluster.step(make_pod().req(cpu="1").build(), after=2 * SECOND)) == ["default/pod"]


def test_last_gate_removed_lets_the_pod_in(cluster: Cluster) -> None:
    assert _tried(cluster.step(make_pod().gate("wait").build())) == []
    assert _tried(cluster.step(make_pod().build())) == ["default/pod"]


def test_deleted_pod_is_not_tried(cluster: Cluster) -> None:
    pod = make_pod().build()
    cluster.put(pod)
    assert _tried(cluster.delete(pod)) == []
    assert cluster.scheduler.next_due(cluster.now) is None


@cases(
    "priority, want",
    ("an equal one may try", 5, ["default/other"]),
    ("a higher one was not held back by it", 6, []),
)
def test_room_of_a_deleted_nominated_pod_is_offered(priority: int, want: list[str]) -> None:
    plugins = ToldPlugins().add("F", FilteringPlugin, filter=lambda pod, node: Status.unschedulable("full"))
    cluster = start(profile("F"), plugins=plugins)
    cluster.put(make_node("n0").build())
    nominated = make_pod("nominated").priority(5).nominated("n0").build()
    cluster.step(nominated, make_pod("other").priority(priority).build())
    assert _tried(cluster.delete(nominated, after=2 * SECOND)) == want


# Nodes and other objects


def test_new_node_brings_waiting_pods_back(cluster: Cluster) -> None:
    cluster.step(make_pod().req(cpu="4").build())
    assert _tried(cluster.step(make_node("small").capacity(cpu="1").build(), after=2 * SECOND)) == []
    effects = cluster.step(make_node("large").capacity(cpu="4").build(), after=2 * SECOND)
    assert [each.node_name for each in effects.attempts] == ["large"]


@cases(
    "before, after, want",
    ("uncordoned", make_node("n1").unschedulable(), make_node("n1"), True),
    ("taint removed", make_node("n1").taint("k"), make_node("n1"), True),
    ("a condition interests nobody", make_node("n1").unschedulable(),
     make_node("n1").unschedulable().condition("Ready", "True"), False),
    ("a label", make_node("n1").taint("k"), make_node("n1").taint("k").label(a="b"), False),
)  # fmt: skip
def test_node_update_brings_back_whom_it_may_help(before: Any, after: Any, want: bool) -> None:
    cluster = start(profile(default=True))
    cluster.put(before.build())
    cluster.step(make_pod().build())
    assert bool(_tried(cluster.step(after.build(), after=2 * SECOND))) is want


def test_deleted_node_is_not_chosen_any_more(cluster: Cluster) -> None:
    cluster.step(ObjectDeleted("Node", "", "n0"), make_node("n1").build())
    assert cluster.attempt(make_pod().build()).node_name == "n1"


def test_event_during_the_flight_counts_when_the_pod_comes_back() -> None:
    """The pod waits in Permit while a node comes: rejected then, it goes to backoff and not to sleep."""
    from scheduler_core.framework.answers import ClusterEventWithHint
    from scheduler_core.model.changes import PermitVerdict
    from scheduler_core.model.events import NODE_ADD
    from scheduler_core.model.status import WAIT
    from tests.core.scheduler.harness import BindingPlugin

    class Holder(BindingPlugin):
        def events_to_register(self) -> Any:
            return (ClusterEventWithHint(NODE_ADD),)

    plugins = ToldPlugins().add("H", Holder, permit=lambda pod, node: (WAIT, 99 * SECOND))
    cluster = start(profile("H"), plugins=plugins)
    cluster.step(make_node("n0").build(), make_pod().build())
    cluster.step(make_node("n1").build())
    effects = cluster.put()
    assert effects.is_empty
    effects = cluster.step(PermitVerdict("pod-default/pod", "H", allowed=False, message="no"))
    moves = [move.to for move in effects.moves if isinstance(move, QueueMove)]
    assert moves == ["backoff"]


def test_objects_of_other_kinds_reach_the_lister_and_their_plugins() -> None:
    from scheduler_core.framework.answers import ClusterEventWithHint
    from scheduler_core.model.events import ActionType, ClusterEvent, EventResource

    class NeedsClass(FilteringPlugin):
        def events_to_register(self) -> Any:
            wanted = ClusterEvent(EventResource.STORAGE_CLASS, ActionType.ADD)
            return (ClusterEventWithHint(wanted),)

    handles: list[Any] = []
    plugins = ToldPlugins()

    def there(pod: Any, node: Any) -> Status:
        return SUCCESS if handles[0].lister.get("StorageClass", "fast") else Status.unschedulable("no class")

    def factory(args: Any, handle: Any) -> Any:
        handles.append(handle)
        return NeedsClass("C", plugins.log, {"filter": there})

    plugins.factories["C"] = factory
    cluster = start(profile("C"), plugins=plugins)
    assert cluster.attempt(make_node("n0").build(), make_pod().build()).result == "unschedulable"
    unheard = make("PersistentVolume", "pv")
    assert _tried(cluster.step(unheard, after=2 * SECOND)) == []
    found = make("StorageClass", "fast", provisioner="p")
    effects = cluster.step(found, after=2 * SECOND)
    assert [each.result for each in effects.attempts] == ["scheduled"]
    assert handles[0].lister.list("StorageClass") == [found]
