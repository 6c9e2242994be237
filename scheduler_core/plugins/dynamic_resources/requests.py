"""Requests of claims as the allocator sees them: what is asked for, and how many devices that makes.

Source: kubernetes v1.34.1, staging/src/k8s.io/dynamic-resource-allocation/structured/internal (validateDeviceRequest).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from scheduler_core.api.resource_claims import DeviceClass, DeviceSelector, ExactDeviceRequest, ResourceClaim
from scheduler_core.cel.selectors import CompileError
from scheduler_core.plugins.dynamic_resources.pools import PoolDevice

EXACT_COUNT = "ExactCount"
ALL = "All"


class AllocationError(ValueError):
    """Something is wrong with a claim, a class or a pool: scheduling of the pod ends with these words."""


@dataclass(slots=True)
class RequestData:
    """A request, or one alternative of a request.

    `parent`: the request of an alternative, empty otherwise. `devices`: for mode All, which ones. `selected`: kept with
    the first alternative, the index of the one that was chosen.
    """

    claim: ResourceClaim
    name: str
    parent: str
    asked: ExactDeviceRequest
    device_class: DeviceClass
    num_devices: int = 0
    devices: tuple[PoolDevice, ...] = ()
    selected: int = 0

    @property
    def is_all(self) -> bool:
        return self.asked.allocation_mode == ALL

    @property
    def is_admin(self) -> bool:
        return bool(self.asked.admin_access) and not self.parent

    def selects(self, device: PoolDevice) -> bool:
        """Whether class and request want the device. AllocationError when a selector cannot say."""
        if device.device.binding_conditions:
            return False  # behind a gate that is off
        if not _all_accept(self.device_class.spec.selectors, device, f"class {self.device_class.name}"):
            return False
        return _all_accept(self.asked.selectors, device, f"claim {self.claim.key}")


def _all_accept(selectors: tuple[DeviceSelector, ...] | None, device: PoolDevice, owner: str) -> bool:
    for index, selector in enumerate(selectors or ()):
        expression = selector.cel.expression if selector.cel is not None else ""
        try:
            answer = device.traits.are_accepted(expression)
        except CompileError as error:
            raise AllocationError(f"{owner}: selector #{index}: {error}") from error
        if answer is False:
            return False
        if answer is not True:
            raise AllocationError(f"{owner}: selector #{index}: {answer}")
    return True


def classes_wanted(claim: ResourceClaim) -> Iterator[tuple[str, str | None]]:
    """(request, device class) of every request and alternative; no class for a request of unknown kind."""
    for request in claim.spec.devices.requests or ():
        if request.exactly is not None:
            yield request.name, request.exactly.device_class_name
        elif request.first_available:
            for alternative in request.first_available:
                yield f"{request.name}/{alternative.name}", alternative.device_class_name
        else:
            yield request.name, None
