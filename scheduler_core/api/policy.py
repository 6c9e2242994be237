"""Disruption budgets, priority and runtime classes, limit ranges: what admission and preemption look up.

Source: policy/v1, scheduling.k8s.io/v1, node.k8s.io/v1 and core/v1 of Kubernetes 1.34.
"""

from __future__ import annotations

from typing import ClassVar

from scheduler_core.api.affinity import Toleration
from scheduler_core.api.meta import Int32, Int64, KubeObject, LabelSelector, ResourceList, Time, Value


class PodDisruptionBudgetSpec(Value, frozen=True):
    """At most one of minAvailable and maxUnavailable is set: a count, or text such as `50%`."""

    min_available: Int32 | str | None = None
    max_unavailable: Int32 | str | None = None
    selector: LabelSelector | None = None
    unhealthy_pod_eviction_policy: str | None = None


class Condition(Value, frozen=True):
    type: str
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: Time | None = None
    observed_generation: Int64 | None = None


class PodDisruptionBudgetStatus(Value, frozen=True):
    """`disrupted_pods` are on their way out and already paid for: pod name to time of eviction."""

    observed_generation: Int64 = 0
    disrupted_pods: dict[str, Time] | None = None
    disruptions_allowed: Int32 = 0
    current_healthy: Int32 = 0
    desired_healthy: Int32 = 0
    expected_pods: Int32 = 0
    conditions: tuple[Condition, ...] | None = None


class PodDisruptionBudget(KubeObject, frozen=True, kw_only=True):
    api_version: ClassVar[str] = "policy/v1"
    kind: ClassVar[str] = "PodDisruptionBudget"
    plural: ClassVar[str] = "poddisruptionbudgets"

    spec: PodDisruptionBudgetSpec = PodDisruptionBudgetSpec()
    status: PodDisruptionBudgetStatus = PodDisruptionBudgetStatus()


class PriorityClass(KubeObject, frozen=True, kw_only=True):
    api_version: ClassVar[str] = "scheduling.k8s.io/v1"
    kind: ClassVar[str] = "PriorityClass"
    plural: ClassVar[str] = "priorityclasses"
    namespaced: ClassVar[bool] = False

    value: Int32 = 0
    global_default: bool = False
    description: str = ""
    preemption_policy: str | None = None


class Overhead(Value, frozen=True):
    pod_fixed: ResourceList | None = None


class RuntimeClassScheduling(Value, frozen=True):
    node_selector: dict[str, str] | None = None
    tolerations: tuple[Toleration, ...] | None = None


class RuntimeClass(KubeObject, frozen=True, kw_only=True):
    api_version: ClassVar[str] = "node.k8s.io/v1"
    kind: ClassVar[str] = "RuntimeClass"
    plural: ClassVar[str] = "runtimeclasses"
    namespaced: ClassVar[bool] = False

    handler: str = ""
    overhead: Overhead | None = None
    scheduling: RuntimeClassScheduling | None = None


class LimitRangeItem(Value, frozen=True):
    """Bounds and defaults for one type: Container, Pod or PersistentVolumeClaim."""

    type: str = ""
    max: ResourceList | None = None
    min: ResourceList | None = None
    default: ResourceList | None = None
    default_request: ResourceList | None = None
    max_limit_request_ratio: ResourceList | None = None


class LimitRangeSpec(Value, frozen=True):
    limits: tuple[LimitRangeItem, ...] | None = None


class LimitRange(KubeObject, frozen=True, kw_only=True):
    api_version: ClassVar[str] = "v1"
    kind: ClassVar[str] = "LimitRange"
    plural: ClassVar[str] = "limitranges"

    spec: LimitRangeSpec = LimitRangeSpec()
