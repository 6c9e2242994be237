"""What a kubelet writes into the status of its node: extended resources that somebody wrote into the capacity.

Source: kubernetes v1.34.1, pkg/kubelet/nodestatus/setters.go.
"""

from __future__ import annotations

from scheduler_core.api.meta import ResourceList
from scheduler_core.api.node import Node
from scheduler_core.api.resources import is_extended


def changed_allocatable(before: Node | None, node: Node) -> dict[str, str | None]:
    """Return what has to change in the allocatable resources, by name; None takes one away.

    A resource that the capacity has is allocatable. After that it follows changes of the capacity as long as both were
    equal, so that what device plugins or imports hold back stays back.
    """
    changed: dict[str, str | None] = {}
    old, new = _extended(before.status.capacity) if before is not None else {}, _extended(node.status.capacity)
    allocatable = node.status.allocatable or {}
    for name in {**old, **new}:
        wanted, was, has = new.get(name), old.get(name), allocatable.get(name)
        if wanted is None:
            if has is not None and has == was:
                changed[name] = None
        elif has is None or (was is not None and has == was != wanted):
            changed[name] = str(wanted)
    return changed


def _extended(resources: ResourceList | None) -> ResourceList:
    return {name: quantity for name, quantity in (resources or {}).items() if is_extended(name)}
