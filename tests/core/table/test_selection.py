"""Node selectors asked of all rows agree with upstream's rules for one node."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler_core.api.selectors import required_node_affinity
from scheduler_core.model.node_info import NodeInfo
from scheduler_core.table.node_table import NodeTable
from scheduler_core.table.selection import rows_meeting
from tests.builders import make_node, make_pod
from tests.cases import cases


@pytest.fixture
def table() -> NodeTable:
    table = NodeTable()
    for node in (
        make_node("a").label(zone="z1", rank="3"),
        make_node("b").label(zone="z2", rank="x"),
        make_node("c").label(rank="-5"),
    ):
        info = NodeInfo(next_generation=lambda: 0)
        info.set_node(node.build())
        table.upsert(info)
    return table


def _expression(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


def _field(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"matchFields": [{"key": key, "operator": operator, "values": list(values)}]}


@cases(
    "term, names",
    ("in one of the values", _expression("zone", "In", "z1", "z9"), "a"),
    ("not in also holds without the label", _expression("zone", "NotIn", "z1"), "bc"),
    ("exists", _expression("zone", "Exists"), "ab"),
    ("does not exist", _expression("zone", "DoesNotExist"), "c"),
    ("greater needs a number", _expression("rank", "Gt", "2"), "a"),
    ("less is strict", _expression("rank", "Lt", "3"), "c"),
    ("an unknown operator matches nothing", _expression("zone", "Near", "z1"), ""),
    ("by name", _field("metadata.name", "In", "b"), "b"),
    ("by name of others", _field("metadata.name", "NotIn", "b"), "ac"),
    ("another field reads as empty text", _field("metadata.uid", "In", ""), "abc"),
    ("an empty term matches nothing", {}, ""),
    ("all must hold", _expression("zone", "Exists") | _field("metadata.name", "In", "b"), "b"),
)
def test_rows_meeting_finds_the_nodes_of_a_term(table: NodeTable, term: dict[str, Any], names: str) -> None:
    required = required_node_affinity(make_pod().required_node_affinity(term).build())
    met = rows_meeting(table, required)
    assert met is not None
    assert [name for name in "abc" if met[table.row_of[name]]] == list(names)


def test_rows_meeting_needs_one_term_and_the_node_selector(table: NodeTable) -> None:
    pod = make_pod().required_node_affinity(_expression("zone", "In", "z1"), _field("metadata.name", "In", "b"))
    met = rows_meeting(table, required_node_affinity(pod.build()))
    assert met is not None
    assert met.tolist() == [True, True, False]
    met = rows_meeting(table, required_node_affinity(pod.node_selector(rank="x").build()))
    assert met is not None
    assert met.tolist() == [False, True, False]


def test_rows_meeting_is_none_when_the_pod_requires_nothing(table: NodeTable) -> None:
    assert rows_meeting(table, required_node_affinity(make_pod().build())) is None
