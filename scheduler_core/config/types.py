"""The scheduler configuration as a tree of values, with upstream's defaults where a default is a constant.

Fields are named as in kubescheduler.config.k8s.io/v1, in snake_case. A loaded configuration is complete: plugin sets
are merged with the default list, every plugin that takes args has them.
Source: Kubernetes 1.34, staging/src/k8s.io/kube-scheduler/config/v1.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from scheduler_core.api.affinity import NodeAffinity, TopologySpreadConstraint
from scheduler_core.api.meta import Int32, Int64
from scheduler_core.config.duration import Duration

API_VERSION: Final = "kubescheduler.config.k8s.io/v1"
KIND: Final = "KubeSchedulerConfiguration"


class ConfigValue(msgspec.Struct, frozen=True, rename="camel"):
    """Base of all parts; the decoder refuses fields that are not here."""


class PluginEntry(ConfigValue, frozen=True):
    """A plugin by name; weight 0 means not given."""

    name: str = ""
    weight: Int32 = 0


class PluginSet(ConfigValue, frozen=True):
    """Plugins of one extension point; a disabled `*` stands for all default ones."""

    enabled: tuple[PluginEntry, ...] = ()
    disabled: tuple[PluginEntry, ...] = ()


class Plugins(ConfigValue, frozen=True):
    """One plugin set per extension point, and MultiPoint for all points at once."""

    pre_enqueue: PluginSet = PluginSet()
    queue_sort: PluginSet = PluginSet()
    pre_filter: PluginSet = PluginSet()
    filter: PluginSet = PluginSet()
    post_filter: PluginSet = PluginSet()
    pre_score: PluginSet = PluginSet()
    score: PluginSet = PluginSet()
    reserve: PluginSet = PluginSet()
    permit: PluginSet = PluginSet()
    pre_bind: PluginSet = PluginSet()
    bind: PluginSet = PluginSet()
    post_bind: PluginSet = PluginSet()
    multi_point: PluginSet = PluginSet()


class ResourceSpec(ConfigValue, frozen=True):
    name: str = ""
    weight: Int64 = 0


class UtilizationShapePoint(ConfigValue, frozen=True):
    """Score (0 to 10) at a utilization (0 to 100 percent)."""

    utilization: Int32 = 0
    score: Int32 = 0


class RequestedToCapacityRatioParam(ConfigValue, frozen=True):
    shape: tuple[UtilizationShapePoint, ...] = ()


class ScoringStrategy(ConfigValue, frozen=True):
    """`type` is LeastAllocated, MostAllocated or RequestedToCapacityRatio."""

    type: str = ""
    resources: tuple[ResourceSpec, ...] = ()
    requested_to_capacity_ratio: RequestedToCapacityRatioParam | None = None


CPU_AND_MEMORY: Final = (ResourceSpec("cpu", 1), ResourceSpec("memory", 1))


class DefaultPreemptionArgs(ConfigValue, frozen=True):
    min_candidate_nodes_percentage: Int32 = 10
    min_candidate_nodes_absolute: Int32 = 100


class InterPodAffinityArgs(ConfigValue, frozen=True):
    hard_pod_affinity_weight: Int32 = 1
    ignore_preferred_terms_of_existing_pods: bool = False


class NodeAffinityArgs(ConfigValue, frozen=True):
    added_affinity: NodeAffinity | None = None


class NodeResourcesFitArgs(ConfigValue, frozen=True):
    ignored_resources: tuple[str, ...] = ()
    ignored_resource_groups: tuple[str, ...] = ()
    scoring_strategy: ScoringStrategy = ScoringStrategy("LeastAllocated", CPU_AND_MEMORY)


class NodeResourcesBalancedAllocationArgs(ConfigValue, frozen=True):
    resources: tuple[ResourceSpec, ...] = CPU_AND_MEMORY


class PodTopologySpreadArgs(ConfigValue, frozen=True):
    """`defaulting_type` System brings built-in constraints, List those of `default_constraints`."""

    default_constraints: tuple[TopologySpreadConstraint, ...] = ()
    defaulting_type: str = "System"


class VolumeBindingArgs(ConfigValue, frozen=True):
    bind_timeout_seconds: Int64 = 600
    shape: tuple[UtilizationShapePoint, ...] = ()


class DynamicResourcesArgs(ConfigValue, frozen=True):
    filter_timeout: Duration = Duration(10_000_000)


PluginArgs = (
    DefaultPreemptionArgs
    | InterPodAffinityArgs
    | NodeAffinityArgs
    | NodeResourcesFitArgs
    | NodeResourcesBalancedAllocationArgs
    | PodTopologySpreadArgs
    | VolumeBindingArgs
    | DynamicResourcesArgs
)


class PluginConfig(ConfigValue, frozen=True):
    """Args of a plugin: typed for the default plugins, as written for all others."""

    name: str = ""
    args: Any = None


class KubeSchedulerProfile(ConfigValue, frozen=True):
    """One scheduler name. An own percentage of 0 means adaptive even where the global one is set."""

    scheduler_name: str = ""
    percentage_of_nodes_to_score: Int32 | None = None
    plugins: Plugins = Plugins()
    plugin_config: tuple[PluginConfig, ...] = ()


class LeaderElection(ConfigValue, frozen=True):
    leader_elect: bool = True
    lease_duration: Duration = Duration(15_000_000)
    renew_deadline: Duration = Duration(10_000_000)
    retry_period: Duration = Duration(2_000_000)
    resource_lock: str = "leases"
    resource_name: str = "kube-scheduler"
    resource_namespace: str = "kube-system"


class ClientConnection(ConfigValue, frozen=True):
    """`qps` and `burst` are None unless the configuration names them: only then they limit writes."""

    kubeconfig: str = ""
    accept_content_types: str = ""
    content_type: str = "application/vnd.kubernetes.protobuf"
    qps: float | None = None
    burst: Int32 | None = None


class ExtenderTLSConfig(ConfigValue, frozen=True):
    insecure: bool = False
    server_name: str = ""
    cert_file: str = ""
    key_file: str = ""
    ca_file: str = ""
    cert_data: str = ""
    key_data: str = ""
    ca_data: str = ""


class ExtenderManagedResource(ConfigValue, frozen=True):
    name: str = ""
    ignored_by_scheduler: bool = False


class Extender(ConfigValue, frozen=True):
    """A webhook asked during a cycle; an empty verb is not offered. `url_prefix` is its name too."""

    url_prefix: str = ""
    filter_verb: str = ""
    preempt_verb: str = ""
    prioritize_verb: str = ""
    weight: Int64 = 0
    bind_verb: str = ""
    enable_https: bool = msgspec.field(default=False, name="enableHTTPS")
    tls_config: ExtenderTLSConfig | None = None
    http_timeout: Duration = Duration(5_000_000)
    node_cache_capable: bool = False
    managed_resources: tuple[ExtenderManagedResource, ...] = ()
    ignorable: bool = False


class KubeSchedulerConfiguration(ConfigValue, frozen=True):
    parallelism: Int32 = 16
    leader_election: LeaderElection = LeaderElection()
    client_connection: ClientConnection = ClientConnection()
    enable_profiling: bool = True
    enable_contention_profiling: bool | None = None
    percentage_of_nodes_to_score: Int32 = 0
    pod_initial_backoff_seconds: Int64 = 1
    pod_max_backoff_seconds: Int64 = 10
    profiles: tuple[KubeSchedulerProfile, ...] = ()
    extenders: tuple[Extender, ...] = ()
    delay_cache_until_active: bool = False

    def profile(self, scheduler_name: str) -> KubeSchedulerProfile | None:
        return next((profile for profile in self.profiles if profile.scheduler_name == scheduler_name), None)
