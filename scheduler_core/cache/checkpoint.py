"""Cache and snapshot as plain lists, dicts, texts and numbers, and back.

Kept exactly: order of nodes, pods and zones, generations, totals as they were added up, stale image counts. A snapshot
entry at the generation of its cache item has the same content and is not written out again. Objects go through the
caller's `encode` and `decode`, which may share them with the rest of a checkpoint.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scheduler_core.api.meta import KubeObject
from scheduler_core.api.node import Node
from scheduler_core.api.pod import Pod
from scheduler_core.cache.cache import Cache, CacheItem, PodState
from scheduler_core.cache.snapshot import Snapshot
from scheduler_core.model.node_info import ImageStateSummary, NodeInfo
from scheduler_core.model.types import PodInfo, Resource
from scheduler_core.ports import LogSink, discard_log

Encode = Callable[[KubeObject], Any]
Decode = Callable[[Any], KubeObject]


def dump_cache(cache: Cache, encode: Encode) -> dict[str, Any]:
    return {
        "generation": cache.generation,
        "tree": cache.tree.dump(),
        "image_states": cache.image_states.dump(),
        "items": [
            # Nobody asks for the images of a ghost, and those it had may be gone.
            {
                "name": name,
                "info": _dump_info(item.info, encode),
                "images": [] if item.info.node is None else list(item.images),
            }
            for name, item in cache.items.items()
        ],
        "pod_states": [
            [key, state.pod.spec.node_name, _place(cache, state.pod), state.deadline, state.binding_finished]
            for key, state in cache.pod_states.items()
        ],
        "assumed_pods": list(cache.assumed_pods),
    }


def load_cache(dumped: dict[str, Any], decode: Decode, *, ttl_us: int = 0, log: LogSink = discard_log) -> Cache:
    cache = Cache(ttl_us=ttl_us, log=log)
    cache.generation = dumped["generation"]
    cache.tree.load(dumped["tree"])
    cache.image_states.load(dumped["image_states"])
    for each in dumped["items"]:
        images = cache.image_states.of_names(each["images"])
        item = CacheItem(_load_info(each["info"], decode, cache), images, summary_version=-1)
        cache.items[each["name"]] = item
    for key, node_name, place, deadline, finished in dumped["pod_states"]:
        pod = cache.items[node_name].info.pods[place].pod
        cache.pod_states[key] = PodState(pod, deadline, finished)
    cache.assumed_pods = dict.fromkeys(dumped["assumed_pods"])
    return cache


def dump_snapshot(snapshot: Snapshot, cache: Cache, encode: Encode) -> dict[str, Any]:
    entries = []
    for name, entry in snapshot.node_info_map.items():
        item = cache.items.get(name)
        unchanged = item is not None and item.info.generation == entry.generation
        images = [[image, state.size, state.num_nodes] for image, state in sorted(entry.image_states.items())]
        entries.append([name, None if unchanged else _dump_info(entry, encode), images])
    return {
        "generation": snapshot.generation,
        "since": snapshot.since,
        "dropped": list(snapshot.dropped),
        "entries": entries,
        "order": [info.name for info in snapshot.list()],
    }


def load_snapshot(dumped: dict[str, Any], cache: Cache, decode: Decode, *, log: LogSink = discard_log) -> Snapshot:
    """The snapshot over the loaded cache; rows of the table may come in another order than before."""
    snapshot = Snapshot(log)
    snapshot.generation = dumped["generation"]
    # Missing in checkpoints of earlier releases.
    snapshot.since, snapshot.dropped = dumped.get("since"), tuple(dumped.get("dropped", ()))
    for name, info, images in dumped["entries"]:
        entry = cache.items[name].info.copy() if info is None else _load_info(info, decode, cache)
        summary = {image: ImageStateSummary(size, num_nodes) for image, size, num_nodes in images}
        known = cache.items.get(name)
        if known is not None and cache.copy_of(known).image_states == summary:
            summary = known.image_summary
        entry.image_states = summary
        snapshot.node_info_map[name] = entry
        snapshot.table.upsert(entry)
    snapshot.set_list(dumped["order"])
    return snapshot


def _place(cache: Cache, pod: Pod) -> int:
    pods = cache.items[pod.spec.node_name].info.pods
    return next(place for place, info in enumerate(pods) if info.pod is pod)


def _dump_info(info: NodeInfo, encode: Encode) -> dict[str, Any]:
    return {
        "node": None if info.node is None else encode(info.node),
        "pods": [encode(each.pod) for each in info.pods],
        # Removal swaps within each list by itself, so their orders are states of their own.
        "with_affinity": _places(info.pods, info.pods_with_affinity),
        "with_required_anti_affinity": _places(info.pods, info.pods_with_required_anti_affinity),
        "used_ports": [list(port) for port in sorted(info.used_ports)],
        "requested": _dump_resource(info.requested),
        "non_zero": [info.non_zero_milli_cpu, info.non_zero_memory],
        "allocatable": _dump_resource(info.allocatable),
        "pvc_ref_counts": list(info.pvc_ref_counts.items()),
        "generation": info.generation,
    }


def _load_info(dumped: dict[str, Any], decode: Decode, cache: Cache) -> NodeInfo:
    node = None if dumped["node"] is None else decode(dumped["node"])
    assert node is None or isinstance(node, Node)
    pods = []
    for each in dumped["pods"]:
        pod = decode(each)
        assert isinstance(pod, Pod)
        pods.append(PodInfo.of(pod))
    non_zero_milli_cpu, non_zero_memory = dumped["non_zero"]
    return NodeInfo(
        next_generation=cache.next_generation,
        node=node,
        pods=pods,
        pods_with_affinity=[pods[place] for place in dumped["with_affinity"]],
        pods_with_required_anti_affinity=[pods[place] for place in dumped["with_required_anti_affinity"]],
        used_ports={tuple(port) for port in dumped["used_ports"]},
        requested=_load_resource(dumped["requested"]),
        non_zero_milli_cpu=non_zero_milli_cpu,
        non_zero_memory=non_zero_memory,
        allocatable=_load_resource(dumped["allocatable"]),
        pvc_ref_counts=dict(dumped["pvc_ref_counts"]),
        generation=dumped["generation"],
    )


def _places(pods: list[PodInfo], subset: list[PodInfo]) -> list[int]:
    place_of = {id(info): place for place, info in enumerate(pods)}
    return [place_of[id(info)] for info in subset]


def _dump_resource(resource: Resource) -> list[Any]:
    return [
        resource.milli_cpu,
        resource.memory,
        resource.ephemeral_storage,
        resource.allowed_pod_number,
        dict(resource.scalar),
    ]


def _load_resource(dumped: list[Any]) -> Resource:
    milli_cpu, memory, ephemeral_storage, allowed_pod_number, scalar = dumped
    return Resource(milli_cpu, memory, ephemeral_storage, allowed_pod_number, dict(scalar))
