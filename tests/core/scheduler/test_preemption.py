"""Preemption through the engine: who may, what is said, what is asked for, and how the evictions come about."""

# Longer than 400 lines because it has a test for each step of a preemption.

from __future__ import annotations

from typing import Any

import pytest

from scheduler_core import config
from scheduler_core.api import manifests
from scheduler_core.api.meta import KubeObject
from scheduler_core.api.pod import Pod
from scheduler_core.build import build
from scheduler_core.model.changes import EvictionVerdict, ObjectDeleted
from scheduler_core.model.effects import Effects, PreemptionRecord, QueueMove
from scheduler_core.model.status import SUCCESS, WAIT, Status
from scheduler_core.plugins.default_preemption import UNDER_WAY, DefaultPreemption
from scheduler_core.ports import FirstDraws, SeededDraws
from scheduler_core.scheduler import checkpoint
from tests.builders import PodBuilder, make_node, make_pod
from tests.core.scheduler.harness import SECOND, BindingPlugin, Cluster, ToldPlugins, profile, start

HELPLESS = "Preemption is not helpful for scheduling"
NOBODY = "No preemption victims found for incoming pod"
NO_CLAIMS = "no new claims to deallocate, preemption: "


def node(name: str, cpu: str = "4", *, taint: bool = False) -> KubeObject:
    built = make_node(name).capacity(cpu=cpu, memory="8Gi", pods="110")
    return (built.taint("k", "v") if taint else built).build()


def low(name: str, cpu: str = "2", node_name: str = "n1", priority: int = 0) -> PodBuilder:
    return make_pod(name).req(cpu=cpu).on(node_name).phase("Running").priority(priority)


def high(name: str = "high", cpu: str = "4", priority: int = 100) -> PodBuilder:
    return make_pod(name).req(cpu=cpu).priority(priority)


def cluster_with(*objects: KubeObject, **options: Any) -> Cluster:
    cluster = start(**options)
    cluster.put(*objects)
    return cluster


def record_of(effects: Effects) -> PreemptionRecord:
    (attempt,) = effects.attempts
    assert attempt.post_filter is not None and attempt.post_filter.preemption is not None
    return attempt.post_filter.preemption


def evicted(effects: Effects) -> list[str]:
    return [eviction.name for eviction in effects.evictions]


def moves_of(effects: Effects, pod: Pod) -> list[str]:
    return [move.to for move in effects.moves if isinstance(move, QueueMove) and move.pod_uid == pod.uid]


def gone(*pods: PodBuilder) -> list[ObjectDeleted]:
    built = [pod.build() for pod in pods]
    return [ObjectDeleted("Pod", pod.namespace, pod.name, pod.uid) for pod in built]


def verdict(pod: Pod, *victims: PodBuilder, done: bool = True, gone_too: bool = False) -> EvictionVerdict:
    uids = tuple(victim.build().uid for victim in victims)
    return EvictionVerdict(pod.uid, done, "", 0, uids, uids if gone_too else ())


# What is said


@pytest.mark.parametrize(
    ("objects", "pod", "message"),
    [
        pytest.param(
            [node("n1"), low("a", priority=100).build(), low("b", priority=100).build()],
            high(cpu="3"),
            f"0/1 nodes are available: 1 Insufficient cpu. {NO_CLAIMS}0/1 nodes are available: 1 {NOBODY}.",
            id="only equals",
        ),
        pytest.param(
            [node("n1"), node("n2", taint=True), low("a", priority=100).build()],
            high(cpu="3"),
            "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint {k: v}."
            f" {NO_CLAIMS}0/2 nodes are available: 1 {NOBODY}, 1 {HELPLESS}.",
            id="one node is out of the question",
        ),
        pytest.param(
            [node("n1"), node("n2")],
            high(cpu="9"),
            f"0/2 nodes are available: 2 Insufficient cpu. {NO_CLAIMS}0/2 nodes are available: 2 {HELPLESS}.",
            id="larger than every node",
        ),
        pytest.param(
            [node("n1"), low("a", cpu="1").build(), low("b", cpu="3", priority=100).build()],
            high(cpu="2"),
            f"0/1 nodes are available: 1 Insufficient cpu. {NO_CLAIMS}0/1 nodes are available: 1 Insufficient cpu.",
            id="victims would not free enough",
        ),
        pytest.param(
            [node("n1"), low("a").build()],
            high().never_preempts(),
            f"0/1 nodes are available: 1 Insufficient cpu. {NO_CLAIMS}not eligible due to preemptionPolicy=Never.",
            id="it never preempts",
        ),
        pytest.param(
            [node("n1"), low("a").build()], high(), "0/1 nodes are available: 1 Insufficient cpu.", id="it preempts"
        ),
    ],
)
def test_pod_that_fits_nowhere_is_told_why(objects: list[KubeObject], pod: PodBuilder, message: str) -> None:
    attempt = cluster_with(*objects).attempt(pod.build())
    assert (attempt.result, attempt.message) == ("unschedulable", message)


@pytest.mark.parametrize(
    ("leaving", "may"),
    [
        pytest.param(
            low("a").deleted().condition("DisruptionTarget", "True", reason="PreemptionByScheduler"),
            False,
            id="preempted and on its way out",
        ),
        pytest.param(low("a").deleted(), True, id="leaving for another reason"),
        pytest.param(
            low("a").deleted().condition("DisruptionTarget", "True", reason="EvictionByEvictionAPI"),
            True,
            id="evicted through the API",
        ),
        pytest.param(
            low("a", priority=100).deleted().condition("DisruptionTarget", "True", reason="PreemptionByScheduler"),
            True,
            id="not of lower priority",
        ),
        pytest.param(low("a"), True, id="it stays"),
    ],
)
def test_nominated_pod_waits_for_its_victims(leaving: PodBuilder, may: bool) -> None:
    cluster = cluster_with(node("n1"), leaving.build())
    attempt = cluster.attempt(high().nominated("n1").build())
    waits = attempt.message.endswith("preemption: not eligible due to a terminating pod on the nominated node.")
    assert waits is not may
    assert (attempt.nominated_node_name is None) is waits  # a pod that waits keeps its nomination


def test_nominated_pod_does_not_wait_when_its_node_is_out_of_the_question() -> None:
    leaving = low("a").deleted().condition("DisruptionTarget", "True", reason="PreemptionByScheduler")
    cluster = cluster_with(node("n1", taint=True), node("n2"), leaving.build(), low("b", node_name="n2").build())
    assert evicted(cluster.step(high().nominated("n1").build())) == ["b"]


def test_nomination_is_cleared_when_no_candidate_is_left() -> None:
    attempt = cluster_with(node("n1")).attempt(high(cpu="9").nominated("n1").build())
    assert attempt.nominated_node_name == ""


def test_profile_without_the_plugin_says_nothing_of_preemption() -> None:
    cluster = start(profile("NodeResourcesFit"))
    cluster.put(node("n1"), low("a").build())
    assert cluster.attempt(high().build()).message == "0/1 nodes are available: 1 Insufficient cpu."


# What is asked for


def test_one_victim_is_asked_for_at_once_and_the_node_nominated() -> None:
    cluster = cluster_with(node("n1"), low("a", cpu="4").build())
    pod = high().build()
    effects = cluster.step(pod)
    (eviction,) = effects.evictions
    assert (eviction.namespace, eviction.name, eviction.preemptor_uid, eviction.node_name) == (
        "default", "a", pod.uid, "n1",
    )  # fmt: skip
    assert eviction.message == "default-scheduler: preempting to accommodate a higher priority pod"
    assert effects.attempts[0].nominated_node_name == "n1"
    (patch,) = effects.status_patches
    assert (patch.pod_uid, patch.condition_status, patch.nominated_node_name) == (pod.uid, "False", "n1")
    assert not effects.events[1:], "the victim's event is told once it has gone"


def test_event_tells_of_the_victim_when_it_has_gone() -> None:
    victim, pod = low("a", cpu="4"), high().build()
    cluster = cluster_with(node("n1"), victim.build())
    cluster.step(pod)
    (event,) = cluster.step(verdict(pod, victim)).events
    assert (event.type, event.reason, event.action, event.regarding_key) == (
        "Normal", "Preempted", "Preempting", "default/a",
    )  # fmt: skip
    assert event.note == f"Preempted by pod {pod.uid} on node n1"


def test_lower_pods_lose_their_nomination_to_the_node() -> None:
    cluster = cluster_with(node("n1"), low("a", cpu="4").build())
    waiting = [high(name, priority=priority).build() for name, priority in (("lower", 50), ("equal", 100))]
    cluster.step(waiting[0])
    cluster.put(*(each for each in (high("lower", priority=50).nominated("n1").build(),)))
    effects = cluster.step(waiting[1])
    cleared = [(p.name, p.condition_status, p.nominated_node_name) for p in effects.status_patches[:1]]
    assert cleared == [("lower", "", "")]
    assert record_of(effects).cleared_nominations == ("default/lower",)


def test_nothing_is_asked_for_when_all_victims_leave_already() -> None:
    cluster = cluster_with(node("n1"), low("a", cpu="4").deleted().build())
    effects = cluster.step(high().build())
    assert effects.attempts[0].nominated_node_name == "n1"
    assert (effects.evictions, record_of(effects).victims) == ([], ("default/a",))


def test_offset_is_drawn_and_turns_the_order() -> None:
    nodes = [node(f"n{number}") for number in range(8)]
    pods = [low(f"p{number}", cpu="4", node_name=f"n{number}").build() for number in range(8)]
    offsets = set()
    for seed in range(6):
        cluster = cluster_with(*nodes, *pods, draws=SeededDraws(seed))
        record = record_of(cluster.step(high().build()))
        assert record.potential_nodes[0] == f"n{record.offset}"
        assert record.chosen == record.candidates[0].node_name
        assert len(record.tied) == 8
        offsets.add(record.offset)
    assert len(offsets) > 1


@pytest.mark.parametrize(
    ("args", "n_nodes", "want"),
    [
        pytest.param({}, 5, 5, id="few nodes: all"),
        pytest.param({"minCandidateNodesPercentage": 50, "minCandidateNodesAbsolute": 1}, 9, 4, id="the share"),
        pytest.param({"minCandidateNodesPercentage": 0, "minCandidateNodesAbsolute": 2}, 9, 2, id="the number"),
    ],
)
def test_as_many_candidates_are_looked_for_as_configured(args: dict[str, int], n_nodes: int, want: int) -> None:
    document = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"pluginConfig": [{"name": "DefaultPreemption", "args": args}]}],
    }
    cluster = Cluster(build(config.load(document), draws=FirstDraws()))
    cluster.put(*(node(f"n{number}") for number in range(n_nodes)))
    cluster.put(*(low(f"p{number}", node_name=f"n{number}").build() for number in range(n_nodes)))
    record = record_of(cluster.step(high().build()))
    assert (record.num_candidates, len(record.candidates)) == (want, want)


# How it is carried out

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


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param({"done": False}, id="a failure"),
        pytest.param({"gone_too": True}, id="nobody was left to delete"),
    ],
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


# Victims that wait for Permit


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


# Claims: what the plugin before preemption has to say


def claiming(pod: PodBuilder, **entry: str) -> PodBuilder:
    return pod.spec(resourceClaims=[{"name": "gpu", **entry}])


def claim(name: str, **fields: Any) -> KubeObject:
    manifest = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}"},
        **fields,
    }
    return manifests.decode(manifest)


def test_pod_whose_claim_is_missing_is_gated_until_it_is_there() -> None:
    cluster = cluster_with(node("n1"))
    pod = claiming(make_pod("p"), resourceClaimName="c").build()
    effects = cluster.step(pod)
    assert (moves_of(effects, pod), effects.attempts) == (["gated"], [])
    effects = cluster.step(claim("c", status={"allocation": {}}), after=20 * SECOND)
    assert [attempt.result for attempt in effects.attempts] == ["scheduled"]
