"""Dynamic resource allocation: claims, templates, slices of devices and their classes.

What the allocator walks through is typed; opaque driver parameters and device payloads stay untyped.
Source: resource.k8s.io/v1 of Kubernetes 1.34.
"""

from __future__ import annotations

from typing import Any, ClassVar, Final

import msgspec

from scheduler_core.api.affinity import NodeSelector
from scheduler_core.api.meta import Int64, KubeObject, ObjectMeta, Value

# The finalizer of a claim that is allocated.
DELETE_PROTECTION: Final = "resource.kubernetes.io/delete-protection"
# Annotation of a claim that was made from a template: the entry of the pod it is for.
POD_CLAIM_NAME: Final = "resource.kubernetes.io/pod-claim-name"
# Devices of one slice, at most.
MOST_DEVICES: Final = 128


class CELDeviceSelector(Value, frozen=True):
    expression: str = ""


class DeviceSelector(Value, frozen=True):
    cel: CELDeviceSelector | None = None


class ExactDeviceRequest(Value, frozen=True):
    """`name` is used by subrequests only."""

    name: str = ""
    device_class_name: str = ""
    selectors: tuple[DeviceSelector, ...] | None = None
    allocation_mode: str = ""
    count: Int64 = 0
    admin_access: bool | None = None
    tolerations: tuple[dict[str, Any], ...] | None = None
    capacity: dict[str, Any] | None = None


class DeviceRequest(Value, frozen=True):
    """Exactly one of `exactly` and `first_available` is set."""

    name: str
    exactly: ExactDeviceRequest | None = None
    first_available: tuple[ExactDeviceRequest, ...] | None = None


class DeviceConstraint(Value, frozen=True):
    requests: tuple[str, ...] | None = None
    match_attribute: str | None = None
    distinct_attribute: str | None = None


class DeviceClaim(Value, frozen=True):
    requests: tuple[DeviceRequest, ...] | None = None
    constraints: tuple[DeviceConstraint, ...] | None = None
    config: tuple[dict[str, Any], ...] | None = None


class ResourceClaimSpec(Value, frozen=True):
    devices: DeviceClaim = DeviceClaim()


class DeviceRequestAllocationResult(Value, frozen=True):
    request: str
    driver: str
    pool: str
    device: str
    admin_access: bool | None = None


class DeviceAllocationResult(Value, frozen=True):
    results: tuple[DeviceRequestAllocationResult, ...] | None = None
    config: tuple[dict[str, Any], ...] | None = None


class AllocationResult(Value, frozen=True):
    devices: DeviceAllocationResult = DeviceAllocationResult()
    node_selector: NodeSelector | None = None


class ResourceClaimConsumerReference(Value, frozen=True):
    resource: str = ""
    name: str = ""
    uid: str = ""
    api_group: str = ""


class ResourceClaimStatus(Value, frozen=True):
    allocation: AllocationResult | None = None
    reserved_for: tuple[ResourceClaimConsumerReference, ...] | None = None
    devices: tuple[dict[str, Any], ...] | None = None


class ResourceClaim(KubeObject, frozen=True, kw_only=True):
    api_version: ClassVar[str] = "resource.k8s.io/v1"
    kind: ClassVar[str] = "ResourceClaim"
    plural: ClassVar[str] = "resourceclaims"

    spec: ResourceClaimSpec = ResourceClaimSpec()
    status: ResourceClaimStatus = ResourceClaimStatus()


class ResourceClaimTemplateSpec(Value, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: ResourceClaimSpec = ResourceClaimSpec()


class ResourceClaimTemplate(KubeObject, frozen=True, kw_only=True):
    api_version: ClassVar[str] = "resource.k8s.io/v1"
    kind: ClassVar[str] = "ResourceClaimTemplate"
    plural: ClassVar[str] = "resourceclaimtemplates"

    spec: ResourceClaimTemplateSpec = ResourceClaimTemplateSpec()


class ResourcePool(Value, frozen=True):
    name: str = ""
    generation: Int64 = 0
    resource_slice_count: Int64 = 0


class DeviceAttribute(Value, frozen=True):
    """One typed value."""

    int_value: Int64 | None = msgspec.field(default=None, name="int")
    bool_value: bool | None = msgspec.field(default=None, name="bool")
    string_value: str | None = msgspec.field(default=None, name="string")
    version_value: str | None = msgspec.field(default=None, name="version")


class Device(Value, frozen=True):
    name: str
    attributes: dict[str, DeviceAttribute] | None = None
    capacity: dict[str, dict[str, Any]] | None = None
    consumes_counters: tuple[dict[str, Any], ...] | None = None
    node_name: str | None = None
    node_selector: NodeSelector | None = None
    all_nodes: bool | None = None
    taints: tuple[dict[str, Any], ...] | None = None
    binding_conditions: tuple[str, ...] | None = None


class ResourceSliceSpec(Value, frozen=True):
    driver: str = ""
    pool: ResourcePool = ResourcePool()
    node_name: str | None = None
    node_selector: NodeSelector | None = None
    all_nodes: bool | None = None
    per_device_node_selection: bool | None = None
    devices: tuple[Device, ...] | None = None


class ResourceSlice(KubeObject, frozen=True, kw_only=True):
    api_version: ClassVar[str] = "resource.k8s.io/v1"
    kind: ClassVar[str] = "ResourceSlice"
    plural: ClassVar[str] = "resourceslices"
    namespaced: ClassVar[bool] = False

    spec: ResourceSliceSpec = ResourceSliceSpec()


class DeviceClassSpec(Value, frozen=True):
    selectors: tuple[DeviceSelector, ...] | None = None
    config: tuple[dict[str, Any], ...] | None = None
    extended_resource_name: str | None = None


class DeviceClass(KubeObject, frozen=True, kw_only=True):
    api_version: ClassVar[str] = "resource.k8s.io/v1"
    kind: ClassVar[str] = "DeviceClass"
    plural: ClassVar[str] = "deviceclasses"
    namespaced: ClassVar[bool] = False

    spec: DeviceClassSpec = DeviceClassSpec()
