"""A pod's claims as PreFilter finds them: bound ones, those to be bound where the pod goes, and those it must wait for.

Source: kubernetes v1.34.1, pkg/scheduler/framework/plugins/volumebinding (podHasPVCs, GetPodVolumeClaims).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from scheduler_core.api.pod import Pod
from scheduler_core.api.storage import PersistentVolume, PersistentVolumeClaim
from scheduler_core.api.volumes import (
    WAIT_FOR_FIRST_CONSUMER,
    claim_class_name,
    claims_used,
    is_fully_bound,
    not_owner_text,
)
from scheduler_core.framework.storage_lister import ObjectMissingError, StorageLister
from scheduler_core.plugins.volume_binding.assume_cache import AssumeCache


class UnusableClaimError(Exception):
    """A claim no pod can use as it is; the text is the reason."""


class BindingError(Exception):
    """Something a decision needs is not as it must be; the text is the error's."""


@dataclass(slots=True)
class PodClaims:
    """In the order of the pod's volumes. `volumes`: those of the classes of delayed claims, by class, in name order."""

    bound: list[PersistentVolumeClaim] = field(default_factory=list)
    delayed: list[PersistentVolumeClaim] = field(default_factory=list)
    immediate: list[PersistentVolumeClaim] = field(default_factory=list)
    volumes: dict[str, tuple[PersistentVolume, ...]] = field(default_factory=dict)
    # By key of a delayed claim, once asked for: volumes set aside for it, and others it could have.
    candidates: dict[str, tuple[list[PersistentVolume], list[PersistentVolume]]] = field(default_factory=dict)


def usable_claims(pod: Pod, cache: AssumeCache) -> list[PersistentVolumeClaim]:
    """The claims of the pod's volumes. Raises UnusableClaimError."""
    found = []
    for use in claims_used(pod):
        try:
            claim = cache.claim(pod.namespace, use.name)
        except ObjectMissingError as error:
            text = str(error)
            if use.is_ephemeral:
                text = f'waiting for ephemeral volume controller to create the persistentvolumeclaim "{use.name}"'
            raise UnusableClaimError(text) from error
        if claim.status.phase == "Lost":
            raise UnusableClaimError(
                f'persistentvolumeclaim "{claim.name}" bound to non-existent persistentvolume'
                f' "{claim.spec.volume_name}"'
            )
        if claim.metadata.deletion_timestamp is not None:
            raise UnusableClaimError(f'persistentvolumeclaim "{claim.name}" is being deleted')
        if use.is_ephemeral and (text := not_owner_text(claim, pod)):
            raise UnusableClaimError(text)
        found.append(claim)
    return found


def classify(claims: list[PersistentVolumeClaim], cache: AssumeCache) -> PodClaims:
    """Raises BindingError for a class that does not say when it binds."""
    found = PodClaims()
    for claim in claims:
        if is_fully_bound(claim):
            found.bound.append(claim)
        elif _is_delayed(claim, cache.storage) and not claim.spec.volume_name:
            found.delayed.append(claim)
            class_name = claim_class_name(claim)
            if class_name not in found.volumes:
                found.volumes[class_name] = cache.volumes_of_class(class_name)
        else:
            found.immediate.append(claim)  # also one that names a volume and is not bound to it yet
    return found


def all_bound(pod: Pod, cache: AssumeCache) -> bool:
    """Whether nothing is left to bind; a claim that is gone is not bound."""
    for use in claims_used(pod):
        try:
            if not is_fully_bound(cache.claim(pod.namespace, use.name)):
                return False
        except ObjectMissingError:
            return False
    return True


def _is_delayed(claim: PersistentVolumeClaim, storage: StorageLister) -> bool:
    class_name = claim_class_name(claim)
    if not class_name:
        return False
    try:
        mode = storage.storage_class(class_name).volume_binding_mode
    except ObjectMissingError:
        return False
    if mode is None:
        raise BindingError(f'VolumeBindingMode not set for StorageClass "{class_name}"')
    return mode == WAIT_FOR_FIRST_CONSUMER
