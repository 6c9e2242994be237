"""Changes of a part of an object: a pod's resources, its ephemeral containers, a namespace's finalizers.

All else stays as it was, whatever the request says. Source: kubernetes v1.34.1, pkg/registry/core/{pod,namespace} and
pkg/apis/core/validation.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Final

from scheduler_core.admission.context import AdmissionContext, Manifest, Problem, forbidden, invalid
from scheduler_core.admission.qos import qos_class
from scheduler_core.admission.validation import part_update_problems
from scheduler_core.admission.validation.kinds import namespace_finalizer_problems
from scheduler_core.admission.validation.pod_annotations import MIRROR, annotation_change_problems
from scheduler_core.api.go_values import quoted
from scheduler_core.api.manifests import convert
from scheduler_core.api.pod import PodSpec
from scheduler_core.api.schema import internal_diff

RESIZE: Final = "resize"
EPHEMERAL_CONTAINERS: Final = "ephemeralcontainers"
FINALIZE: Final = "finalize"
_LISTS: Final = ("containers", "initContainers")
_RESIZED: Final = ("resources", "resizePolicy")


def prepare_part(new: Manifest, before: Manifest, part: str) -> Manifest:
    """The old object with the part of the new one."""
    if part == FINALIZE:
        changed = {**new, "status": before["status"]}
        return changed
    changed = {**before, "spec": copy.deepcopy(before["spec"]), "metadata": dict(before["metadata"])}
    if part == RESIZE:
        if any(len(new["spec"].get(field) or ()) != len(before["spec"].get(field) or ()) for field in _LISTS):
            changed["spec"] = copy.deepcopy(new["spec"])
        else:
            for field in _LISTS:
                _take_resources(changed["spec"], new["spec"], field)
    else:
        changed["spec"].pop("ephemeralContainers", None)
        if "ephemeralContainers" in new["spec"]:
            changed["spec"]["ephemeralContainers"] = new["spec"]["ephemeralContainers"]
    if changed["spec"] != before["spec"]:
        changed["metadata"]["generation"] = before["metadata"].get("generation", 0) + 1
    return changed


def _take_resources(spec: Manifest, new: Manifest, field: str) -> None:
    containers, others = spec.get(field) or [], new.get(field) or []
    if [one["name"] for one in containers] != [one["name"] for one in others]:
        spec[field] = copy.deepcopy(others)
        return
    for container, other in zip(containers, others, strict=True):
        for name in _RESIZED:
            container.pop(name, None)
            if name in other:
                container[name] = other[name]


def part_problems(changed: Manifest, before: Manifest, part: str, context: AdmissionContext) -> list[Problem]:
    problems = part_update_problems(changed, before, context)
    fixed = _fixed_pod(changed, before, part)
    if fixed:
        return [forbidden("[]", fixed)]
    if part == FINALIZE:
        for index, name in enumerate(changed["spec"].get("finalizers", ())):
            problems += namespace_finalizer_problems(f"spec.finalizers[{index}]", name)
    elif part == RESIZE:
        problems += _resize(changed, before)
    else:
        problems += annotation_change_problems(changed, before)
        problems += _ephemeral(changed["spec"], before["spec"])
    return problems


def _fixed_pod(changed: Manifest, before: Manifest, part: str) -> str:
    """Why no change of this part comes into question, which alone is told then; of the whole object."""
    is_mirror = MIRROR in (before["metadata"].get("annotations") or {})
    if part == EPHEMERAL_CONTAINERS:
        return "static pods do not support ephemeral containers" if is_mirror else ""
    if part != RESIZE:
        return ""
    specs = (changed["spec"], before["spec"])
    if any((spec.get("resources") or {}).get(field) for spec in specs for field in ("requests", "limits")):
        return "pods with pod-level resources cannot be resized"
    if is_mirror:
        return "static pods cannot be resized"
    return "windows pods cannot be resized" if before["spec"].get("os", {}).get("name") == "windows" else ""


def _resize(changed: Manifest, before: Manifest) -> Iterator[Problem]:
    spec, old = changed["spec"], before["spec"]
    if qos_class(convert(spec, PodSpec, path="spec")) != qos_class(convert(old, PodSpec, path="spec")):
        word = before["status"].get("qosClass", "")
        yield invalid("spec", word, "Pod QOS Class may not change as a result of resizing")
    running = [one for one in before["status"].get("containerStatuses", ()) if "running" in (one.get("state") or {})]
    if running and "resources" not in running[0]:
        yield forbidden("spec", "Pod running on node without support for resize")
    problems = list(_order(spec, old))
    yield from problems
    if problems:
        return
    for field in _LISTS:
        for index, (new, container) in enumerate(zip(spec.get(field) or (), old.get(field) or (), strict=True)):
            is_sidecar = field == "containers" or container.get("restartPolicy") == "Always"
            if new == container:
                continue
            if not is_sidecar:
                yield forbidden("spec", "resources for non-sidecar init containers are immutable")
            else:
                yield from _container(f"spec.{field}[{index}].resources", new, container, field)


def _container(path: str, new: Manifest, old: Manifest, field: str) -> Iterator[Problem]:
    resources, before = new["resources"], old["resources"]
    for part in ("requests", "limits"):
        if (before.get(part) or {}).keys() - (resources.get(part) or {}).keys():
            yield forbidden(f"{path}.{part}", f"resource {part} cannot be removed")
    if _fixed(new) != _fixed(old):
        what = "only cpu and memory resources are mutable"
        if field == "initContainers":
            what = "only cpu and memory resources for sidecar containers are mutable"
        yield forbidden("spec", what)


def _fixed(container: Manifest) -> Manifest:
    """A container without the amounts that may change."""
    resources = {
        part: {name: text for name, text in (values or {}).items() if name not in ("cpu", "memory")}
        for part, values in container["resources"].items()
        if part in ("requests", "limits")
    }
    return {**container, "resources": {part: values for part, values in resources.items() if values}}


def _order(spec: Manifest, old: Manifest) -> Iterator[Problem]:
    for field in _LISTS:
        ours, theirs = spec.get(field) or [], old.get(field) or []
        if len(ours) != len(theirs):
            yield forbidden(f"spec.{field}", f"{field} may not be added or removed on resize")
            continue
        for index, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            if one["name"] != other["name"]:
                yield forbidden(f"spec.{field}[{index}].name", f"{field} may not be renamed or reordered on resize")


def _ephemeral(spec: Manifest, old: Manifest) -> Iterator[Problem]:
    now = {one["name"]: one for one in spec.get("ephemeralContainers", ())}
    for container in old.get("ephemeralContainers", ()):
        name = container["name"]
        if name not in now:
            detail = f"existing ephemeral containers {quoted(name)} may not be removed\n"
            yield forbidden("spec.ephemeralContainers", detail)
        elif now[name] != container:
            difference = internal_diff(container, now[name], "core.EphemeralContainer")
            detail = f"existing ephemeral containers {quoted(name)} may not be changed\n{difference}"
            yield forbidden("spec.ephemeralContainers", detail)
