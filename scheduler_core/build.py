"""The composition root: a configuration and the ports in, a scheduler out.

All profiles share the store, cache, snapshot, queue and waiting pods. Raises ConfigError, with upstream's
texts, for a configuration no scheduler can run.
Source: kubernetes v1.34.1, pkg/scheduler/scheduler.go (New), profile/profile.go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

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
from scheduler_core.errors import ConfigError, ConfigProblem
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
from scheduler_core.scheduler.amounts import Keeper
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
    keeper: Keeper | None = None,
    state: bytes | None = None,
    observer: Observer | None = None,
) -> Scheduler:
    """A scheduler for the configuration, None meaning upstream's defaults.

    With `use_table` False rules are asked node by node, with `reuse` False nothing is cached from pod to pod: decisions
    are the same, as they are with any `limits`. `registry` adds plugins to those in tree and those that installed
    packages bring; `feature_gates` changes defaults by name; `state` is a checkpoint of an engine with the same
    configuration. After `pod_max_in_unschedulable_us` without an event a pod is tried again: upstream has it as a flag,
    not in the configuration. `connect_extender` makes the transport of a configured extender; without it a
    configuration with extenders is refused. `recorder` hears what metrics want to know, and
    `keeper` says which attempts are kept with amounts.
    With an `observer` the scheduler watches another one at work: it decides and carries nothing out; extenders and
    plugins of the configuration that are not here are left out and named in it.
    """
    if config is None:
        config = configuration.load(None)
    enabled = gates.completed(feature_gates)
    plugins = _plugins(enabled, registry)
    if observer is not None:
        config, observer.missing_plugins = known_part(config, plugins)
    store = ObjectStore()
    snapshot = Snapshot(log)
    handles = {profile.scheduler_name: EngineHandle() for profile in config.profiles}
    extenders, problems = _extenders(config.extenders, connect_extender, log)
    try:
        config = _with_ignored_resources(config)
    except ConfigError as error:
        problems += error.details
    frameworks, of_profiles = _frameworks(config, plugins, handles, use_table=use_table)
    if problems or of_profiles:
        raise ConfigError([*problems, *of_profiles])
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
        keeper=keeper,
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


def problems_of(
    config: KubeSchedulerConfiguration,
    *,
    feature_gates: Mapping[str, bool] | None = None,
    connect_extender: Connect | None = None,
    is_observer: bool = False,
) -> list[ConfigProblem]:
    """Everything because of which no scheduler can be built of a complete configuration; it may have other problems."""
    plugins = _plugins(gates.completed(feature_gates), None)
    if is_observer:
        config, _ = known_part(config, plugins)
    _, problems = _extenders(config.extenders, connect_extender, discard_log)
    handles = {profile.scheduler_name: EngineHandle() for profile in config.profiles}
    return [*problems, *_frameworks(config, plugins, handles, use_table=True)[1]]


def _plugins(enabled: Mapping[str, bool], registry: Mapping[str, PluginFactory] | None) -> dict[str, PluginFactory]:
    offered = ((plugin.point.name, plugin) for plugin in installed())
    plugins = merged(offered, (registry or {}).items())
    if enabled[gates.CONTROL_PLANE_CLAIMS]:
        plugins = {**plugins, names.DYNAMIC_RESOURCES: NegotiatedResources}
    return plugins


def _extenders(
    configs: Sequence[ExtenderConfig], connect: Connect | None, log: LogSink
) -> tuple[Extenders, list[ConfigProblem]]:
    """The extenders that can be reached, and the problems of the others."""
    if configs and connect is None:
        return Extenders([], log), [
            _problem("couldn't build extenders: there is no way to reach them here", "extenders")
        ]
    found: list[Extender] = []
    problems: list[ConfigProblem] = []
    for index, each in enumerate(configs):
        assert connect is not None
        try:
            found.append(Extender(each, connect(each)))
        except ConfigError as error:
            problems += [
                _problem(f"couldn't build extenders: {problem}", _at(f"extenders[{index}]", problem.path), problem)
                for problem in error.details
            ]
    return Extenders(found, log), problems


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
    text = "couldn't build extenders: can't find NodeResourcesFitArgs in plugin config"
    raise ConfigError([_problem(text, "extenders")])


def _frameworks(
    config: KubeSchedulerConfiguration,
    registry: Mapping[str, PluginFactory],
    handles: Mapping[str, EngineHandle],
    *,
    use_table: bool,
) -> tuple[dict[str, Framework], list[ConfigProblem]]:
    """The profiles that can be run, by name, and the problems of the others."""
    frameworks: dict[str, Framework] = {}
    problems: list[ConfigProblem] = []
    first: Framework | None = None
    first_args: object = None
    for index, profile in enumerate(config.profiles):
        name, at = profile.scheduler_name, f"profiles[{index}]"
        if not name:
            problems.append(_profile_problem("scheduler name is needed", f"{at}.schedulerName"))
        elif name in frameworks:
            text = f'duplicate profile with scheduler name "{name}"'
            problems.append(_profile_problem(text, f"{at}.schedulerName"))
        try:
            framework = Framework(profile, registry, handles[name], use_table=use_table)
        except ConfigError as error:
            problems += [
                _profile_problem(
                    f"creating profile for scheduler name {name}: {problem}", _at(at, problem.path), problem
                )
                for problem in error.details
            ]
            continue
        sort = framework.queue_sort.name
        args = next((entry.args for entry in profile.plugin_config if entry.name == sort), None)
        if first is None:
            first, first_args = framework, args
        elif sort != first.queue_sort.name:
            text = f'different queue sort plugins for profile "{name}": "{sort}", first: "{first.queue_sort.name}"'
            problems.append(_profile_problem(text, f"{at}.plugins.queueSort"))
        elif args != first_args:
            text = f'different queue sort plugin args for profile "{name}"'
            problems.append(_profile_problem(text, f"{at}.pluginConfig"))
        frameworks.setdefault(name, framework)
    if not config.profiles:
        problems.append(_problem("at least one profile is required", "profiles"))
    return frameworks, problems


def _runners(profile: Framework, use_table: bool, reuse: bool, limits: Limits) -> Runners:
    """The plain runner, decorated as far as asked for."""
    plain = PlainRunner()
    if not use_table:
        return plain
    columns = ColumnRunner(plain)
    return EquivalenceClasses(columns, profile, limits) if reuse else columns


def _profile_problem(text: str, path: str, cause: ConfigProblem | None = None) -> ConfigProblem:
    return _problem(f"initializing profiles: {text}", path, cause)


def _at(path: str, below: str) -> str:
    return f"{path}.{below}" if below else path


def _problem(text: str, path: str, cause: ConfigProblem | None = None) -> ConfigProblem:
    """A problem in upstream's words; `cause` is what it is made of."""
    if cause is None:
        return ConfigProblem(path, text, sentence=text)
    return replace(cause, path=path, message=text, sentence=text)
