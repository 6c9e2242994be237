"""The pods and claims of a StatefulSet: names by ordinal, what they are made of, and which owners claims have.

Source: kubernetes v1.34.1, pkg/controller/statefulset/stateful_set_utils.go.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from scheduler_core.api.meta import KubeObject, OwnerReference
from scheduler_core.api.pod import Pod
from scheduler_core.api.storage import PersistentVolumeClaim
from scheduler_core.api.stored import ControllerRevision
from scheduler_core.api.workload import StatefulSet
from scheduler_core.apiserver.requests import ObjectKey, Patch, PatchType
from scheduler_core.controllers.workloads.revisions import REVISION_HASH, template_of
from scheduler_core.controllers.workloads.templates import controller_reference, pod_of_template

POD_NAME: Final = "statefulset.kubernetes.io/pod-name"
POD_INDEX: Final = "apps.kubernetes.io/pod-index"
DELETE: Final = "Delete"

_LONGEST_NUMBER: Final = 10


def ordinal_of(owner: StatefulSet, name: str) -> int | None:
    """Return the ordinal that the name of a pod of the set tells; None for a name of another form."""
    stem, _, number = name.rpartition("-")
    if stem != owner.name or not (number.isascii() and number.isdigit()) or len(number) > _LONGEST_NUMBER:
        return None
    return int(number) if int(number) < 2**31 else None


def pod_name(owner: StatefulSet, ordinal: int) -> str:
    return f"{owner.name}-{ordinal}"


def pod_of_revision(owner: StatefulSet, revision: ControllerRevision, ordinal: int) -> dict[str, Any]:
    """Return the manifest of the pod with this ordinal, of the template that the revision holds."""
    pod = pod_of_template(owner, template_of(revision))
    metadata, spec, name = pod["metadata"], pod["spec"], pod_name(owner, ordinal)
    metadata["name"] = name
    metadata["labels"] = {
        **metadata["labels"],
        POD_NAME: name,
        POD_INDEX: str(ordinal),
        REVISION_HASH: revision.name,
    }
    spec["hostname"] = name
    if owner.spec.service_name:
        spec["subdomain"] = owner.spec.service_name
    claims = [
        {"name": template, "persistentVolumeClaim": {"claimName": claim}}
        for template, claim in claim_names(owner, ordinal)
    ]
    taken = {claim["name"] for claim in claims}
    others = [volume for volume in spec.get("volumes") or () if volume["name"] not in taken]
    if claims or others:
        spec["volumes"] = [*claims, *others]
    return pod


def claim_names(owner: StatefulSet, ordinal: int) -> Iterator[tuple[str, str]]:
    """Yield the names of the templates of claims, each with that of the claim of an ordinal."""
    for template in owner.spec.volume_claim_templates or ():
        name = template["metadata"]["name"]
        yield name, f"{name}-{owner.name}-{ordinal}"


def claim_of_template(owner: StatefulSet, template: dict[str, Any], ordinal: int) -> dict[str, Any]:
    """Return the manifest of the claim with this ordinal."""
    given = template["metadata"]
    selector = owner.spec.selector
    labels = {**(given.get("labels") or {}), **((selector.match_labels if selector is not None else None) or {})}
    metadata: dict[str, Any] = {
        "name": f"{given['name']}-{owner.name}-{ordinal}",
        "namespace": owner.namespace,
        "labels": labels,
    }
    if given.get("annotations"):
        metadata["annotations"] = dict(given["annotations"])
    if goes_with_set(owner) and not goes_when_scaled(owner, ordinal):
        metadata["ownerReferences"] = [controller_reference(owner)]
    return {
        "apiVersion": PersistentVolumeClaim.api_version,
        "kind": PersistentVolumeClaim.kind,
        "metadata": metadata,
        "spec": template.get("spec") or {},
    }


def is_in_range(owner: StatefulSet, ordinal: int) -> bool:
    """Return whether the set has a pod with this ordinal."""
    return start_of(owner) <= ordinal < start_of(owner) + replicas_of(owner)


def start_of(owner: StatefulSet) -> int:
    return owner.spec.ordinals.start if owner.spec.ordinals is not None else 0


def replicas_of(owner: StatefulSet) -> int:
    return 1 if owner.spec.replicas is None else owner.spec.replicas


def goes_with_set(owner: StatefulSet) -> bool:
    """Return whether claims are deleted with the set."""
    policy = owner.spec.persistent_volume_claim_retention_policy
    return policy is not None and policy.when_deleted == DELETE


def goes_when_scaled(owner: StatefulSet, ordinal: int) -> bool:
    """Return whether the claims of this ordinal are deleted with its pod, because the set is smaller now."""
    policy = owner.spec.persistent_volume_claim_retention_policy
    return policy is not None and policy.when_scaled == DELETE and not is_in_range(owner, ordinal)


def is_stale(claim: PersistentVolumeClaim, name: str, uid: str = "") -> bool:
    """Return whether the claim belongs to a pod of this name with another uid: it is about to be deleted."""
    references = claim.metadata.owner_references or ()
    return any((one.kind, one.name) == (Pod.kind, name) and one.uid != uid for one in references)


def claim_patch(owner: StatefulSet, pod: Pod, claim: PersistentVolumeClaim) -> Patch | None:
    """Return the patch that gives the claim the owners that the set's policy asks for; None when it has them.

    A claim that another controller owns, or whose owners are namesakes of ours, is left alone.
    """
    references = claim.metadata.owner_references or ()
    for one in references:
        is_ours = one.uid in (owner.uid, pod.uid)
        is_namesake = (one.kind, one.name) in ((owner.kind, owner.name), (pod.kind, pod.name))
        if not is_ours and (is_namesake or one.controller):
            return None
    ordinal = ordinal_of(owner, pod.name)
    assert ordinal is not None
    by_pod = goes_when_scaled(owner, ordinal)
    by_set = goes_with_set(owner) and not by_pod
    changes: list[dict[str, Any]] = []
    wanted: tuple[tuple[KubeObject, bool], ...] = ((owner, by_set), (pod, by_pod))
    for holder, is_wanted in wanted:
        there = _reference_to(references, holder.uid)
        if is_wanted and (there is None or not there.controller):
            changes.append(controller_reference(holder))
        elif there is not None and not is_wanted:
            changes.append({"$patch": "delete", "uid": holder.uid})
    if not changes:
        return None
    key = ObjectKey(claim.kind, claim.namespace, claim.name)
    return Patch(key, {"metadata": {"ownerReferences": changes}}, PatchType.STRATEGIC, uid=claim.uid)


def _reference_to(references: tuple[OwnerReference, ...], uid: str) -> OwnerReference | None:
    return next((one for one in references if one.uid == uid), None)
