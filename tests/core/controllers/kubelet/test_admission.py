"""What a kubelet refuses of the pods bound to its node, with the texts of upstream; critical pods make room."""

from __future__ import annotations

from typing import Any

from tests.cases import cases
from tests.core.controllers.kubelet.nodes import CRITICAL, Nodes


def rejected(nodes: Nodes, name: str = "p") -> tuple[str, str]:
    status = nodes.status(name)
    assert status["phase"] == "Failed" and "containerStatuses" not in status
    return status["reason"], status["message"]


@cases(
    "requests, reason, message",
    ("cpu in thousandths", {"cpu": "1"}, "OutOfcpu",
     "Node didn't have enough resource: cpu, requested: 1000, used: 3500, capacity: 4000"),
    ("memory in bytes", {"memory": "10Gi"}, "OutOfmemory",
     "Node didn't have enough resource: memory, requested: 10737418240, used: 1073741824, capacity: 10737418240"),
    ("the first of two", {"cpu": "1", "memory": "10Gi"}, "OutOfcpu",
     "Node didn't have enough resource: cpu, requested: 1000, used: 3500, capacity: 4000"),
    ("storage the node does not have", {"ephemeral-storage": "1Gi"}, "OutOfephemeral-storage",
     "Node didn't have enough resource: ephemeral-storage, requested: 1073741824, used: 0, capacity: 0"),
)  # fmt: skip
def test_pod_is_out_of_a_resource(nodes: Nodes, requests: dict[str, str], reason: str, message: str) -> None:
    nodes.pod("first", requests={"cpu": "3500m", "memory": "1Gi"})
    nodes.pod(requests=requests)
    assert rejected(nodes) == (reason, f"Pod was rejected: {message}")
    assert nodes.events() == [(reason, message)]
    nodes.run_for(5)
    assert (nodes.phase("first"), nodes.phase()) == ("Running", "Failed")


def test_pod_that_fits_exactly_starts_and_what_ended_leaves_its_room(nodes: Nodes) -> None:
    nodes.pod("first", requests={"cpu": "4"}, annotations={"kschedweb.io/run-seconds": "5"}, restartPolicy="Never")
    nodes.pod("early", requests={"cpu": "1m"})
    nodes.run_for(10)
    nodes.pod("late", requests={"cpu": "4"})
    nodes.run_for(2)
    assert [nodes.phase(name) for name in ("first", "early", "late")] == ["Succeeded", "Failed", "Running"]


def test_pod_beyond_the_number_of_pods_is_rejected() -> None:
    nodes = Nodes(room={"cpu": "4", "pods": "1"})
    nodes.pod("first")
    nodes.pod()
    assert rejected(nodes) == (
        "OutOfpods",
        "Pod was rejected: Node didn't have enough resource: pods, requested: 1, used: 1, capacity: 1",
    )


@cases(
    "spec, reason, text",
    ("node selector", {"nodeSelector": {"disk": "fast"}}, "NodeAffinity",
     "node(s) didn't match Pod's node affinity/selector"),
    ("taken host port",
     {"containers": [{"name": "c", "image": "c", "ports": [{"containerPort": 80, "hostPort": 80, "protocol": "TCP"}]}]},
     "NodePorts", "node(s) didn't have free ports for the requested pod ports"),
)  # fmt: skip
def test_pod_fails_a_predicate(nodes: Nodes, spec: dict[str, Any], reason: str, text: str) -> None:
    ports = [{"containerPort": 80, "hostPort": 80, "protocol": "TCP"}]
    nodes.pod("first", containers=[{"name": "c", "image": "c", "ports": ports}])
    nodes.pod(**spec)
    assert rejected(nodes) == (reason, f"Pod was rejected: Predicate {reason} failed: {text}")


def test_untolerated_no_execute_taint_rejects_and_no_schedule_does_not(nodes: Nodes) -> None:
    nodes.patch_node({"spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]}})
    nodes.pod("early")
    nodes.patch_node({"spec": {"taints": [{"key": "b", "effect": "NoExecute"}]}})
    nodes.pod()
    nodes.pod("tolerant", tolerations=[{"operator": "Exists"}])
    nodes.run_for(2)
    text = "Predicate TaintToleration failed: node(s) had taints that the pod didn't tolerate"
    assert rejected(nodes) == ("TaintToleration", f"Pod was rejected: {text}")
    assert [nodes.phase(name) for name in ("early", "tolerant")] == ["Running", "Running"]


def test_extended_resource_the_node_does_not_have_is_not_asked_for(nodes: Nodes) -> None:
    nodes.pod(requests={"example.com/gpu": "1"}, limits={"example.com/gpu": "1"})
    nodes.run_for(2)
    assert nodes.phase() == "Running"
    nodes.node("n2", {"cpu": "1", "pods": "9", "example.com/gpu": "1"})
    nodes.pod("two", on="n2", requests={"example.com/gpu": "2"}, limits={"example.com/gpu": "2"})
    assert rejected(nodes, "two")[0] == "OutOfexample.com/gpu"


def test_critical_pod_ends_the_best_effort_pods_first() -> None:
    nodes = Nodes(room={"cpu": "4", "memory": "10Gi", "pods": "3"})
    full = {"cpu": "500m", "memory": "1Gi"}
    nodes.pod("guaranteed", requests=full, limits=full)
    nodes.pod("burstable", requests={"cpu": "500m"})
    nodes.pod("best-effort")
    nodes.run_for(2)
    nodes.pod("critical", **CRITICAL)
    nodes.run_for(5)
    assert [nodes.phase(name) for name in ("guaranteed", "burstable", "critical")] == ["Running"] * 3
    status = nodes.status("best-effort")
    assert (status["phase"], status["reason"]) == ("Failed", "Preempting")
    assert status["message"] == "Preempted in order to admit critical pod"
    target = nodes.condition("DisruptionTarget", "best-effort")
    assert (target["status"], target["reason"]) == ("True", "TerminationByKubelet")
    assert target["message"] == "Pod was preempted by Kubelet to accommodate a critical pod."


def test_critical_pod_takes_the_pod_nearest_to_what_it_needs(nodes: Nodes) -> None:
    for name, cpu in (("small", "500m"), ("right", "1500m"), ("large", "2")):
        nodes.pod(name, requests={"cpu": cpu})
    nodes.run_for(2)
    nodes.pod("critical", requests={"cpu": "1500m"}, **CRITICAL)
    nodes.run_for(5)
    phases = {name: nodes.phase(name) for name in ("small", "right", "large", "critical")}
    assert phases == {"small": "Running", "right": "Failed", "large": "Running", "critical": "Running"}


def test_critical_pod_that_nobody_can_make_room_for_fails_and_nobody_ends(nodes: Nodes) -> None:
    nodes.pod("small", requests={"cpu": "500m"})
    nodes.run_for(2)
    nodes.pod("critical", requests={"cpu": "5"}, **CRITICAL)
    assert rejected(nodes, "critical")[0] == "UnexpectedAdmissionError"
    assert nodes.phase("small") == "Running"


def test_running_pods_of_an_overfull_node_stay_when_a_new_controller_sees_them(nodes: Nodes) -> None:
    nodes.pod("a", requests={"cpu": "2"})
    nodes.pod("b", requests={"cpu": "2"})
    nodes.run_for(2)
    nodes.patch_node({"status": {"allocatable": {"cpu": "3"}, "capacity": {"cpu": "3"}}}, subresource="status")
    nodes.restart()
    nodes.pod("c", requests={"cpu": "1m"})
    nodes.run_for(5)
    assert [nodes.phase(name) for name in "abc"] == ["Running", "Running", "Failed"]


def test_pod_of_a_missing_node_waits_for_it() -> None:
    nodes = Nodes("n1")
    nodes.pod("orphan", on="n9")
    nodes.run_for(60)
    assert nodes.phase("orphan") == "Pending"
    nodes.node("n9", {"cpu": "1", "pods": "1"})
    nodes.run_for(2)
    assert nodes.phase("orphan") == "Running"


def test_pods_that_are_made_anew_at_once_are_rejected_one_a_second() -> None:
    nodes = Nodes(room={"cpu": "1", "pods": "9"})
    for number in range(5):
        nodes.pod(f"p{number}", requests={"cpu": "2"})
    failed = []
    for _ in range(5):
        failed.append(sum(nodes.phase(f"p{number}") == "Failed" for number in range(5)))
        nodes.run_for(1)
    assert failed == [1, 5, 5, 5, 5] or failed == [1, 2, 3, 4, 5]
