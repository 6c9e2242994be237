"""Limit ranges give containers the requests and limits they do not name.

Source: kubernetes v1.34.1, plugin/pkg/admission/limitranger; core/v1 defaults of LimitRange.
"""

from __future__ import annotations

from scheduler_core.admission.context import AdmissionContext, Manifest
from scheduler_core.admission.defaults.pods import containers_of
from scheduler_core.api.meta import ResourceList
from scheduler_core.api.policy import LimitRangeItem


def admit_limit_ranges(pod: Manifest, context: AdmissionContext) -> None:
    namespace = pod["metadata"].get("namespace", "")
    for limit_range in sorted(context.limit_ranges.get(namespace, ()), key=lambda one: one.name):
        for item in limit_range.spec.limits or ():
            if item.type == "Container":
                limits, requests = container_defaults(item)
                for container in containers_of(pod["spec"]):
                    _fill(container, "limits", limits)
                    _fill(container, "requests", requests)


def container_defaults(item: LimitRangeItem) -> tuple[ResourceList, ResourceList]:
    """Default limits (else the maximum), and default requests (else the default limit, else the minimum)."""
    limits = {**(item.max or {}), **(item.default or {})}
    requests = {**(item.min or {}), **limits, **(item.default_request or {})}
    return limits, requests


def _fill(container: Manifest, field: str, defaults: ResourceList) -> None:
    given = container.get("resources", {}).get(field, {})
    missing = {name: str(quantity) for name, quantity in defaults.items() if name not in given}
    if missing:
        container.setdefault("resources", {})[field] = {**given, **missing}
