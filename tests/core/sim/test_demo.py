"""The script: Jobs that arrive, the events of a round, and what it does after pauses and restarts."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from scheduler_core.api import manifests
from scheduler_core.api.batch import Job as JobObject
from scheduler_core.api.meta import ObjectMeta
from scheduler_core.api.node import Node, NodeSpec
from scheduler_core.apiserver.requests import Create, ObjectKey, Patch, PatchType, Request
from scheduler_core.controllers.controller import ClusterOptions
from scheduler_core.model.changes import ObjectDeleted, ObjectPut
from scheduler_core.sim.demo import (
    JOB_TTL_SECONDS,
    MAX_CATCH_UP_TICKS,
    OPEN_AT,
    DemoController,
    Job,
    NodeSummary,
    Rollout,
    Script,
    StateSummary,
    first_jobs,
    job_manifest,
    script_tick,
)
from tests.builders import make_pod
from tests.cases import cases

SECOND = 1_000_000
START = 1_900_000_000 * SECOND  # 2030-03-17T17:46:40Z
SPEC = {"containers": [{"name": "c", "image": "i"}]}
RESIZE = Job("batch", "resize", SPEC, (10, 20), share=3, pods=4)
LAUNCH = Job("web", "launch", SPEC, (30, 30), pods=30)
SCRIPT = Script(
    rollouts=(Rollout("web", "shop", "registry.example/shop"), Rollout("web", "blog", "registry.example/blog")),
    jobs=(RESIZE, Job("batch", "count", SPEC, (5, 5), pods=2)),
    of_round=((180, LAUNCH),),
    disturbed=("n1", "n2", "n3"),
    max_pods=50,
)
NODES = [NodeSummary(f"n{number}", f"uid-{number}") for number in range(5)]


def at(seconds: float) -> int:
    return START + round(seconds * SECOND)


def tick(seconds: float, seed: int = 1, **state: Any) -> list[Request]:
    given = StateSummary(pods=6, nodes=NODES, started_at=START)
    return script_tick(SCRIPT, seed, replace(given, **state), at(seconds))


def jobs_of(requests: list[Request]) -> list[str]:
    return [each.manifest["metadata"]["labels"]["app"] for each in requests if isinstance(each, Create)]


def arrivals(requests: list[Request]) -> list[str]:
    return [app for app in jobs_of(requests) if app != "launch"]


def patches(requests: list[Request], kind: str) -> list[Patch]:
    return [each for each in requests if isinstance(each, Patch) and each.key.kind == kind]


def test_a_pod_a_second_arrive_in_the_mean() -> None:
    arrived = Counter(app for second in range(4000) for app in arrivals(tick(second)))
    assert 3700 < arrived["resize"] * 4 + arrived["count"] * 2 < 4300
    # Three of four draws choose the first, of which one comes for each two of the other.
    assert 1.2 < arrived["resize"] / arrived["count"] < 1.8


def test_jobs_run_for_a_time_within_their_bounds() -> None:
    times = Counter[int]()
    for number in range(200):
        manifest = job_manifest(RESIZE, f"resize-{number}", 1)
        times[int(manifest["spec"]["template"]["metadata"]["annotations"]["kschedweb.io/run-seconds"])] += 1
    assert set(times) == set(range(10, 21))


def test_job_is_one_that_the_api_server_takes_and_that_goes_by_itself() -> None:
    job = replace(RESIZE, annotations={"a": "b"}, settings={"backoffLimit": 0})
    spec = job_manifest(job, "resize-1", 1)["spec"]
    assert (spec["parallelism"], spec["completions"], spec["backoffLimit"]) == (4, 4, 0)
    assert spec["ttlSecondsAfterFinished"] == JOB_TTL_SECONDS
    assert spec["template"]["spec"]["restartPolicy"] == "Never"
    assert spec["template"]["metadata"]["annotations"]["a"] == "b"
    assert "restartPolicy" not in SPEC


def test_nothing_arrives_when_the_cluster_is_full() -> None:
    assert not any(arrivals(tick(second, pods=SCRIPT.max_pods)) for second in range(200))
    assert any(arrivals(tick(second, pods=SCRIPT.max_pods - 4)) for second in range(200))


@cases(
    "second, pods, comes",
    ("before", 179, 0, False),
    ("at its time", 180, 0, True),
    ("after", 181, 0, False),
    ("next round", 660, 0, True),
    ("on top of a full cluster", 180, 50, True),
    ("not on top of another one", 180, 51, False),
)
def test_job_of_a_round_has_its_time(second: float, pods: int, comes: bool) -> None:
    assert ("launch" in jobs_of(tick(second, pods=pods))) == comes


def test_script_says_the_same_when_asked_again() -> None:
    assert tick(90) == tick(90)
    assert any(tick(second, seed=1) != tick(second, seed=2) for second in range(20))


@cases(
    "second, name, tag",
    ("first round", 30, "shop", 2),
    ("second round", 510, "blog", 2),
    ("third round", 990, "shop", 3),
)
def test_rollouts_take_turns(second: float, name: str, tag: int) -> None:
    (patch,) = patches(tick(second), "Deployment")
    assert (patch.key, patch.patch_type) == (ObjectKey("Deployment", "web", name), PatchType.STRATEGIC)
    (container,) = patch.body["spec"]["template"]["spec"]["containers"]  # type: ignore[call-overload]
    assert container == {"name": name, "image": f"registry.example/{name}:{tag}"}
    assert not patches(tick(second + 1), "Deployment")


def test_node_is_drained_and_opened_again() -> None:
    (patch,) = patches(tick(SCRIPT.drain_at), "Node")
    assert patch.key.name in SCRIPT.disturbed
    assert patch.uid == f"uid-{patch.key.name[1:]}"
    until = "2030-03-17T17:48:55Z"
    assert patch.body == {"metadata": {"annotations": {"kschedweb.io/drain": "requested", OPEN_AT: until}}}
    closed = [NodeSummary("n1", "uid-1", is_free=False, open_at=at(135))]
    assert not patches(tick(134, nodes=closed), "Node")
    body = {"metadata": {"annotations": {OPEN_AT: None}}, "spec": {"unschedulable": None}}
    assert patches(tick(135, nodes=closed), "Node") == [Patch(ObjectKey("Node", "", "n1"), body, uid="uid-1")]


def test_kubelet_stands_still_and_comes_back_by_itself() -> None:
    (patch,) = patches(tick(SCRIPT.stop_at), "Node")
    annotations = {"kschedweb.io/kubelet": "stopped", "kschedweb.io/kubelet-until": "2030-03-17T17:53:10Z"}
    assert patch.body == {"metadata": {"annotations": annotations}}


@pytest.mark.parametrize("second", [SCRIPT.drain_at, SCRIPT.stop_at])
def test_nodes_that_somebody_else_closed_are_left_alone(second: int) -> None:
    nodes = [replace(node, is_free=node.name == "n2") for node in NODES]
    assert [patch.key.name for patch in patches(tick(second, nodes=nodes), "Node")] == ["n2"]
    assert not patches(tick(second, nodes=[replace(node, is_free=False) for node in NODES]), "Node")
    assert not patches(tick(second, nodes=[NodeSummary("n0", "uid-0"), NodeSummary("n4", "uid-4")]), "Node")


def test_ticks_missed_in_a_short_pause_are_made_up_for() -> None:
    last = SCRIPT.tick_of(at(28))
    together = tick(32, last_tick=last)
    assert together == [each for second in range(29, 33) for each in tick(second)]
    assert patches(together, "Deployment")


def test_long_pause_is_not_made_up_for() -> None:
    late = tick(500, last_tick=SCRIPT.tick_of(at(10)))
    assert late == [each for ago in range(MAX_CATCH_UP_TICKS - 1, -1, -1) for each in tick(500 - ago)]


def test_tick_that_was_done_brings_nothing() -> None:
    assert tick(30, last_tick=SCRIPT.tick_of(at(30))) == []
    assert tick(29, last_tick=SCRIPT.tick_of(at(30))) == []


def controller() -> DemoController:
    return DemoController(ClusterOptions(seed=1, started_at=START), SCRIPT)


def node(name: str, unschedulable: bool = False, **annotations: str) -> ObjectPut:
    meta = ObjectMeta(name=name, uid=f"uid-{name[1:]}", annotations=annotations)
    return ObjectPut(Node(metadata=meta, spec=NodeSpec(unschedulable=unschedulable)))


def job(name: str, *, parallelism: int = 4, is_over: bool = False) -> ObjectPut:
    conditions = [{"type": "Complete", "status": "True"}] if is_over else []
    meta = {"namespace": "batch", "name": name, "uid": name}
    found = manifests.decode(
        {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": {"parallelism": parallelism},
         "status": {"conditions": conditions}}
    )  # fmt: skip
    assert isinstance(found, JobObject)
    return ObjectPut(found)


def is_full(script: DemoController, seconds: float) -> bool:
    """Whether no Job comes in fifty ticks from then on."""
    return not any(jobs_of(script.step(at(seconds + more), [])) for more in range(50))


def test_pods_that_jobs_ask_for_count_whether_they_are_there_or_not() -> None:
    script = controller()
    script.step(at(0), [job(f"resize-{number}", parallelism=25) for number in range(2)])
    assert is_full(script, 1)
    script.step(at(60), [job("resize-0", parallelism=25, is_over=True)])
    assert not is_full(script, 61)
    script.step(at(200), [ObjectDeleted("Job", "batch", "resize-1", "resize-1"), job("other", parallelism=50)])
    assert is_full(script, 201)


def test_pods_of_services_count_while_they_are_alive() -> None:
    script = controller()
    pods = [make_pod(f"p{number}") for number in range(50)]
    script.step(at(0), [ObjectPut(pod.build()) for pod in pods])
    assert is_full(script, 1)
    script.step(at(60), [ObjectPut(pod.status(phase="Failed").build()) for pod in pods[:10]])
    assert not is_full(script, 61)


def test_controller_opens_what_it_or_the_one_before_drained_and_nothing_else() -> None:
    nodes = [node("n1", True, **{OPEN_AT: "2030-03-17T17:48:55Z"}), node("n2", True), node("n3")]
    script = controller()
    script.step(at(100), nodes)
    assert patches(script.step(at(134), []), "Node") == []
    assert [each.key.name for each in patches(script.step(at(135), []), "Node")] == ["n1"]
    assert [each.key.name for each in patches(controller().step(at(2000), nodes), "Node")] == ["n1"]


def test_silent_node_is_not_drained() -> None:
    nodes = [node("n1", **{"kschedweb.io/kubelet": "off"}), node("n2", True), node("n3")]
    script = controller()
    assert [each.key.name for each in patches(script.step(at(SCRIPT.drain_at), nodes), "Node")] == ["n3"]


def test_controller_is_due_at_the_next_tick() -> None:
    script = controller()
    assert script.next_due() == 0
    script.step(at(1.2), [])
    assert script.next_due() == at(2)


def test_first_jobs_have_as_many_pods_as_asked_for() -> None:
    first = first_jobs(SCRIPT, 5, 40)
    assert 40 <= sum(manifest["spec"]["parallelism"] for manifest in first) < 44
    assert len({manifest["metadata"]["name"] for manifest in first}) == len(first)
    assert first_jobs(SCRIPT, 5, 40) == first
