"""Which devices are allocated, and which allocations are decided and not stored yet; one for all profiles.

Follows the claims of the store change by change, so that a cycle does not look at all of them.
Source: kubernetes v1.34.1, pkg/scheduler/framework/plugins/dynamicresources (dra_manager.go, allocateddevices.go).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, cast

from scheduler_core.api.resource_claims import AllocationResult, DeviceClass, ResourceClaim, ResourceSlice
from scheduler_core.framework.handle import Handle, Lister
from scheduler_core.plugins.dynamic_resources.pools import DeviceId, Pools

_NAME: Final = "DynamicResources/claims"
_LONGEST_JOURNAL: Final = 10_000


class ClaimTracker:
    """`allocated`: how many claims have each device; call `refresh` before reading."""

    def __init__(self, lister: Lister) -> None:
        self._lister = lister
        self.allocated: dict[DeviceId, int] = {}
        self.in_flight: dict[str, tuple[DeviceId, ...]] = {}  # devices by uid of the claim
        self.position = 0  # raised by every device that is taken or given back
        self._journal: list[DeviceId] = []  # the devices of the last positions
        self._stored: dict[str, tuple[DeviceId, ...]] = {}  # devices by key of the claim
        self._claims_version = -1
        self._slices_version = -1
        self._pools = Pools()

    @staticmethod
    def of(handle: Handle) -> ClaimTracker:
        """The one of the engine."""
        found = handle.shared.get(_NAME)
        if found is None:
            found = handle.shared[_NAME] = ClaimTracker(handle.lister)
        return cast(ClaimTracker, found)

    def refresh(self) -> None:
        """Take over what changed in the store."""
        version = self._lister.version(ResourceClaim.kind)
        if version == self._claims_version:
            return
        changes = self._lister.changes(ResourceClaim.kind, self._claims_version)
        self._claims_version = version
        if changes is None:
            self._begin_again()
            return
        for old, new in changes:
            if old is not None and (new is None or new.uid != old.uid):
                self._note(old.key, ())
            if new is not None:
                self._note_claim(cast(ResourceClaim, new))

    def pools(self) -> Pools:
        """The pools of the slices as they are now."""
        version = self._lister.version(ResourceSlice.kind)
        if version != self._slices_version:
            slices = cast(Sequence[ResourceSlice], self._lister.list(ResourceSlice.kind))
            self._pools = Pools.from_slices(slices, self._pools)
            self._slices_version = version
        return self._pools

    def class_of(self, name: str) -> DeviceClass | None:
        return cast("DeviceClass | None", self._lister.get(DeviceClass.kind, name))

    def begin(self, claim_uid: str, allocation: AllocationResult) -> None:
        """Hold the devices of an allocation until it is stored or given up."""
        self.end(claim_uid)
        devices = self.in_flight[claim_uid] = _devices(allocation)
        self._count(devices, 1)

    def end(self, claim_uid: str) -> None:
        """Let go of the devices of an allocation on its way, if there is one."""
        self._count(self.in_flight.pop(claim_uid, ()), -1)

    def changed_since(self, position: int) -> list[DeviceId] | None:
        """Devices taken or given back since; None when that is too long ago."""
        back = self.position - position
        return None if back > len(self._journal) else self._journal[len(self._journal) - back :]

    def _begin_again(self) -> None:
        claims = cast(Sequence[ResourceClaim], self._lister.list(ResourceClaim.kind))
        there = {claim.key for claim in claims}
        for key in [key for key in self._stored if key not in there]:
            self._note(key, ())
        for claim in claims:
            self._note_claim(claim)

    def _note_claim(self, claim: ResourceClaim) -> None:
        allocation = claim.status.allocation
        if allocation is not None:
            self.end(claim.uid)
        self._note(claim.key, _devices(allocation) if allocation is not None else ())

    def _note(self, key: str, devices: tuple[DeviceId, ...]) -> None:
        before = self._stored.get(key, ())
        if before == devices:
            return
        if devices:
            self._stored[key] = devices
        else:
            del self._stored[key]
        self._count(before, -1)
        self._count(devices, 1)

    def _count(self, devices: Iterable[DeviceId], times: int) -> None:
        for device in devices:
            count = self.allocated.get(device, 0) + times
            if count:
                self.allocated[device] = count
            else:
                del self.allocated[device]
            self.position += 1
            self._journal.append(device)
        if len(self._journal) > 2 * _LONGEST_JOURNAL:
            del self._journal[:-_LONGEST_JOURNAL]


def _devices(allocation: AllocationResult) -> tuple[DeviceId, ...]:
    """Those that nobody else may have; admin access takes nothing away."""
    results = allocation.devices.results or ()
    return tuple((each.driver, each.pool, each.device) for each in results if not each.admin_access)
