"""What an allocation looks like in the status of its claim.

Source: kubernetes v1.34.1, staging/src/k8s.io/dynamic-resource-allocation/structured/internal (Allocate,
createNodeSelector).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from scheduler_core.api.affinity import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from scheduler_core.api.resource_claims import (
    AllocationResult,
    DeviceAllocationResult,
    DeviceRequestAllocationResult,
    ResourceClaim,
)
from scheduler_core.plugins.dynamic_resources.allocator import Allocation, Chosen
from scheduler_core.plugins.dynamic_resources.requests import AllocationError


def results_of(allocation: Allocation, claims: Iterable[ResourceClaim], node_name: str) -> tuple[AllocationResult, ...]:
    """One result per claim. AllocationError for node selectors that cannot be joined."""
    return tuple(
        AllocationResult(
            DeviceAllocationResult(
                tuple(map(_result, chosen)) or None,
                tuple(_configuration(index, claim, allocation)) or None,
            ),
            _node_selector(claim, chosen, node_name),
        )
        for index, (claim, chosen) in enumerate(zip(claims, allocation.chosen, strict=True))
    )


def _result(chosen: Chosen) -> DeviceRequestAllocationResult:
    data = chosen.data
    name = f"{data.parent}/{data.name}" if data.parent else data.name
    return DeviceRequestAllocationResult(name, *chosen.device.id, True if data.is_admin else None)


def _configuration(index: int, claim: ResourceClaim, allocation: Allocation) -> Iterable[dict[str, Any]]:
    """What the classes of the requests bring, then what the claim has for its requests."""
    requests = claim.spec.devices.requests or ()
    names: list[tuple[str, str]] = []  # of each request, and of its chosen alternative
    for place, request in enumerate(requests):
        data = allocation.requests[index, place, 0]
        if data.parent:
            data = allocation.requests[index, place, data.selected]
        names.append((request.name, f"{request.name}/{data.name}" if data.parent else ""))
        for config in data.device_class.spec.config or ():
            yield {"source": "FromClass", **config}
    for config in claim.spec.devices.config or ():
        concerned = config.get("requests") or ()
        times = sum(name in concerned or bool(chosen and chosen in concerned) for name, chosen in names)
        for _ in range(times if concerned else 1):
            yield {"source": "FromClaim", **config}


def _node_selector(claim: ResourceClaim, chosen: Iterable[Chosen], node_name: str) -> NodeSelector | None:
    """From where the devices can be reached; None: from everywhere."""
    fields: list[NodeSelectorRequirement] = []
    expressions: list[NodeSelectorRequirement] = []
    for each in chosen:
        spec = each.device.slice.spec
        if spec.node_name is not None:
            only = NodeSelectorRequirement(key="metadata.name", operator="In", values=(node_name,))
            return NodeSelector(node_selector_terms=(NodeSelectorTerm(match_fields=(only,)),))
        terms = spec.node_selector.node_selector_terms if spec.node_selector is not None else ()
        if len(terms) > 1:
            text = f"unsupported ResourceSlice.NodeSelector with {len(terms)} terms"
            raise AllocationError(f"create NodeSelector for claim {claim.name}: {text}")
        for term in terms:
            _add_new(fields, term.match_fields or ())
            _add_new(expressions, term.match_expressions or ())
    if not fields and not expressions:
        return None
    term = NodeSelectorTerm(match_expressions=tuple(expressions) or None, match_fields=tuple(fields) or None)
    return NodeSelector(node_selector_terms=(term,))


def _add_new(requirements: list[NodeSelectorRequirement], more: Iterable[NodeSelectorRequirement]) -> None:
    for each in more:
        if not any(_same(each, other) for other in requirements):
            requirements.append(each)


def _same(one: NodeSelectorRequirement, other: NodeSelectorRequirement) -> bool:
    if set(one.values or ()) != set(other.values or ()):
        return False
    return msgspec.structs.replace(one, values=()) == msgspec.structs.replace(other, values=())
