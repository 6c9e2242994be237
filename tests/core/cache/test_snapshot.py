"""What a cycle sees follows the cache, copying only what changed."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from scheduler_core.cache.cache import Cache
from scheduler_core.cache.snapshot import Snapshot
from scheduler_core.model.node_info import NodeInfo
from tests.builders import make_node, make_pod


def names(snapshot: Snapshot) -> list[str]:
    return [info.name for info in snapshot.list()]


def cache_of(*nodes: Any) -> tuple[Cache, Snapshot]:
    cache, snapshot = Cache(), Snapshot()
    for node in nodes:
        cache.add_node(node.build())
    assert snapshot.update_snapshot(cache) == ""
    return cache, snapshot


@pytest.fixture
def copies(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the nodes copied."""
    copied: list[str] = []
    copy, assign = NodeInfo.copy, NodeInfo.assign

    def copy_noted(self: NodeInfo) -> NodeInfo:
        copied.append(self.name)
        return copy(self)

    def assign_noted(self: NodeInfo, other: NodeInfo) -> None:
        copied.append(other.name)
        assign(self, other)

    monkeypatch.setattr(NodeInfo, "copy", copy_noted)
    monkeypatch.setattr(NodeInfo, "assign", assign_noted)
    return copied


def test_one_pod_on_a_thousand_nodes_copies_one(copies: list[str]) -> None:
    cache, snapshot = cache_of(*(make_node(f"n{number}") for number in range(1000)))
    before = list(snapshot.list())
    del copies[:]
    cache.assume_pod(make_pod("p").req(cpu="1").on("n500").build())
    snapshot.update_snapshot(cache)
    assert copies == ["n500"]
    assert all(new is old for new, old in zip(snapshot.list(), before, strict=True))
    entry = snapshot.get("n500")
    assert entry is not None and entry.requested.milli_cpu == 1000
    del copies[:]
    snapshot.update_snapshot(cache)
    assert copies == []


def test_a_copy_does_not_follow_the_cache_by_itself() -> None:
    cache, snapshot = cache_of(make_node("n"))
    cache.assume_pod(make_pod("p").req(cpu="1").on("n").build())
    entry = snapshot.get("n")
    assert entry is not None and entry.pods == []


def test_ghosts_are_not_seen() -> None:
    cache, snapshot = cache_of(make_node("a"), make_node("b"))
    cache.add_pod(make_pod("p").on("a").build())
    cache.add_pod(make_pod("early").on("unknown").build())
    cache.remove_node(make_node("a").build())
    assert snapshot.update_snapshot(cache) == ""
    assert names(snapshot) == ["b"]
    assert snapshot.get("a") is None and snapshot.get("unknown") is None
    assert "a" not in snapshot.table.row_of


def test_a_node_replaced_by_another_between_two_snapshots_is_dropped() -> None:
    cache, snapshot = cache_of(make_node("a"), make_node("b"))
    cache.remove_node(make_node("a").build())
    cache.add_node(make_node("c").build())
    assert snapshot.update_snapshot(cache) == ""
    assert names(snapshot) == ["b", "c"]
    assert [snapshot.table.names[row] for row in snapshot.order] == ["b", "c"]


def test_a_change_of_zone_shows_in_the_order_at_the_next_rebuild() -> None:
    """Upstream's lag."""
    cache, snapshot = cache_of(make_node("a").zone("x"), make_node("b").zone("x"), make_node("c").zone("y"))
    assert names(snapshot) == ["a", "c", "b"]
    cache.update_node(make_node("a").zone("x").build(), make_node("a").zone("y").build())
    snapshot.update_snapshot(cache)
    assert names(snapshot) == ["a", "c", "b"]
    cache.add_node(make_node("d").zone("z").build())
    snapshot.update_snapshot(cache)
    assert names(snapshot) == ["b", "c", "d", "a"]


def test_order_and_list_stay_the_same_objects_while_no_node_comes_or_goes() -> None:
    cache, snapshot = cache_of(make_node("a"), make_node("b"))
    order, infos = snapshot.order, snapshot.list()
    cache.assume_pod(make_pod("p").pod_affinity("zone", {"a": "b"}).on("a").build())
    snapshot.update_snapshot(cache)
    assert snapshot.order is order and snapshot.list() is infos


def test_lists_of_nodes_with_affinity_follow_the_pods() -> None:
    cache, snapshot = cache_of(make_node("a"), make_node("b"))
    affine = make_pod("p").pod_affinity("zone", {"a": "b"}).on("b").build()
    repelling = make_pod("q").pod_affinity("zone", {"a": "b"}, anti=True).on("a").build()
    cache.add_pod(affine)
    cache.add_pod(repelling)
    snapshot.update_snapshot(cache)
    assert [info.name for info in snapshot.have_pods_with_affinity_list()] == ["a", "b"]
    assert [info.name for info in snapshot.have_pods_with_required_anti_affinity_list()] == ["a"]
    cache.remove_pod(repelling)
    snapshot.update_snapshot(cache)
    assert [info.name for info in snapshot.have_pods_with_affinity_list()] == ["b"]
    assert snapshot.have_pods_with_required_anti_affinity_list() == []


def test_used_claims_follow_the_pods() -> None:
    cache, snapshot = cache_of(make_node("a"), make_node("b"))
    pods = [make_pod(name).claim_volume("c").on(node).build() for name, node in (("p", "a"), ("q", "b"))]
    for pod in pods:
        cache.add_pod(pod)
    snapshot.update_snapshot(cache)
    assert snapshot.is_pvc_used_by_pods("default/c")
    cache.remove_pod(pods[0])
    snapshot.update_snapshot(cache)
    assert snapshot.is_pvc_used_by_pods("default/c")
    cache.remove_pod(pods[1])
    snapshot.update_snapshot(cache)
    assert not snapshot.is_pvc_used_by_pods("default/c")


def test_image_spread_lags_on_nodes_that_did_not_change() -> None:
    """Upstream's: the number of nodes is that of the time of copying."""
    cache, snapshot = cache_of(make_node("a").images({"i:1": 5}))
    cache.add_node(make_node("b").images({"i:1": 5}).build())
    snapshot.update_snapshot(cache)
    a, b = snapshot.get("a"), snapshot.get("b")
    assert a is not None and b is not None
    assert (a.image_states["i:1"].num_nodes, b.image_states["i:1"].num_nodes) == (1, 2)
    cache.assume_pod(make_pod("p").on("a").build())
    snapshot.update_snapshot(cache)
    assert a.image_states["i:1"].num_nodes == 2


def test_an_inconsistent_snapshot_fails_once_and_says_so() -> None:
    logs: list[tuple[str, dict[str, object]]] = []
    cache, snapshot = Cache(), Snapshot(lambda message, fields: logs.append((message, fields)))
    cache.add_node(make_node("a").build())
    snapshot.update_snapshot(cache)
    cache.tree.add_node(make_node("lost").build())
    want = (
        "snapshot state is not consistent, length of NodeInfoList=1 not equal to length of nodes in tree=2 ,"
        " length of NodeInfoMap=1, length of nodes in cache=1, trying to recover"
    )
    assert snapshot.update_snapshot(cache) == want
    assert logs == [
        (want, {"err": None}),
        ("Node exists in nodeTree but not in NodeInfoMap, this should not happen", {"node": "lost", "err": None}),
    ]
    cache.add_node(make_node("lost").build())
    assert snapshot.update_snapshot(cache) == ""
    assert names(snapshot) == ["a", "lost"]


def test_an_exhausted_tree_is_logged() -> None:
    logs: list[tuple[str, dict[str, object]]] = []
    cache, snapshot = Cache(), Snapshot(lambda message, fields: logs.append((message, fields)))
    cache.tree.num_nodes = 1
    cache.add_node(make_node("a").build())
    snapshot.update_snapshot(cache)
    assert logs[0] == (
        "Error occurred while retrieving the list of names of the nodes from node tree",
        {"err": "all zones exhausted before reaching count of nodes expected"},
    )


def test_an_entry_brought_up_to_date_does_not_follow_the_cache_either() -> None:
    cache, snapshot = cache_of(make_node("n"))
    full = make_pod("p").req({"example.com/gpu": "1"}, cpu="1").host_port(80).claim_volume("c")
    cache.assume_pod(full.pod_affinity("zone", {"a": "b"}, anti=True).on("n").build())
    snapshot.update_snapshot(cache)
    entry = snapshot.get("n")
    assert entry is not None
    before = entry.copy()
    more = make_pod("q").req({"example.com/gpu": "1"}, cpu="1").host_port(81).claim_volume("d")
    cache.assume_pod(more.pod_affinity("zone", {"a": "b"}, anti=True).on("n").build())
    assert _fields_that_differ(entry, before) == []
    snapshot.update_snapshot(cache)
    assert entry.pvc_ref_counts == {"default/c": 1, "default/d": 1}
    assert entry.requested.scalar == {"example.com/gpu": 2}


def test_lists_given_out_stay_as_they_were_when_the_node_changes() -> None:
    """Somebody may compare the pods of a node with those it had before."""
    cache, snapshot = cache_of(make_node("n"))
    entry = snapshot.get("n")
    assert entry is not None
    held = entry.pods
    cache.assume_pod(make_pod("p").on("n").build())
    snapshot.update_snapshot(cache)
    assert held == [] and len(entry.pods) == 1


def _fields_that_differ(left: NodeInfo, right: NodeInfo) -> list[str]:
    names = [each.name for each in dataclasses.fields(NodeInfo)]
    return [name for name in names if getattr(left, name) != getattr(right, name)]


def test_an_entry_takes_over_every_field_of_its_copy() -> None:
    """Whatever NodeInfo consists of: a field forgotten in assigning would stay as it was."""
    cache, snapshot = cache_of(make_node("n").images({"i:1": 5}))
    pod = make_pod("p").req({"example.com/gpu": "1"}, cpu="1").host_port(80).claim_volume("c")
    cache.add_pod(pod.pod_affinity("zone", {"a": "b"}, anti=True).on("n").build())
    changed = make_node("n").capacity(cpu="3").images({"j:1": 7}).build()
    cache.update_node(make_node("n").images({"i:1": 5}).build(), changed)
    snapshot.update_snapshot(cache)
    entry, want = snapshot.get("n"), cache.copy_of(cache.items["n"])
    assert entry is not None
    assert _fields_that_differ(entry, want) == []
