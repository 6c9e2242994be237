"""Zones take turns."""

from __future__ import annotations

from scheduler_core.api.node import Node
from scheduler_core.cache.node_tree import EXHAUSTED, NodeTree
from scheduler_core.ports import discard_log
from tests.builders import make_node
from tests.cases import cases


def node(name: str, zone: str, region: str | None = None) -> Node:
    return make_node(name).zone(zone, region=region).build()


def tree_of(zones: dict[str, list[str]]) -> NodeTree:
    tree = NodeTree(discard_log)
    for zone, names in zones.items():
        for name in names:
            tree.add_node(node(name, zone))
    return tree


@cases(
    "zones, want",
    ("three zones", {"A": ["a1", "a2"], "B": ["b1", "b2", "b3"], "C": ["c1"]}, "a1 b1 c1 a2 b2 b3"),
    ("one runs out", {"x": ["1", "2", "3", "4"], "y": ["5", "6"]}, "1 5 2 6 3 4"),
    ("none", {}, ""),
)
def test_zones_take_turns(zones: dict[str, list[str]], want: str) -> None:
    names, error = tree_of(zones).list()
    assert (" ".join(names), error) == (want, "")


def test_a_zone_that_comes_back_goes_to_the_end() -> None:
    tree = tree_of({"A": ["a"], "B": ["b"]})
    assert tree.remove_node(node("a", "A")) == ""
    tree.add_node(node("a", "A"))
    assert tree.list()[0] == ["b", "a"]


def test_a_name_in_its_zone_is_not_added_again() -> None:
    logs: list[str] = []
    tree = NodeTree(lambda message, fields: logs.append(message))
    tree.add_node(node("a", "A"))
    tree.add_node(node("a", "A"))
    assert tree.num_nodes == 1
    assert logs == ["Did not add to the NodeTree because it already exists"]


def test_removing_an_unknown_name_says_which() -> None:
    tree = NodeTree(discard_log)
    assert tree.remove_node(make_node("n").build()) == 'node "n" in group "" was not found'
    assert tree.remove_node(node("n", "z", region="r")) == 'node "n" in group "r:\\x00:z" was not found'


def test_update_moves_to_the_new_zone_only() -> None:
    tree = tree_of({"A": ["a", "x"], "B": ["b"]})
    tree.update_node(node("a", "A"), node("a", "A"))
    assert tree.list()[0] == ["a", "b", "x"]
    tree.update_node(node("a", "A"), node("a", "B"))
    assert tree.list()[0] == ["x", "b", "a"]
    tree.update_node(None, node("new", "A"))
    assert tree.num_nodes == 4


def test_a_count_beyond_the_names_is_an_error() -> None:
    tree = tree_of({"A": ["a"]})
    tree.num_nodes = 2
    assert tree.list() == (["a"], EXHAUSTED)


def test_a_loaded_tree_goes_on_alike() -> None:
    tree = tree_of({"A": ["a1", "a2"], "B": ["b"]})
    loaded = NodeTree(discard_log)
    loaded.load(tree.dump())
    for each in (tree, loaded):
        each.remove_node(node("a1", "A"))
        each.add_node(node("c", "C"))
    assert loaded.list() == tree.list() == (["a2", "b", "c"], "")
    assert loaded.dump() == tree.dump()
