"""Pods go when they do not tolerate a NoExecute taint any longer: with the times that were recorded."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler_core.api.times import time_text
from tests.cases import cases
from tests.core.controllers.nodes import SECOND, START, Nodes

Manifest = dict[str, Any]
T = {"key": "t", "value": "v", "effect": "NoExecute"}
U = {"key": "u", "effect": "NoExecute"}
T_OF_BEFORE = {**T, "timeAdded": time_text(START + 5 * SECOND)}
T_NO_SCHEDULE = {"key": "t", "effect": "NoSchedule"}


def exists(key: str = "", seconds: int | None = None) -> Manifest:
    toleration: Manifest = {"key": key, "operator": "Exists"} if key else {"operator": "Exists"}
    return toleration if seconds is None else {**toleration, "effect": "NoExecute", "tolerationSeconds": seconds}


def equal(value: str, seconds: int | None = None) -> Manifest:
    toleration = {"key": "t", "operator": "Equal", "value": value, "effect": "NoExecute"}
    return toleration if seconds is None else {**toleration, "tolerationSeconds": seconds}


def about(second: float | None) -> float | None:
    return None if second is None else round(second, 1)


@pytest.fixture
def nodes() -> Nodes:
    return Nodes("a")


@cases(
    "tolerations, second",
    ("none", [], 10.0),
    ("another value", [equal("w")], 10.0),
    ("another effect", [{**exists("t"), "effect": "NoSchedule"}], 10.0),
    ("for no time", [exists("t", 0)], 10.0),
    ("for a negative time", [exists("t", -5)], 10.0),
    ("for ten seconds", [exists("t", 10)], 20.0),
    ("for an hour", [equal("v", 3600)], 3610.0),
    ("without end", [exists("t")], None),
    ("everything", [exists()], None),
    ("only the first match counts, the longer", [exists("t", 15), equal("v", 5)], 25.0),
    ("only the first match counts, without end", [exists("t"), equal("v", 8)], None),
    ("the first that matches", [equal("w", 5), equal("v", 8)], 18.0),
)
def test_pod_goes_when_its_tolerations_end(nodes: Nodes, tolerations: list[Manifest], second: float | None) -> None:
    nodes.pod("p", "a", tolerations)
    nodes.run(10)
    nodes.taint("a", T_NO_SCHEDULE, T)
    nodes.run(5000)
    assert about(nodes.deleted_at("p")) == second
    marked = ["Pod/p taint-eviction-controller Normal: Marking for deletion Pod default/p"]
    assert nodes.events("TaintManagerEviction") == ([] if second is None else marked)
    assert "timeAdded" not in nodes.node("a")["spec"]["taints"][1]  # a user's taint


def test_writes_of_an_eviction(nodes: Nodes) -> None:
    nodes.pod("p", "a", finalizers=["example.com/kept"])
    nodes.run(10)
    nodes.taint("a", T)
    nodes.run(10.01)
    assert nodes.stored("Pod", "p")["metadata"]["deletionGracePeriodSeconds"] == 30
    target = nodes.conditions("Pod", "p")["DisruptionTarget"]
    assert target == ("True", "DeletionByTaintManager", "Taint manager: deleting due to NoExecute taint")
    for _ in range(3):
        nodes.run(nodes.now + 100)
    nodes.restart()
    nodes.run(nodes.now + 100)
    assert len(nodes.events("TaintManagerEviction")) == 1  # and not again while it is there


@cases(
    "tolerations, taints, second",
    ("the first deadline stays", [exists("t", 20), exists("u", 4)], {10: [T], 15: [T, U]}, 30.0),
    ("at once for one that is not tolerated", [exists("t", 20)], {10: [T], 15: [T, U]}, 15.0),
    ("the time of the taint counts", [exists("t", 60)], {40: [T_OF_BEFORE]}, 65.0),
)
def test_taints_that_come_one_by_one(
    nodes: Nodes, tolerations: list[Manifest], taints: dict[int, list[Manifest]], second: float
) -> None:
    nodes.pod("p", "a", tolerations)
    for moment, given in taints.items():
        nodes.run(moment)
        nodes.taint("a", *given)
    nodes.run(100)
    assert about(nodes.deleted_at("p")) == second


def test_time_since_when_a_taint_is_there_is_noted(nodes: Nodes) -> None:
    nodes.pod("p", "a", [equal("v", 20)])
    nodes.run(10)
    nodes.taint("a", T)
    nodes.run(15)
    assert "kschedweb.io/no-execute-since" in nodes.node("a")["metadata"]["annotations"]


def test_plan_is_cancelled(nodes: Nodes) -> None:
    nodes.pod("p", "a", [exists("t", 20)])
    nodes.run(10)
    nodes.taint("a", T)
    nodes.run(29.5)
    nodes.taint("a")
    nodes.run(40)
    cancelled = ["Pod/p taint-eviction-controller Normal: Cancelling deletion of Pod default/p"]
    assert nodes.events("TaintManagerEviction") == cancelled
    nodes.taint("a", T)  # another plan, with a time of its own
    nodes.run(100)
    assert about(nodes.deleted_at("p")) == 60.0


def test_pod_that_comes_later_counts_from_then(nodes: Nodes) -> None:
    nodes.taint("a", T)
    nodes.run(10)
    nodes.pod("p", "a", [exists("t", 7)])
    nodes.pod("q", "a")
    nodes.run(100)
    assert nodes.get("Pod", "q") is None
    assert about(nodes.deleted_at("p")) == 17.0


@pytest.mark.parametrize("restarts", [[12], [16], [12, 16, 25]])
def test_new_controllers_make_the_same_plans(nodes: Nodes, restarts: list[int]) -> None:
    nodes.pod("p", "a", [exists("t", 20), exists("u", 4)])
    nodes.pod("q", "a", [exists("t"), exists("u", 4)])
    steps = [(second, "restart") for second in restarts]
    for second, what in sorted([(10, "t"), (15, "u"), *steps]):
        nodes.run(second)
        if what == "restart":
            nodes.restart()
        else:
            nodes.taint("a", *([T] if what == "t" else [T, U]))
    nodes.run(100)
    assert (about(nodes.deleted_at("p")), about(nodes.deleted_at("q"))) == (30.0, 19.0)
    assert "kschedweb.io/no-execute-since" in nodes.node("a")["metadata"]["annotations"]
    nodes.taint("a")
    nodes.run(101)
    assert "kschedweb.io/no-execute-since" not in nodes.node("a")["metadata"].get("annotations", {})


def test_restart_while_a_node_is_lost() -> None:
    nodes = Nodes("a", "b")
    nodes.pod("p", "a")
    nodes.stop("a", "off")
    nodes.run(200)
    nodes.restart()
    nodes.run(354)
    assert nodes.deleted_at("p") is None
    nodes.run(356)
    assert about(nodes.deleted_at("p")) == 355.0
