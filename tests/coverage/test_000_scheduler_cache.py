"""File 000, the scheduler cache: one test per row of its coverage."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from scheduler_core.cache.cache import Cache, CacheError
from scheduler_core.cache.node_tree import NodeTree, zone_key
from scheduler_core.cache.snapshot import Snapshot
from scheduler_core.errors import CacheCorruptedError
from scheduler_core.model.node_info import NodeInfo
from tests.builders import make_node, make_pod
from tests.core.scheduler.harness import START, start

SECOND = 1_000_000
UID = "pod-default/p"


def filled(*nodes: str) -> Cache:
    cache = Cache()
    for name in nodes:
        cache.add_node(make_node(name).build())
    return cache


def aggregates(info: NodeInfo) -> dict[str, Any]:
    """All a node adds up, without its generation."""
    fields = NodeInfo.__dataclass_fields__
    return {name: getattr(info, name) for name in fields if name not in ("generation", "next_generation")}


def refused(operation: Callable[..., object], *args: object) -> str:
    with pytest.raises(CacheError) as error:
        operation(*args)
    return str(error.value)


def test_000_cache_interface() -> None:
    """Cache interface, 15 operations"""
    cache = Cache()
    node, other = make_node("n").build(), make_node("m").build()
    cache.add_node(node)
    assert cache.update_node(node, node).name == "n"
    assert refused(cache.remove_node, other) == "node m is not found"
    pod, absent = make_pod("p").on("n").build(), make_pod("q").on("n").build()
    unnamed = make_pod("u", uid="").on("n").build()

    cache.assume_pod(pod)
    assert (cache.get_pod(pod), cache.is_assumed_pod(pod), cache.pod_count(), cache.node_count()) == (pod, True, 1, 1)
    assert refused(cache.assume_pod, pod) == f"pod {UID}(default/p) is in the cache, so can't be assumed"
    assert refused(cache.update_pod, pod, pod) == f"assumed pod {UID}(default/p) should not be updated"
    cache.finish_binding(pod, 0)
    cache.cleanup_assumed_pods(SECOND)
    cache.forget_pod(pod)
    cache.add_pod(pod)
    assert refused(cache.add_pod, pod) == f"pod {UID}(default/p) was already in added state"
    cache.update_pod(pod, pod)
    cache.remove_pod(pod)
    q = "pod-default/q(default/q)"
    assert refused(cache.update_pod, absent, absent) == f"pod {q} is not added to scheduler cache, so cannot be updated"
    assert refused(cache.remove_pod, absent) == f"pod {q} is not found in scheduler cache, so cannot be removed from it"
    for operation in (cache.assume_pod, cache.add_pod, cache.remove_pod, cache.get_pod, cache.is_assumed_pod):
        assert refused(operation, unnamed) == "cannot get cache key for pod with empty UID"
    assert list(cache.dump().nodes) == ["n"]
    snapshot = Snapshot()
    assert snapshot.update_snapshot(cache) == ""
    assert snapshot.num_nodes() == 1
    cache.remove_node(node)
    assert cache.node_count() == 0


def test_000_assumed_state_confirmed_by_add() -> None:
    """assumed state and confirmation by Add"""
    cache, pod = filled("n"), make_pod("p").req(cpu="1").on("n").build()
    cache.assume_pod(pod)
    cache.add_pod(pod)
    assert cache.items["n"].info.requested.milli_cpu == 1000
    assert not cache.is_assumed_pod(pod)


@pytest.mark.parametrize("ttl", [0, SECOND], ids=["for ever", "one second"])
def test_000_finish_binding_and_ttl(ttl: int) -> None:
    """FinishBinding, deadline, ttl 0 ("deprecated" expiry)"""
    cache, pod = Cache(ttl_us=ttl), make_pod("p").on("n").build()
    cache.assume_pod(pod)
    cache.cleanup_assumed_pods(START)
    assert cache.is_assumed_pod(pod)  # whatever the ttl: its binding is still under way
    cache.finish_binding(pod, START)
    cache.cleanup_assumed_pods(START + SECOND)
    assert cache.is_assumed_pod(pod)
    cache.cleanup_assumed_pods(START + SECOND + 1)
    assert cache.is_assumed_pod(pod) is (ttl == 0)


def test_000_forget_pod() -> None:
    """ForgetPod rules and texts"""
    cache = filled("n", "m")
    cache.assume_pod(make_pod("p").on("n").build())
    text = refused(cache.forget_pod, make_pod("p").on("m").build())
    assert text == f"pod {UID}(default/p) was assumed on m but assigned to n"
    cache.forget_pod(make_pod("p").on("n").build())
    text = refused(cache.forget_pod, make_pod("p").on("n").build())
    assert text == f"pod {UID}(default/p) wasn't assumed so cannot be forgotten"


def test_000_corruption_exits() -> None:
    """UpdatePod / RemovePod corruption exits"""
    cluster = start()
    cluster.put(make_node("n").build(), make_node("m").build(), make_pod("p").on("n").build())
    with pytest.raises(CacheCorruptedError, match="Pod updated on a different node than previously added to"):
        cluster.put(make_pod("p").on("m").build())  # out of the step: its worker ends
    cache = filled("n", "m")
    cache.add_pod(make_pod("p").on("n").build())
    with pytest.raises(CacheCorruptedError, match="^Scheduler cache is corrupted"):
        cache.remove_pod(make_pod("p").on("m").build())


def test_000_get_pod_is_assumed_pod() -> None:
    """GetPod, IsAssumedPod"""
    cache, ghostly = Cache(), make_pod("p").on("gone").build()
    text = refused(cache.get_pod, ghostly)
    assert text == f"pod {UID}(default/p) does not exist in scheduler cache"
    cache.assume_pod(ghostly)
    assert cache.get_pod(ghostly) is ghostly
    assert cache.is_assumed_pod(ghostly)


def test_000_node_info_fields() -> None:
    """NodeInfo fields"""
    cache = filled("n")
    cache.add_pod(make_pod("stays").req(cpu="1").host_port(80).on("n").build())
    info = cache.items["n"].info
    before = aggregates(info.copy())
    pod = (
        make_pod("p").req({"cpu": "2", "memory": "1Gi", "ephemeral-storage": "1Gi", "example.com/gpu": "0"})
        .host_port(443).claim_volume("data").pod_affinity("zone", {"a": "b"}, anti=True).on("n").build()
    )  # fmt: skip
    cache.add_pod(pod)
    assert (info.requested.milli_cpu, info.requested.memory, info.requested.ephemeral_storage) == (
        3000,
        1 << 30,
        1 << 30,
    )
    assert info.used_ports == {("0.0.0.0", "TCP", 80), ("0.0.0.0", "TCP", 443)}
    assert info.pvc_ref_counts == {"default/data": 1}
    assert len(info.pods_with_affinity) == len(info.pods_with_required_anti_affinity) == 1
    cache.remove_pod(pod)
    info.requested.scalar.pop("example.com/gpu")  # a zero counted once stays named
    assert aggregates(info) == before


def test_000_generation_counter() -> None:
    """generation counter"""
    cache = filled("n")
    pod = make_pod("p").on("n").build()
    changes: list[Callable[[], object]] = [
        lambda: cache.add_pod(pod),
        lambda: cache.remove_pod(pod),
        lambda: cache.update_node(None, make_node("n").label(a="b").build()),
        lambda: cache.add_node(make_node("m").build()),
        lambda: cache.remove_node(make_node("m").build()),
        lambda: cache.add_node(make_node("m").build()),
    ]
    seen = [cache.items["n"].info.generation]
    for change in changes:
        change()
        newest = max(item.info.generation for item in cache.items.values())
        assert newest > max(seen) or change is changes[4]
        seen.append(newest)
    assert cache.items["m"].info.generation > max(seen[:-1])  # also for a node that had gone
    cache.add_pod(make_pod("left").on("m").build())
    before = cache.items["m"].info.generation
    cache.remove_node(make_node("m").build())
    assert cache.items["m"].info.generation > before  # and for one that is a ghost from now on


def test_000_non_zero_requests() -> None:
    """non-zero requests"""
    cache = filled("n")
    cache.add_pod(make_pod("p").container().container({"cpu": "250m"}).on("n").build())
    info = cache.items["n"].info
    assert (info.requested.milli_cpu, info.requested.memory) == (250, 0)
    assert (info.non_zero_milli_cpu, info.non_zero_memory) == (100 + 250, 2 * 200 * 1024 * 1024)


def test_000_image_states() -> None:
    """image states, size, node set"""
    cache = Cache()
    cache.add_node(make_node("a").images({"x:1": 500}).build())
    cache.add_node(make_node("b").images({"x:1": 700, "y:1": 5}).build())
    states = cache.dump().nodes["a"].image_states
    assert (states["x:1"].size, states["x:1"].num_nodes) == (500, 2)  # the first reporter's size stays
    cache.remove_node(make_node("b").images({"x:1": 700, "y:1": 5}).build())
    assert cache.dump().nodes["a"].image_states["x:1"].num_nodes == 1


def test_000_pvc_reference_counts() -> None:
    """PVC ref counts, usedPVCSet"""
    cache, snapshot = filled("n"), Snapshot()
    pods = [make_pod(name).claim_volume("data").on("n").build() for name in ("p", "q")]
    used = []
    for change, pod in ((cache.add_pod, pods[0]), (cache.add_pod, pods[1]), *((cache.remove_pod, pod) for pod in pods)):
        change(pod)
        snapshot.update_snapshot(cache)
        used.append(snapshot.is_pvc_used_by_pods("default/data"))
    assert used == [True, True, True, False]


def test_000_snapshot_fields_and_listers() -> None:
    """snapshot: fields, listers, get error"""
    cache, snapshot = filled("n", "m"), Snapshot()
    cache.add_pod(make_pod("p").pod_affinity("zone", {"a": "b"}).on("n").build())
    cache.add_pod(make_pod("q").pod_affinity("zone", {"a": "b"}, anti=True).claim_volume("c").on("m").build())
    snapshot.update_snapshot(cache)
    assert [info.name for info in snapshot.list()] == ["n", "m"]
    assert [info.name for info in snapshot.have_pods_with_affinity_list()] == ["n", "m"]
    assert [info.name for info in snapshot.have_pods_with_required_anti_affinity_list()] == ["m"]
    assert snapshot.is_pvc_used_by_pods("default/c") and not snapshot.is_pvc_used_by_pods("other/c")
    assert snapshot.num_nodes() == 2
    assert snapshot.get("n") is snapshot.list()[0]
    assert snapshot.get("x") is None
    cluster = start()
    cluster.put(make_node("n").build())
    attempt = cluster.attempt(make_pod("p").nominated("x").build())
    assert attempt.nominated is not None
    assert attempt.nominated.error == 'nodeinfo not found for node name "x"'


def test_000_node_tree() -> None:
    """nodeTree add/remove/zone/update/list"""
    tree = NodeTree(lambda message, fields: None)
    for name, zone in (("a1", "A"), ("a2", "A"), ("b1", "B"), ("b2", "B"), ("b3", "B"), ("c1", "C")):
        tree.add_node(make_node(name).zone(zone).build())
    assert tree.list() == (["a1", "b1", "c1", "a2", "b2", "b3"], "")
    tree.update_node(make_node("a1").zone("A").build(), make_node("a1").zone("C").build())
    assert tree.remove_node(make_node("b1").zone("B").build()) == ""
    assert tree.list() == (["a2", "b2", "c1", "b3", "a1"], "")
    assert tree.num_nodes == 5


def test_000_zone_key() -> None:
    """zone key incl. legacy labels, empty"""
    assert zone_key(make_node("n").build()) == ""
    assert zone_key(make_node("n").zone("z", region="r").build()) == "r:\x00:z"
    legacy = {"failure-domain.beta.kubernetes.io/zone": "old", "failure-domain.beta.kubernetes.io/region": ""}
    assert zone_key(make_node("n").zone("z", region="r").label(legacy).build()) == ":\x00:old"


def test_000_linked_list() -> None:
    """linked list, move to head"""
    cache = filled("a", "b", "c")
    cache.add_pod(make_pod("p").on("a").build())
    newest_first = [item.info for item in reversed(cache.items.values())]
    assert [info.name for info in newest_first] == ["a", "c", "b"]
    generations = [info.generation for info in newest_first]
    assert generations == sorted(generations, reverse=True)


def test_000_pod_before_its_node() -> None:
    """addPod creating an unknown node, removePod clean-up"""
    cache = Cache()
    early, lost = make_pod("early").req(cpu="1").on("n").build(), make_pod("lost").on("never").build()
    cache.add_pod(early)
    cache.add_pod(lost)
    assert cache.node_count() == 2
    assert cache.add_node(make_node("n").build()).requested.milli_cpu == 1000
    cache.remove_pod(lost)
    assert list(cache.items) == ["n"]


def test_000_ghost_nodes() -> None:
    """ghost nodes"""
    cluster = start()
    node, pod = make_node("ghost").build(), make_pod("left").on("ghost").build()
    cluster.put(make_node("n").build(), node, pod)
    cluster.delete(node)
    attempt = cluster.attempt(make_pod("new").build())
    assert attempt.node_order is not None and attempt.node_order.names == ("n",)
    cache = cluster.scheduler.engine.cache
    assert cache.dump().nodes["ghost"].node is None
    cluster.delete(pod)
    assert "ghost" not in cache.dump().nodes


def test_000_incremental_snapshot(monkeypatch: pytest.MonkeyPatch) -> None:
    """UpdateSnapshot incremental, in-place copy, flags"""
    cache, snapshot = filled("a", "b", "c"), Snapshot()
    snapshot.update_snapshot(cache)
    nodes, entry = snapshot.list(), snapshot.get("b")
    copied: list[str] = []
    original = NodeInfo.assign
    monkeypatch.setattr(NodeInfo, "assign", lambda self, info: (copied.append(info.name), original(self, info))[1])
    cache.add_pod(make_pod("p").req(cpu="1").on("b").build())
    snapshot.update_snapshot(cache)
    assert copied == ["b"]
    assert snapshot.list() is nodes and snapshot.get("b") is entry
    assert entry is not None and entry.requested.milli_cpu == 1000


def test_000_consistency_error_and_recovery() -> None:
    """consistency error and recovery"""
    cluster = start()
    cluster.put(make_node("n").build())
    # The tree learns of a node the cache has no item for: what an upstream bug would leave behind.
    cluster.scheduler.engine.cache.tree.add_node(make_node("lost").build())
    attempt = cluster.attempt(make_pod("p").build())
    assert (attempt.result, attempt.message) == (
        "error",
        "snapshot state is not consistent, length of NodeInfoList=1 not equal to length of nodes in tree=2 , "
        "length of NodeInfoMap=1, length of nodes in cache=1, trying to recover",
    )
    cluster.scheduler.engine.cache.tree.remove_node(make_node("lost").build())
    assert cluster.attempt(after=5 * SECOND).node_name == "n"


def test_000_derived_lists() -> None:
    """derived lists rebuilt together"""
    cache, snapshot = filled("n", "m"), Snapshot()

    def derived() -> tuple[list[str], list[str], bool]:
        snapshot.update_snapshot(cache)
        return (
            [info.name for info in snapshot.have_pods_with_affinity_list()],
            [info.name for info in snapshot.have_pods_with_required_anti_affinity_list()],
            snapshot.is_pvc_used_by_pods("default/c"),
        )

    assert derived() == ([], [], False)
    pod = make_pod("p").pod_affinity("zone", {"a": "b"}, anti=True).claim_volume("c").on("m").build()
    cache.add_pod(pod)
    assert derived() == (["m"], ["m"], True)  # a node that is there enters them
    cache.remove_node(make_node("m").build())
    assert derived() == ([], [], False)  # the list of nodes is made anew, and these with it
    cache.add_node(make_node("m").build())
    assert derived() == (["m"], ["m"], True)
    cache.remove_pod(pod)
    assert derived() == ([], [], False)


def test_000_fresh_at_each_cycle() -> None:
    """use at the start of each cycle"""
    cluster = start()
    node, blocker = make_node("n").capacity(cpu="1").build(), make_pod("b").req(cpu="1").on("n").build()
    cluster.put(node, blocker)
    first = cluster.attempt(make_pod("p").req(cpu="1").build())
    assert first.result == "unschedulable"
    cluster.delete(blocker, after=20 * SECOND)
    assert [attempt.node_name for attempt in cluster.effects[-1].attempts] == ["n"]
    # And the assumption just made counts for the next pod of the same step, before any confirmation.
    assert cluster.attempt(make_pod("q").req(cpu="1").build()).result == "unschedulable"
