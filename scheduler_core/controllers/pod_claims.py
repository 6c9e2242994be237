"""Which claims a pod has, which of them were made for it, and how one is made from a template.

Source: kubernetes v1.34.1, staging/src/k8s.io/dynamic-resource-allocation/resourceclaim, pkg/controller/resourceclaim.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from scheduler_core.api import manifests
from scheduler_core.api.derived import controller_of
from scheduler_core.api.pod import Pod, PodResourceClaim
from scheduler_core.api.resource_claims import (
    POD_CLAIM_NAME,
    ResourceClaim,
    ResourceClaimConsumerReference,
    ResourceClaimTemplate,
)

_LONGEST_BASE: Final = 57  # of a claim's name, which has 63 characters at most


def missing_template(entry: str, name: str) -> str:
    """The text of the event about a pod whose template is not there."""
    return (
        f'PodResourceClaim {entry}: resource claim template "{name}": '
        f'resourceclaimtemplate.resource.k8s.io "{name}" not found'
    )


def recorded_name(pod: Pod, entry: PodResourceClaim) -> str | None:
    """Return the name of the entry's claim; empty when it needs none, None when it is not known yet."""
    if entry.resource_claim_name is not None:
        return entry.resource_claim_name
    if entry.resource_claim_template_name is None:
        return ""
    for status in pod.status.resource_claim_statuses or ():
        if status.name == entry.name:
            return status.resource_claim_name or ""
    return None


def claim_keys(pod: Pod) -> list[str]:
    """Return the keys of the claims whose names are known."""
    names = (recorded_name(pod, entry) for entry in pod.spec.resource_claims or ())
    return [f"{pod.namespace}/{name}" for name in names if name]


def is_done(pod: Pod) -> bool:
    """Whether the pod will never use a device again: it ended, or was deleted before it had a node."""
    return pod.is_terminal or (pod.is_terminating and not pod.spec.node_name)


def owner_of(claim: ResourceClaim) -> tuple[str, str] | None:
    """Return name and uid of the pod that the claim was made for."""
    owner = controller_of(claim)
    if owner is None or (owner.api_version, owner.kind) != (Pod.api_version, Pod.kind):
        return None
    return owner.name, owner.uid


def generate_name(pod_name: str, entry: str) -> str:
    """Return what the claim's name begins with; both parts of a long one are cut in proportion."""
    whole = f"{pod_name}-{entry}-"
    if len(whole) <= _LONGEST_BASE:
        return whole
    cut = (text[: len(text) * _LONGEST_BASE // len(whole)] for text in (pod_name, entry))
    return "-".join(cut)


def is_for(pod: Pod, claim: ResourceClaim) -> bool:
    owner = controller_of(claim)
    return owner is not None and owner.uid == pod.uid


def is_reserved(pod: Pod, claim: ResourceClaim) -> bool:
    return any(each.uid == pod.uid for each in claim.status.reserved_for or ())


def claim_manifest(pod: Pod, entry: PodResourceClaim, template: ResourceClaimTemplate) -> dict[str, Any]:
    given = template.spec.metadata
    owner = {"apiVersion": Pod.api_version, "kind": Pod.kind, "name": pod.name, "uid": pod.uid}
    return {
        "apiVersion": ResourceClaim.api_version,
        "kind": ResourceClaim.kind,
        "metadata": {
            "generateName": generate_name(pod.name, entry.name),
            "namespace": pod.namespace,
            **({"labels": given.labels} if given.labels else {}),
            "annotations": {**(given.annotations or {}), POD_CLAIM_NAME: entry.name},
            "ownerReferences": [{**owner, "controller": True, "blockOwnerDeletion": True}],
        },
        "spec": manifests.encode(template).get("spec", {}).get("spec", {}),
    }


def statuses_with(pod: Pod, named: dict[str, str]) -> list[dict[str, Any]]:
    """Return all entries of the pod's status with the new names, in the order of the spec."""
    known = {status.name: status.resource_claim_name for status in pod.status.resource_claim_statuses or ()}
    names = {entry.name: None for entry in pod.spec.resource_claims or () if entry.name in known or entry.name in named}
    return [
        {"name": name, **({"resourceClaimName": claim} if claim else {})}
        for name, claim in (names | known | named).items()
    ]


def consumers_manifest(consumers: Iterable[ResourceClaimConsumerReference]) -> list[dict[str, Any]]:
    return [
        {
            **({"apiGroup": one.api_group} if one.api_group else {}),
            "resource": one.resource,
            "name": one.name,
            "uid": one.uid,
        }
        for one in consumers
    ]
