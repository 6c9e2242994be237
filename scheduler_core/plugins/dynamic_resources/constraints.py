"""Constraints between the devices of a claim: all have the same value of an attribute.

Source: kubernetes v1.34.1, staging/src/k8s.io/dynamic-resource-allocation/structured/internal.
"""

from __future__ import annotations

from collections.abc import Sequence

from scheduler_core.api.resource_claims import DeviceAttribute, DeviceConstraint
from scheduler_core.plugins.dynamic_resources.pools import PoolDevice


class Constraint:
    """One constraint while devices are tried.

    `is_distinct`: attributes need only be there. Upstream compares the places of their values in memory where it says
    that they differ, and these are never the same.
    """

    __slots__ = ("_attribute", "_is_distinct", "_requests", "_taken", "_value")

    def __init__(self, requests: Sequence[str] | None, attribute: str, *, is_distinct: bool = False) -> None:
        self._requests = frozenset(requests or ())
        self._attribute = attribute
        self._is_distinct = is_distinct
        self._value: DeviceAttribute | None = None
        self._taken = 0

    def add(self, request: str, subrequest: str, device: PoolDevice) -> bool:
        """Take the device in, unless the constraint would not hold with it."""
        if not self._concerns(request, subrequest):
            return True
        value = _attribute_of(device, self._attribute)
        if value is None:
            return False
        if self._taken == 0:
            self._value = value
        elif not self._is_distinct and (value != self._value or value == _NO_VALUE):
            return False
        self._taken += 1
        return True

    def remove(self, request: str, subrequest: str) -> None:
        """Undo an `add` that took the device in, the last one first."""
        if self._concerns(request, subrequest):
            self._taken -= 1

    def _concerns(self, request: str, subrequest: str) -> bool:
        if not self._requests or request in self._requests:
            return True
        return bool(subrequest) and f"{request}/{subrequest}" in self._requests


_NO_VALUE = DeviceAttribute()


def constraint_of(constraint: DeviceConstraint) -> Constraint | None:
    """None for a constraint of no known kind."""
    if constraint.match_attribute is not None:
        return Constraint(constraint.requests, constraint.match_attribute)
    if constraint.distinct_attribute is not None:
        return Constraint(constraint.requests, constraint.distinct_attribute, is_distinct=True)
    return None


def _attribute_of(device: PoolDevice, name: str) -> DeviceAttribute | None:
    """As the name stands, else without its domain when that is the driver's."""
    attributes = device.device.attributes or {}
    found = attributes.get(name)
    if found is not None:
        return found
    domain, slash, identifier = name.partition("/")
    return attributes.get(identifier) if slash and domain == device.id[0] else None
