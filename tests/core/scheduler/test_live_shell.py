"""What the live shell does to an engine: verdicts late, twice, for pods that are gone; pauses; objects of any kind.

The shell steps with all changes of the log; a verdict follows the pod's own update, both from one transaction.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest

from scheduler_core.api.pod import Pod
from scheduler_core.model.changes import (
    BindingVerdict,
    Change,
    EvictionVerdict,
    ObjectDeleted,
    ObjectPut,
    PermitVerdict,
    PreBindVerdict,
)
from scheduler_core.model.effects import CacheMove, Effects, QueueMove
from tests.builders import make, make_node, make_pod
from tests.cases import cases
from tests.core.scheduler.harness import NO_CYCLES, SECOND, Cluster, profile, start
from tests.core.scheduler.shell import UID, _assert_nothing_left, _cluster, _pods_on


def _being_bound(cluster: Cluster, pod: Pod | None = None) -> Pod:
    """A pod whose binding was asked for."""
    pod = pod or make_pod().req(cpu="1").build()
    assert [each.pod_uid for each in cluster.step(pod).bindings] == [pod.uid]
    return pod


def _moves(effects: Effects) -> list[str]:
    """Cache moves by kind, queue moves by where to."""
    return [move.kind if isinstance(move, CacheMove) else f"to {move.to}" for move in effects.moves]


@pytest.fixture
def cluster() -> Cluster:
    return _cluster()


def test_bound_pod_is_confirmed_once_and_leaves_nothing_behind(cluster: Cluster) -> None:
    pod = _being_bound(cluster)
    bound = pod.on_node("n0")
    effects = cluster.step(ObjectPut(bound), BindingVerdict(UID, "n0", bound=True))
    assert _moves(effects) == ["confirmed", "finished"]
    assert [event.reason for event in effects.events] == ["Scheduled"]
    assert _pods_on(cluster) == [UID]
    again = cluster.step(ObjectPut(bound), BindingVerdict(UID, "n0", bound=True))
    assert again.is_empty
    _assert_nothing_left(cluster)


def test_update_of_the_pod_on_its_way_does_not_queue_it_again(cluster: Cluster) -> None:
    """The life cycle may write labels or conditions between the request and the binding."""
    _being_bound(cluster)
    effects = cluster.step(make_pod().req(cpu="1").label(touched="yes").build())
    assert effects.is_empty
    bound = make_pod().req(cpu="1").label(touched="yes").on("n0").build()
    assert _moves(cluster.step(bound, BindingVerdict(UID, "n0", bound=True))) == ["confirmed", "finished"]
    _assert_nothing_left(cluster)


def test_pod_bound_and_gone_before_the_verdict_gives_its_room_back(cluster: Cluster) -> None:
    """A follower that only sees the end of it: the pod is finished, then the verdict says it was bound."""
    _being_bound(cluster)
    cluster.step(make_pod("other").req(cpu="1").build())
    done = make_pod().req(cpu="1").on("n0").phase("Succeeded").build()
    effects = cluster.step(done, BindingVerdict(UID, "n0", bound=True), after=2 * SECOND)
    assert [attempt.pod_key for attempt in effects.attempts] == ["default/other"]
    assert [attempt.result for attempt in effects.attempts] == ["scheduled"]


@pytest.mark.parametrize("order", ["verdict last", "verdict between"])
def test_pod_bound_and_deleted_in_one_step_is_off_its_node(cluster: Cluster, order: str) -> None:
    pod = _being_bound(cluster)
    put, gone = ObjectPut(pod.on_node("n0")), ObjectDeleted("Pod", "default", "pod", UID)
    verdict = BindingVerdict(UID, "n0", bound=True)
    changes: Sequence[Change] = [put, gone, verdict] if order == "verdict last" else [put, verdict, gone]
    effects = cluster.step(*changes)
    assert [event.reason for event in effects.events] == ["Scheduled"]
    assert _pods_on(cluster) == []
    _assert_nothing_left(cluster)


def test_binding_refused_because_the_pod_was_deleted_frees_its_room(cluster: Cluster) -> None:
    pod = _being_bound(cluster)
    assert cluster.step(make_pod("other").req(cpu="1").build()).bindings == []
    deleted = cluster.delete(pod)
    assert deleted.bindings == [] and _pods_on(cluster) == [UID]  # the worker may still bind it
    effects = cluster.step(BindingVerdict(UID, "n0", bound=False, message="not found"), after=2 * SECOND)
    assert effects.status_patches == []
    assert [binding.name for binding in effects.bindings] == ["other"]
    cluster.confirm(effects)
    _assert_nothing_left(cluster)


def test_binding_refused_because_the_pod_was_bound_elsewhere_leaves_it_there(cluster: Cluster) -> None:
    cluster.put(make_node("n1").build())
    (binding,) = cluster.step(make_pod().req(cpu="1").build()).bindings
    elsewhere = "n1" if binding.node_name == "n0" else "n0"
    effects = cluster.step(
        make_pod().req(cpu="1").on(elsewhere).build(),
        BindingVerdict(UID, binding.node_name, bound=False, message="already assigned"),
    )
    assert _pods_on(cluster, elsewhere) == [UID] and _pods_on(cluster, binding.node_name) == []
    assert "forgotten" not in _moves(effects)
    _assert_nothing_left(cluster)


def test_pod_gated_while_it_is_bound_waits_gated_after_the_refusal(cluster: Cluster) -> None:
    """No API server lets a gate be added; a replaced object may carry one all the same."""
    _being_bound(cluster)
    effects = cluster.step(
        make_pod().req(cpu="1").gate("hold").build(), BindingVerdict(UID, "n0", bound=False, message="gated")
    )
    assert _moves(effects) == ["finished", "forgotten", "to gated"]
    assert cluster.scheduler.next_due(cluster.now) is None
    assert [each.name for each in cluster.step(make_pod().req(cpu="1").build()).bindings] == ["pod"]


def test_deleted_pod_created_anew_is_scheduled_beside_the_one_being_bound() -> None:
    """Same name, other uid: the old binding's refusal is no business of the new pod."""
    cluster = _cluster(cpu="2")
    old = _being_bound(cluster)
    new = make_pod(uid="new").req(cpu="1").build()
    effects = cluster.step(ObjectDeleted("Pod", "default", "pod", old.uid), ObjectPut(new))
    assert [each.pod_uid for each in effects.bindings] == ["new"]
    refused = cluster.step(BindingVerdict(old.uid, "n0", bound=False, message="another pod"))
    assert {event.regarding_uid for event in refused.events} == {old.uid}
    assert refused.status_patches == []
    assert _pods_on(cluster) == ["new"]
    # As upstream the namesake is put back for the one that failed; being assumed it is passed over.
    again = cluster.step(after=3 * SECOND)
    assert [attempt.result for attempt in again.attempts] == ["skipped"]
    cluster.step(ObjectPut(new.on_node("n0")), BindingVerdict("new", "n0", bound=True))
    assert _pods_on(cluster) == ["new"]
    _assert_nothing_left(cluster)


def test_namesake_replacing_a_pod_being_bound_without_a_deletion_is_another_pod() -> None:
    cluster = _cluster(cpu="2")
    old = _being_bound(cluster)
    new = make_pod(uid="new").req(cpu="1").build()
    assert [each.pod_uid for each in cluster.step(new).bindings] == ["new"]
    assert cluster.delete(old).is_empty  # late, and meant for the one before


@pytest.mark.parametrize("bound", [True, False], ids=["bound all the same", "refused"])
def test_node_deleted_between_assume_and_bind_leaves_no_ghost(cluster: Cluster, bound: bool) -> None:
    pod = _being_bound(cluster)
    cluster.step(ObjectDeleted("Node", "", "n0"))
    changes: list[Change] = [ObjectPut(pod.on_node("n0"))] if bound else []
    cluster.step(*changes, BindingVerdict(UID, "n0", bound=bound, message="" if bound else "no such node"))
    assert _pods_on(cluster) == ([UID] if bound else [])
    cluster.delete(pod)
    assert dict(cluster.scheduler.engine.cache.items) == {}
    _assert_nothing_left(cluster)


def test_node_back_under_its_name_still_counts_the_pod_on_its_way(cluster: Cluster) -> None:
    _being_bound(cluster)
    cluster.step(ObjectDeleted("Node", "", "n0"))
    effects = cluster.step(
        make_node("n0", uid="again").capacity(cpu="1").build(), make_pod("other").req(cpu="1").build()
    )
    assert [attempt.result for attempt in effects.attempts] == ["unschedulable"]


def test_restored_binding_is_confirmed_like_any_other() -> None:
    cluster = start(profile(default=True))
    cluster.scheduler.restore_bindings([(UID, "n0")])
    pod = make_pod().req(cpu="1").build()
    cluster.put(make_node("n0").build(), pod)
    effects = cluster.step(ObjectPut(pod.on_node("n0")), BindingVerdict(UID, "n0", bound=True))
    assert _moves(effects) == ["confirmed", "finished"]
    assert [event.reason for event in effects.events] == ["Scheduled"]
    _assert_nothing_left(cluster)


def test_restored_binding_made_before_the_engine_looked_needs_no_verdict() -> None:
    cluster = start(profile(default=True))
    cluster.scheduler.restore_bindings([(UID, "n0")])
    effects = cluster.step(make_node("n0").build(), make_pod().on("n0").build(), BindingVerdict(UID, "n0", bound=True))
    assert _moves(effects) == ["confirmed"]
    _assert_nothing_left(cluster)


def test_restored_binding_of_a_pod_that_is_gone_is_dropped_at_its_verdict() -> None:
    cluster = start(profile(default=True))
    cluster.scheduler.restore_bindings([("gone", "n0")])
    assert cluster.step(BindingVerdict("gone", "n0", bound=False, message="not found")).is_empty
    _assert_nothing_left(cluster)


def test_paused_engine_keeps_its_queue_right() -> None:
    """No cycle runs, but pods come, change, go and are bound elsewhere, backoff ends, and bindings are confirmed."""
    cluster = _cluster(cpu="8")
    big = make_pod("big").req(cpu="9").build()
    cluster.step(big)
    pods = [make_pod(name).priority(priority).req(cpu="1").build() for name, priority in (("a", 1), ("b", 2), ("c", 3))]
    effects = cluster.step(*pods, budget=NO_CYCLES)
    assert effects.attempts == [] and effects.more
    cluster.step(ObjectDeleted("Pod", "default", "b"), ObjectPut(pods[2].on_node("n0")), budget=NO_CYCLES)
    raised = make_pod("d").priority(9).req(cpu="1").build()
    cluster.step(raised, make_node("n1").capacity(cpu="16").build(), budget=NO_CYCLES)
    assert cluster.scheduler.engine.queue.sizes() == {"active": 2, "backoff": 1, "unschedulable": 0, "gated": 0}
    effects = cluster.step(budget=NO_CYCLES, after=3 * SECOND)
    assert [move.pod_key for move in effects.moves if isinstance(move, QueueMove)] == ["default/big"]
    effects = cluster.step()
    assert [attempt.pod_key for attempt in effects.attempts] == ["default/d", "default/a", "default/big"]
    assert {attempt.result for attempt in effects.attempts} == {"scheduled"}
    assert not effects.more
    cluster.confirm(effects)
    _assert_nothing_left(cluster)


@cases(
    "change",
    ("unknown pod deleted", ObjectDeleted("Pod", "default", "nobody", "u")),
    ("unknown node deleted", ObjectDeleted("Node", "", "nowhere")),
    ("unknown object deleted", ObjectDeleted("Deployment", "default", "web")),
    ("unknown kind deleted", ObjectDeleted("Widget", "default", "web")),
    ("unknown pod bound", BindingVerdict("nobody", "n0", bound=True)),
    ("unknown pod refused", BindingVerdict("nobody", "n0", bound=False, message="x")),
    ("unknown pod permitted", PermitVerdict("nobody", "P", allowed=True)),
    ("unknown pod prepared", PreBindVerdict("nobody", "P", done=True)),
    ("unknown preemptor", EvictionVerdict("nobody", done=True)),
    ("a kind nobody schedules by", ObjectPut(make("Namespace", "team"))),
    ("a workload", ObjectPut(make("Deployment", "web"))),
    ("a pod of another scheduler", ObjectPut(make_pod("theirs").scheduler("another").build())),
)
def test_change_that_concerns_nobody_changes_nothing(cluster: Cluster, change: Change) -> None:
    assert cluster.step(change).is_empty
    assert cluster.step(after=SECOND).is_empty
    _assert_nothing_left(cluster)


def test_pod_of_another_scheduler_counts_once_it_is_assigned(cluster: Cluster) -> None:
    theirs = make_pod("theirs").scheduler("another").req(cpu="1")
    cluster.step(theirs.build())
    cluster.step(theirs.label(changed="yes").build())
    assert _moves(cluster.step(theirs.on("n0").build())) == ["confirmed"]
    assert cluster.attempt(make_pod().req(cpu="1").build()).result == "unschedulable"
    assert [each.name for each in cluster.delete(theirs.build(), after=2 * SECOND).bindings] == ["pod"]


def test_pod_without_uid_fails_and_others_go_on(cluster: Cluster) -> None:
    """No API server leaves a pod without one; it must not stop the engine."""
    nameless = make_pod("nameless").build()
    nameless = msgspec.structs.replace(nameless, metadata=msgspec.structs.replace(nameless.metadata, uid=""))
    effects = cluster.step(nameless, make_pod().build())
    assert {attempt.pod_key: attempt.result for attempt in effects.attempts} == {
        "default/nameless": "error",
        "default/pod": "scheduled",
    }
    assert effects.attempts[0].message == "cannot get cache key for pod with empty UID"
    cluster.step(nameless, after=3 * SECOND)
    cluster.step(ObjectDeleted("Pod", "default", "nameless"))
    cluster.confirm(effects)
    _assert_nothing_left(cluster)


def test_requests_beyond_64_bits_do_not_stop_the_engine(cluster: Cluster) -> None:
    """Two pods on a node may ask for more bytes together than 64 bits count."""
    cluster.put(*[make_pod(f"huge-{i}").req(cpu="9P", memory="7Ei").on("n0").build() for i in range(3)])
    attempt = cluster.attempt(make_pod().req(cpu="1m", memory="1").build())
    assert attempt.message.startswith("0/1 nodes are available: 1 Insufficient cpu, 1 Insufficient memory.")
    cluster.put(make_node("n1").build())
    effects = cluster.step(make_pod("empty").build(), after=2 * SECOND)
    assert {each.node_name for each in effects.attempts} == {"n1"}
