"""Devices for the claims of a pod on one node: the first complete choice in the order of search, or none.

Claim by claim, request by request, device by device; at a dead end the last device is given back and the next one
tried. Requests with alternatives take the first one that leads to a solution. Before the search all requests are
checked: what is wrong with one of them is an error whatever the node has.

Kept from upstream on purpose, in `_take_all`: after the first device of an alternative of mode All the search goes on
with the first alternative; and in `_data_of`: of the first two alternatives the second gets the devices that match the
first, where both want all.
Source: kubernetes v1.34.1, staging/src/k8s.io/dynamic-resource-allocation/structured/internal/experimental.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from enum import IntEnum

from scheduler_core.api.resource_claims import DeviceClass, ExactDeviceRequest, ResourceClaim
from scheduler_core.plugins.dynamic_resources.constraints import Constraint, constraint_of
from scheduler_core.plugins.dynamic_resources.pools import DeviceId, Pool, PoolDevice
from scheduler_core.plugins.dynamic_resources.requests import ALL, EXACT_COUNT, AllocationError, RequestData

MAX_DEVICES = 32
TOO_MANY = "allocation max size exceeded"
_FRAMES_PER_DEVICE = 4


class TimedOutError(Exception):
    """The search took more steps than it may."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """A device given to a request."""

    data: RequestData
    device: PoolDevice


class _Found(IntEnum):
    NOTHING = 0
    ALL = 1
    TOO_MANY = 2  # devices for one claim, whatever comes after this choice


@dataclass(frozen=True, slots=True)
class Allocation:
    """Devices per claim, in the order in which they were chosen; with the requests they were chosen for."""

    chosen: tuple[tuple[Chosen, ...], ...]
    requests: dict[tuple[int, int, int], RequestData]  # by claim, request and alternative


class Allocator:
    """One search. `allocated`: devices that others have; `max_steps`: how long it may take, None for ever."""

    def __init__(
        self,
        claims: Sequence[ResourceClaim],
        pools: Sequence[Pool],
        allocated: Collection[DeviceId],
        class_of: Callable[[str], DeviceClass | None],
        max_steps: int | None = None,
    ) -> None:
        self._claims = claims
        self._pools = pools
        self._allocated = allocated
        self._class_of = class_of
        self._max_steps = max_steps
        self._steps = 0
        self._data: dict[tuple[int, int, int], RequestData] = {}
        self._constraints: list[list[Constraint]] = []
        self._chosen: list[list[Chosen]] = [[] for _ in claims]
        self._taken: dict[DeviceId, set[int]] = {}  # by which claims of the pod
        self._matches: dict[tuple[DeviceId, tuple[int, int, int]], bool] = {}

    def allocate(self) -> Allocation | None:
        """None when not all claims can be allocated. Raises AllocationError and TimedOutError."""
        for index, claim in enumerate(self._claims):
            self._check(index, claim)
        depth = sum(data.num_devices + 2 for data in self._data.values()) + len(self._claims)
        wanted = 1000 + _FRAMES_PER_DEVICE * depth
        if depth > 100 and sys.getrecursionlimit() < wanted:
            sys.setrecursionlimit(wanted)
        found = self._one(0, 0, 0, 0, in_alternative=False)
        if found is _Found.TOO_MANY:
            raise AllocationError(TOO_MANY)
        if found is _Found.NOTHING:
            return None
        return Allocation(tuple(map(tuple, self._chosen)), self._data)

    # Before the search

    def _check(self, index: int, claim: ResourceClaim) -> None:
        devices = 0
        for place, request in enumerate(claim.spec.devices.requests or ()):
            alternatives = request.first_available or ()
            asked = (*alternatives, *((request.exactly,) if request.exactly is not None else ()))
            if any(each.capacity is not None for each in asked):
                raise AllocationError(
                    f"claim {claim.key}, request {request.name}: has capacity requests,"
                    " but the DRAConsumableCapacity feature is disabled"
                )
            fewest: int | None = None
            if alternatives:
                for number, alternative in enumerate(alternatives):
                    data = self._data_of((index, place, number), alternative.name, request.name, alternative)
                    fewest = data.num_devices if fewest is None else min(fewest, data.num_devices)
            elif request.exactly is not None:
                fewest = self._data_of((index, place, 0), request.name, "", request.exactly).num_devices
            devices += fewest or 0
        if devices > MAX_DEVICES:
            raise AllocationError(
                f"claim {claim.key}: number of requested devices {devices} exceeds the claim limit of {MAX_DEVICES}"
            )
        constraints: list[Constraint] = []
        for number, given in enumerate(claim.spec.devices.constraints or ()):
            constraint = constraint_of(given)
            if constraint is None:
                raise AllocationError(
                    f"claim {claim.key}, constraint #{number}: empty constraint (unsupported constraint type?)"
                )
            constraints.append(constraint)
        self._constraints.append(constraints)

    def _data_of(self, key: tuple[int, int, int], name: str, parent: str, asked: ExactDeviceRequest) -> RequestData:
        claim = self._claims[key[0]]
        named = f"claim {claim.key}, request {name}"
        for index, selector in enumerate(asked.selectors or ()):
            if selector.cel is None:
                text = "CEL expression empty (unsupported selector type?)"
                raise AllocationError(f"{named}, selector #{index}: {text}")
        if not asked.device_class_name:
            raise AllocationError(f"{named}: missing device class name (unsupported request type?)")
        device_class = self._class_of(asked.device_class_name)
        if device_class is None:
            missing = f'deviceclass.resource.k8s.io "{asked.device_class_name}" not found'
            raise AllocationError(f"{named}: could not retrieve device class {asked.device_class_name}: {missing}")
        data = self._data[key] = RequestData(claim, name, parent, asked, device_class)
        if asked.allocation_mode == EXACT_COUNT:
            data.num_devices = asked.count
        elif asked.allocation_mode == ALL:
            data.devices = tuple(self._all_devices(data, named, (*key[:2], max(key[2] - 1, 0))))
            data.num_devices = len(data.devices)
        else:
            raise AllocationError(f"{named}: unsupported count mode {asked.allocation_mode}")
        return data

    def _all_devices(self, data: RequestData, named: str, asked_as: tuple[int, int, int]) -> list[PoolDevice]:
        found: list[PoolDevice] = []
        for pool in self._pools:
            if pool.is_incomplete:
                raise AllocationError(
                    f"{named}: asks for all devices, but resource pool {pool.id} is currently being updated"
                )
            if pool.invalid_reason:
                raise AllocationError(
                    f"{named}: asks for all devices, but resource pool {pool.id} is currently invalid"
                )
            for device in pool.devices:
                if device.device.binding_conditions:
                    continue
                key = device.id, asked_as
                if key not in self._matches:
                    self._matches[key] = data.selects(device)
                if self._matches[key]:
                    found.append(device)
        return found

    # The search

    def _one(self, claim: int, request: int, alternative: int, device: int, *, in_alternative: bool) -> _Found:
        """Choose one device and all that follow it."""
        self._steps += 1
        if self._max_steps is not None and self._steps > self._max_steps:
            raise TimedOutError
        if claim >= len(self._claims):
            return _Found.ALL
        if request >= len(self._claims[claim].spec.devices.requests or ()):
            found = self._one(claim + 1, 0, 0, 0, in_alternative=False)
            # Fewer devices of another claim may help.
            return _Found.NOTHING if found is _Found.TOO_MANY else found
        data = self._data[claim, request, alternative]
        if data.parent and not in_alternative:
            return self._first_alternative(claim, request, device, data)
        if data.is_all and not data.devices:
            return _Found.NOTHING
        if device >= data.num_devices:
            return self._one(claim, request + 1, 0, 0, in_alternative=False)
        if len(self._chosen[claim]) + data.num_devices - device > MAX_DEVICES:
            return _Found.TOO_MANY
        if data.is_all:
            return self._take_all(claim, request, device, data)
        for pool in self._pools:
            if pool.invalid_reason:
                raise AllocationError(f"pool {pool.name} is invalid: {pool.invalid_reason}")
            for candidate in pool.devices:
                if not self._is_free(claim, data, candidate) or not data.selects(candidate):
                    continue
                if not self._take(claim, data, candidate):
                    continue
                found = self._one(claim, request, alternative, device + 1, in_alternative=in_alternative)
                if found is _Found.ALL:
                    return found
                self._give_back(claim, data, candidate)
                if found is _Found.TOO_MANY:
                    return found
        return _Found.NOTHING

    def _first_alternative(self, claim: int, request: int, device: int, first: RequestData) -> _Found:
        number, are_all_too_many = 0, True
        while (claim, request, number) in self._data:
            found = self._one(claim, request, number, device, in_alternative=True)
            if found is _Found.ALL:
                first.selected = number
                return found
            if found is _Found.NOTHING:
                are_all_too_many = False
            number += 1
        return _Found.TOO_MANY if are_all_too_many else _Found.NOTHING

    def _take_all(self, claim: int, request: int, device: int, data: RequestData) -> _Found:
        candidate = data.devices[device]
        if not self._is_free(claim, data, candidate):
            return _Found.NOTHING
        if candidate.device.consumes_counters:
            return _Found.NOTHING
        if not self._take(claim, data, candidate):
            raise AllocationError(
                f"claim {data.claim.key}, request {data.name}: cannot add device {candidate.name}"
                " because a claim constraint would not be satisfied"
            )
        found = self._one(claim, request, 0, device + 1, in_alternative=bool(data.parent))
        if found is not _Found.ALL:
            self._give_back(claim, data, candidate)
        return found

    def _is_free(self, claim: int, data: RequestData, device: PoolDevice) -> bool:
        taken = self._taken.get(device.id)
        if data.is_admin:
            return not taken or claim not in taken
        return not taken and device.id not in self._allocated

    def _take(self, claim: int, data: RequestData, device: PoolDevice) -> bool:
        """Give a free device to the request; False when it may not have it."""
        if device.device.consumes_counters:
            return False  # behind a gate that is off
        request, subrequest = (data.parent, data.name) if data.parent else (data.name, "")
        constraints = self._constraints[claim]
        for index, constraint in enumerate(constraints):
            if not constraint.add(request, subrequest, device):
                for earlier in constraints[:index]:
                    earlier.remove(request, subrequest)
                return False
        self._taken.setdefault(device.id, set()).add(claim)
        self._chosen[claim].append(Chosen(data, device))
        return True

    def _give_back(self, claim: int, data: RequestData, device: PoolDevice) -> None:
        request, subrequest = (data.parent, data.name) if data.parent else (data.name, "")
        for constraint in self._constraints[claim]:
            constraint.remove(request, subrequest)
        self._taken[device.id].discard(claim)
        self._chosen[claim].pop()
