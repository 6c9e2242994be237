"""What may not change of a pod.

Source: kubernetes v1.34.1, pkg/apis/core/validation.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Final

from scheduler_core.admission.context import Manifest, Problem, forbidden, invalid, required
from scheduler_core.admission.gates import gate_problems, gated_problems
from scheduler_core.admission.validation.containers import padded_image_problems
from scheduler_core.admission.validation.formats import MAX_INT32
from scheduler_core.admission.validation.pod_annotations import annotation_change_problems
from scheduler_core.admission.validation.pods import toleration_problems
from scheduler_core.api.schema import internal_diff

_ONLY_THESE: Final = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)


def pod_change_problems(new: Manifest, old: Manifest) -> Iterator[Problem]:
    spec, before = new["spec"], old["spec"]
    yield from annotation_change_problems(new, old)
    for field in ("containers", "initContainers"):
        ours, theirs = spec.get(field) or [], before.get(field) or []
        if len(ours) != len(theirs):
            yield forbidden(f"spec.{field}", "pod updates may not add or remove containers")
            return
        for index, container in enumerate(ours):
            if not container.get("image"):
                yield required(f"spec.{field}[{index}].image")
            yield from padded_image_problems(f"spec.{field}[{index}]", container)
    after, was = spec.get("activeDeadlineSeconds"), before.get("activeDeadlineSeconds")
    if after is not None and not 0 <= after <= MAX_INT32:
        yield invalid("spec.activeDeadlineSeconds", after, f"must be between 0 and {MAX_INT32}, inclusive")
        return
    if after is not None and was is not None and was < after:
        yield invalid("spec.activeDeadlineSeconds", after, "must be less than or equal to previous value")
        return
    if after is None and was is not None:
        yield invalid("spec.activeDeadlineSeconds", None, "must not update from a positive integer to nil value")
    yield from _tolerations(spec.get("tolerations", []), before.get("tolerations", []))
    yield from gate_problems(before, spec)
    if spec == before:
        return
    munged = _munged(spec, before)
    if before.get("schedulingGates"):
        yield from gated_problems(before, spec)
        if "nodeSelector" in before:
            munged["nodeSelector"] = before["nodeSelector"]
        else:
            munged.pop("nodeSelector", None)
        _copy_node_affinity(munged, before)
    if munged != before:
        difference = internal_diff(before, munged, "core.PodSpec")
        yield forbidden("spec", f"{_ONLY_THESE}\n{difference}")


def _munged(spec: Manifest, before: Manifest) -> Manifest:
    """The new spec with the old values of what has rules of its own."""
    munged = copy.deepcopy(spec)
    for field in ("containers", "initContainers"):
        for container, other in zip(munged.get(field) or (), before.get(field) or (), strict=True):
            take(container, other, "image")
    for field in ("activeDeadlineSeconds", "schedulingGates", "tolerations"):
        take(munged, before, field)
    if before.get("terminationGracePeriodSeconds", 0) < 0 and munged.get("terminationGracePeriodSeconds") == 1:
        munged["terminationGracePeriodSeconds"] = before["terminationGracePeriodSeconds"]
    return munged


def take(holder: Manifest, other: Manifest, field: str) -> None:
    """Give the holder the other's field, or none."""
    if field in other:
        holder[field] = other[field]
    else:
        holder.pop(field, None)


def _copy_node_affinity(munged: Manifest, before: Manifest) -> None:
    """Node affinity has been checked by itself; whether there is an affinity at all follows it."""
    ours, theirs = munged.get("affinity"), before.get("affinity", {}).get("nodeAffinity")
    if (ours or {}).get("nodeAffinity") == theirs:
        return
    if ours is None:
        munged["affinity"] = {"nodeAffinity": theirs}
    elif "affinity" not in before and not {"podAffinity", "podAntiAffinity"} & ours.keys():
        del munged["affinity"]
    else:
        take(ours, before.get("affinity", {}), "nodeAffinity")


def _tolerations(new: list[Manifest], old: list[Manifest]) -> Iterator[Problem]:
    kept = [_without_seconds(toleration) for toleration in new]
    if any(_without_seconds(toleration) not in kept for toleration in old):
        yield forbidden("spec.tolerations", "existing toleration can not be modified except its tolerationSeconds")
    else:
        yield from toleration_problems("spec.tolerations", new)


def _without_seconds(toleration: Manifest) -> Manifest:
    return {key: value for key, value in toleration.items() if key != "tolerationSeconds"}
