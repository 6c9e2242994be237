"""Pods, as far as scheduling, admission and the simulated kubelet read them.

Source: core/v1 of Kubernetes 1.34. Absent lists and maps are `None`.
"""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec

from scheduler_core.api.affinity import Affinity, Toleration, TopologySpreadConstraint
from scheduler_core.api.meta import Int32, Int64, KubeObject, ResourceList, Time, Value
from scheduler_core.api.quantity import Quantity


class ResourceRequirements(Value, frozen=True):
    requests: ResourceList | None = None
    limits: ResourceList | None = None
    claims: tuple[dict[str, Any], ...] | None = None


class ContainerPort(Value, frozen=True):
    container_port: Int32 = 0
    host_port: Int32 = 0
    host_ip: str = msgspec.field(default="", name="hostIP")
    protocol: str = ""
    name: str = ""


class SleepAction(Value, frozen=True):
    seconds: Int64 = 0


class LifecycleHandler(Value, frozen=True):
    """What is done before a container is stopped; commands and requests run nowhere here, and are left out."""

    sleep: SleepAction | None = None


class Lifecycle(Value, frozen=True):
    pre_stop: LifecycleHandler | None = None


class Container(Value, frozen=True):
    """A container or an init container; an init container with restartPolicy Always is a sidecar."""

    name: str = ""
    image: str = ""
    ports: tuple[ContainerPort, ...] | None = None
    resources: ResourceRequirements = ResourceRequirements()
    restart_policy: str | None = None
    lifecycle: Lifecycle | None = None

    @property
    def is_restartable_init(self) -> bool:
        return self.restart_policy == "Always"


class PersistentVolumeClaimVolumeSource(Value, frozen=True):
    claim_name: str = ""
    read_only: bool = False


class GCEPersistentDisk(Value, frozen=True):
    pd_name: str = ""
    read_only: bool = False


class AWSElasticBlockStore(Value, frozen=True):
    volume_id: str = msgspec.field(default="", name="volumeID")
    read_only: bool = False


class ISCSI(Value, frozen=True):
    iqn: str = ""
    read_only: bool = False


class RBD(Value, frozen=True):
    monitors: tuple[str, ...] = ()
    image: str = ""
    pool: str = "rbd"
    read_only: bool = False


class CSIVolumeSource(Value, frozen=True):
    driver: str = ""


class EmptyDirVolumeSource(Value, frozen=True):
    medium: str = ""
    size_limit: Quantity | None = None


class Volume(Value, frozen=True):
    """One volume; sources the scheduler never looks into stay untyped."""

    name: str = ""
    persistent_volume_claim: PersistentVolumeClaimVolumeSource | None = None
    ephemeral: dict[str, Any] | None = None
    empty_dir: EmptyDirVolumeSource | None = None
    csi: CSIVolumeSource | None = None
    gce_persistent_disk: GCEPersistentDisk | None = None
    aws_elastic_block_store: AWSElasticBlockStore | None = None
    iscsi: ISCSI | None = None
    rbd: RBD | None = None
    azure_disk: dict[str, Any] | None = None
    azure_file: dict[str, Any] | None = None
    cinder: dict[str, Any] | None = None
    portworx_volume: dict[str, Any] | None = None
    vsphere_volume: dict[str, Any] | None = None


class PodSchedulingGate(Value, frozen=True):
    name: str


class PodReadinessGate(Value, frozen=True):
    condition_type: str


class PodResourceClaim(Value, frozen=True):
    name: str
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class PodSpec(Value, frozen=True):
    node_name: str = ""
    scheduler_name: str = ""
    priority: Int32 | None = None
    priority_class_name: str = ""
    preemption_policy: str | None = None
    runtime_class_name: str | None = None
    restart_policy: str = ""
    host_network: bool = False
    termination_grace_period_seconds: Int64 | None = None
    active_deadline_seconds: Int64 | None = None
    node_selector: dict[str, str] | None = None
    affinity: Affinity | None = None
    tolerations: tuple[Toleration, ...] | None = None
    topology_spread_constraints: tuple[TopologySpreadConstraint, ...] | None = None
    scheduling_gates: tuple[PodSchedulingGate, ...] | None = None
    readiness_gates: tuple[PodReadinessGate, ...] | None = None
    overhead: ResourceList | None = None
    resources: ResourceRequirements | None = None
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] | None = None
    volumes: tuple[Volume, ...] | None = None
    resource_claims: tuple[PodResourceClaim, ...] | None = None


class PodCondition(Value, frozen=True):
    type: str
    status: str = ""
    reason: str = ""
    message: str = ""
    last_probe_time: Time | None = None
    last_transition_time: Time | None = None
    observed_generation: Int64 | None = None


class ContainerStatusResources(Value, frozen=True):
    requests: ResourceList | None = None
    limits: ResourceList | None = None


class ContainerStateWaiting(Value, frozen=True):
    reason: str = ""
    message: str = ""


class ContainerStateRunning(Value, frozen=True):
    started_at: Time | None = None


class ContainerStateTerminated(Value, frozen=True):
    exit_code: Int32 = 0
    reason: str = ""
    started_at: Time | None = None
    finished_at: Time | None = None


class ContainerState(Value, frozen=True):
    """At most one of them; none means waiting."""

    waiting: ContainerStateWaiting | None = None
    running: ContainerStateRunning | None = None
    terminated: ContainerStateTerminated | None = None


class ContainerStatus(Value, frozen=True):
    name: str = ""
    state: ContainerState | None = None
    last_state: ContainerState | None = None
    resources: ContainerStatusResources | None = None
    allocated_resources: ResourceList | None = None
    restart_count: Int32 = 0


class PodResourceClaimStatus(Value, frozen=True):
    name: str
    resource_claim_name: str | None = None


class PodStatus(Value, frozen=True):
    phase: str = ""
    reason: str = ""
    message: str = ""
    nominated_node_name: str = ""
    start_time: Time | None = None
    pod_ip: str = msgspec.field(default="", name="podIP")
    conditions: tuple[PodCondition, ...] | None = None
    container_statuses: tuple[ContainerStatus, ...] | None = None
    init_container_statuses: tuple[ContainerStatus, ...] | None = None
    resource_claim_statuses: tuple[PodResourceClaimStatus, ...] | None = None
    extended_resource_claim_status: dict[str, Any] | None = None


class Pod(KubeObject, frozen=True, kw_only=True):
    api_version: ClassVar[str] = "v1"
    kind: ClassVar[str] = "Pod"
    plural: ClassVar[str] = "pods"

    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @property
    def priority(self) -> int:
        """`spec.priority`, 0 when absent."""
        return self.spec.priority or 0

    @property
    def is_assigned(self) -> bool:
        return bool(self.spec.node_name)

    @property
    def is_terminal(self) -> bool:
        """Succeeded and Failed pods are invisible to the scheduler."""
        return self.status.phase in ("Succeeded", "Failed")

    @property
    def is_terminating(self) -> bool:
        return self.metadata.deletion_timestamp is not None

    def on_node(self, node_name: str) -> Pod:
        """The same pod with `spec.nodeName` set."""
        return msgspec.structs.replace(self, spec=msgspec.structs.replace(self.spec, node_name=node_name))
