"""Simulated drivers that allocate claims of the older form themselves (resource.k8s.io/v1alpha2).

    pod's context names nodes        it is told on which of them each claim of the pod cannot be allocated
    pod's context selects one        where all fit, the pod's claims are allocated there and reserved for the pod
    claim of Immediate mode          is allocated on the first node that has room
    pod has its node                 its context goes

An annotation of a node says how many claims of a class fit: `kschedweb.io/resource-classes: "resource.example.com=2"`.
A class that it does not name, and a node without it, have no limit. A class annotated `kschedweb.io/shareable: "true"`
gives claims that several pods may use. There is nothing to do where nobody writes contexts or such claims.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from scheduler_core.api.meta import KubeObject
from scheduler_core.api.node import Node
from scheduler_core.api.older_claims import (
    IMMEDIATE,
    PodSchedulingContext,
    ResourceClass,
    older_allocation,
    older_claim,
)
from scheduler_core.api.pod import Pod
from scheduler_core.api.resource_claims import DELETE_PROTECTION, ResourceClaim
from scheduler_core.apiserver.requests import Delete, ObjectKey, Patch, Request
from scheduler_core.controllers.controller import ClusterOptions
from scheduler_core.controllers.object_index import Update
from scheduler_core.controllers.pod_claims import recorded_name
from scheduler_core.controllers.pod_index import PodIndex, PodReader
from scheduler_core.model.changes import Change, ObjectDeleted, ObjectPut

RESOURCE_CLASSES: Final = "kschedweb.io/resource-classes"
SHAREABLE: Final = "kschedweb.io/shareable"
_NODE_NAME: Final = "metadata.name"


class NegotiatingDriver(PodReader):
    """The drivers of all resource classes of one cluster."""

    name, actor, group = "negotiating-driver", "device-driver", "devices"

    def __init__(self, cluster: ClusterOptions, pods: PodIndex | None = None) -> None:
        super().__init__(cluster, pods)
        self._nodes: dict[str, Node] = {}
        self._classes: dict[str, ResourceClass] = {}
        self._claims: dict[str, ResourceClaim] = {}  # those of the older form, by key
        self._contexts: dict[str, PodSchedulingContext] = {}

    def step(self, now: int, changes: Sequence[Change]) -> list[Request]:
        """Take over the changes; return the drivers' answers and allocations."""
        is_touched = False
        for change in self.pods.follow(changes):
            if isinstance(change, Update):
                if change.obj.spec.resource_claims and not change.is_gone:
                    is_touched |= change.obj.key in self._contexts
            elif isinstance(change, ObjectPut):
                is_touched |= self._put(change.obj)
            elif isinstance(change, ObjectDeleted):
                key = f"{change.namespace}/{change.name}" if change.namespace else change.name
                for kind, objects in self._by_kind().items():
                    is_touched |= change.kind == kind and objects.pop(key, None) is not None
        return list(self._answers()) if is_touched and (self._contexts or self._claims) else []

    def next_due(self) -> None:
        """Nothing is due without a change."""

    def _by_kind(self) -> dict[str, dict[str, Any]]:
        return {
            Node.kind: self._nodes,
            ResourceClass.kind: self._classes,
            ResourceClaim.kind: self._claims,
            PodSchedulingContext.kind: self._contexts,
        }

    def _put(self, obj: KubeObject) -> bool:
        """Remember the object; return whether drivers have something to say about it."""
        if isinstance(obj, Node):
            before = self._nodes.get(obj.name)
            self._nodes[obj.name] = obj
            is_as_before = before is not None and before.annotations.get(RESOURCE_CLASSES) == obj.annotations.get(
                RESOURCE_CLASSES
            )
            return not is_as_before
        elif isinstance(obj, ResourceClass):
            self._classes[obj.name] = obj
            return True
        elif isinstance(obj, ResourceClaim):
            if older_claim(obj) is not None:
                self._claims[obj.key] = obj
                return True
        elif isinstance(obj, PodSchedulingContext):
            self._contexts[obj.key] = obj
            return True
        return False

    def _answers(self) -> Iterator[Request]:
        room = _Room(self._nodes, self._claims)
        for context in self._contexts.values():
            pod = self.pods.get(context.key)
            if pod is None or all(each.uid != pod.uid for each in context.metadata.owner_references or ()):
                continue
            if pod.spec.node_name:
                yield Delete(_key(context), uid=context.uid)
                continue
            yield from self._negotiate(context, pod, room)
        for claim in self._claims.values():
            asked = older_claim(claim)
            if asked is None or asked.allocation_mode != IMMEDIATE or not self._is_open(claim):
                continue
            node = next((name for name in sorted(self._nodes) if room.has(name, [asked.resource_class_name])), None)
            if node is not None:
                room.take(node, asked.resource_class_name)
                yield from self._allocate(claim, node, None)

    def _negotiate(self, context: PodSchedulingContext, pod: Pod, room: _Room) -> Iterator[Request]:
        pending: dict[str, ResourceClaim] = {}  # by entry of the pod
        for entry in pod.spec.resource_claims or ():
            claim = self._claims.get(f"{pod.namespace}/{recorded_name(pod, entry)}")
            asked = older_claim(claim) if claim is not None else None
            if claim is not None and asked is not None and asked.allocation_mode != IMMEDIATE and self._is_open(claim):
                pending[entry.name] = claim
        if not pending:
            return
        wanted = [self._class_of(claim) for claim in pending.values()]
        selected = context.spec.selected_node
        if selected and room.has(selected, wanted):
            for claim in pending.values():
                room.take(selected, self._class_of(claim))
                yield from self._allocate(claim, selected, pod)
            return
        nodes = dict.fromkeys([*(context.spec.potential_nodes or ()), *([selected] if selected else [])])
        unsuitable = [name for name in nodes if not room.has(name, wanted)]
        answers = [
            {"name": entry, **({"unsuitableNodes": unsuitable} if unsuitable else {})} for entry in sorted(pending)
        ]
        said = {each.name: each.unsuitable_nodes for each in context.status.resource_claims or ()}
        if said != {entry: tuple(unsuitable) or None for entry in pending}:
            yield Patch(_key(context), {"status": {"resourceClaims": answers}}, subresource="status", uid=context.uid)

    def _is_open(self, claim: ResourceClaim) -> bool:
        """Whether the claim waits for its driver."""
        is_wanted = claim.metadata.deletion_timestamp is None and self._class_of(claim) in self._classes
        return is_wanted and claim.status.allocation is None

    def _allocate(self, claim: ResourceClaim, node: str, pod: Pod | None) -> Iterator[Request]:
        field = {"key": _NODE_NAME, "operator": "In", "values": [node]}
        selector = {"nodeSelectorTerms": [{"matchFields": [field]}]}
        is_shareable = self._classes[self._class_of(claim)].annotations.get(SHAREABLE) == "true"
        status: dict[str, Any] = {"allocation": older_allocation(selector, shareable=is_shareable)}
        if pod is not None:
            status["reservedFor"] = [{"resource": "pods", "name": pod.name, "uid": pod.uid}]
        finalizers = claim.metadata.finalizers or ()
        if DELETE_PROTECTION not in finalizers:
            body = {"metadata": {"finalizers": [*finalizers, DELETE_PROTECTION]}}
            yield Patch(_key(claim), body, uid=claim.uid)
        yield Patch(_key(claim), {"status": status}, subresource="status", uid=claim.uid)

    def _class_of(self, claim: ResourceClaim) -> str:
        asked = older_claim(claim)
        return asked.resource_class_name if asked is not None else ""


class _Room:
    """How many claims of which class still fit on each node."""

    def __init__(self, nodes: dict[str, Node], claims: dict[str, ResourceClaim]) -> None:
        self._limits = {name: _limits(node) for name, node in nodes.items()}
        self._used: dict[tuple[str, str], int] = {}
        for claim in claims.values():
            asked, node = older_claim(claim), _node_of(claim)
            if asked is not None and node:
                self.take(node, asked.resource_class_name)

    def take(self, node: str, resource_class: str) -> None:
        self._used[node, resource_class] = self._used.get((node, resource_class), 0) + 1

    def has(self, node: str, classes: Sequence[str]) -> bool:
        """Return whether claims of all these classes fit on the node together."""
        limits = self._limits.get(node)
        if limits is None:
            return False
        return all(
            self._used.get((node, name), 0) + classes.count(name) <= limits[name] for name in classes if name in limits
        )


def _limits(node: Node) -> dict[str, int]:
    """How many claims fit, by class; what cannot be read limits nothing."""
    limits: dict[str, int] = {}
    for part in node.annotations.get(RESOURCE_CLASSES, "").split(","):
        name, _, number = part.strip().partition("=")
        if name and number.isdecimal() and number.isascii():
            limits[name] = int(number)
    return limits


def _node_of(claim: ResourceClaim) -> str:
    """The node that an allocation of this driver lies on."""
    allocation = claim.status.allocation
    selector = allocation.node_selector if allocation is not None else None
    for term in (selector.node_selector_terms or ()) if selector is not None else ():
        for field in term.match_fields or ():
            if field.key == _NODE_NAME and field.values:
                return field.values[0]
    return ""


def _key(obj: KubeObject) -> ObjectKey:
    return ObjectKey(obj.kind, obj.namespace, obj.name)
