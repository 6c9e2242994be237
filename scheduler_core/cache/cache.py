"""Assigned and assumed pods, added up per node.

    Initial ──assume──▶ Assumed ──add──▶ Added ──update──▶ Added ──remove──▶ gone
    Initial ──────────────add──────────▶ Added
    Assumed ──forget──▶ Initial          Assumed ──ttl over, binding finished──▶ Expired ──add──▶ Added

A node deleted while pods are left on it stays as a ghost, without its object, until the last pod is gone; a pod may
also come before its node. Nodes are listed by recency of change. Times in µs. What upstream returns as an error is a
CacheError; what makes it exit is a CacheCorruptedError.
Source: kubernetes v1.34.1, pkg/scheduler/backend/cache/cache.go.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field

import msgspec

from scheduler_core.api.node import Node
from scheduler_core.api.pod import Pod
from scheduler_core.api.signature import Signature
from scheduler_core.cache.image_states import ImageState, ImageStates, summarize
from scheduler_core.cache.node_tree import NodeTree
from scheduler_core.errors import CacheCorruptedError, CoreError
from scheduler_core.model.node_info import ImageStateSummary, NodeInfo
from scheduler_core.model.types import PodInfo
from scheduler_core.ports import LogSink, discard_log

UPDATED_ELSEWHERE = "Pod updated on a different node than previously added to"
ADDED_ELSEWHERE = "Pod was added to a different node than it was assumed"
ASSUMED_WITHOUT_STATE = "Key found in assumed set but not in podStates, potentially a logical error"
CORRUPTED = "Scheduler cache is corrupted and can badly affect scheduling decisions"


class CacheError(CoreError):
    """The cache refuses an operation; the text is upstream's."""


class PodState(msgspec.Struct):
    """A pod in the cache; the deadline counts only while it is assumed."""

    pod: Pod
    deadline: int | None = None
    binding_finished: bool = False


@dataclass(slots=True)
class CacheItem:
    """A node with the image states it refers to, and their summary as of a version of all image states."""

    info: NodeInfo
    images: dict[str, ImageState] = field(default_factory=dict)
    image_summary: dict[str, ImageStateSummary] = field(default_factory=dict)
    summary_version: int = 0


@dataclass(frozen=True, slots=True)
class CacheDump:
    """Copies of all items, ghosts included, and the keys of assumed pods in order of assuming."""

    nodes: dict[str, NodeInfo]
    assumed_pods: tuple[str, ...]


class Cache:
    """`ttl_us`: how long an assumed pod may wait for its Add after its binding; 0 for ever, the default."""

    def __init__(self, *, ttl_us: int = 0, log: LogSink = discard_log) -> None:
        self.ttl_us = ttl_us
        self.generation = 0  # handed out last
        self.pod_states: dict[str, PodState] = {}
        self.assumed_pods: dict[str, None] = {}
        # Least recently changed first; upstream's head is the last.
        self.items: OrderedDict[str, CacheItem] = OrderedDict()
        self.tree = NodeTree(log)
        self.image_states = ImageStates()
        self._log = log

    # -- pods --------------------------------------------------------------------------------------------------------

    def assume_pod(self, pod: Pod, signed: Signature | None = None) -> None:
        """Count the pod on its node before the cluster knows of it. `signed`: its signature, where it is known."""
        key = _key(pod)
        if key in self.pod_states:
            raise CacheError(f"pod {key}({pod.key}) is in the cache, so can't be assumed")
        self._add_pod(pod, assumed=True, signed=signed)

    def finish_binding(self, pod: Pod, now: int) -> None:
        """The pod may expire from now on. It stays assumed until its Add arrives."""
        key = _key(pod)
        if key in self.assumed_pods:
            state = self.pod_states[key]
            state.deadline = now + self.ttl_us if self.ttl_us else None
            state.binding_finished = True

    def forget_pod(self, pod: Pod) -> None:
        """Undo an assumption."""
        key = _key(pod)
        state = self.pod_states.get(key)
        if state is not None and state.pod.spec.node_name != pod.spec.node_name:
            # The nodes are named the wrong way round, as upstream.
            raise CacheError(
                f"pod {key}({pod.key}) was assumed on {pod.spec.node_name} but assigned to {state.pod.spec.node_name}"
            )
        if key not in self.assumed_pods:
            raise CacheError(f"pod {key}({pod.key}) wasn't assumed so cannot be forgotten")
        self._remove_pod(pod)

    def add_pod(self, pod: Pod) -> None:
        """The cluster has the pod on a node; confirms an assumption, and corrects its node."""
        key = _key(pod)
        state = self.pod_states.get(key)
        if state is None:
            self._add_pod(pod, assumed=False)
        elif key not in self.assumed_pods:
            raise CacheError(f"pod {key}({pod.key}) was already in added state")
        else:
            try:
                self._replace_pod(state.pod, pod)
            except CacheError as error:
                self._log("Error occurred while updating pod", {"pod": pod.key, "err": str(error)})
            if state.pod.spec.node_name != pod.spec.node_name:
                self._log_other_node(state.pod, pod)

    def update_pod(self, old: Pod, new: Pod) -> None:
        key = _key(old)
        state = self.pod_states.get(key)
        if state is None:
            raise CacheError(f"pod {key}({old.key}) is not added to scheduler cache, so cannot be updated")
        if key in self.assumed_pods:
            raise CacheError(f"assumed pod {key}({old.key}) should not be updated")
        if state.pod.spec.node_name != new.spec.node_name:
            self._log_other_node(state.pod, new, message=UPDATED_ELSEWHERE, err=None)
            raise CacheCorruptedError(f"{UPDATED_ELSEWHERE}. {CORRUPTED}")
        self._replace_pod(old, new)

    def remove_pod(self, pod: Pod) -> None:
        """Remove the version of the pod that is here, whatever the argument says, also when it is assumed."""
        key = _key(pod)
        state = self.pod_states.get(key)
        if state is None:
            raise CacheError(f"pod {key}({pod.key}) is not found in scheduler cache, so cannot be removed from it")
        if state.pod.spec.node_name != pod.spec.node_name:
            self._log_other_node(state.pod, pod, err=None)
            # An empty name is what is left of a deletion the scheduler had missed.
            if pod.spec.node_name:
                raise CacheCorruptedError(CORRUPTED)
        self._remove_pod(state.pod)

    def get_pod(self, pod: Pod) -> Pod:
        """The object held here."""
        key = _key(pod)
        state = self.pod_states.get(key)
        if state is None:
            raise CacheError(f"pod {key}({pod.key}) does not exist in scheduler cache")
        return state.pod

    def is_assumed_pod(self, pod: Pod) -> bool:
        return _key(pod) in self.assumed_pods

    def cleanup_assumed_pods(self, now: int) -> None:
        """Expire assumed pods whose Add never came; due every second where there is a ttl."""
        if not self.ttl_us and self.assumed_pods.keys() <= self.pod_states.keys():
            return  # nothing ever expires, and nothing is wrong
        for key in list(self.assumed_pods):
            state = self.pod_states.get(key)
            if state is None:
                raise CacheCorruptedError(ASSUMED_WITHOUT_STATE)
            if not state.binding_finished:
                message = "Could not expire cache for pod as binding is still in progress"
                self._log(message, {"podKey": key, "pod": state.pod.key})
            elif state.deadline is not None and now > state.deadline:
                self._log("Pod expired", {"podKey": key, "pod": state.pod.key})
                try:
                    self._remove_pod(state.pod)
                except CacheError as error:
                    self._log("ExpirePod failed", {"podKey": key, "pod": state.pod.key, "err": str(error)})

    # -- nodes -------------------------------------------------------------------------------------------------------

    def add_node(self, node: Node) -> NodeInfo:
        """The node is there; a copy of it with the pods that came first."""
        item = self.items.get(node.name)
        if item is None:
            item = self._new_item(node.name)
        else:
            self.image_states.remove_node(item.info.node)
        self.move_to_head(node.name)
        self.tree.add_node(node)
        return self._set_node(item, node)

    def update_node(self, old: Node | None, new: Node) -> NodeInfo:
        """The node changed; unlike `add_node` this moves it to its new zone."""
        item = self.items.get(new.name)
        if item is None:
            item = self._new_item(new.name)
            self.tree.add_node(new)
        else:
            self.image_states.remove_node(item.info.node)
        self.move_to_head(new.name)
        self.tree.update_node(old, new)
        return self._set_node(item, new)

    def remove_node(self, node: Node) -> None:
        """The node is gone; with pods left on it, it stays as a ghost."""
        item = self.items.get(node.name)
        if item is None:
            raise CacheError(f"node {node.name} is not found")
        item.info.remove_node()
        if item.info.pods:
            self.move_to_head(node.name)
        else:
            del self.items[node.name]
        error = self.tree.remove_node(node)
        if error:
            raise CacheError(error)
        self.image_states.remove_node(node)

    # -- looking in ----------------------------------------------------------------------------------------------------

    def node_count(self) -> int:
        """Ghosts included."""
        return len(self.items)

    def pod_count(self) -> int:
        return sum(len(item.info.pods) for item in self.items.values())

    def counts(self) -> dict[str, int]:
        """The gauge `scheduler_cache_size` by type."""
        return {"assumed_pods": len(self.assumed_pods), "pods": len(self.pod_states), "nodes": len(self.items)}

    def dump(self) -> CacheDump:
        nodes = {name: self.copy_of(item) for name, item in reversed(self.items.items())}
        return CacheDump(nodes, tuple(self.assumed_pods))

    def copy_of(self, item: CacheItem) -> NodeInfo:
        """A copy with the images as they stand now."""
        copy = item.info.copy()
        copy.image_states = self._summary_of(item)
        return copy

    def copy_into(self, entry: NodeInfo, item: CacheItem) -> None:
        """Like `copy_of`, into a copy made before."""
        entry.assign(item.info)
        entry.image_states = self._summary_of(item)

    def next_generation(self) -> int:
        self.generation += 1
        return self.generation

    # -- inside --------------------------------------------------------------------------------------------------

    def _summary_of(self, item: CacheItem) -> dict[str, ImageStateSummary]:
        """Of the images as they stand now; shared by copies while it stays true."""
        if item.summary_version != self.image_states.version:
            item.summary_version = self.image_states.version
            summary = summarize(item.images)
            if summary != item.image_summary:
                item.image_summary = summary
        return item.image_summary

    def _add_pod(self, pod: Pod, *, assumed: bool, signed: Signature | None = None) -> None:
        key = _key(pod)
        name = pod.spec.node_name
        item = self.items.get(name)
        if item is None:
            item = self._new_item(name)
        item.info.add_pod(PodInfo.of(pod, signed))
        self.items.move_to_end(name)
        self.pod_states[key] = PodState(pod)
        if assumed:
            self.assumed_pods[key] = None

    def _replace_pod(self, old: Pod, new: Pod) -> None:
        name, key = old.spec.node_name, old.uid
        item = self.items.get(name)
        # A ghost may go with its last pod, and come back.
        if item is None or item.info.node is None or new.spec.node_name != name or new.uid != key:
            self._remove_pod(old)
            self._add_pod(new, assumed=False)
            return
        if not item.info.replace_pod(old, PodInfo.of(new)):
            raise _not_among_pods(old, item)
        self.items.move_to_end(name)
        # Last among all pods, as after being removed and added.
        del self.pod_states[key]
        self.pod_states[key] = PodState(new)
        self.assumed_pods.pop(key, None)

    def _remove_pod(self, pod: Pod) -> None:
        key = _key(pod)
        name = pod.spec.node_name
        item = self.items.get(name)
        if item is None:
            fields: dict[str, object] = {"node": name, "podKey": key, "pod": pod.key, "err": None}
            self._log("Node not found when trying to remove pod", fields)
        else:
            if not item.info.remove_pod(pod):
                raise _not_among_pods(pod, item)
            if item.info.pods or item.info.node is not None:
                self.items.move_to_end(name)
            else:
                del self.items[name]
        self.pod_states.pop(key, None)
        self.assumed_pods.pop(key, None)

    def _new_item(self, name: str) -> CacheItem:
        item = CacheItem(NodeInfo(self.next_generation, generation=self.next_generation()))
        self.items[name] = item
        return item

    def _set_node(self, item: CacheItem, node: Node) -> NodeInfo:
        item.images = self.image_states.add_node(node)
        item.summary_version = -1
        item.info.set_node(node)
        return self.copy_of(item)

    def move_to_head(self, name: str) -> None:
        """The node changed just now."""
        if name not in self.items:
            self._log("No node info with given name found in the cache", {"node": name, "err": None})
            return
        self.items.move_to_end(name)

    def _log_other_node(self, held: Pod, given: Pod, message: str = ADDED_ELSEWHERE, **fields: object) -> None:
        nodes = {"assumedNode": given.spec.node_name, "currentNode": held.spec.node_name}
        self._log(message, {"podKey": given.uid, "pod": given.key, **nodes, **fields})


def _not_among_pods(pod: Pod, item: CacheItem) -> CacheError:
    return CacheError(f"no corresponding pod {pod.name} in pods of node {item.info.name}")


def _key(pod: Pod) -> str:
    uid = pod.metadata.uid
    if not uid:
        raise CacheError("cannot get cache key for pod with empty UID")
    return uid
