"""Extended resources that are written into the capacity of a node become allocatable."""

from __future__ import annotations

import pytest

from scheduler_core.api.manifests import decode
from scheduler_core.api.node import Node
from scheduler_core.api.records import Lease
from scheduler_core.apiserver.requests import ObjectKey, Patch, PatchType
from scheduler_core.controllers.controller import ClusterOptions
from scheduler_core.controllers.kubelet.kubelet import Kubelet
from scheduler_core.controllers.node_agent import NODE_LEASES
from scheduler_core.controllers.node_status import changed_allocatable
from scheduler_core.model.changes import ObjectPut

BEARD = "example.com/beardsecond"


def node(capacity: dict[str, str], allocatable: dict[str, str]) -> Node:
    status = {"capacity": capacity, "allocatable": allocatable}
    made = decode({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "uid": "u"}, "status": status})
    assert isinstance(made, Node)
    return made


@pytest.mark.parametrize(
    ("before", "after", "changed"),
    [
        pytest.param(None, node({BEARD: "9"}, {}), {BEARD: "9"}, id="there from the start"),
        pytest.param(node({}, {}), node({BEARD: "1k"}, {}), {BEARD: "1k"}, id="set"),
        pytest.param(node({BEARD: "1"}, {BEARD: "1"}), node({BEARD: "2"}, {BEARD: "1"}), {BEARD: "2"}, id="changed"),
        pytest.param(node({BEARD: "1"}, {BEARD: "1"}), node({}, {BEARD: "1"}), {BEARD: None}, id="taken away"),
        pytest.param(node({BEARD: "2"}, {BEARD: "1"}), node({BEARD: "3"}, {BEARD: "1"}), {}, id="held back"),
        pytest.param(node({BEARD: "2"}, {BEARD: "1"}), node({}, {BEARD: "1"}), {}, id="held back and taken away"),
        pytest.param(None, node({BEARD: "2"}, {BEARD: "1"}), {}, id="held back from the start"),
        pytest.param(None, node({}, {BEARD: "1"}), {}, id="allocatable alone"),
        pytest.param(node({}, {}), node({"cpu": "4", "hugepages-2Mi": "1Gi"}, {}), {}, id="no extended resource"),
        pytest.param(node({BEARD: "1"}, {BEARD: "1"}), node({BEARD: "1"}, {BEARD: "1"}), {}, id="as it was"),
    ],
)
def test_allocatable_follows_the_capacity(before: Node | None, after: Node, changed: dict[str, str | None]) -> None:
    assert changed_allocatable(before, after) == changed


def test_kubelet_writes_it_unless_another_runs_there() -> None:
    kubelet = Kubelet(ClusterOptions())
    without = node({}, {})
    kubelet.step(0, [ObjectPut(without)])
    (request,) = kubelet.step(0, [ObjectPut(node({BEARD: "9"}, {}))])
    body = {"status": {"allocatable": {BEARD: "9"}}}
    assert request == Patch(ObjectKey("Node", "", "n"), body, PatchType.MERGE, "status", "u")
    lease = decode(
        {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": "n", "namespace": NODE_LEASES, "uid": "l"},
        }
    )
    assert isinstance(lease, Lease)
    assert kubelet.step(0, [ObjectPut(lease), ObjectPut(without), ObjectPut(node({BEARD: "9"}, {}))]) == []
