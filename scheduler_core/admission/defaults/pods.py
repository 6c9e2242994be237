"""Defaults of pods and pod templates, in place.

Source: kubernetes v1.34.1, pkg/apis/core/v1/defaults.go and pkg/registry/core/pod/strategy.go.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from scheduler_core.admission.context import Manifest
from scheduler_core.admission.defaults.values import default_resource_lists, default_volume, pull_policy, put
from scheduler_core.api.manifests import convert
from scheduler_core.api.pod import PodSpec
from scheduler_core.api.resources import container_limits, container_requests, is_hugepages, is_pod_level

_PROBES: Final = ("livenessProbe", "readinessProbe", "startupProbe")


def default_pod(pod: Manifest) -> None:
    """A pod: its spec, and what templates do not get."""
    spec = pod["spec"]
    put(spec, "enableServiceLinks", True)
    for container in containers_of(spec):
        default_resource_lists(container["resources"], ("limits", "requests"))
        _requests_from_limits(container)
        if spec.get("hostNetwork"):
            for port in container.get("ports", ()):
                if not port.get("hostPort") and port["containerPort"]:
                    port["hostPort"] = port["containerPort"]
    if "resources" in spec:
        _pod_level_resources(spec)
    default_pod_spec(spec)


def default_pod_status(pod: Manifest) -> None:
    status = pod["status"]
    for one, many in (("podIP", "podIPs"), ("hostIP", "hostIPs")):  # the one is the first of the others
        if status.get(one) and not status.get(many):
            status[many] = [{"ip": status[one]}]
        elif status.get(many) and one == "podIP":  # who writes the host's has to write both
            status[one] = status[many][0].get("ip", "")


def default_pod_spec(spec: Manifest) -> None:
    """What pods and templates share."""
    put(spec, "dnsPolicy", "ClusterFirst")
    put(spec, "restartPolicy", "Always")
    put(spec, "securityContext", {})
    put(spec, "terminationGracePeriodSeconds", 30)
    put(spec, "schedulerName", "default-scheduler")
    default_resource_lists(spec, ("overhead",))
    default_resource_lists(spec.get("resources") or {}, ("limits", "requests"))
    for container in containers_of(spec):
        _container(container)
    for container in spec.get("ephemeralContainers", ()):
        _container(container)
    for volume in spec.get("volumes", ()):
        default_volume(volume)
    account = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if account:
        spec["serviceAccountName"] = spec["serviceAccount"] = account


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
    yield from spec.get("containers") or ()
    yield from spec.get("initContainers", ())


def affinity_terms(spec: Manifest) -> Iterator[Manifest]:
    """Every term of pod affinity and anti-affinity, required and preferred."""
    affinity = spec.get("affinity", {})
    for part in ("podAffinity", "podAntiAffinity"):
        stanza = affinity.get(part, {})
        yield from stanza.get("requiredDuringSchedulingIgnoredDuringExecution", ())
        for weighted in stanza.get("preferredDuringSchedulingIgnoredDuringExecution", ()):
            yield weighted["podAffinityTerm"]


def _container(container: Manifest) -> None:
    put(container, "terminationMessagePath", "/dev/termination-log")
    put(container, "terminationMessagePolicy", "File")
    if not container.get("imagePullPolicy"):
        container["imagePullPolicy"] = pull_policy(container.get("image", ""))
    default_resource_lists(container["resources"], ("limits", "requests"))
    for port in container.get("ports", ()):
        put(port, "protocol", "TCP")
    for variable in container.get("env", ()):
        if "fieldRef" in variable.get("valueFrom", ()):
            put(variable["valueFrom"]["fieldRef"], "apiVersion", "v1")
    for name in _PROBES:
        if name in container:
            _probe(container[name])
    for handler in container.get("lifecycle", {}).values():
        if isinstance(handler, dict):
            _http_get(handler)


def _probe(probe: Manifest) -> None:
    for field, value in (("timeoutSeconds", 1), ("periodSeconds", 10), ("successThreshold", 1)):
        put(probe, field, value)
    put(probe, "failureThreshold", 3)
    _http_get(probe)
    if "grpc" in probe:
        put(probe["grpc"], "service", "")


def _http_get(handler: Manifest) -> None:
    if "httpGet" in handler:
        put(handler["httpGet"], "path", "/")
        put(handler["httpGet"], "scheme", "HTTP")


def _requests_from_limits(container: Manifest) -> None:
    limits = container["resources"].get("limits")
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
    if resources.get("limits"):
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
    selector: dict[str, Any] | None = holder.get("labelSelector")
    keys = [key for key in holder.get(field, ()) if key in labels]
    if selector is None or not keys:
        return
    expressions = selector.setdefault("matchExpressions", [])
    for key in keys:
        expressions.append({"key": key, "operator": operator, "values": [labels[key]]})
