"""Extended resources that are written into the capacity of a node become allocatable."""

from __future__ import annotations

from scheduler_core.api.node import Node
from scheduler_core.api.records import Lease
from scheduler_core.apiserver.requests import ObjectKey, Patch, PatchType
from scheduler_core.controllers.controller import ClusterOptions
from scheduler_core.controllers.kubelet.kubelet import Kubelet
from scheduler_core.controllers.node_agent import NODE_LEASES
from scheduler_core.controllers.node_status import changed_allocatable
from scheduler_core.model.changes import ObjectPut
from tests.builders import make
from tests.cases import cases

BEARD = "example.com/beardsecond"


def node(capacity: dict[str, str], allocatable: dict[str, str]) -> Node:
    status = {"capacity": capacity, "allocatable": allocatable}
    made: Node = make("Node", "n", metadata={"uid": "u"}, status=status)
    return made


@cases(
    "before, after, changed",
    ("there from the start", None, node({BEARD: "9"}, {}), {BEARD: "9"}),
    ("set", node({}, {}), node({BEARD: "1k"}, {}), {BEARD: "1k"}),
    ("changed", node({BEARD: "1"}, {BEARD: "1"}), node({BEARD: "2"}, {BEARD: "1"}), {BEARD: "2"}),
    ("taken away", node({BEARD: "1"}, {BEARD: "1"}), node({}, {BEARD: "1"}), {BEARD: None}),
    ("held back", node({BEARD: "2"}, {BEARD: "1"}), node({BEARD: "3"}, {BEARD: "1"}), {}),
    ("held back and taken away", node({BEARD: "2"}, {BEARD: "1"}), node({}, {BEARD: "1"}), {}),
    ("held back from the start", None, node({BEARD: "2"}, {BEARD: "1"}), {}),
    ("allocatable alone", None, node({}, {BEARD: "1"}), {}),
    ("no extended resource", node({}, {}), node({"cpu": "4", "hugepages-2Mi": "1Gi"}, {}), {}),
    ("as it was", node({BEARD: "1"}, {BEARD: "1"}), node({BEARD: "1"}, {BEARD: "1"}), {}),
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
    lease: Lease = make("Lease", "n", namespace=NODE_LEASES)
    assert kubelet.step(0, [ObjectPut(lease), ObjectPut(without), ObjectPut(node({BEARD: "9"}, {}))]) == []
