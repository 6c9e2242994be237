"""Namespaces, services and the owners of pods, as far as spreading and the simulated controllers read them.

Templates of pods are checked like pods and kept whole, since pods are made from them.
Source: core/v1 and apps/v1 of Kubernetes 1.34.
"""

from __future__ import annotations

from typing import Any, ClassVar

from scheduler_core.api.meta import Int32, Int64, KubeObject, LabelSelector, ObjectMeta, Time, Value
from scheduler_core.api.pod import PodSpec


class PodTemplateSpec(Value, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: PodSpec = PodSpec()


class RawTemplate:
    """The template of a workload's pods: its manifest, with all fields. `manifests` checks that it is one of a pod.

    No dataclass: msgspec would read one field by field.
    """

    __slots__ = ("manifest",)

    def __init__(self, manifest: dict[str, Any]) -> None:
        self.manifest = manifest

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RawTemplate) and self.manifest == other.manifest

    __hash__ = None  # type: ignore[assignment]  # as that of a dict

    def __repr__(self) -> str:
        return f"RawTemplate({self.manifest!r})"

    @property
    def labels(self) -> dict[str, str]:
        return (self.manifest.get("metadata") or {}).get("labels") or {}

    @property
    def annotations(self) -> dict[str, str]:
        return (self.manifest.get("metadata") or {}).get("annotations") or {}

    @property
    def spec(self) -> dict[str, Any]:
        return self.manifest.get("spec") or {}


class WorkloadCondition(Value, frozen=True):
    """What a controller says of a workload; only Deployments have `last_update_time`."""

    type: str
    status: str = ""
    last_update_time: Time | None = None
    last_transition_time: Time | None = None
    reason: str = ""
    message: str = ""


class PodTemplate(KubeObject, frozen=True, kw_only=True):
    api_version: ClassVar[str] = "v1"
    kind: ClassVar[str] = "PodTemplate"
    plural: ClassVar[str] = "podtemplates"

    template: PodTemplateSpec = PodTemplateSpec()


class NamespaceCondition(Value, frozen=True):
    """What the namespace controller says of a namespace that is being deleted."""

    type: str = ""
    status: str = ""
    last_transition_time: Time | None = None
    reason: str = ""
    message: str = ""


class NamespaceStatus(Value, frozen=True):
    phase: str = ""
    conditions: tuple[NamespaceCondition, ...] | None = None


class Namespace(KubeObject, frozen=True, kw_only=True):
    api_version: ClassVar[str] = "v1"
    kind: ClassVar[str] = "Namespace"
    plural: ClassVar[str] = "namespaces"
    namespaced: ClassVar[bool] = False

    status: NamespaceStatus = NamespaceStatus()


class ServiceSpec(Value, frozen=True):
    """Without a selector the service is ignored by spreading."""

    selector: dict[str, str] | None = None
    type: str = ""


class Service(KubeObject, frozen=True, kw_only=True):
    api_version: ClassVar[str] = "v1"
    kind: ClassVar[str] = "Service"
    plural: ClassVar[str] = "services"

    spec: ServiceSpec = ServiceSpec()


class ReplicationControllerSpec(Value, frozen=True):
    replicas: Int32 | None = None
    min_ready_seconds: Int32 = 0
    selector: dict[str, str] | None = None
    template: RawTemplate | None = None


class ReplicaStatus(Value, frozen=True):
    """What controllers of replicated pods report; each kind writes the fields it knows."""

    replicas: Int32 = 0
    fully_labeled_replicas: Int32 = 0
    ready_replicas: Int32 = 0
    available_replicas: Int32 = 0
    unavailable_replicas: Int32 = 0
    updated_replicas: Int32 = 0
    observed_generation: Int64 = 0
    collision_count: Int32 | None = None
    conditions: tuple[WorkloadCondition, ...] | None = None


class ReplicationController(KubeObject, frozen=True, kw_only=True):
    api_version: ClassVar[str] = "v1"
    kind: ClassVar[str] = "ReplicationController"
    plural: ClassVar[str] = "replicationcontrollers"

    spec: ReplicationControllerSpec = ReplicationControllerSpec()
    status: ReplicaStatus = ReplicaStatus()


class ReplicaSetSpec(Value, frozen=True):
    replicas: Int32 | None = None
    min_ready_seconds: Int32 = 0
    selector: LabelSelector | None = None
    template: RawTemplate | None = None


class ReplicaSet(KubeObject, frozen=True, kw_only=True):
    api_version: ClassVar[str] = "apps/v1"
    kind: ClassVar[str] = "ReplicaSet"
    plural: ClassVar[str] = "replicasets"

    spec: ReplicaSetSpec = ReplicaSetSpec()
    status: ReplicaStatus = ReplicaStatus()


class StatefulSetOrdinals(Value, frozen=True):
    start: Int32 = 0


class StatefulSetRollingUpdate(Value, frozen=True):
    """Pods below `partition` stay as they are. `maxUnavailable` is not kept: its feature is off by default."""

    partition: Int32 | None = None


class StatefulSetUpdateStrategy(Value, frozen=True):
    type: str = ""
    rolling_update: StatefulSetRollingUpdate | None = None


class ClaimRetentionPolicy(Value, frozen=True):
    """What becomes of claims: Retain or Delete."""

    when_deleted: str = ""
    when_scaled: str = ""


class StatefulSetSpec(Value, frozen=True):
    replicas: Int32 | None = None
    selector: LabelSelector | None = None
    template: RawTemplate | None = None
    service_name: str = ""
    pod_management_policy: str = ""
    volume_claim_templates: tuple[dict[str, Any], ...] | None = None
    update_strategy: StatefulSetUpdateStrategy = StatefulSetUpdateStrategy()
    revision_history_limit: Int32 | None = None
    min_ready_seconds: Int32 = 0
    persistent_volume_claim_retention_policy: ClaimRetentionPolicy | None = None
    ordinals: StatefulSetOrdinals | None = None


class StatefulSetStatus(Value, frozen=True):
    """`current_replicas` and `updated_replicas` are those of the two revisions that do not terminate."""

    observed_generation: Int64 = 0
    replicas: Int32 = 0
    ready_replicas: Int32 = 0
    current_replicas: Int32 = 0
    updated_replicas: Int32 = 0
    available_replicas: Int32 = 0
    current_revision: str = ""
    update_revision: str = ""
    collision_count: Int32 | None = None
    conditions: tuple[WorkloadCondition, ...] | None = None


class StatefulSet(KubeObject, frozen=True, kw_only=True):
    api_version: ClassVar[str] = "apps/v1"
    kind: ClassVar[str] = "StatefulSet"
    plural: ClassVar[str] = "statefulsets"

    spec: StatefulSetSpec = StatefulSetSpec()
    status: StatefulSetStatus = StatefulSetStatus()


class RollingUpdate(Value, frozen=True):
    """Counts, or text such as `25%`."""

    max_unavailable: Int32 | str | None = None
    max_surge: Int32 | str | None = None


class UpdateStrategy(Value, frozen=True):
    type: str = ""
    rolling_update: RollingUpdate | None = None


class DeploymentSpec(Value, frozen=True):
    replicas: Int32 | None = None
    selector: LabelSelector | None = None
    template: RawTemplate | None = None
    strategy: UpdateStrategy = UpdateStrategy()
    min_ready_seconds: Int32 = 0
    revision_history_limit: Int32 | None = None
    progress_deadline_seconds: Int32 | None = None
    paused: bool = False


class Deployment(KubeObject, frozen=True, kw_only=True):
    api_version: ClassVar[str] = "apps/v1"
    kind: ClassVar[str] = "Deployment"
    plural: ClassVar[str] = "deployments"

    spec: DeploymentSpec = DeploymentSpec()
    status: ReplicaStatus = ReplicaStatus()


class DaemonSetSpec(Value, frozen=True):
    selector: LabelSelector | None = None
    template: RawTemplate | None = None
    update_strategy: UpdateStrategy = UpdateStrategy()
    min_ready_seconds: Int32 = 0
    revision_history_limit: Int32 | None = None


class DaemonSetStatus(Value, frozen=True):
    current_number_scheduled: Int32 = 0
    number_misscheduled: Int32 = 0
    desired_number_scheduled: Int32 = 0
    number_ready: Int32 = 0
    updated_number_scheduled: Int32 = 0
    number_available: Int32 = 0
    number_unavailable: Int32 = 0
    observed_generation: Int64 = 0
    collision_count: Int32 | None = None
    conditions: tuple[WorkloadCondition, ...] | None = None


class DaemonSet(KubeObject, frozen=True, kw_only=True):
    api_version: ClassVar[str] = "apps/v1"
    kind: ClassVar[str] = "DaemonSet"
    plural: ClassVar[str] = "daemonsets"

    spec: DaemonSetSpec = DaemonSetSpec()
    status: DaemonSetStatus = DaemonSetStatus()
