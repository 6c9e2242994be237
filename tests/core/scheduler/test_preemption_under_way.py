"""Evictions of a preemption: batches, verdicts, and victims that wait in Permit."""

from __future__ import annotations

import pytest

from scheduler_core.api.meta import KubeObject
from scheduler_core.api.pod import Pod
from scheduler_core.build import build
from scheduler_core.model.changes import EvictionVerdict, ObjectDeleted
from scheduler_core.model.effects import Effects, PreemptionRecord, QueueMove
from scheduler_core.model.status import SUCCESS, WAIT, Status
from scheduler_core.plugins.default_preemption import UNDER_WAY, DefaultPreemption
from scheduler_core.ports import FirstDraws
from scheduler_core.scheduler import checkpoint
from tests.builders import PodBuilder, make_pod
from tests.cases import cases
from tests.core.scheduler.harness import SECOND, BindingPlugin, Cluster, ToldPlugins, profile, start
from tests.core.scheduler.preempting import cluster_with, evicted, high, low, moves_of, node, verdict


def gone(*pods: PodBuilder) -> list[ObjectDeleted]:
    built = [pod.build() for pod in pods]
    return [ObjectDeleted("Pod", pod.namespace, pod.name, pod.uid) for pod in built]


A, B, C = (low(name, cpu="1") for name in "abc")


def under_way() -> tuple[Cluster, Pod, Effects]:
    """Three victims, of which two are asked for."""
    cluster = cluster_with(node("n1", cpu="3"), A.build(), B.build(), C.build())
    pod = high(cpu="3").build()
    return cluster, pod, cluster.step(pod)


def test_all_but_the_last_victim_are_asked_for_and_then_the_last() -> None:
    cluster, pod, effects = under_way()
    assert evicted(effects) == ["a", "b"]
    assert evicted(cluster.step(verdict(pod, A))) == []  # half an answer
    assert evicted(cluster.step(verdict(pod, B))) == ["c"]
    assert evicted(cluster.step(verdict(pod, C))) == []


def test_preemptor_is_gated_until_the_others_have_gone() -> None:
    cluster, pod, _ = under_way()
    effects = cluster.step(*gone(A, B), after=SECOND)
    assert (set(moves_of(effects, pod)), effects.attempts) == ({"gated"}, [])  # each deletion was worth a look
    effects = cluster.step(verdict(pod, A, B), after=SECOND)
    assert (evicted(effects), moves_of(effects, pod)) == (["c"], [])
    effects = cluster.step(*gone(C), verdict(pod, C), after=20 * SECOND)
    assert [(attempt.result, attempt.node_name) for attempt in effects.attempts] == [("scheduled", "n1")]


def test_gate_says_that_the_preemption_is_not_over() -> None:
    cluster, pod, _ = under_way()
    plugins = cluster.scheduler.engine.frameworks["default-scheduler"].instances.values()
    (plugin,) = (each for each in plugins if isinstance(each, DefaultPreemption))
    assert plugin.pre_enqueue(pod).reasons == (UNDER_WAY,)
    assert plugin.pre_enqueue(high("another").build()).is_success


@cases(
    "answer",
    ("a failure", {"done": False}),
    ("nobody was left to delete", {"gone_too": True}),
)
def test_preemptor_is_activated_when_no_deletion_will_wake_it(answer: dict[str, bool]) -> None:
    victim, pod = low("a", cpu="4"), high().build()
    cluster = cluster_with(node("n1"), victim.build())
    cluster.step(pod)
    effects = cluster.step(verdict(pod, victim, **answer))
    assert [move.event for move in effects.moves if isinstance(move, QueueMove)][0] == "ForceActivate"
    assert effects.events[0].reason != "Preempted"


def test_failed_batch_activates_the_preemptor_and_asks_for_nobody_else() -> None:
    cluster, pod, _ = under_way()
    cluster.step(verdict(pod, A))
    effects = cluster.step(verdict(pod, B, done=False))
    assert moves_of(effects, pod)[0] == "active"
    assert [attempt.pod_uid for attempt in effects.attempts] == [pod.uid]  # it is tried, and preempts anew
    assert evicted(effects) == ["a", "b"]


def test_verdict_on_nothing_asked_for_changes_nothing() -> None:
    cluster, pod, _ = under_way()
    assert cluster.step(EvictionVerdict("nobody", done=True)).is_empty
    assert cluster.step(verdict(pod, low("stranger"))).is_empty


def test_verdict_without_names_answers_for_all_asked_for() -> None:
    cluster, pod, _ = under_way()
    assert evicted(cluster.step(EvictionVerdict(pod.uid, done=True))) == ["c"]


@pytest.mark.parametrize("answered", [0, 1, 2])
def test_checkpoint_keeps_a_preemption_under_way(answered: int) -> None:
    cluster, pod, _ = under_way()
    for victim in (A, B)[:answered]:
        cluster.step(verdict(pod, victim))
    again = build(draws=FirstDraws(), state=checkpoint.dump(cluster.scheduler))
    twin = Cluster(again, now=cluster.now)
    for victim in (A, B, C)[answered:]:
        for change in (*gone(victim), verdict(pod, victim)):
            one, other = cluster.step(change, after=SECOND), twin.step(change, after=SECOND)
            assert (one.evictions, one.events, one.moves) == (other.evictions, other.events, other.moves)
    assert cluster.scheduler.engine.store.pod(pod.key) is not None
    assert checkpoint.dump(cluster.scheduler) == checkpoint.dump(again)


def waiting_cluster(*others: KubeObject) -> tuple[Cluster, Pod]:
    """`waiter` (one CPU) stands on n1 and waits for Permit."""

    def permit(pod: Pod, node_name: str) -> tuple[Status, int]:
        return (WAIT, 600 * SECOND) if pod.name == "waiter" else (SUCCESS, 0)

    cluster = start(profile("Hold", default=True), plugins=ToldPlugins().add("Hold", BindingPlugin, permit=permit))
    cluster.put(node("n1"), *others)
    waiter = make_pod("waiter").req(cpu="1").build()
    assert cluster.attempt(waiter).result == "scheduled"
    return cluster, waiter


def test_waiting_victim_is_rejected_not_deleted() -> None:
    cluster, waiter = waiting_cluster()
    pod = high().build()
    effects = cluster.step(pod)
    assert effects.evictions == []
    assert record_of_first(effects).victims == (waiter.key,)
    assert [event.regarding_key for event in effects.events if event.reason == "Preempted"] == [waiter.key]
    failed = [event for event in effects.events if event.regarding_uid == waiter.uid and event.type == "Warning"]
    assert "preempted" in failed[0].note
    assert cluster.scheduler.engine.cache.is_assumed_pod(waiter) is False


def test_running_victims_go_before_a_waiting_last_one_is_rejected() -> None:
    runner = low("runner", cpu="3", priority=5)
    cluster, waiter = waiting_cluster(runner.build())
    pod = high().build()
    effects = cluster.step(pod)
    assert evicted(effects) == ["runner"]
    assert cluster.scheduler.engine.cache.is_assumed_pod(waiter)
    effects = cluster.step(*gone(runner), verdict(pod, runner), after=20 * SECOND)
    assert not cluster.scheduler.engine.cache.is_assumed_pod(waiter)
    assert [attempt.pod_key for attempt in effects.attempts if attempt.result == "scheduled"] == [pod.key]


def record_of_first(effects: Effects) -> PreemptionRecord:
    record = effects.attempts[0].post_filter
    assert record is not None and record.preemption is not None
    return record.preemption
