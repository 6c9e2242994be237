"""Nodes that fall silent, whose conditions change, and that are heard of again: with the times that were recorded."""

from __future__ import annotations

import pytest

from scheduler_core.api.times import time_text
from scheduler_core.apiserver.requests import Create, ObjectKey, Patch
from scheduler_core.controllers.node_agent import HEARTBEAT
from tests.builders import written
from tests.cases import cases
from tests.core.controllers.nodes import SECOND, START, Nodes

UNREACHABLE = {"unreachable:NoSchedule", "unreachable:NoExecute"}
NOT_READY = {"not-ready:NoSchedule", "not-ready:NoExecute"}
STOPPED = ("Unknown", "NodeStatusUnknown", "Kubelet stopped posting node status.")
NEVER = ("Unknown", "NodeStatusNeverUpdated", "Kubelet never posted node status.")


@pytest.fixture
def nodes() -> Nodes:
    return Nodes("a", "b")


def test_silent_node_is_unreachable_at_the_pass_after_its_grace() -> None:
    nodes = Nodes("a", "b", "c")
    nodes.pod("p", "a")
    nodes.run(7.3)
    nodes.stop("a")
    nodes.run(59.9)  # the kubelet was heard of at 7 s, which has no fraction
    assert nodes.conditions("Node", "a")["Ready"][0] == "True" and not nodes.taints("a")
    nodes.run(60.1)
    conditions = nodes.conditions("Node", "a")
    assert conditions["Ready"] == STOPPED
    # What nobody ever said is unknown for another reason.
    assert {conditions[name] for name in ("MemoryPressure", "DiskPressure", "PIDPressure")} == {NEVER}
    assert nodes.taints("a") == UNREACHABLE
    added = {one["timeAdded"] for one in nodes.node("a")["spec"]["taints"]}
    assert added == {time_text(START + 60 * SECOND)}
    assert nodes.conditions("Pod", "p")["Ready"][0] == "False"
    assert nodes.events("NodeNotReady") == [
        "Node/a node-controller Normal: Node a status is now: NodeNotReady",
        "Pod/p node-controller Warning: Node is not ready",
    ]
    assert nodes.stored("Pod", "p")["status"]["phase"] == "Running"


def test_stopped_kubelet_is_told_since_when(nodes: Nodes) -> None:
    nodes.run(3)
    nodes.stop("a")
    nodes.run(4)
    assert nodes.node("a")["metadata"]["annotations"]["kschedweb.io/kubelet-since"] == time_text(START + 3 * SECOND)


def test_node_that_comes_back_loses_its_taints(nodes: Nodes) -> None:
    nodes.pod("p", "a")
    nodes.stop("a", "partitioned", seconds=97)
    nodes.run(96)
    assert nodes.taints("a") == UNREACHABLE
    nodes.run(98)  # back at 97.2: NoSchedule goes at once, NoExecute at the pass
    assert nodes.taints("a") == {"unreachable:NoExecute"}
    ready = nodes.conditions("Node", "a")
    assert ready["Ready"] == ("True", "KubeletReady", "kubelet is posting ready status")
    assert ready["MemoryPressure"] == ("False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available")
    assert not any("kubelet" in name for name in nodes.node("a")["metadata"].get("annotations", ()))
    assert nodes.events("NodeReady") == ["Node/a kubelet Normal: Node a status is now: NodeReady"]
    nodes.run(101)
    assert not nodes.taints("a")
    nodes.run(500)
    assert nodes.deleted_at("p") is None


@pytest.mark.parametrize("how", ["running", None])
def test_node_is_brought_back_by_its_annotation(nodes: Nodes, how: str | None) -> None:
    nodes.stop("a", "off")
    nodes.run(70)
    nodes.annotate("a", kubelet=how)
    nodes.run(76)
    assert nodes.conditions("Node", "a")["Ready"][0] == "True" and not nodes.taints("a")
    nodes.run(300)
    assert not nodes.taints("a")


def test_pods_are_ready_again_when_their_kubelet_is_back(nodes: Nodes) -> None:
    nodes.pod("p", "a")
    nodes.run(10)
    nodes.stop("a", seconds=120)
    nodes.run(119)
    assert nodes.conditions("Pod", "p")["Ready"][0] == "False"
    nodes.run(135)
    assert nodes.conditions("Pod", "p")["Ready"][0] == "True"


@pytest.mark.parametrize("seconds", [52, 55, 57, 60])
def test_kubelet_that_is_back_at_the_moment_of_the_pass_is_heard(nodes: Nodes, seconds: int) -> None:
    nodes.run(5)
    nodes.stop("a", seconds=seconds)
    nodes.run(300)
    assert nodes.conditions("Node", "a").get("Ready", ("True",))[0] == "True"
    assert not nodes.taints("a")


def test_short_silence_is_not_noticed(nodes: Nodes) -> None:
    nodes.stop("a", seconds=49)
    nodes.run(300)
    assert not nodes.taints("a") and not nodes.events("NodeNotReady")
    assert nodes.first("a", lambda node: node.taints) is None


def test_new_controllers_go_on(nodes: Nodes) -> None:
    nodes.stop("a")
    nodes.run(40)
    nodes.restart()
    nodes.run(56)
    assert nodes.taints("a") == UNREACHABLE
    nodes.restart()
    nodes.run(80)
    assert nodes.taints("a") == UNREACHABLE and len(nodes.events("NodeNotReady")) == 1


def test_conditions_bring_taints_at_once_and_take_them_away(nodes: Nodes) -> None:
    nodes.run(1)
    for kind in ("MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable"):
        nodes.condition("a", kind, "True")
    nodes.ask(Patch(ObjectKey("Node", "", "a"), {"spec": {"unschedulable": True}}))
    nodes.run(1.01)
    assert nodes.taints("a") == {
        f"{key}:NoSchedule"
        for key in ("memory-pressure", "disk-pressure", "pid-pressure", "network-unavailable", "unschedulable")
    }
    assert {one["timeAdded"] for one in nodes.node("a")["spec"]["taints"]} == {time_text(START + SECOND)}
    nodes.taint("a", {"key": "mine", "effect": "NoSchedule"})  # those taken away come back
    nodes.run(1.02)
    assert len(nodes.taints("a")) == 6
    for kind in ("MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable"):
        nodes.condition("a", kind, "False")
    nodes.ask(Patch(ObjectKey("Node", "", "a"), {"spec": {"unschedulable": None}}))
    nodes.run(1.03)
    assert nodes.taints("a") == {"mine:NoSchedule"}


def test_not_ready_is_not_executed_before_the_pass(nodes: Nodes) -> None:
    nodes.pod("p", "a")
    nodes.run(5.3)
    nodes.condition("a", "Ready", "False")
    nodes.run(9.9)
    assert nodes.taints("a") == {"not-ready:NoSchedule"}
    assert nodes.conditions("Pod", "p")["Ready"][0] == "True"  # that is for its kubelet to say
    nodes.run(10.1)
    assert nodes.taints("a") == NOT_READY
    nodes.stop("a")
    nodes.run(66)
    assert nodes.taints("a") == UNREACHABLE
    nodes.condition("a", "Ready", "True")
    nodes.run(66.1)
    assert nodes.taints("a") == {"unreachable:NoExecute"}


def test_imported_nodes_stay_as_they_are() -> None:
    nodes = Nodes("a")
    metadata = {"uid": "u", "creationTimestamp": "2020-01-01T00:00:00Z"}
    taint = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
    bare = {"metadata": {**metadata, "name": "bare"}, "spec": {"taints": [taint]}, "status": {}}
    conditions = [{"type": "Ready", "status": "Unknown", "lastHeartbeatTime": "2020-01-01T00:00:00Z"}]
    lost = {"metadata": {**metadata, "name": "lost", "uid": "v"}, "spec": {}, "status": {"conditions": conditions}}
    old = {"type": "Ready", "status": "True", "lastHeartbeatTime": "2020-01-01T00:00:00Z"}
    well = {"metadata": {**metadata, "name": "well", "uid": "w"}, "spec": {}, "status": {"conditions": [old]}}
    nodes.world.load([{"apiVersion": "v1", "kind": "Node", **each} for each in (bare, lost, well)])
    nodes.run(1000)
    assert nodes.taints("bare") == {"not-ready:NoSchedule"} and nodes.conditions("Node", "bare") == {}
    assert nodes.conditions("Node", "well") == {"Ready": ("True", "", "")} and not nodes.taints("well")
    assert nodes.conditions("Node", "lost") == {"Ready": ("Unknown", "", "")}
    assert nodes.taints("lost") == UNREACHABLE  # taints are kept in line with conditions, whoever wrote them
    # Once told to, one without any status falls silent after the longer grace of those who never spoke.
    nodes.stop("bare")
    nodes.run(1059)
    assert nodes.conditions("Node", "bare") == {}
    nodes.run(1066)
    assert set(nodes.conditions("Node", "bare").values()) == {NEVER}
    nodes.annotate("lost", kubelet="running")
    nodes.run(1075)
    assert nodes.conditions("Node", "lost")["Ready"][0] == "True" and not nodes.taints("lost")


def renew(nodes: Nodes, name: str) -> None:
    key, text = ObjectKey("Lease", "kube-node-lease", name), time_text(nodes.world.now)
    spec = {"holderIdentity": name, "renewTime": text.replace("Z", f".{nodes.world.now % SECOND:06}Z")}
    if nodes.world.store.get(key) is not None:
        nodes.ask(Patch(key, {"spec": spec}))
    else:
        nodes.ask(Create(written("Lease", name, namespace="kube-node-lease", spec=spec)))


def test_lease_that_is_renewed_is_listened_to(nodes: Nodes) -> None:
    for second in range(1, 100, 10):
        nodes.run(second)
        renew(nodes, "a")
    nodes.run(92)
    assert nodes.node("a")["metadata"]["annotations"]["kschedweb.io/heartbeat"] == "lease"
    nodes.stop("a")  # of no concern to a program from outside
    nodes.run(140)
    assert not nodes.taints("a")
    nodes.restart()  # which has to wait anew
    nodes.run(190)
    assert not nodes.taints("a")
    nodes.run(196)
    assert nodes.taints("a") == UNREACHABLE
    renew(nodes, "a")  # the lease alone does not make it ready
    nodes.run(250)
    assert nodes.taints("a") == UNREACHABLE
    renew(nodes, "a")
    nodes.condition("a", "Ready", "True")
    nodes.run(256)
    assert not nodes.taints("a")


def test_lease_that_is_never_renewed_says_nothing(nodes: Nodes) -> None:
    nodes.run(1)
    renew(nodes, "a")
    nodes.run(500)
    assert not nodes.taints("a")


def heartbeat(nodes: Nodes, name: str) -> None:
    at = time_text(nodes.world.now)
    said = {"type": "Ready", "status": "True", "lastHeartbeatTime": at}
    nodes.ask(Patch(ObjectKey("Node", "", name), {"status": {"conditions": [said]}}, subresource="status"))


def test_status_that_is_posted_again_and_again_is_listened_to() -> None:
    nodes = Nodes("a", "b", "c")
    for second in (10, 20):
        nodes.run(second)
        heartbeat(nodes, "a")
        heartbeat(nodes, "b")
    nodes.run(30)
    heartbeat(nodes, "a")
    nodes.run(79)
    assert not nodes.taints("a")
    nodes.run(86)
    assert nodes.taints("a") == UNREACHABLE
    assert not nodes.taints("b")


@cases(
    "lost, times",
    ("one at once", 1, [55]),
    ("one every ten seconds", 3, [55, 65, 75]),
)
def test_no_execute_is_limited_in_each_zone(lost: int, times: list[float]) -> None:
    names = [f"n{number}" for number in range(8)]
    nodes = Nodes(*names, "z0", "z1", "z2", zones={"z0": "b", "z1": "b", "z2": "b"})
    for name in (*names[:lost], "z0"):
        nodes.stop(name)
    nodes.run(200)

    def when(name: str) -> float | None:
        return nodes.first(name, lambda node: any(one.effect == "NoExecute" for one in node.taints))

    assert [when(name) for name in names[:lost]] == times
    assert when("z0") == 55
    assert all("unreachable:NoSchedule" in nodes.taints(name) for name in names[:lost])


def test_cluster_without_a_healthy_node_evicts_nobody() -> None:
    nodes = Nodes("a", "b", "c")
    nodes.pod("p", "a")
    nodes.pod("q", "b")
    nodes.stop("a")
    nodes.run(100)
    assert nodes.taints("a") == UNREACHABLE
    nodes.stop("b")
    nodes.stop("c")
    nodes.run(160)
    for name in "abc":
        assert nodes.taints(name) == {"unreachable:NoSchedule"}
    nodes.run(900)
    assert nodes.deleted_at("p") is nodes.deleted_at("q") is None
    nodes.annotate("c", kubelet="running")
    nodes.run(911)  # one node is back: the others are evicted after all, at the rate of the zone
    assert not nodes.taints("c")
    nodes.run(940)
    assert nodes.taints("a") == nodes.taints("b") == UNREACHABLE


def test_deleted_node_is_forgotten(nodes: Nodes) -> None:
    nodes.stop("a")
    nodes.run(20)
    nodes.delete("Node", "a")
    nodes.add("a")
    nodes.run(200)
    assert not nodes.taints("a")


def test_pods_of_a_node_with_a_kubelet_from_outside_are_left_alone_until_it_is_simulated_again() -> None:
    nodes = Nodes("a")
    nodes.annotate("a", **{HEARTBEAT: "status"})
    nodes.run(2)
    nodes.pod("p", "a")
    nodes.run(30)
    assert nodes.stored("Pod", "p")["status"]["phase"] == "Pending"
    nodes.annotate("a", **{HEARTBEAT: None})
    nodes.run(33)
    assert nodes.stored("Pod", "p")["status"]["phase"] == "Running"


def test_node_is_ready_again_when_all_annotations_are_taken_away_at_once(nodes: Nodes) -> None:
    nodes.run(5)
    nodes.stop("a", seconds=3000)
    nodes.run(120)
    assert nodes.conditions("Node", "a")["Ready"][0] == "Unknown"
    nodes.annotate("a", kubelet=None, since=None, until=None)
    nodes.run(130)
    assert nodes.conditions("Node", "a")["Ready"][0] == "True"
    assert not nodes.taints("a")
