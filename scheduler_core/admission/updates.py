"""What may not change once an object exists.

Source: kubernetes v1.34.1, pkg/apis/core/validation (ValidatePodUpdate), scheduling validation.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any, Final

from scheduler_core.admission.context import Manifest, Problem, forbidden, invalid
from scheduler_core.admission.gates import gate_problems, gated_problems

_IMMUTABLE: Final = "field is immutable"
_ONLY_THESE: Final = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)


def update_problems(old: Manifest, new: Manifest, kind: str) -> list[Problem]:
    """Problems of the step from old to new, in the order they are found."""
    if kind == "Pod":
        return list(_pod(old.get("spec", {}), new.get("spec", {})))
    if kind == "PriorityClass":
        return list(_fields(old, new, "", ("value", "preemptionPolicy")))
    if kind in ("ReplicaSet", "StatefulSet", "Deployment", "DaemonSet", "Job"):
        return list(_fields(old.get("spec", {}), new.get("spec", {}), "spec.", ("selector",)))
    if kind == "StorageClass":
        fields = ("provisioner", "parameters", "reclaimPolicy", "volumeBindingMode")
        return list(_fields(old, new, "", fields))
    return []


def _fields(old: Manifest, new: Manifest, prefix: str, fields: tuple[str, ...]) -> Iterator[Problem]:
    for field in fields:
        if old.get(field) != new.get(field):
            yield invalid(f"{prefix}{field}", new.get(field), _IMMUTABLE)


def _pod(old: Manifest, new: Manifest) -> Iterator[Problem]:
    yield from gate_problems(old, new)
    gated = bool(old.get("schedulingGates"))
    if gated:
        yield from gated_problems(old, new)
    before, after = old.get("activeDeadlineSeconds"), new.get("activeDeadlineSeconds")
    if before is not None and (after is None or after > before):
        detail = "must be less than or equal to previous value" if after is not None else "must not be removed"
        yield invalid("spec.activeDeadlineSeconds", after, detail)
    yield from _tolerations(old.get("tolerations", []), new.get("tolerations", []))
    if _fixed_part(new, old, gated) != _fixed_part(old, old, gated):
        yield forbidden("spec", _ONLY_THESE)


def _tolerations(old: list[Manifest], new: list[Manifest]) -> Iterator[Problem]:
    kept = [_without_seconds(toleration) for toleration in new]
    if any(_without_seconds(toleration) not in kept for toleration in old):
        yield forbidden("spec.tolerations", "existing toleration can not be modified except its tolerationSeconds")


def _without_seconds(toleration: Manifest) -> Manifest:
    return {key: value for key, value in toleration.items() if key != "tolerationSeconds"}


def _fixed_part(spec: Manifest, old: Manifest, gated: bool) -> Manifest:
    """The spec without what has rules of its own."""
    fixed = copy.deepcopy(spec)
    for field in ("schedulingGates", "activeDeadlineSeconds", "tolerations"):
        fixed.pop(field, None)
    for field in ("containers", "initContainers"):
        for container in fixed.get(field, ()):
            container.pop("image", None)
    if fixed.get("terminationGracePeriodSeconds") == 1 and old.get("terminationGracePeriodSeconds", 0) < 0:
        fixed["terminationGracePeriodSeconds"] = old["terminationGracePeriodSeconds"]
    if gated:
        fixed.pop("nodeSelector", None)
        affinity = fixed.get("affinity", {})
        affinity.pop("nodeAffinity", None)
    return {key: _compact(value) for key, value in fixed.items() if _compact(value) not in ({}, [])}


def _compact(value: Any) -> Any:
    """Without empty maps and lists: they mean the same as absent ones."""
    if isinstance(value, dict):
        parts = {key: _compact(item) for key, item in value.items()}
        return {key: item for key, item in parts.items() if item not in ({}, [])}
    if isinstance(value, list):
        return [_compact(item) for item in value]
    return value
