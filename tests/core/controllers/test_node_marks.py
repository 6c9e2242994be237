"""Nodes get their TTL and their old labels, and events say that they come and go."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from msgspec.structs import replace

from scheduler_core.api.times import time_text
from scheduler_core.apiserver.requests import Create, ObjectKey, Patch, Request
from scheduler_core.controllers.controller import ClusterOptions
from scheduler_core.controllers.node_marks import TTL, NodeMarks
from scheduler_core.model.changes import ObjectDeleted, ObjectPut
from tests.builders import make_node
from tests.cases import cases

SECOND = 1_000_000
START = 1_893_456_000 * SECOND
CLUSTER = ClusterOptions(started_at=START)


def node(name: str = "n", *, ttl: str | None = "0", created: int | None = None, **labels: str) -> ObjectPut:
    found = make_node(name).annotation({} if ttl is None else {TTL: ttl}).label(labels).build()
    if created is not None:
        time = datetime.fromisoformat(time_text(created))
        found = replace(found, metadata=replace(found.metadata, creation_timestamp=time))
    return ObjectPut(found)


def patches(requests: list[Request]) -> dict[str, Any]:
    return {one.key.name: one.body for one in requests if isinstance(one, Patch)}


def events(requests: list[Request]) -> list[tuple[str, str]]:
    return [(one.manifest["reason"], one.manifest["message"]) for one in requests if isinstance(one, Create)]


@cases(
    "given, want",
    ("no TTL", node(ttl=None), {"annotations": {TTL: "0"}}),
    ("another TTL", node(ttl="15"), {"annotations": {TTL: "0"}}),
    ("no old labels", node(**{"kubernetes.io/os": "linux", "kubernetes.io/arch": "arm64"}),
     {"labels": {"beta.kubernetes.io/os": "linux", "beta.kubernetes.io/arch": "arm64"}}),
    ("another old label", node(**{"kubernetes.io/os": "linux", "beta.kubernetes.io/os": "windows"}),
     {"labels": {"beta.kubernetes.io/os": "linux"}}),
)  # fmt: skip
def test_node_gets_what_it_lacks(given: ObjectPut, want: dict[str, Any]) -> None:
    assert patches(NodeMarks(CLUSTER).step(START, [given])) == {"n": {"metadata": want}}


@cases(
    "given",
    ("nothing to be said", node()),
    ("both labels", node(**{"kubernetes.io/os": "linux", "beta.kubernetes.io/os": "linux"})),
    ("the old label alone", node(**{"beta.kubernetes.io/os": "linux"})),
)
def test_node_that_lacks_nothing_is_left_alone(given: ObjectPut) -> None:
    assert NodeMarks(CLUSTER).step(START, [given]) == []


def test_ttl_follows_the_number_of_nodes_with_some_play() -> None:
    marks = NodeMarks(CLUSTER)
    many = [node(f"n{number}") for number in range(100)]
    assert patches(marks.step(START, many)) == {}
    more = patches(marks.step(START, [node("n100")]))
    assert len(more) == 101 and more["n5"] == {"metadata": {"annotations": {TTL: "15"}}}
    assert patches(marks.step(START, [node(f"n{number}", ttl="15") for number in range(101)])) == {}

    def without(*numbers: int) -> dict[str, Any]:
        return patches(marks.step(START, [ObjectDeleted("Node", "", f"n{number}", "") for number in numbers]))

    assert without(*range(90, 101)) == {}
    fewer = without(89)
    assert len(fewer) == 89 and fewer["n5"] == {"metadata": {"annotations": {TTL: "0"}}}
    assert patches(marks.step(START, [node(f"m{number}", ttl="300") for number in range(3000)])).keys() == {
        f"n{number}" for number in range(89)
    }


def test_events_say_at_the_next_pass_which_nodes_came_and_went() -> None:
    marks = NodeMarks(CLUSTER)
    marks.step(START + 12 * SECOND, [node("a"), node("b")])
    assert marks.next_due() == START + 15 * SECOND
    assert events(marks.step(START + 15 * SECOND, [])) == [
        ("RegisteredNode", "Node a event: Registered Node a in Controller"),
        ("RegisteredNode", "Node b event: Registered Node b in Controller"),
    ]
    assert marks.next_due() is None
    marks.step(START + 16 * SECOND, [node("a"), node("c"), ObjectDeleted("Node", "", "b", "")])
    marks.step(START + 17 * SECOND, [ObjectDeleted("Node", "", "c", "")])
    assert events(marks.step(START + 20 * SECOND, [])) == [
        ("RemovingNode", "Node b event: Removing Node b from Controller")
    ]
    assert marks.next_due() is None


def test_new_controller_registers_only_what_is_new() -> None:
    marks = NodeMarks(CLUSTER)
    now = START + 3600 * SECOND
    marks.step(now, [node("old", created=START), node("young", created=now - 2 * SECOND)])
    assert events(marks.step(now + 5 * SECOND, [ObjectDeleted("Node", "", "old", "")])) == [
        ("RegisteredNode", "Node young event: Registered Node young in Controller"),
        ("RemovingNode", "Node old event: Removing Node old from Controller"),
    ]


def test_node_of_the_same_name_is_known() -> None:
    marks = NodeMarks(CLUSTER)
    marks.step(START, [node("a")])
    marks.step(START + 5 * SECOND, [ObjectDeleted("Node", "", "a", ""), node("a")])
    assert marks.step(START + 10 * SECOND, []) == []


def test_key_names_the_node() -> None:
    (patch,) = NodeMarks(CLUSTER).step(START, [node(ttl=None)])
    assert isinstance(patch, Patch) and (patch.key, patch.uid) == (ObjectKey("Node", "", "n"), "node-n")
