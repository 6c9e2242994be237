"""Nodes are drained as kubectl drains them, as far as disruption budgets allow, and whoever drains may be replaced."""

from __future__ import annotations

from typing import Any

from scheduler_core.apiserver.requests import Create, Evict, ObjectKey, Patch
from scheduler_core.controllers.controller import ClusterOptions
from scheduler_core.controllers.drain import DRAIN, DRAIN_LEFT, RETRY_US, Drain
from scheduler_core.model.changes import ObjectDeleted, ObjectPut
from tests.builders import make_node, make_pod, written
from tests.core.controllers.nodes import START, Nodes

READY = {"app": "shop"}


def budget(nodes: Nodes, **spec: Any) -> None:
    body = {"selector": {"matchLabels": READY}, **spec}
    nodes.ask(Create(written("PodDisruptionBudget", "guard", spec=body)))


def drain_of(nodes: Nodes, name: str) -> tuple[str | None, str | None, bool]:
    """What the node says: the state, what is left, whether it is cordoned."""
    node = nodes.node(name)
    told = node["metadata"].get("annotations", {})
    return told.get(DRAIN), told.get(DRAIN_LEFT), bool(node["spec"].get("unschedulable"))


def allow(nodes: Nodes, least: int) -> None:
    nodes.ask(Patch(ObjectKey("PodDisruptionBudget", "default", "guard"), {"spec": {"minAvailable": least}}))


def guarded() -> Nodes:
    """A node that is being drained of a pod which its budget keeps."""
    nodes = Nodes("a")
    nodes.pod("p", "a", labels=READY)
    budget(nodes, minAvailable=1)
    nodes.run(10)
    nodes.annotate("a", **{DRAIN: "requested"})
    nodes.run(17)
    return nodes


def test_node_is_emptied() -> None:
    nodes = Nodes("a", "b")
    nodes.pod("p", "a")
    owner = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "uid": "d", "controller": True}
    nodes.pod("daemon", "a", ownerReferences=[owner])
    nodes.pod("mirror", "a", annotations={"kubernetes.io/config.mirror": "x"})
    nodes.pod("elsewhere", "b")
    nodes.run(10)
    nodes.annotate("a", **{DRAIN: "requested"})
    nodes.run(10.1)
    assert drain_of(nodes, "a") == ("draining", "1 pod left", True)
    assert nodes.taints("a") == {"unschedulable:NoSchedule"}
    assert nodes.deleted_at("p") == 10
    target = nodes.conditions("Pod", "p")["DisruptionTarget"]
    assert target == ("True", "EvictionByEvictionAPI", "Eviction API: evicting")
    nodes.run(20)
    assert drain_of(nodes, "a") == ("drained", None, True)
    assert nodes.events("Draining") == ["Node/a drain Normal: Draining node a"]
    assert nodes.events("Drained") == ["Node/a drain Normal: Drained node a"]
    assert all(nodes.get("Pod", name) is not None for name in ("daemon", "mirror", "elsewhere"))
    nodes.ask(Patch(ObjectKey("Node", "", "a"), {"spec": {"unschedulable": None}}))
    nodes.run(21)
    assert drain_of(nodes, "a") == (None, None, False)


def test_budget_is_respected_and_asked_again() -> None:
    nodes = Nodes("a")
    for number in range(3):
        nodes.pod(f"p{number}", "a", labels=READY)
    budget(nodes, minAvailable=2)
    nodes.run(10)
    nodes.annotate("a", **{DRAIN: "requested"})
    nodes.run(14)
    assert [nodes.deleted_at(f"p{number}") for number in range(3)] == [10, None, None]
    nodes.run(16)
    assert drain_of(nodes, "a") == ("draining", "2 pods left, 2 kept by disruption budgets", True)
    nodes.restart()
    nodes.run(31)
    assert drain_of(nodes, "a") == ("draining", "2 pods left, 2 kept by disruption budgets", True)
    allow(nodes, 1)
    nodes.run(37)
    assert [nodes.deleted_at(f"p{number}") is not None for number in range(3)] == [True, True, False]
    allow(nodes, 0)
    nodes.run(50)
    assert drain_of(nodes, "a") == ("drained", None, True)


def test_uncordoning_ends_it() -> None:
    nodes = guarded()
    assert drain_of(nodes, "a")[0] == "draining"
    nodes.ask(Patch(ObjectKey("Node", "", "a"), {"spec": {"unschedulable": None}}))
    nodes.run(18)
    assert drain_of(nodes, "a") == (None, None, False)
    allow(nodes, 0)
    nodes.run(100)
    assert nodes.deleted_at("p") is None


def test_empty_node_is_drained_at_once() -> None:
    nodes = Nodes("a")
    nodes.annotate("a", **{DRAIN: "requested"})
    nodes.run(0.3)
    assert drain_of(nodes, "a") == ("drained", None, True)
    nodes.delete("Node", "a")
    nodes.run(100)
    assert len(nodes.events("Drained")) == 1


def test_taking_the_annotation_away_ends_it() -> None:
    nodes = guarded()
    nodes.annotate("a", **{DRAIN: None})
    nodes.run(18)
    allow(nodes, 0)
    nodes.run(50)
    assert drain_of(nodes, "a") == (None, None, True) and nodes.deleted_at("p") is None


def test_drain_that_ends_with_its_last_pod_is_over() -> None:
    controller = Drain(ClusterOptions())
    node, pod = make_node("a").annotation({DRAIN: "draining"}).unschedulable(), make_pod("p").on("a").build()
    controller.step(START, [ObjectPut(node.build()), ObjectPut(pod)])
    opened = make_node("a").annotation({DRAIN: "draining"}).build()
    (request,) = controller.step(START, [ObjectDeleted("Pod", "default", "p", pod.uid), ObjectPut(opened)])
    assert request == Patch(
        ObjectKey("Node", "", "a"), {"metadata": {"annotations": {DRAIN: None, DRAIN_LEFT: None}}}, uid=opened.uid
    )


def test_pod_is_not_taken_for_its_namesake_that_went() -> None:
    """Whoever takes over is told what is there, then what went: of a StatefulSet, pods of the same names."""
    controller = Drain(ClusterOptions())
    node, pod = make_node("a").annotation({DRAIN: "draining"}).unschedulable(), make_pod("p", uid="new").on("a")
    told = [ObjectPut(node.build()), ObjectPut(pod.build()), ObjectDeleted("Pod", "default", "p", "old")]
    requests = controller.step(START, told)
    assert [type(one) for one in requests] == [Evict, Patch]
    assert controller.next_due() == START + RETRY_US
