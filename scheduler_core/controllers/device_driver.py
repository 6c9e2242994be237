"""The simulated drivers of devices: ResourceSlices of what an annotation of a node says, see `device_annotation`.

Each driver of a node has a pool, cut into slices of at most 128 devices. A change of a pool raises its generation in
all its slices. Slices go with the annotation or the node; of an annotation that cannot be read an event tells, and
what there was stays. Slices without the label are others', and left alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final
from zlib import crc32

from scheduler_core.api import manifests
from scheduler_core.api.node import Node
from scheduler_core.api.resource_claims import MOST_DEVICES, ResourceSlice
from scheduler_core.apiserver.requests import Create, Delete, ObjectKey, Patch, Request
from scheduler_core.controllers.controller import ClusterOptions
from scheduler_core.controllers.device_annotation import DEVICES, DevicePool, read_pools
from scheduler_core.controllers.event_recorder import WARNING, EventRecorder
from scheduler_core.errors import ManifestError
from scheduler_core.model.changes import Change, ObjectDeleted, ObjectPut

COMPONENT: Final = "device-driver"
INVALID: Final = "InvalidDevices"
SIMULATED: Final = "kschedweb.io/simulated-devices"  # label of the slices: "true"
_LONGEST_NAME: Final = 253


class DeviceDriver:
    """The drivers of all nodes of one cluster."""

    name, actor, group = "device-driver", "device-driver", "devices"

    def __init__(self, cluster: ClusterOptions) -> None:
        self._nodes: dict[str, Node] = {}  # those with the annotation, by name
        self._slices: dict[str, dict[str, ResourceSlice]] = {}  # by node and name
        self._node_of: dict[str, str] = {}  # of a slice
        self._dirty: dict[str, None] = {}  # names of nodes
        self._events = EventRecorder(COMPONENT)

    def step(self, now: int, changes: Sequence[Change]) -> list[Request]:
        """Take over the changes; return what makes the slices those of the annotations."""
        told: dict[str, None] = {}  # nodes whose annotation is new
        for change in changes:
            if isinstance(change, ObjectPut):
                obj = change.obj
                if isinstance(obj, Node):
                    self._put_node(obj, told)
                elif isinstance(obj, ResourceSlice) and obj.labels.get(SIMULATED) == "true":
                    self._put_slice(obj)
            elif isinstance(change, ObjectDeleted):
                if change.kind == Node.kind and self._nodes.pop(change.name, None) is not None:
                    self._dirty[change.name] = None
                elif change.kind == ResourceSlice.kind:
                    self._forget_slice(change.name)
        dirty, self._dirty = self._dirty, {}
        requests: list[Request] = []
        for name in dirty:
            requests += self._settle(name, now, is_new=name in told)
        return requests

    def next_due(self) -> None:
        """Nothing is due without a change."""

    def _put_node(self, node: Node, told: dict[str, None]) -> None:
        text, before = node.annotations.get(DEVICES), self._nodes.get(node.name)
        if text is None:
            if before is not None:
                del self._nodes[node.name]
                self._dirty[node.name] = None
            return
        self._nodes[node.name] = node
        if before is None or before.uid != node.uid or before.annotations.get(DEVICES) != text:
            told[node.name] = self._dirty[node.name] = None

    def _put_slice(self, one: ResourceSlice) -> None:
        node = one.spec.node_name or ""
        self._slices.setdefault(node, {})[one.name] = one
        self._node_of[one.name] = node
        self._dirty[node] = None

    def _forget_slice(self, name: str) -> None:
        node = self._node_of.pop(name, None)
        if node is not None:
            self._slices[node].pop(name, None)
            if not self._slices[node]:
                del self._slices[node]
            self._dirty[node] = None

    def _settle(self, name: str, now: int, *, is_new: bool) -> Iterator[Request]:
        node, stored = self._nodes.get(name), self._slices.get(name, {})
        pools: list[DevicePool] = []
        if node is not None:
            try:
                pools = read_pools(node.annotations[DEVICES], name)
            except ManifestError as error:
                if is_new:
                    yield from self._events.record(node, INVALID, str(error), now=now, kind=WARNING)
                return
        wanted: set[str] = set()
        for pool in pools:
            assert node is not None
            slices = _slices_of(node, pool)
            wanted |= slices.keys()
            yield from _pool_requests(slices, stored)
        for each in stored.values():
            if each.name not in wanted:
                yield _delete(each)


def _pool_requests(slices: dict[str, dict[str, Any]], stored: dict[str, ResourceSlice]) -> Iterator[Request]:
    """What makes the slices of one pool as wanted; a slice of an earlier node of the name goes first."""
    kept = [stored[name] for name in slices if name in stored]
    generation = max((each.spec.pool.generation for each in kept), default=0)
    if len(kept) == len(slices) and all(_is_as(stored[name], one, generation) for name, one in slices.items()):
        return
    for name, one in slices.items():
        one["spec"]["pool"]["generation"] = generation + 1
        before = stored.get(name)
        if before is None:
            yield Create(one)
        elif not _has_owner(before, one):
            yield _delete(before)
        else:
            body = {"spec": {"pool": one["spec"]["pool"], "devices": one["spec"]["devices"]}}
            yield Patch(_key(before), body, uid=before.uid)


def _slices_of(node: Node, pool: DevicePool) -> dict[str, dict[str, Any]]:
    """Return the manifests by name, of the first generation; a pool without devices has one slice."""
    cuts = range(0, max(len(pool.devices), 1), MOST_DEVICES)
    own = "" if pool.name == node.name else f"-{pool.name.replace('/', '-')}"
    owner = {"apiVersion": Node.api_version, "kind": Node.kind, "name": node.name, "uid": node.uid, "controller": True}
    made = {}
    for number, start in enumerate(cuts):
        name = _name(f"{node.name}-{pool.driver}{own}-{number}")
        made[name] = {
            "apiVersion": ResourceSlice.api_version,
            "kind": ResourceSlice.kind,
            "metadata": {"name": name, "labels": {SIMULATED: "true"}, "ownerReferences": [owner]},
            "spec": {
                "driver": pool.driver,
                "nodeName": node.name,
                "pool": {"name": pool.name, "generation": 1, "resourceSliceCount": len(cuts)},
                "devices": list(pool.devices[start : start + MOST_DEVICES]),
            },
        }
    return made


def _name(text: str) -> str:
    """The text, cut to the length of a name and still its own."""
    end = f"-{crc32(text.encode()):08x}"
    return text if len(text) <= _LONGEST_NAME else text[: _LONGEST_NAME - len(end)].rstrip(".-") + end


def _is_as(stored: ResourceSlice, wanted: dict[str, Any], generation: int) -> bool:
    wanted["spec"]["pool"]["generation"] = generation
    made = manifests.decode(wanted)
    assert isinstance(made, ResourceSlice)
    have, want = stored.spec, made.spec
    described = (have.driver, have.node_name, have.pool) == (want.driver, want.node_name, want.pool)
    return described and (have.devices or ()) == (want.devices or ()) and _has_owner(stored, wanted)


def _has_owner(stored: ResourceSlice, wanted: dict[str, Any]) -> bool:
    (owner,) = wanted["metadata"]["ownerReferences"]
    return any(each.uid == owner["uid"] for each in stored.metadata.owner_references or ())


def _key(one: ResourceSlice) -> ObjectKey:
    return ObjectKey(one.kind, "", one.name)


def _delete(one: ResourceSlice) -> Request:
    return Delete(_key(one), uid=one.uid)
