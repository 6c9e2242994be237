"""Kubelets that are stopped and come back, as their nodes' annotations say."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler_core.api.times import time_text
from scheduler_core.apiserver.requests import ObjectKey, Patch, PatchType, Request
from scheduler_core.controllers.controller import ClusterOptions
from scheduler_core.controllers.node_agent import HEARTBEAT, KUBELET, KUBELET_SINCE, KUBELET_UNTIL, KUBELET_WAS
from scheduler_core.controllers.node_agents import NodeAgents
from scheduler_core.model.changes import ObjectDeleted, ObjectPut
from tests.builders import make_node
from tests.cases import cases
from tests.core.controllers.nodes import Nodes

SECOND = 1_000_000
NOW = 1_893_456_000 * SECOND
KEY = ObjectKey("Node", "", "n")
GONE = {"metadata": {"annotations": {KUBELET: None, KUBELET_SINCE: None, KUBELET_UNTIL: None}}}


def told(status: str = "True", **annotations: str) -> ObjectPut:
    names = {
        "kubelet": KUBELET, "since": KUBELET_SINCE, "until": KUBELET_UNTIL, "was": KUBELET_WAS, "heartbeat": HEARTBEAT,
    }  # fmt: skip
    found = {names[name]: value for name, value in annotations.items()}
    conditions = [{"type": "MemoryPressure", "status": "True"}, {"type": "DiskPressure", "status": status}]
    if status:
        conditions.append({"type": "Ready", "status": status})
    return ObjectPut(make_node("n").annotation(found).status(conditions=conditions).build())


def bodies(requests: list[Request]) -> list[Any]:
    return [one.body for one in requests if isinstance(one, Patch)]


@pytest.mark.parametrize("state", ["stopped", "partitioned", "off"])
def test_time_of_the_last_heartbeat_is_written(state: str) -> None:
    agents = NodeAgents(ClusterOptions())
    was = f"{state} {time_text(NOW)}"
    wanted = {"metadata": {"annotations": {KUBELET_SINCE: time_text(NOW), KUBELET_WAS: was}}}
    assert agents.step(NOW, [told(kubelet=state)]) == [Patch(KEY, wanted, uid="node-n")]
    assert agents.step(NOW, [told(kubelet=state, since=time_text(NOW), was=was)]) == []
    assert agents.next_due() is None


@cases(
    "annotations",
    ("nothing is said", {}),
    ("a state that is not known", {"kubelet": "sleeping"}),
    ("a time without a state", {"until": time_text(NOW)}),
    ("a program from outside", {"kubelet": "off", "heartbeat": "lease"}),
)
def test_nothing_follows(annotations: dict[str, str]) -> None:
    agents = NodeAgents(ClusterOptions())
    assert agents.step(NOW, [told("Unknown", **annotations)]) == [] and agents.next_due() is None


def test_kubelet_comes_back_at_its_time() -> None:
    agents = NodeAgents(ClusterOptions())
    until = NOW + 60 * SECOND
    agents.step(NOW, [told("Unknown", kubelet="off", since=time_text(NOW), until=time_text(until))])
    assert agents.next_due() == until
    annotations, status, event = agents.step(until, [])
    assert annotations == Patch(KEY, GONE, uid="node-n")
    assert isinstance(status, Patch) and (status.subresource, status.patch_type) == ("status", PatchType.STRATEGIC)
    assert isinstance(status.body, dict) and event
    # The pressure it had reported is still its own to take back.
    assert [(one["type"], one["status"]) for one in status.body["status"]["conditions"]] == [
        ("DiskPressure", "False"),
        ("Ready", "True"),
    ]
    assert agents.next_due() is None


@cases(
    "annotations, gone",
    ("running", {"kubelet": "running"}, [KUBELET]),
    ("the state was taken away", {"since": time_text(NOW)}, [KUBELET_SINCE]),
    ("state and time were taken away", {"was": f"stopped {time_text(NOW)}"}, []),
)
def test_kubelet_is_brought_back(annotations: dict[str, str], gone: list[str]) -> None:
    taken_away = [{"metadata": {"annotations": dict.fromkeys(gone)}}] if gone else []
    assert bodies(NodeAgents(ClusterOptions()).step(NOW, [told("True", **annotations)])) == taken_away
    *first, status = bodies(NodeAgents(ClusterOptions()).step(NOW, [told("", **annotations)]))
    assert first == taken_away
    assert [one["type"] for one in status["status"]["conditions"]] == ["Ready"]


def test_machine_that_was_off_stays_noted() -> None:
    agents, at = NodeAgents(ClusterOptions()), time_text(NOW)
    (patch,) = agents.step(NOW + SECOND, [told(kubelet="off", since=at, was=f"stopped {at}")])
    assert isinstance(patch, Patch) and patch.body == {"metadata": {"annotations": {KUBELET_WAS: f"off {at}"}}}
    assert agents.step(NOW + SECOND, [told(kubelet="stopped", since=at, was=f"off {at}")]) == []


def test_deleted_node_does_not_come_back() -> None:
    agents = NodeAgents(ClusterOptions())
    agents.step(NOW, [told(kubelet="off", since=time_text(NOW), until=time_text(NOW + SECOND))])
    agents.step(NOW, [ObjectDeleted("Node", "", "n", "node-n")])
    assert agents.next_due() is None


def test_node_is_ready_again_when_nobody_was_there_at_its_return() -> None:
    nodes = Nodes("n", "other")
    nodes.pod("p", "n")
    nodes.run(5)
    nodes.stop("n", "off")
    nodes.run(70)
    assert nodes.conditions("Node", "n")["Ready"][0] == "Unknown"
    nodes.annotate("n", kubelet=None, since=None)
    nodes.restart()
    nodes.run(75)
    assert nodes.conditions("Node", "n")["Ready"][0] == "True"
    assert nodes.stored("Pod", "p")["status"]["containerStatuses"][0]["restartCount"] == 1
    assert not [name for name in nodes.node("n")["metadata"]["annotations"] if name.startswith("kschedweb.io/")]


def test_node_whose_time_of_return_has_passed_unseen_is_ready() -> None:
    nodes = Nodes("n", "other")
    nodes.run(5)
    nodes.stop("n", "stopped", seconds=300)
    nodes.run(10)
    nodes.world.controllers = []
    nodes.run(400)
    nodes.restart()
    nodes.run(420)
    assert nodes.conditions("Node", "n")["Ready"][0] == "True" and not nodes.taints("n")
    assert not nodes.events("NodeNotReady")
