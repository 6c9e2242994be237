"""What one node can do for a pod's claims: reach the bound ones, match volumes to the others, or have volumes made.

A claim takes the smallest free volume that suits it; claims take turns from the smallest request on. What finds no
volume is to be provisioned, and what came of that counts instead of the missing match.
Source: kubernetes v1.34.1, pkg/scheduler/framework/plugins/volumebinding (FindPodVolumes).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from scheduler_core.api.node import Node
from scheduler_core.api.selectors import (
    LabelSelectorMatcher,
    SelectorError,
    parse_label_selector,
    topology_terms_match,
)
from scheduler_core.api.storage import PersistentVolume, PersistentVolumeClaim, StorageClass
from scheduler_core.api.volumes import (
    NO_PROVISIONER,
    SELECTED_NODE,
    STORAGE,
    belongs_to_claim,
    capacity_limit,
    claim_class_name,
    offered_storage,
    offers_access_modes,
    requested_storage,
    volume_suits_claim,
)
from scheduler_core.framework.storage_lister import ObjectMissingError
from scheduler_core.model.status import SUCCESS, Status
from scheduler_core.plugins.volume_binding.assume_cache import AssumeCache
from scheduler_core.plugins.volume_binding.claims import BindingError, PodClaims
from scheduler_core.plugins.volume_binding.reach import Reach

NODE_CONFLICT = "node(s) didn't match PersistentVolume's node affinity"
BIND_CONFLICT = "node(s) didn't find available persistent volumes to bind"
NOT_ENOUGH_SPACE = "node(s) did not have enough free storage"
VOLUME_MISSING = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"


@dataclass(slots=True)
class NodeVolumes:
    """What would be done on the node, and what stands against it."""

    static: list[tuple[PersistentVolumeClaim, PersistentVolume]] = field(default_factory=list)
    provision: list[PersistentVolumeClaim] = field(default_factory=list)
    node_conflict: bool = False
    bind_conflict: bool = False
    not_enough_space: bool = False
    volume_missing: bool = False

    def status(self) -> Status:
        return status_of(self.node_conflict, self.bind_conflict, self.not_enough_space, self.volume_missing)


def status_of(node_conflict: bool, bind_conflict: bool, not_enough_space: bool, volume_missing: bool) -> Status:
    """All that stands against a node, in upstream's order."""
    checks = (
        (node_conflict, NODE_CONFLICT),
        (bind_conflict, BIND_CONFLICT),
        (not_enough_space, NOT_ENOUGH_SPACE),
        (volume_missing, VOLUME_MISSING),
    )
    reasons = [reason for holds, reason in checks if holds]
    return Status.unresolvable(*reasons) if reasons else SUCCESS


class Binder:
    """Questions of one plugin to its cache."""

    def __init__(self, cache: AssumeCache) -> None:
        self.cache = cache
        self.storage = cache.storage
        self.reach = Reach(cache.storage)

    def find(self, claims: PodClaims, node: Node) -> NodeVolumes:
        """Raises BindingError."""
        found = NodeVolumes()
        self._check_bound(claims, node, found)
        wanting = []
        for claim in claims.delayed:
            selected = claim.annotations.get(SELECTED_NODE)
            if selected is None:
                wanting.append(claim)
            elif selected == node.name:
                found.provision.append(claim)
            else:
                found.bind_conflict = True
                return found
        taken: set[str] = set()
        for claim in by_size(wanting):
            volume = self._match(claim, claims, node, taken)
            if volume is None:
                found.provision.append(claim)
            else:
                taken.add(volume.name)
                found.static.append((claim, volume))
        self._check_provisions(node, found)
        return found

    def bound_volumes(self, claims: PodClaims) -> Iterator[PersistentVolume]:
        """The volumes of the bound claims that are there, each once."""
        for name in dict.fromkeys(claim.spec.volume_name for claim in claims.bound):
            try:
                yield self.cache.volume(name)
            except ObjectMissingError:
                continue

    def _check_bound(self, claims: PodClaims, node: Node, found: NodeVolumes) -> None:
        for claim in claims.bound:
            try:
                volume = self.cache.volume(claim.spec.volume_name)
            except ObjectMissingError:
                found.volume_missing = True
                return
            if not self.reach.reaches_bound(volume, node):
                found.node_conflict = True
                return

    def _match(
        self, claim: PersistentVolumeClaim, claims: PodClaims, node: Node, taken: set[str]
    ) -> PersistentVolume | None:
        for_claim, others = candidates_of(claim, claims)
        for volume in for_claim:
            if volume.name not in taken:
                # One set aside for the claim is used or nothing is.
                return volume if self.reach.reaches(volume, node) else None
        return next(
            (volume for volume in others if volume.name not in taken and self.reach.reaches(volume, node)), None
        )

    def _check_provisions(self, node: Node, found: NodeVolumes) -> None:
        for claim in found.provision:
            storage_class = self.class_to_provision(claim)
            if not can_provision(storage_class) or not topology_terms_match(
                storage_class.allowed_topologies, node.labels
            ):
                found.bind_conflict = True
                return
            topologies = self.topologies_with_room(claim, storage_class)
            if topologies is not None and not any(each.matches(node.labels) for each in topologies):
                found.not_enough_space = True
                return

    def class_to_provision(self, claim: PersistentVolumeClaim) -> StorageClass:
        """The class that would make the claim's volume. Raises BindingError."""
        class_name = claim_class_name(claim)
        if not class_name:
            raise BindingError(f'no class for claim "{claim.key}"')
        try:
            return self.storage.storage_class(class_name)
        except ObjectMissingError as error:
            raise BindingError(f'failed to find storage class "{class_name}"') from error

    def topologies_with_room(
        self, claim: PersistentVolumeClaim, storage_class: StorageClass
    ) -> list[LabelSelectorMatcher] | None:
        """Selectors of the nodes where the driver reports room for the claim; None when capacity is not tracked."""
        requests = claim.spec.resources.requests or {}
        driver = self.storage.csi_driver(storage_class.provisioner)
        if STORAGE not in requests or driver is None or not driver.spec.storage_capacity:
            return None
        size = requests[STORAGE].value()
        selectors = []
        for capacity in self.storage.storage_capacities():
            limit = capacity_limit(capacity)
            if capacity.storage_class_name != storage_class.name or limit is None or limit.value() < size:
                continue
            if capacity.node_topology is not None:
                try:
                    selectors.append(parse_label_selector(capacity.node_topology))
                except SelectorError:
                    continue  # a topology nobody can read is nowhere
        return selectors


def by_size(claims: Iterable[PersistentVolumeClaim]) -> list[PersistentVolumeClaim]:
    """Smallest request first, else in the order given."""
    return sorted(claims, key=lambda claim: requested_storage(claim).nano)


def can_provision(storage_class: StorageClass) -> bool:
    return storage_class.provisioner not in ("", NO_PROVISIONER)


def candidates_of(
    claim: PersistentVolumeClaim, claims: PodClaims
) -> tuple[list[PersistentVolume], list[PersistentVolume]]:
    """The topology terms of a delayed claim of the pod, computed once per cycle. Raises BindingError."""
    known = claims.candidates.get(claim.key)
    if known is None:
        known = claims.candidates[claim.key] = candidates(claim, claims.volumes[claim_class_name(claim)])
    return known


def candidates(
    claim: PersistentVolumeClaim, volumes: Iterable[PersistentVolume]
) -> tuple[list[PersistentVolume], list[PersistentVolume]]:
    """(volumes set aside for the claim, others it could have, the smallest first). Raises BindingError."""
    selector = None
    if claim.spec.selector is not None:
        try:
            selector = parse_label_selector(claim.spec.selector)
        except SelectorError as error:
            raise BindingError(str(error)) from error
    for_claim: list[PersistentVolume] = []
    others: list[PersistentVolume] = []
    for volume in volumes:
        if not volume_suits_claim(volume, claim):
            continue
        if belongs_to_claim(volume, claim):
            for_claim.append(volume)
        elif (
            volume.status.phase == "Available"
            and (selector is None or selector.matches(volume.labels))
            and offers_access_modes(volume, claim)
        ):
            others.append(volume)
    others.sort(key=lambda volume: offered_storage(volume).nano)
    return for_claim, others
