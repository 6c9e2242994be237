"""Defaults of a pod, in the API server's order: quantities, requests from limits, pod level, host ports, constants.

Works in place on a manifest without `null`s. Source: kubernetes v1.34.1, pkg/apis/core/v1/defaults.go and
pkg/registry/core/pod/strategy.go.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from scheduler_core.admission.context import Manifest
from scheduler_core.api.manifests import convert
from scheduler_core.api.pod import PodSpec
from scheduler_core.api.quantity import parse
from scheduler_core.api.resources import container_limits, container_requests, is_hugepages, is_pod_level

VOLUME_FIELDS_WITHOUT_SOURCE: Final = frozenset({"name"})


def default_pod(pod: Manifest) -> None:
    """Everything the API server fills in before any admission plugin looks."""
    spec = pod.setdefault("spec", {})
    for container in containers_of(spec):
        default_resource_lists(container.get("resources"), ("limits", "requests"))
        _requests_from_limits(container)
    default_resource_lists(spec, ("overhead",))
    if "resources" in spec:
        default_resource_lists(spec["resources"], ("limits", "requests"))
        _pod_level_resources(spec)
    for container in containers_of(spec):
        for port in container.get("ports", ()):
            if spec.get("hostNetwork") and not port.get("hostPort"):
                port["hostPort"] = port.get("containerPort", 0)
            port.setdefault("protocol", "TCP")
    for volume in spec.get("volumes", ()):
        if not volume.keys() - VOLUME_FIELDS_WITHOUT_SOURCE:
            volume["emptyDir"] = {}
    for field, value in (
        ("restartPolicy", "Always"),
        ("dnsPolicy", "ClusterFirst"),
        ("schedulerName", "default-scheduler"),
    ):
        if not spec.get(field):
            spec[field] = value
    spec.setdefault("terminationGracePeriodSeconds", 30)
    spec.setdefault("enableServiceLinks", True)


def merge_label_keys(pod: Manifest) -> None:
    """matchLabelKeys and mismatchLabelKeys become requirements of the selectors, with the pod's own values."""
    labels: dict[str, str] = pod.get("metadata", {}).get("labels", {})
    spec = pod["spec"]
    for term in affinity_terms(spec):
        _extend_selector(term, labels, "matchLabelKeys", "In")
        _extend_selector(term, labels, "mismatchLabelKeys", "NotIn")
    for constraint in spec.get("topologySpreadConstraints", ()):
        _extend_selector(constraint, labels, "matchLabelKeys", "In")


def containers_of(spec: Manifest) -> Iterator[Manifest]:
    """Containers, then init containers."""
    yield from spec.get("containers", ())
    yield from spec.get("initContainers", ())


def affinity_terms(spec: Manifest) -> Iterator[Manifest]:
    """Every term of pod affinity and anti-affinity, required and preferred."""
    affinity = spec.get("affinity", {})
    for part in ("podAffinity", "podAntiAffinity"):
        stanza = affinity.get(part, {})
        yield from stanza.get("requiredDuringSchedulingIgnoredDuringExecution", ())
        for weighted in stanza.get("preferredDuringSchedulingIgnoredDuringExecution", ()):
            yield weighted["podAffinityTerm"]


def default_resource_lists(holder: Any, fields: tuple[str, ...]) -> None:
    """Quantities as the API server stores them: canonical text, nothing finer than thousandths."""
    for field in fields:
        values: dict[str, Any] = (holder or {}).get(field) or {}
        for name, text in values.items():
            values[name] = str(parse(text).rounded_up_to_milli())


def _requests_from_limits(container: Manifest) -> None:
    limits = container.get("resources", {}).get("limits")
    if limits:
        container["resources"]["requests"] = {**limits, **container["resources"].get("requests", {})}


def _pod_level_resources(spec: Manifest) -> None:
    resources = spec["resources"]
    requests, limits = dict(resources.get("requests", {})), dict(resources.get("limits", {}))
    typed = convert(spec, PodSpec, path="spec")
    if requests or limits:
        for name, quantity in container_limits(typed).items():
            if is_hugepages(name) and name not in requests and name not in limits:
                limits[name] = str(quantity)
    if limits:
        for name, quantity in container_requests(typed).items():
            if name in ("cpu", "memory") and name not in requests:
                requests[name] = str(quantity)
        for name, text in limits.items():
            if is_pod_level(name) and name not in requests:
                requests[name] = text
    for field, values in (("requests", requests), ("limits", limits)):
        if values:
            resources[field] = values


def _extend_selector(holder: Manifest, labels: dict[str, str], field: str, operator: str) -> None:
    selector = holder.get("labelSelector")
    keys = [key for key in holder.get(field, ()) if key in labels]
    if selector is None or not keys:
        return
    expressions = selector.setdefault("matchExpressions", [])
    for key in keys:
        expressions.append({"key": key, "operator": operator, "values": [labels[key]]})
