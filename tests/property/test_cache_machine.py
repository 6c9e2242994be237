"""Random operations on the cache: against a recount, an incremental snapshot against a fresh one, a checkpoint.

At random points cache and snapshot are dumped and loaded; from then on both pairs get every operation and stay equal,
orders and generations included.
"""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from scheduler_core.api import manifests
from scheduler_core.api.node import Node
from scheduler_core.api.pod import Pod
from scheduler_core.cache.cache import Cache
from scheduler_core.cache.checkpoint import dump_cache, dump_snapshot, load_cache, load_snapshot
from scheduler_core.cache.snapshot import Snapshot
from scheduler_core.model.node_info import NodeInfo
from tests.builders import make_node, make_pod
from tests.examples import walks

NODES = ("n1", "n2", "n3", "n4")
PODS = ("a", "b", "c", "d", "e")
node_names = st.sampled_from(NODES)
pod_names = st.sampled_from(PODS)
zones = st.sampled_from(["", "x", "y"])


@st.composite
def pods(draw: st.DrawFn) -> Pod:
    builder = make_pod(draw(pod_names)).req(cpu=draw(st.sampled_from(["1", "250m"])))
    match draw(st.integers(0, 4)):
        case 1:
            builder.pod_affinity("zone", {"x": "y"})
        case 2:
            builder.pod_affinity("zone", {"x": "y"}, anti=True)
        case 3:
            builder.claim_volume(draw(st.sampled_from(["c1", "c2"])))
        case 4:
            builder.host_port(80).req({"example.com/gpu": "1"})
    return builder.on(draw(node_names)).build()


@st.composite
def nodes(draw: st.DrawFn) -> Node:
    builder = make_node(draw(node_names))
    zone = draw(zones)
    if zone:
        builder.zone(zone)
    return builder.images(draw(st.dictionaries(st.sampled_from(["i:1", "j:1"]), st.integers(1, 9)))).build()


def plain(info: NodeInfo) -> dict[str, Any]:
    """All of a node but its generation."""
    return {
        "node": info.node,
        "pods": [each.pod for each in info.pods],
        "affinity": [each.pod for each in info.pods_with_affinity],
        "anti": [each.pod for each in info.pods_with_required_anti_affinity],
        "requested": info.requested,
        "non_zero": (info.non_zero_milli_cpu, info.non_zero_memory),
        "ports": info.used_ports,
        "claims": info.pvc_ref_counts,
        "allocatable": info.allocatable,
    }


class CacheMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.caches = [Cache()]
        self.snapshots = [Snapshot()]
        self.pods: dict[str, Pod] = {}  # by name, in the cache
        self.assumed: set[str] = set()
        self.nodes: dict[str, Node] = {}

    # -- operations --------------------------------------------------------------------------------------------------

    @rule(pod=pods())
    def assume(self, pod: Pod) -> None:
        if pod.name in self.pods:
            return
        for cache in self.caches:
            cache.assume_pod(pod)
        self.pods[pod.name] = pod
        self.assumed.add(pod.name)

    @rule(name=pod_names)
    def forget(self, name: str) -> None:
        if name in self.assumed:
            for cache in self.caches:
                cache.forget_pod(self.pods[name])
            self.assumed.discard(name)
            del self.pods[name]

    @rule(pod=pods())
    def add(self, pod: Pod) -> None:
        if pod.name in self.pods and pod.name not in self.assumed:
            return
        for cache in self.caches:
            cache.add_pod(pod)
        self.assumed.discard(pod.name)
        self.pods[pod.name] = pod

    @rule(pod=pods())
    def update(self, pod: Pod) -> None:
        old = self.pods.get(pod.name)
        if old is None or pod.name in self.assumed:
            return
        new = pod.on_node(old.spec.node_name)
        for cache in self.caches:
            cache.update_pod(old, new)
        self.pods[pod.name] = new

    @rule(name=pod_names)
    def remove(self, name: str) -> None:
        pod = self.pods.pop(name, None)
        if pod is not None:
            for cache in self.caches:
                cache.remove_pod(pod)
            self.assumed.discard(name)

    @rule(node=nodes())
    def put_node(self, node: Node) -> None:
        old = self.nodes.get(node.name)
        for cache in self.caches:
            if old is None:
                cache.add_node(node)
            else:
                cache.update_node(old, node)
        self.nodes[node.name] = node

    @rule(name=node_names)
    def remove_node(self, name: str) -> None:
        node = self.nodes.pop(name, None)
        if node is not None:
            for cache in self.caches:
                cache.remove_node(node)

    @precondition(lambda self: len(self.caches) == 1)
    @rule()
    def fork_through_a_checkpoint(self) -> None:
        cache, snapshot = self.caches[0], self.snapshots[0]
        dumped = json.loads(
            json.dumps([dump_cache(cache, manifests.encode), dump_snapshot(snapshot, cache, manifests.encode)])
        )
        twin = load_cache(dumped[0], manifests.decode)
        self.caches.append(twin)
        self.snapshots.append(load_snapshot(dumped[1], twin, manifests.decode))

    @rule()
    def take_snapshot(self) -> None:
        """An incremental snapshot equals a fresh one, up to the order of the list and the lag of image counts."""
        cache, snapshot = self.caches[0], self.snapshots[0]
        entries = {name: snapshot.get(name) for name in NODES}
        assert [each.update_snapshot(of) for each, of in zip(self.snapshots, self.caches, strict=True)] in (
            [""],
            ["", ""],
        )
        fresh = Snapshot()
        assert fresh.update_snapshot(cache) == ""
        assert sorted(info.name for info in snapshot.list()) == sorted(info.name for info in fresh.list())
        for name in self.nodes:
            info, want = snapshot.get(name), fresh.get(name)
            assert info is not None and want is not None
            assert plain(info) == plain(want)
            assert info.generation == want.generation
            assert info.image_states.keys() == want.image_states.keys()
            known = entries[name]
            assert known is None or known is info  # the entry keeps its identity
        for list_of in (Snapshot.have_pods_with_affinity_list, Snapshot.have_pods_with_required_anti_affinity_list):
            assert {info.name for info in list_of(snapshot)} == {info.name for info in list_of(fresh)}
        for claim in ("default/c1", "default/c2"):
            assert snapshot.is_pvc_used_by_pods(claim) == fresh.is_pvc_used_by_pods(claim)
        assert [snapshot.table.names[row] for row in snapshot.order] == [info.name for info in snapshot.list()]
        assert [snapshot.table.node_infos[row] for row in snapshot.order] == list(snapshot.list())
        assert sorted(snapshot.table.row_of) == sorted(self.nodes)

    # -- what must hold ------------------------------------------------------------------------------------------------

    @invariant()
    def totals_equal_a_recount(self) -> None:
        cache = self.caches[0]
        for name, item in cache.items.items():
            mine = [pod for pod in self.pods.values() if pod.spec.node_name == name]
            info = item.info
            assert sorted(each.pod.name for each in info.pods) == sorted(pod.name for pod in mine)
            assert info.node is self.nodes.get(name)
            assert info.requested.milli_cpu == sum(each.request.milli_cpu for each in info.pods)
            assert {each.pod.name for each in info.pods_with_affinity} == {
                each.pod.name for each in info.pods if each.has_affinity
            }
            assert sum(info.pvc_ref_counts.values()) == sum(len(each.claim_keys) for each in info.pods)
            assert info.pods or info.node is not None
        assert cache.counts()["pods"] == cache.pod_count() == len(self.pods)
        assert {self.pods[name].uid for name in self.assumed} == set(cache.assumed_pods)

    @invariant()
    def recency_and_generation_agree(self) -> None:
        generations = [item.info.generation for item in self.caches[0].items.values()]
        assert generations == sorted(generations)

    @invariant()
    def the_tree_has_all_nodes(self) -> None:
        names, error = self.caches[0].tree.list()
        assert error == "" and sorted(names) == sorted(self.nodes)

    @invariant()
    def the_twin_is_equal(self) -> None:
        def dumped(cache: Cache, snapshot: Snapshot) -> str:
            return json.dumps([dump_cache(cache, manifests.encode), dump_snapshot(snapshot, cache, manifests.encode)])

        first, *others = [dumped(cache, snapshot) for cache, snapshot in zip(self.caches, self.snapshots, strict=True)]
        assert all(other == first for other in others)


TestCacheMachine = CacheMachine.TestCase
TestCacheMachine.settings = walks(25, steps=40)
