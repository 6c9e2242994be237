"""Pools of devices as a node sees them, gathered from slices and kept while the slices stay.

Slices in order of their names; pools in order of driver and name, those with binding conditions last (upstream: the
order of maps). Only slices for the node count, and of these the ones of the newest generation.
Source: kubernetes v1.34.1, staging/src/k8s.io/dynamic-resource-allocation/structured/internal (GatherPools).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

import msgspec

from scheduler_core.api.node import Node
from scheduler_core.api.resource_claims import Device, ResourceSlice
from scheduler_core.api.selectors import NodeSelectorMatcher, parse_node_selector
from scheduler_core.cel.selectors import SelectorError, compile_selector, device_value
from scheduler_core.cel.values import Map
from scheduler_core.lru import LruDict

DeviceId = tuple[str, str, str]
"""Driver, pool, device."""
PoolId = tuple[str, str]


_MOST_TRAITS: Final = 10_000  # kinds of devices
_MOST_ANSWERS: Final = 1_000  # per kind of device
_encoder = msgspec.msgpack.Encoder()
_traits: LruDict[bytes, Traits] = LruDict(_MOST_TRAITS)


class PoolError(ValueError):
    """The pools of a node cannot be told."""


class Traits:
    """What selectors can read of a device, and what they say of it: the same for all devices that are alike."""

    __slots__ = ("_answers", "_device", "_driver", "_value")

    def __init__(self, driver: str, device: Device) -> None:
        self._driver = driver
        self._device = device
        self._value: Map | None = None
        self._answers: dict[str, bool | str] = {}

    def are_accepted(self, expression: str) -> bool | str:
        """What a selector says, or why it cannot. CompileError when it is none."""
        known = self._answers.get(expression)
        if known is None:
            if len(self._answers) >= _MOST_ANSWERS:
                self._answers.clear()
            known = self._answers[expression] = self._asked(expression)
        return known

    def _asked(self, expression: str) -> bool | str:
        selector = compile_selector(expression)
        try:
            if self._value is None:
                self._value = device_value(self._driver, self._device)
            return selector.accepts(self._value)
        except SelectorError as error:
            return str(error)


class PoolDevice:
    """A device in a slice."""

    __slots__ = ("_traits", "device", "id", "slice")

    def __init__(self, held_in: ResourceSlice, device: Device) -> None:
        self.id: DeviceId = (held_in.spec.driver, held_in.spec.pool.name, device.name)
        self.slice = held_in
        self.device = device
        self._traits: Traits | None = None

    @property
    def name(self) -> str:
        return "/".join(self.id)

    @property
    def traits(self) -> Traits:
        if self._traits is None:
            device = self.device
            key = _encoder.encode((self.id[0], device.attributes, device.capacity))
            found = _traits.use(key)
            if found is None:
                found = _traits[key] = Traits(self.id[0], device)
            self._traits = found
        return self._traits


@dataclass(slots=True)
class Pool:
    """The slices of a pool for one node. `invalid_reason`: why nothing of it may be allocated, empty if it may."""

    driver: str
    name: str
    is_incomplete: bool
    invalid_reason: str
    devices: tuple[PoolDevice, ...]
    _kind: tuple[object, ...] | None = None

    @property
    def kind(self) -> tuple[object, ...]:
        """All that an allocation may depend on but the names of the pool and of its devices."""
        if self._kind is None:
            traits = tuple(
                (device.traits, bool(device.device.consumes_counters), bool(device.device.binding_conditions))
                for device in self.devices
            )
            self._kind = (self.is_incomplete, bool(self.invalid_reason), traits)
        return self._kind

    @property
    def id(self) -> str:
        return f"{self.driver}/{self.name}"


@dataclass(slots=True)
class _Slice:
    """A slice with its devices, and whom it is for."""

    object: ResourceSlice
    devices: tuple[PoolDevice, ...]
    selector: NodeSelectorMatcher | None
    has_conditions: bool

    def is_for(self, node: Node) -> bool:
        """Whether a slice that is not bound to one node is for this one. PoolError when its selector is wrong."""
        if self.object.spec.all_nodes:
            return True
        assert self.selector is not None
        if self.selector.errors:
            text = f"failed to perform node selection for slice {self.object.name}: failed to parse node selector"
            raise PoolError(f"gather pool information: {text}: {', '.join(self.selector.errors)}")
        return self.selector.matches_node(node)


@dataclass(slots=True)
class Pools:
    """All slices as they are now; `of` a node is kept while these and the node object stay."""

    local: dict[str, list[_Slice]] = field(default_factory=dict)  # by node
    shared: list[_Slice] = field(default_factory=list)
    places: dict[DeviceId, set[str]] = field(default_factory=dict)  # nodes of devices bound to nodes
    shared_devices: set[DeviceId] = field(default_factory=set)
    _known: dict[str, tuple[Node, tuple[Pool, ...]]] = field(default_factory=dict)

    @staticmethod
    def from_slices(slices: Iterable[ResourceSlice], before: Pools | None = None) -> Pools:
        """`before`: pools of an earlier moment; devices in slices that are the same objects are taken over."""
        kept = before.devices_by_slice() if before is not None else {}
        pools = Pools()
        for each in sorted(slices, key=lambda one: one.name):
            spec = each.spec
            is_placed = spec.node_name or spec.all_nodes or spec.node_selector is not None
            if spec.per_device_node_selection is not None or not is_placed:
                continue  # behind a gate that is off, or for nobody known
            devices = kept.get(id(each)) or tuple(PoolDevice(each, device) for device in spec.devices or ())
            selector = parse_node_selector(spec.node_selector) if spec.node_selector is not None else None
            has_conditions = any(device.binding_conditions is not None for device in spec.devices or ())
            held = _Slice(each, devices, selector, has_conditions)
            if spec.node_name:
                pools.local.setdefault(spec.node_name, []).append(held)
                for device in devices:
                    pools.places.setdefault(device.id, set()).add(spec.node_name)
            else:
                pools.shared.append(held)
                pools.shared_devices.update(device.id for device in devices)
        return pools

    def is_shared(self, device: DeviceId) -> bool:
        """Whether several nodes may see the device."""
        return device in self.shared_devices

    def devices_by_slice(self) -> dict[int, tuple[PoolDevice, ...]]:
        """By identity of the slice objects, which the pools keep alive."""
        slices = [*self.shared, *(held for each in self.local.values() for held in each)]
        return {id(held.object): held.devices for held in slices}

    def of(self, node: Node) -> tuple[Pool, ...]:
        """PoolError when a selector of a slice is wrong."""
        known = self._known.get(node.name)
        if known is not None and (known[0] is node or not self.shared):
            return known[1]
        found = _gathered(self._slices_for(node))
        self._known[node.name] = node, found
        return found

    def _slices_for(self, node: Node) -> list[_Slice]:
        local = self.local.get(node.name, [])
        if not self.shared:
            return local
        shared = [held for held in self.shared if held.is_for(node)]
        return sorted((*local, *shared), key=lambda held: held.object.name)


def _gathered(slices: Sequence[_Slice]) -> tuple[Pool, ...]:
    kept: dict[PoolId, list[_Slice]] = {}
    # Devices without binding conditions are preferred.
    for held in (
        *(each for each in slices if not each.has_conditions),
        *(each for each in slices if each.has_conditions),
    ):
        spec = held.object.spec
        of_pool = kept.setdefault((spec.driver, spec.pool.name), [])
        newest = of_pool[0].object.spec.pool.generation if of_pool else spec.pool.generation
        if spec.pool.generation < newest:
            continue
        if spec.pool.generation > newest:
            of_pool.clear()
        of_pool.append(held)
    ordered = sorted(kept.items(), key=lambda item: (any(held.has_conditions for held in item[1]), item[0]))
    return tuple(_pool(key, of_pool) for key, of_pool in ordered)


def _pool(key: PoolId, slices: Sequence[_Slice]) -> Pool:
    devices = tuple(device for held in slices for device in held.devices)
    is_incomplete = len(slices) != slices[0].object.spec.pool.resource_slice_count
    return Pool(*key, is_incomplete, _duplicate(devices), devices)


def _duplicate(devices: Iterable[PoolDevice]) -> str:
    seen: set[str] = set()
    for device in devices:
        if device.device.name in seen:
            return f"duplicate device name {device.device.name}"
        seen.add(device.device.name)
    return ""
