"""What became of the devices: for the record of an attempt, after it is decided."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from scheduler_core.api.node import Node
from scheduler_core.api.resource_claims import DeviceClass, DeviceSelector, ExactDeviceRequest, ResourceClaim
from scheduler_core.cel.selectors import CompileError
from scheduler_core.model.effects import AllocatedDevice, DeviceRecord, DeviceTally, FilterRows, SelectorRefusal
from scheduler_core.model.node_info import NodeInfo
from scheduler_core.plugins.dynamic_resources.pools import PoolError, Traits
from scheduler_core.plugins.dynamic_resources.requests import ALL
from scheduler_core.plugins.dynamic_resources.reservations import Reservation
from scheduler_core.plugins.dynamic_resources.tracker import ClaimTracker

MOST_COUNTED: Final = 1_000  # nodes
_Selectors = Sequence[tuple[str, int, str]]
"""Owner, index, expression; in the order in which they are asked."""


def allocated_devices(reservation: Reservation) -> tuple[AllocatedDevice, ...]:
    """The devices that were decided on, in the order in which they were allocated."""
    return tuple(
        AllocatedDevice(
            f"{reservation.namespace}/{claim.name}",
            one.request,
            one.driver,
            one.pool,
            one.device,
            bool(one.admin_access),
        )
        for claim in reservation.claims
        if claim.allocation is not None
        for one in claim.allocation.devices.results or ()
    )


def refusing_nodes(rows: FilterRows, infos: Sequence[NodeInfo], plugin: str, reason: str) -> list[Node]:
    """The nodes that the plugin refused for that reason."""
    codes = [
        place for place, status in enumerate(rows.statuses, 1) if status.plugin == plugin and reason in status.reasons
    ]
    nodes = (infos[index].node for index in rows.nodes[np.isin(rows.codes, codes)].tolist())
    return [node for node in nodes if node is not None]


def shortage(claims: Sequence[ResourceClaim], refusing: Sequence[Node], tracker: ClaimTracker) -> DeviceRecord | None:
    """What became of the devices of the nodes that could not satisfy the claims."""
    pools, counted = tracker.pools(), refusing[:MOST_COUNTED]
    # Devices that are alike get the same answers: they are counted once for all requests.
    free: Counter[Traits] = Counter()
    used: Counter[Traits] = Counter()
    try:
        for node in counted:
            for pool in pools.of(node):
                for device in pool.devices:
                    (used if device.id in tracker.allocated else free)[device.traits] += 1
    except PoolError:
        return None  # the attempt says what is wrong with it
    tallies: list[DeviceTally] = []
    for claim in claims:
        for name, asked in _requests(claim):
            selectors = _selectors(asked, tracker.class_of(asked.device_class_name))
            tallies.append(_tally((claim.key, name, asked), selectors, free, used))
    return DeviceRecord((), len(refusing), len(counted), tuple(tallies))


def _tally(
    request: tuple[str, str, ExactDeviceRequest], selectors: _Selectors, free: Counter[Traits], used: Counter[Traits]
) -> DeviceTally:
    claim, name, asked = request
    refused: dict[tuple[str, int], int] = {(owner, index): 0 for owner, index, _ in selectors}
    in_use = left = 0
    problem = ""
    for traits in {**free, **used}:
        refusal, said = _first_refusal(traits, selectors)
        problem = problem or said
        if refusal is not None:
            refused[refusal] += free[traits] + used[traits]
        elif not said:
            in_use += 0 if asked.admin_access else used[traits]
            left += free[traits] + (used[traits] if asked.admin_access else 0)
    wanted = 0 if asked.allocation_mode == ALL else asked.count or 1
    counts = tuple(SelectorRefusal(owner, index, count) for (owner, index), count in refused.items())
    return DeviceTally(claim, name, wanted, free.total() + used.total(), counts, in_use, left, problem)


def _first_refusal(traits: Traits, selectors: _Selectors) -> tuple[tuple[str, int] | None, str]:
    """The selector that says no first, or why one cannot say."""
    for owner, index, expression in selectors:
        try:
            answer = traits.are_accepted(expression)
        except CompileError as error:
            return None, f"{owner}: selector #{index}: {error}"
        if answer is False:
            return (owner, index), ""
        if answer is not True:
            return None, f"{owner}: selector #{index}: {answer}"
    return None, ""


def _requests(claim: ResourceClaim) -> Iterator[tuple[str, ExactDeviceRequest]]:
    for request in claim.spec.devices.requests or ():
        if request.exactly is not None:
            yield request.name, request.exactly
        for alternative in request.first_available or ():
            yield f"{request.name}/{alternative.name}", alternative


def _selectors(asked: ExactDeviceRequest, device_class: DeviceClass | None) -> _Selectors:
    of_class = device_class.spec.selectors if device_class is not None else None
    found: list[tuple[str, int, str]] = []
    for owner, selectors in ((f"class {asked.device_class_name}", of_class), ("request", asked.selectors)):
        found += ((owner, index, _expression(each)) for index, each in enumerate(selectors or ()))
    return found


def _expression(selector: DeviceSelector) -> str:
    return selector.cel.expression if selector.cel is not None else ""
