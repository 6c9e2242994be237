"""What a configuration means where it says nothing: the default plugins, merged with those named, and default args.

Source: kubernetes v1.34.1, pkg/scheduler/apis/config/v1 (default_plugins.go, defaults.go).
"""

from __future__ import annotations

from typing import Final

import msgspec

from scheduler_core.config import names
from scheduler_core.config.duration import Duration
from scheduler_core.config.types import (
    CPU_AND_MEMORY,
    ClientConnection,
    ConfigValue,
    DefaultPreemptionArgs,
    DynamicResourcesArgs,
    Extender,
    InterPodAffinityArgs,
    KubeSchedulerConfiguration,
    KubeSchedulerProfile,
    LeaderElection,
    NodeAffinityArgs,
    NodeResourcesBalancedAllocationArgs,
    NodeResourcesFitArgs,
    PluginConfig,
    PluginEntry,
    Plugins,
    PluginSet,
    PodTopologySpreadArgs,
    ResourceSpec,
    VolumeBindingArgs,
)

DEFAULT_SCHEDULER_NAME: Final = "default-scheduler"

DEFAULT_PLUGINS: Final = Plugins(
    multi_point=PluginSet(
        enabled=(
            PluginEntry(names.SCHEDULING_GATES),
            PluginEntry(names.PRIORITY_SORT),
            PluginEntry(names.NODE_UNSCHEDULABLE),
            PluginEntry(names.NODE_NAME),
            PluginEntry(names.TAINT_TOLERATION, 3),
            PluginEntry(names.NODE_AFFINITY, 2),
            PluginEntry(names.NODE_PORTS),
            PluginEntry(names.NODE_RESOURCES_FIT, 1),
            PluginEntry(names.VOLUME_RESTRICTIONS),
            PluginEntry(names.NODE_VOLUME_LIMITS),
            PluginEntry(names.VOLUME_BINDING),
            PluginEntry(names.VOLUME_ZONE),
            PluginEntry(names.POD_TOPOLOGY_SPREAD, 2),
            PluginEntry(names.INTER_POD_AFFINITY, 2),
            PluginEntry(names.DYNAMIC_RESOURCES),
            PluginEntry(names.DEFAULT_PREEMPTION),
            PluginEntry(names.NODE_RESOURCES_BALANCED_ALLOCATION, 1),
            PluginEntry(names.IMAGE_LOCALITY, 1),
            PluginEntry(names.DEFAULT_BINDER),
        )
    )
)

ARGS_TYPES: Final[dict[str, type[ConfigValue]]] = {
    names.DEFAULT_PREEMPTION: DefaultPreemptionArgs,
    names.DYNAMIC_RESOURCES: DynamicResourcesArgs,
    names.INTER_POD_AFFINITY: InterPodAffinityArgs,
    names.NODE_AFFINITY: NodeAffinityArgs,
    names.NODE_RESOURCES_BALANCED_ALLOCATION: NodeResourcesBalancedAllocationArgs,
    names.NODE_RESOURCES_FIT: NodeResourcesFitArgs,
    names.POD_TOPOLOGY_SPREAD: PodTopologySpreadArgs,
    names.VOLUME_BINDING: VolumeBindingArgs,
}


def with_defaults(config: KubeSchedulerConfiguration) -> KubeSchedulerConfiguration:
    """The complete configuration. `config` is as decoded: plugin args typed, plugin sets as the user wrote them."""
    profiles = config.profiles or (KubeSchedulerProfile(),)
    if len(profiles) == 1 and not profiles[0].scheduler_name:
        profiles = (msgspec.structs.replace(profiles[0], scheduler_name=DEFAULT_SCHEDULER_NAME),)
    contention = config.enable_contention_profiling
    return msgspec.structs.replace(
        config,
        profiles=tuple(_profile(profile) for profile in profiles),
        leader_election=_leader_election(config.leader_election),
        client_connection=_client_connection(config.client_connection),
        enable_contention_profiling=config.enable_profiling if contention is None else contention,
        extenders=tuple(_extender(extender) for extender in config.extenders),
    )


def merge_plugins(defaults: Plugins, user: Plugins) -> Plugins:
    """The default plugins changed by the user's sets, for each extension point and for MultiPoint separately."""
    return Plugins(
        **{field: _merge_set(getattr(defaults, field), getattr(user, field)) for field in Plugins.__struct_fields__}
    )


def enabled_names(plugins: Plugins) -> list[str]:
    """Every plugin enabled at any point, in alphabetical order."""
    return sorted({entry.name for field in Plugins.__struct_fields__ for entry in getattr(plugins, field).enabled})


def args_with_defaults(args: ConfigValue) -> ConfigValue:
    """Defaults that are not constants: resources left out or without a weight."""
    if isinstance(args, NodeResourcesFitArgs):
        strategy = args.scoring_strategy
        weighed = msgspec.structs.replace(strategy, resources=_weighed(strategy.resources))
        return msgspec.structs.replace(args, scoring_strategy=weighed)
    if isinstance(args, NodeResourcesBalancedAllocationArgs):
        return msgspec.structs.replace(args, resources=_weighed(args.resources))
    if isinstance(args, PodTopologySpreadArgs) and not args.defaulting_type:
        return msgspec.structs.replace(args, defaulting_type="System")
    return args


def _profile(profile: KubeSchedulerProfile) -> KubeSchedulerProfile:
    plugins = merge_plugins(DEFAULT_PLUGINS, profile.plugins)
    configured = {entry.name for entry in profile.plugin_config}
    missing = [name for name in enabled_names(plugins) if name in ARGS_TYPES and name not in configured]
    given = tuple(
        PluginConfig(entry.name, args_with_defaults(entry.args) if isinstance(entry.args, ConfigValue) else entry.args)
        for entry in profile.plugin_config
    )
    return msgspec.structs.replace(
        profile,
        plugins=plugins,
        plugin_config=given + tuple(PluginConfig(name, ARGS_TYPES[name]()) for name in missing),
    )


def _merge_set(defaults: PluginSet, user: PluginSet) -> PluginSet:
    disabled = user.disabled + defaults.disabled
    dropped = {entry.name for entry in disabled}
    replacements = {entry.name: index for index, entry in enumerate(user.enabled)}
    enabled: list[PluginEntry] = []
    in_place: set[int] = set()
    if "*" not in dropped:
        for entry in defaults.enabled:
            if entry.name in dropped:
                continue
            index = replacements.get(entry.name)
            if index is None:
                enabled.append(entry)
            else:
                in_place.add(index)
                enabled.append(user.enabled[index])
    enabled += [entry for index, entry in enumerate(user.enabled) if index not in in_place]
    return PluginSet(enabled=tuple(enabled), disabled=disabled)


def _weighed(resources: tuple[ResourceSpec, ...]) -> tuple[ResourceSpec, ...]:
    return tuple(
        resource if resource.weight else ResourceSpec(resource.name, 1) for resource in resources or CPU_AND_MEMORY
    )


def _leader_election(election: LeaderElection) -> LeaderElection:
    """Zero durations and empty names count as not given."""
    fallback = LeaderElection()
    empty = (Duration(0), "")
    return LeaderElection(
        election.leader_elect,
        **{
            field: getattr(fallback if getattr(election, field) in empty else election, field)
            for field in LeaderElection.__struct_fields__[1:]
        },
    )


def _client_connection(connection: ClientConnection) -> ClientConnection:
    return msgspec.structs.replace(
        connection,
        content_type=connection.content_type or ClientConnection().content_type,
        qps=connection.qps or None,
        burst=connection.burst or None,
    )


def _extender(extender: Extender) -> Extender:
    timeout = extender.http_timeout if extender.http_timeout.us else Extender().http_timeout
    return msgspec.structs.replace(extender, http_timeout=timeout)
