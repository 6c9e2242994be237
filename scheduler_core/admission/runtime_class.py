"""A runtime class brings its overhead and its scheduling rules into the pod.

Source: kubernetes v1.34.1, plugin/pkg/admission/runtimeclass.
"""

from __future__ import annotations

from typing import Any

import msgspec

from scheduler_core.admission.context import AdmissionContext, Manifest, refused
from scheduler_core.api.policy import RuntimeClass
from scheduler_core.api.quantity import parse


def admit_runtime_class(pod: Manifest, context: AdmissionContext) -> None:
    spec = pod["spec"]
    name = spec.get("runtimeClassName")
    if not name:
        return
    given = {resource: parse(text) for resource, text in spec.get("overhead", {}).items()}
    runtime_class = context.runtime_classes.get(name)
    if runtime_class is None:
        raise refused("spec.runtimeClassName", f'pod rejected: RuntimeClass "{name}" not found')
    overhead = (runtime_class.overhead.pod_fixed if runtime_class.overhead is not None else None) or {}
    if overhead and given and given != overhead:
        detail = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"
        raise refused("spec.overhead", detail)
    if overhead:
        spec["overhead"] = {resource: str(quantity) for resource, quantity in overhead.items()}
    _merge_scheduling(spec, runtime_class)


def admit_overhead(pod: Manifest, context: AdmissionContext) -> None:
    """Refuse an overhead that no runtime class has given to the pod."""
    spec = pod["spec"]
    runtime_class = context.runtime_classes.get(spec.get("runtimeClassName") or "")
    overhead = runtime_class.overhead if runtime_class is not None else None
    if spec.get("overhead") and (overhead is None or not overhead.pod_fixed):
        detail = "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"
        raise refused("spec.overhead", detail)


def _merge_scheduling(spec: Manifest, runtime_class: RuntimeClass) -> None:
    scheduling = runtime_class.scheduling
    if scheduling is None:
        return
    selector: dict[str, str] = spec.get("nodeSelector", {})
    for key, value in (scheduling.node_selector or {}).items():
        if selector.get(key, value) != value:
            detail = f"conflict: runtimeClass.scheduling.nodeSelector[{key}] = {value}; pod.spec.nodeSelector[{key}] = "
            raise refused("spec.nodeSelector", detail + selector[key])
    if scheduling.node_selector:
        spec["nodeSelector"] = {**selector, **scheduling.node_selector}
    tolerations: list[Any] = spec.get("tolerations", [])
    added = [one for one in map(msgspec.to_builtins, scheduling.tolerations or ()) if one not in tolerations]
    if added:
        spec["tolerations"] = [*tolerations, *added]
