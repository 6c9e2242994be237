"""Pods of missing nodes, pods without a node and ended ones go, with the times that were recorded."""

from __future__ import annotations

import pytest

from scheduler_core.apiserver.requests import Delete, ObjectKey, Patch, ReportStatus, Request
from scheduler_core.controllers.controller import ClusterOptions
from scheduler_core.controllers.pod_gc import PodGC
from scheduler_core.model.changes import ObjectDeleted, ObjectPut
from tests.builders import make_node, make_pod
from tests.core.controllers.nodes import Nodes

SECOND = 1_000_000
ORPHANED = ("True", "DeletionByPodGC", "PodGC: node no longer exists")


def over(name: str, phase: str = "Succeeded", uid: str = "", day: int = 1, reason: str = "") -> ObjectPut:
    pod = make_pod(name, namespace="shop", uid=uid or None).created(f"2030-01-{day:02}T00:00:00Z")
    return ObjectPut(pod.status(phase=phase, reason=reason).build())


def deletions(requests: list[Request]) -> list[str]:
    return [each.key.name for each in requests if isinstance(each, Delete) and each.grace_seconds == 0]


def test_pod_of_a_missing_node_goes_after_its_quarantine() -> None:
    nodes = Nodes("a")
    nodes.run(10.3)
    nodes.pod("p", "nowhere")
    nodes.pod("kept", "nowhere", finalizers=["example.com/kept"])
    nodes.run(59.9)
    assert nodes.get("Pod", "p") is not None and nodes.deleted_at("p") is None
    nodes.run(60.1)  # 49.7 s later
    assert nodes.get("Pod", "p") is None
    pod = nodes.stored("Pod", "kept")
    assert (pod["status"]["phase"], pod["metadata"]["deletionGracePeriodSeconds"]) == ("Failed", 0)
    assert nodes.conditions("Pod", "kept")["DisruptionTarget"] == ORPHANED
    nodes.run(500)
    assert nodes.stored("Pod", "kept") == pod  # nothing more is written


def test_pods_of_a_deleted_node_go() -> None:
    nodes = Nodes("a", "b")
    nodes.pod("p", "a")
    nodes.pod("q", "b")
    nodes.run(15)
    nodes.delete("Node", "a")
    nodes.delete("Node", "b")
    nodes.run(50)
    nodes.add("b")  # it is back in time
    nodes.run(59.9)
    assert nodes.get("Pod", "p") is not None
    nodes.run(200)
    assert nodes.get("Pod", "p") is None and nodes.get("Pod", "q") is not None


def test_pod_that_was_deleted_without_a_node_goes_at_the_next_pass() -> None:
    nodes = Nodes()
    nodes.pod("p", finalizers=["example.com/kept"])
    nodes.run(10.3)
    nodes.delete("Pod", "p")
    nodes.run(19.9)
    assert nodes.stored("Pod", "p")["status"]["phase"] == "Pending"
    nodes.run(20.1)
    assert nodes.stored("Pod", "p")["status"]["phase"] == "Failed"
    assert "DisruptionTarget" not in nodes.conditions("Pod", "p")
    nodes.ask(Patch(ObjectKey("Pod", "default", "p"), {"metadata": {"finalizers": None}}))
    nodes.run(40)
    assert nodes.get("Pod", "p") is None


@pytest.mark.parametrize("is_ready", [False, True])
def test_terminating_pods_of_a_node_out_of_service_go(is_ready: bool) -> None:
    taint = {"key": "node.kubernetes.io/out-of-service", "effect": "NoExecute", "value": "nodeshutdown"}
    ready = [{"type": "Ready", "status": str(is_ready)}]
    node = make_node("a").spec(taints=[taint]).status(conditions=ready).build()
    gc = PodGC(ClusterOptions())
    gc.step(0, [ObjectPut(node), ObjectPut(make_pod("p").on("a").deleted().phase("Running").build())])
    gc.step(0, [ObjectPut(make_pod("q").on("a").phase("Running").build())])
    assert gc.next_due() == (None if is_ready else 20 * SECOND)
    found = gc.step(20 * SECOND, [])
    assert deletions(found) == ([] if is_ready else ["p"])
    assert [each.status for each in found if isinstance(each, ReportStatus)] == [{"phase": "Failed"}] * (not is_ready)


def test_oldest_pods_go_when_there_are_too_many() -> None:
    gc = PodGC(ClusterOptions(ended_pods=2))
    first = [over("a", day=3), over("b", "Failed", day=2)]
    assert gc.step(0, first) == [] and gc.next_due() is None
    assert gc.step(1, [over("c", day=1), over("d", "Failed", day=4, reason="Evicted")]) == []
    assert gc.next_due() == 20 * SECOND
    assert deletions(gc.step(20 * SECOND, [])) == ["d", "c"]  # evicted ones first
    for name in "cd":
        gc.step(21 * SECOND, [ObjectDeleted("Pod", "shop", name)])
    assert gc.next_due() is None


def test_kube_controller_manager_keeps_12500() -> None:
    gc = PodGC(ClusterOptions())
    changes = [over(f"p{number:05}") for number in range(12_501)]
    gc.step(0, changes[1:])
    assert gc.next_due() is None
    gc.step(0, changes[:1])
    assert deletions(gc.step(20 * SECOND, [])) == ["p00000"]


def test_pods_go_when_they_are_old_enough() -> None:
    gc = PodGC(ClusterOptions(ended_pods_us=10 * SECOND))
    gc.step(0, [over("a")])
    gc.step(3 * SECOND, [over("b"), over("a")])
    assert gc.next_due() == 10 * SECOND
    assert deletions(gc.step(10 * SECOND, [])) == ["a"]
    assert gc.next_due() == 13 * SECOND


def test_running_pods_stay() -> None:
    gc = PodGC(ClusterOptions(ended_pods=0))
    assert gc.step(0, [over("a", "Running"), over("b", "Pending")]) == []
    assert gc.next_due() is None


def test_namesake_counts_from_its_own_end() -> None:
    gc = PodGC(ClusterOptions(ended_pods_us=10))
    gc.step(0, [over("a", uid="1")])
    gc.step(8, [over("a", uid="2")])
    assert gc.step(10, []) == []
    assert gc.next_due() == 18


def test_pod_that_runs_again_has_not_ended() -> None:
    gc = PodGC(ClusterOptions(ended_pods_us=10))
    gc.step(0, [over("a")])
    gc.step(5, [over("a", "Running")])
    assert gc.step(10, []) == [] and gc.next_due() is None
