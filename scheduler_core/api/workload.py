"""Namespaces, services and the owners of pods, as far as spreading and the simulated controllers read them.

Pod templates are typed like pods. Source: core/v1, apps/v1 and batch/v1 of Kubernetes 1.34.
"""

from __future__ import annotations

from typing import Any, ClassVar

from scheduler_core.api.meta import Int32, Int64, KubeObject, LabelSelector, ObjectMeta, Time, Value
from scheduler_core.api.pod import PodSpec


class PodTemplateSpec(Value, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: PodSpec = PodSpec()


class PodTemplate(KubeObject, frozen=True, kw_only=True):
    api_version: ClassVar[str] = "v1"
    kind: ClassVar[str] = "PodTemplate"
    plural: ClassVar[str] = "podtemplates"

    template: PodTemplateSpec = PodTemplateSpec()


class NamespaceStatus(Value, frozen=True):
    phase: str = ""


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
    selector: dict[str, str] | None = None
    template: PodTemplateSpec | None = None


class ReplicaStatus(Value, frozen=True):
    """What controllers of replicated pods report; each kind writes the fields it knows."""

    replicas: Int32 = 0
    ready_replicas: Int32 = 0
    available_replicas: Int32 = 0
    updated_replicas: Int32 = 0
    observed_generation: Int64 = 0


class ReplicationController(KubeObject, frozen=True, kw_only=True):
    api_version: ClassVar[str] = "v1"
    kind: ClassVar[str] = "ReplicationController"
    plural: ClassVar[str] = "replicationcontrollers"

    spec: ReplicationControllerSpec = ReplicationControllerSpec()
    status: ReplicaStatus = ReplicaStatus()


class ReplicaSetSpec(Value, frozen=True):
    replicas: Int32 | None = None
    selector: LabelSelector | None = None
    template: PodTemplateSpec | None = None


class ReplicaSet(KubeObject, frozen=True, kw_only=True):
    api_version: ClassVar[str] = "apps/v1"
    kind: ClassVar[str] = "ReplicaSet"
    plural: ClassVar[str] = "replicasets"

    spec: ReplicaSetSpec = ReplicaSetSpec()
    status: ReplicaStatus = ReplicaStatus()


class StatefulSetSpec(Value, frozen=True):
    replicas: Int32 | None = None
    selector: LabelSelector | None = None
    template: PodTemplateSpec | None = None
    service_name: str = ""
    pod_management_policy: str = ""
    volume_claim_templates: tuple[dict[str, Any], ...] | None = None


class StatefulSet(KubeObject, frozen=True, kw_only=True):
    api_version: ClassVar[str] = "apps/v1"
    kind: ClassVar[str] = "StatefulSet"
    plural: ClassVar[str] = "statefulsets"

    spec: StatefulSetSpec = StatefulSetSpec()
    status: ReplicaStatus = ReplicaStatus()


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
    template: PodTemplateSpec | None = None
    strategy: UpdateStrategy = UpdateStrategy()
    paused: bool = False


class Deployment(KubeObject, frozen=True, kw_only=True):
    api_version: ClassVar[str] = "apps/v1"
    kind: ClassVar[str] = "Deployment"
    plural: ClassVar[str] = "deployments"

    spec: DeploymentSpec = DeploymentSpec()
    status: ReplicaStatus = ReplicaStatus()


class DaemonSetSpec(Value, frozen=True):
    selector: LabelSelector | None = None
    template: PodTemplateSpec | None = None
    update_strategy: UpdateStrategy = UpdateStrategy()


class DaemonSetStatus(Value, frozen=True):
    current_number_scheduled: Int32 = 0
    desired_number_scheduled: Int32 = 0
    number_ready: Int32 = 0
    observed_generation: Int64 = 0


class DaemonSet(KubeObject, frozen=True, kw_only=True):
    api_version: ClassVar[str] = "apps/v1"
    kind: ClassVar[str] = "DaemonSet"
    plural: ClassVar[str] = "daemonsets"

    spec: DaemonSetSpec = DaemonSetSpec()
    status: DaemonSetStatus = DaemonSetStatus()


class JobSpec(Value, frozen=True):
    parallelism: Int32 | None = None
    completions: Int32 | None = None
    backoff_limit: Int32 | None = None
    completion_mode: str | None = None
    suspend: bool | None = None
    selector: LabelSelector | None = None
    template: PodTemplateSpec | None = None


class JobStatus(Value, frozen=True):
    active: Int32 = 0
    succeeded: Int32 = 0
    failed: Int32 = 0
    start_time: Time | None = None
    completion_time: Time | None = None


class Job(KubeObject, frozen=True, kw_only=True):
    api_version: ClassVar[str] = "batch/v1"
    kind: ClassVar[str] = "Job"
    plural: ClassVar[str] = "jobs"

    spec: JobSpec = JobSpec()
    status: JobStatus = JobStatus()
