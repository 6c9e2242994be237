"""The composition root: a configuration and the ports in, a scheduler out.

All profiles share the store, cache, snapshot, queue and waiting pods. Raises ConfigError, with upstream's
texts, for a configuration no scheduler can run.
Source: kubernetes v1.34.1, pkg/scheduler/scheduler.go (New), profile/profile.go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from scheduler_core import config as configuration
from scheduler_core.cache.cache import Cache
from scheduler_core.cache.snapshot import Snapshot
from scheduler_core.config import feature_gates as gates
from scheduler_core.config import names
from scheduler_core.config.known import known_part
from scheduler_core.config.types import Extender as ExtenderConfig
from scheduler_core.config.types import (
    KubeSchedulerConfiguration,
    KubeSchedulerProfile,
    NodeResourcesFitArgs,
    PluginConfig,
)
from scheduler_core.cycle.fast.columns import ColumnRunner
from scheduler_core.cycle.fast.equivalence import EquivalenceClasses
from scheduler_core.cycle.fast.limits import LIMITS, Limits
from scheduler_core.cycle.runner import PlainRunner, Runners
from scheduler_core.errors import ConfigError
from scheduler_core.framework.extenders import Connect, Extender, Extenders
from scheduler_core.framework.handle import PluginFactory
from scheduler_core.framework.hints import HintMap
from scheduler_core.framework.runtime import Framework
from scheduler_core.framework.timed import timed_framework
from scheduler_core.plugins.dynamic_resources.negotiation import NegotiatedResources
from scheduler_core.plugins.registry import installed, merged
from scheduler_core.ports import Draws, LogSink, Recorder, Stopwatch, discard_log, stopped_watch
from scheduler_core.queue.options import MAX_IN_UNSCHEDULABLE_US, SECOND_US, QueueOptions
from scheduler_core.queue.scheduling_queue import SchedulingQueue
from scheduler_core.queue.sub_queues import QueueParts
from scheduler_core.scheduler import checkpoint
from scheduler_core.scheduler.engine import Engine, Observer
from scheduler_core.scheduler.handle import EngineHandle
from scheduler_core.scheduler.scheduler import Scheduler
from scheduler_core.scheduler.store import ObjectStore
from scheduler_core.scheduler.write_limit import WriteLimit


def build(
    config: KubeSchedulerConfiguration | None = None,
    *,
    draws: Draws,
    stopwatch: Stopwatch = stopped_watch,
    use_table: bool = True,
    reuse: bool = True,
    limits: Limits = LIMITS,
    registry: Mapping[str, PluginFactory] | None = None,
    feature_gates: Mapping[str, bool] | None = None,
    pod_max_in_unschedulable_us: int = MAX_IN_UNSCHEDULABLE_US,
    connect_extender: Connect | None = None,
    log: LogSink = discard_log,
    recorder: Recorder | None = None,
    state: bytes | None = None,
    observer: Observer | None = None,
) -> Scheduler:
    """A scheduler for the configuration, None meaning upstream's defaults.

    With `use_table` False rules are asked node by node, with `reuse` False nothing is cached from pod to pod: decisions
    are the same, as they are with any `limits`. `registry` adds plugins to those in tree and those that installed
    packages bring; `feature_gates` changes defaults by name; `state` is a checkpoint of an engine with the same
    configuration. After `pod_max_in_unschedulable_us` without an event a pod is tried again: upstream has it as a flag,
    not in the configuration. `connect_extender` makes the transport of a configured extender; without it a
    configuration with extenders is refused. `recorder` hears what metrics want to know.
    With an `observer` the scheduler watches another one at work: it decides and carries nothing out; extenders and
    plugins of the configuration that are not here are left out and named in it.
    """
    if config is None:
        config = configuration.load(None)
    offered = ((plugin.point.name, plugin) for plugin in installed())
    enabled = gates.completed(feature_gates)
    plugins = merged(offered, (registry or {}).items())
    if enabled[gates.CONTROL_PLANE_CLAIMS]:
        plugins = {**plugins, names.DYNAMIC_RESOURCES: NegotiatedResources}
    if observer is not None:
        config, observer.missing_plugins = known_part(config, plugins)
    extenders = _extenders(config.extenders, connect_extender, log)
    config = _with_ignored_resources(config)
    store = ObjectStore()
    snapshot = Snapshot(log)
    handles = {profile.scheduler_name: EngineHandle() for profile in config.profiles}
    frameworks = _frameworks(config, plugins, handles, use_table=use_table)
    runners = {name: _runners(each, use_table, reuse, limits) for name, each in frameworks.items()}
    hints = enabled[gates.QUEUEING_HINTS]
    first = next(iter(frameworks.values()))
    queue = SchedulingQueue(
        QueueParts(
            sort_key=first.queue_sort.sort_key,
            stored_pod=store.pod,
            options=QueueOptions(
                initial_backoff_us=config.pod_initial_backoff_seconds * SECOND_US,
                max_backoff_us=config.pod_max_backoff_seconds * SECOND_US,
                max_in_unschedulable_us=pod_max_in_unschedulable_us,
                pop_from_backoff_q=enabled[gates.POP_FROM_BACKOFF_Q],
                queueing_hints=hints,
            ),
            hint_maps={
                name: HintMap.of(
                    list(framework.instances.values()), with_extender=bool(extenders), queueing_hints=hints
                )
                for name, framework in frameworks.items()
            },
            pre_enqueue={name: framework.pre_enqueue for name, framework in frameworks.items()},
            record=lambda move: engine.effects.log.append(move),
            log=log,
            recorder=recorder,
            stopwatch=stopwatch,
        )
    )
    engine = Engine(
        store=store,
        cache=Cache(log=log),
        snapshot=snapshot,
        queue=queue,
        frameworks=frameworks,
        runners=runners,
        draws=draws,
        stopwatch=stopwatch,
        log=log,
        percentage_of_nodes_to_score=config.percentage_of_nodes_to_score,
        extenders=extenders,
        recorder=recorder,
        observer=observer,
        write_limit=WriteLimit.of(config.client_connection) if observer is None else None,
    )
    if recorder is not None:
        engine.timed_frameworks = {
            name: timed_framework(framework, recorder, stopwatch) for name, framework in frameworks.items()
        }
    for name, handle in handles.items():
        handle.attach(engine, frameworks[name])
    scheduler = Scheduler(engine)
    if state is not None:
        checkpoint.load(scheduler, state)
    return scheduler


def _extenders(configs: Sequence[ExtenderConfig], connect: Connect | None, log: LogSink) -> Extenders:
    if configs and connect is None:
        raise ConfigError(["couldn't build extenders: there is no way to reach them here"])
    try:
        return Extenders([Extender(each, connect(each)) for each in configs] if connect is not None else [], log)
    except ConfigError as error:
        raise ConfigError([f"couldn't build extenders: {error}"]) from error


def _with_ignored_resources(config: KubeSchedulerConfiguration) -> KubeSchedulerConfiguration:
    """Resources that extenders look after replace what NodeResourcesFit is configured to ignore."""
    ignored = tuple(
        resource.name
        for extender in config.extenders
        for resource in extender.managed_resources
        if resource.ignored_by_scheduler
    )
    if not ignored:
        return config
    return msgspec.structs.replace(
        config, profiles=tuple(_profile_ignoring(profile, ignored) for profile in config.profiles)
    )


def _profile_ignoring(profile: KubeSchedulerProfile, ignored: tuple[str, ...]) -> KubeSchedulerProfile:
    entries = list(profile.plugin_config)
    for index, entry in enumerate(entries):
        if entry.name == names.NODE_RESOURCES_FIT and isinstance(entry.args, NodeResourcesFitArgs):
            args = msgspec.structs.replace(entry.args, ignored_resources=ignored)
            entries[index] = PluginConfig(entry.name, args)
            return msgspec.structs.replace(profile, plugin_config=tuple(entries))
    raise ConfigError(["couldn't build extenders: can't find NodeResourcesFitArgs in plugin config"])


def _frameworks(
    config: KubeSchedulerConfiguration,
    registry: Mapping[str, PluginFactory],
    handles: Mapping[str, EngineHandle],
    *,
    use_table: bool,
) -> dict[str, Framework]:
    frameworks: dict[str, Framework] = {}
    first: Framework | None = None
    first_args: object = None
    for profile in config.profiles:
        name = profile.scheduler_name
        if not name:
            raise _profile_error("scheduler name is needed")
        if name in frameworks:
            raise _profile_error(f'duplicate profile with scheduler name "{name}"')
        try:
            framework = Framework(profile, registry, handles[name], use_table=use_table)
        except ConfigError as error:
            raise _profile_error(f"creating profile for scheduler name {name}: {error}") from error
        sort = framework.queue_sort.name
        args = next((entry.args for entry in profile.plugin_config if entry.name == sort), None)
        if first is None:
            first, first_args = framework, args
        elif sort != first.queue_sort.name:
            raise _profile_error(
                f'different queue sort plugins for profile "{name}": "{sort}", first: "{first.queue_sort.name}"'
            )
        elif args != first_args:
            raise _profile_error(f'different queue sort plugin args for profile "{name}"')
        frameworks[name] = framework
    if not frameworks:
        raise ConfigError(["at least one profile is required"])
    return frameworks


def _runners(profile: Framework, use_table: bool, reuse: bool, limits: Limits) -> Runners:
    """The plain runner, decorated as far as asked for."""
    plain = PlainRunner()
    if not use_table:
        return plain
    columns = ColumnRunner(plain)
    return EquivalenceClasses(columns, profile, limits) if reuse else columns


def _profile_error(text: str) -> ConfigError:
    return ConfigError([f"initializing profiles: {text}"])
