"""Resource claims in the form before structured parameters: resource.k8s.io/v1alpha2, negotiated with drivers.

A claim or template of that form is kept as one of today's, without requests: what it asks for stands in a
configuration for the driver `OLDER_FORM`, and its allocation is what a driver's own controller writes. ResourceClass
and PodSchedulingContext have no counterpart today and stay kinds of their own, which the Kubernetes API does not serve.
Source: resource.k8s.io/v1alpha2 of Kubernetes 1.30.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

from scheduler_core.api.affinity import NodeSelector
from scheduler_core.api.meta import KubeObject, Value
from scheduler_core.api.resource_claims import AllocationResult, ResourceClaim, ResourceClaimTemplate

OLDER_VERSION: Final = "resource.k8s.io/v1alpha2"
OLDER_FORM: Final = "v1alpha2.resource.k8s.io"
IMMEDIATE: Final = "Immediate"
WAIT_FOR_FIRST_CONSUMER: Final = "WaitForFirstConsumer"
MOST_POTENTIAL_NODES: Final = 128
MOST_CONSUMERS: Final = 32


class ParametersReference(Value, frozen=True):
    """Where a class or a claim has its parameters, which only the driver reads."""

    api_group: str = ""
    kind: str = ""
    name: str = ""
    namespace: str = ""


class ResourceClass(KubeObject, frozen=True, kw_only=True):
    api_version: ClassVar[str] = OLDER_VERSION
    kind: ClassVar[str] = "ResourceClass"
    plural: ClassVar[str] = "resourceclasses"
    namespaced: ClassVar[bool] = False

    driver_name: str = ""
    parameters_ref: ParametersReference | None = None
    suitable_nodes: NodeSelector | None = None


class PodSchedulingContextSpec(Value, frozen=True):
    selected_node: str = ""
    potential_nodes: tuple[str, ...] | None = None


class ResourceClaimSchedulingStatus(Value, frozen=True):
    """Where the claim of one entry of the pod cannot be allocated."""

    name: str = ""
    unsuitable_nodes: tuple[str, ...] | None = None


class PodSchedulingContextStatus(Value, frozen=True):
    resource_claims: tuple[ResourceClaimSchedulingStatus, ...] | None = None


class PodSchedulingContext(KubeObject, frozen=True, kw_only=True):
    """What the scheduler and the drivers tell each other about a pod; it has the pod's name."""

    api_version: ClassVar[str] = OLDER_VERSION
    kind: ClassVar[str] = "PodSchedulingContext"
    plural: ClassVar[str] = "podschedulingcontexts"

    spec: PodSchedulingContextSpec = PodSchedulingContextSpec()
    status: PodSchedulingContextStatus = PodSchedulingContextStatus()


class OlderClaim(Value, frozen=True):
    """What a claim of the older form asks for."""

    resource_class_name: str = ""
    allocation_mode: str = WAIT_FOR_FIRST_CONSUMER


def older_claim(claim: ResourceClaim) -> OlderClaim | None:
    """Return what the claim asks for in the older form, None for one of today's."""
    found = _parameters(claim.spec.devices.config)
    if found is None:
        return None
    mode = str(found.get("allocationMode") or WAIT_FOR_FIRST_CONSUMER)
    return OlderClaim(str(found.get("resourceClassName", "")), mode)


def is_shareable(allocation: AllocationResult) -> bool:
    """Whether several pods may use a claim that a driver's controller allocated."""
    return bool((_parameters(allocation.devices.config) or {}).get("shareable"))


def older_allocation(node_selector: Mapping[str, Any] | None, *, shareable: bool = False) -> dict[str, Any]:
    """Return the allocation, as today's claims have it, of one that a driver's controller allocated."""
    config = {"source": "FromClaim", **_opaque({"shareable": shareable})}
    found: dict[str, Any] = {"devices": {"results": [], "config": [config]}}
    return {**found, "nodeSelector": node_selector} if node_selector is not None else found


def current_form(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return today's form of a claim, a template or a pod of the older form; anything else as it is."""
    kind, version = manifest.get("kind"), manifest.get("apiVersion")
    if kind == "Pod":
        return _current_pod(manifest)
    if version != OLDER_VERSION or kind not in (ResourceClaim.kind, ResourceClaimTemplate.kind):
        return dict(manifest)
    spec = _dict(manifest.get("spec"))
    if kind == ResourceClaimTemplate.kind:
        spec = {**spec, "spec": _current_spec(_dict(spec.get("spec")))}
        return {**manifest, "apiVersion": ResourceClaimTemplate.api_version, "spec": spec}
    current = {**manifest, "apiVersion": ResourceClaim.api_version, "spec": _current_spec(spec)}
    if "status" in manifest:
        current["status"] = _current_status(_dict(manifest["status"]))
    return current


def _current_spec(spec: Mapping[str, Any]) -> dict[str, Any]:
    return {"devices": {"config": [_opaque(spec)]}}


def _current_status(status: Mapping[str, Any]) -> dict[str, Any]:
    current: dict[str, Any] = {}
    if "reservedFor" in status:
        current["reservedFor"] = status["reservedFor"]
    if isinstance(status.get("allocation"), Mapping):
        given = status["allocation"]
        current["allocation"] = older_allocation(given.get("availableOnNodes"), shareable=bool(given.get("shareable")))
    return current


def _current_pod(pod: Mapping[str, Any]) -> dict[str, Any]:
    """The pod with the source of each claim in the entry itself."""
    spec = pod.get("spec")
    entries = spec.get("resourceClaims") if isinstance(spec, Mapping) else None
    if not isinstance(spec, Mapping) or not isinstance(entries, Sequence):
        return dict(pod)
    current = [
        {**{key: value for key, value in entry.items() if key != "source"}, **entry["source"]}
        if isinstance(entry, Mapping) and isinstance(entry.get("source"), Mapping)
        else entry
        for entry in entries
    ]
    return {**pod, "spec": {**spec, "resourceClaims": current}}


def _opaque(parameters: Mapping[str, Any]) -> dict[str, Any]:
    return {"opaque": {"driver": OLDER_FORM, "parameters": dict(parameters)}}


def _parameters(config: Sequence[Mapping[str, Any]] | None) -> Mapping[str, Any] | None:
    """The older form's own parameters in the configuration of a claim or an allocation."""
    for each in config or ():
        opaque = _dict(each.get("opaque"))
        if opaque.get("driver") == OLDER_FORM:
            return _dict(opaque.get("parameters"))
    return None


def _dict(value: Any) -> dict[str, Any]:
    return dict(value) if isinstance(value, Mapping) else {}
