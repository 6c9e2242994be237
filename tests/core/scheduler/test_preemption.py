"""Preemption through the engine: who may, what is said, what is asked for, and how the evictions come about."""

from __future__ import annotations

from typing import Any

from scheduler_core import config
from scheduler_core.api.meta import KubeObject
from scheduler_core.build import build
from scheduler_core.model.effects import Effects, PreemptionRecord
from scheduler_core.ports import FirstDraws, SeededDraws
from tests.builders import PodBuilder, make, make_pod, scheduler_config
from tests.cases import cases
from tests.core.scheduler.harness import SECOND, Cluster, profile, start
from tests.core.scheduler.preempting import cluster_with, evicted, high, low, moves_of, node, verdict

HELPLESS = "Preemption is not helpful for scheduling"


NOBODY = "No preemption victims found for incoming pod"


NO_CLAIMS = "no new claims to deallocate, preemption: "


def record_of(effects: Effects) -> PreemptionRecord:
    (attempt,) = effects.attempts
    assert attempt.post_filter is not None and attempt.post_filter.preemption is not None
    return attempt.post_filter.preemption


@cases(
    "objects, pod, message",
    ("only equals", [node("n1"), low("a", priority=100).build(), low("b", priority=100).build()], high(cpu="3"),
     f"0/1 nodes are available: 1 Insufficient cpu. {NO_CLAIMS}0/1 nodes are available: 1 {NOBODY}."),
    ("one node is out of the question", [node("n1"), node("n2", taint=True), low("a", priority=100).build()],
     high(cpu="3"),
     "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint {k: v}."
     f" {NO_CLAIMS}0/2 nodes are available: 1 {NOBODY}, 1 {HELPLESS}."),
    ("larger than every node", [node("n1"), node("n2")], high(cpu="9"),
     f"0/2 nodes are available: 2 Insufficient cpu. {NO_CLAIMS}0/2 nodes are available: 2 {HELPLESS}."),
    ("victims would not free enough", [node("n1"), low("a", cpu="1").build(), low("b", cpu="3", priority=100).build()],
     high(cpu="2"),
     f"0/1 nodes are available: 1 Insufficient cpu. {NO_CLAIMS}0/1 nodes are available: 1 Insufficient cpu."),
    ("it never preempts", [node("n1"), low("a").build()], high().never_preempts(),
     f"0/1 nodes are available: 1 Insufficient cpu. {NO_CLAIMS}not eligible due to preemptionPolicy=Never."),
    ("it preempts", [node("n1"), low("a").build()], high(), "0/1 nodes are available: 1 Insufficient cpu."),
)  # fmt: skip
def test_pod_that_fits_nowhere_is_told_why(objects: list[KubeObject], pod: PodBuilder, message: str) -> None:
    attempt = cluster_with(*objects).attempt(pod.build())
    assert (attempt.result, attempt.message) == ("unschedulable", message)


@cases(
    "leaving, may",
    ("preempted and on its way out",
     low("a").deleted().condition("DisruptionTarget", "True", reason="PreemptionByScheduler"), False),
    ("leaving for another reason", low("a").deleted(), True),
    ("evicted through the API",
     low("a").deleted().condition("DisruptionTarget", "True", reason="EvictionByEvictionAPI"), True),
    ("not of lower priority",
     low("a", priority=100).deleted().condition("DisruptionTarget", "True", reason="PreemptionByScheduler"), True),
    ("it stays", low("a"), True),
)  # fmt: skip
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


@cases(
    "args, n_nodes, want",
    ("few nodes: all", {}, 5, 5),
    ("the share", {"minCandidateNodesPercentage": 50, "minCandidateNodesAbsolute": 1}, 9, 4),
    ("the number", {"minCandidateNodesPercentage": 0, "minCandidateNodesAbsolute": 2}, 9, 2),
)
def test_as_many_candidates_are_looked_for_as_configured(args: dict[str, int], n_nodes: int, want: int) -> None:
    document = scheduler_config(profiles=[{"pluginConfig": [{"name": "DefaultPreemption", "args": args}]}])
    cluster = Cluster(build(config.load(document), draws=FirstDraws()))
    cluster.put(*(node(f"n{number}") for number in range(n_nodes)))
    cluster.put(*(low(f"p{number}", node_name=f"n{number}").build() for number in range(n_nodes)))
    record = record_of(cluster.step(high().build()))
    assert (record.num_candidates, len(record.candidates)) == (want, want)


def claiming(pod: PodBuilder, **entry: str) -> PodBuilder:
    return pod.spec(resourceClaims=[{"name": "gpu", **entry}])


def claim(name: str, **fields: Any) -> KubeObject:
    made: KubeObject = make("ResourceClaim", name, **fields)
    return made


def test_pod_whose_claim_is_missing_is_gated_until_it_is_there() -> None:
    cluster = cluster_with(node("n1"))
    pod = claiming(make_pod("p"), resourceClaimName="c").build()
    effects = cluster.step(pod)
    assert (moves_of(effects, pod), effects.attempts) == (["gated"], [])
    effects = cluster.step(claim("c", status={"allocation": {}}), after=20 * SECOND)
    assert [attempt.result for attempt in effects.attempts] == ["scheduled"]
