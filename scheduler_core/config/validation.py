"""What upstream refuses in a complete configuration. All problems are collected, identical texts once.

Source: kubernetes v1.34.1, pkg/scheduler/apis/config/validation.
"""

from __future__ import annotations

from collections.abc import Iterator

from scheduler_core.api.resources import is_extended
from scheduler_core.api.syntax import qualified_name_problem
from scheduler_core.config import names
from scheduler_core.config.args_validation import validate_args
from scheduler_core.config.defaults import ARGS_TYPES
from scheduler_core.config.fields import duplicate, invalid, required
from scheduler_core.config.types import (
    API_VERSION,
    Extender,
    KubeSchedulerConfiguration,
    KubeSchedulerProfile,
    LeaderElection,
    Plugins,
    PluginSet,
)
from scheduler_core.errors import ConfigProblem


def validate(config: KubeSchedulerConfiguration) -> list[ConfigProblem]:
    """Every problem with its field path; empty when the configuration can be used."""
    return list(dict.fromkeys(_problems(config)))


def _problems(config: KubeSchedulerConfiguration) -> Iterator[ConfigProblem]:
    if config.parallelism <= 0:
        yield invalid("parallelism", config.parallelism, "should be an integer value greater than zero")
    burst = config.client_connection.burst
    if burst is not None and burst < 0:
        yield invalid("clientConnection.burst", burst, "must be non-negative")
    if config.leader_election.leader_elect:
        yield from _leader_election(config.leader_election)
    yield from _percentage("percentageOfNodesToScore", config.percentage_of_nodes_to_score)
    if config.pod_initial_backoff_seconds <= 0:
        yield invalid("podInitialBackoffSeconds", config.pod_initial_backoff_seconds, "must be greater than 0")
    if config.pod_max_backoff_seconds < config.pod_initial_backoff_seconds:
        yield invalid(
            "podMaxBackoffSeconds",
            config.pod_max_backoff_seconds,
            "must be greater than or equal to PodInitialBackoffSeconds",
            also=("podInitialBackoffSeconds",),
        )
    if not config.profiles:
        yield required("profiles")
    yield from _profiles(config.profiles)
    yield from _extenders(config.extenders)


def _percentage(path: str, percentage: int | None) -> Iterator[ConfigProblem]:
    if percentage is not None and not 0 <= percentage <= 100:
        yield invalid(path, percentage, "not in valid range [0-100]")


def _leader_election(election: LeaderElection) -> Iterator[ConfigProblem]:
    path = "leaderElection"
    for field, duration in (
        ("leaseDuration", election.lease_duration),
        ("renewDeadline", election.renew_deadline),
        ("retryPeriod", election.retry_period),
    ):
        if duration.us <= 0:
            yield invalid(f"{path}.{field}", duration, "must be greater than zero")
    if election.lease_duration <= election.renew_deadline:
        # Upstream prints the other duration here.
        yield invalid(
            f"{path}.leaseDuration",
            election.renew_deadline,
            "must be greater than `RenewDeadline`",
            also=(f"{path}.renewDeadline",),
        )
    for field, name in (
        ("resourceLock", election.resource_lock),
        ("resourceNamespace", election.resource_namespace),
        ("resourceName", election.resource_name),
    ):
        if not name:
            yield required(f"{path}.{field}")
    if election.resource_lock != "leases":
        yield invalid(f"{path}.resourceLock", election.resource_lock, 'resourceLock value must be "leases"')


def _profiles(profiles: tuple[KubeSchedulerProfile, ...]) -> Iterator[ConfigProblem]:
    first_of: dict[str, str] = {}
    for index, profile in enumerate(profiles):
        path = f"profiles[{index}]"
        if not profile.scheduler_name:
            yield required(f"{path}.schedulerName")
        elif profile.scheduler_name in first_of:
            yield duplicate(f"{path}.schedulerName", first_of[profile.scheduler_name])
        else:
            first_of[profile.scheduler_name] = f"{path}.schedulerName"
        yield from _percentage(f"{path}.percentageOfNodesToScore", profile.percentage_of_nodes_to_score)
        yield from _removed_plugins(path, profile)
        yield from _plugin_config(path, profile)
    if profiles:
        yield from _queue_sort(profiles)


def _removed_plugins(path: str, profile: KubeSchedulerProfile) -> Iterator[ConfigProblem]:
    detail = f'was invalid in version "v1" (KubeSchedulerConfiguration is version "{API_VERSION}")'
    for field in Plugins.__struct_fields__:
        if field == "multi_point":
            continue
        plugin_set: PluginSet = getattr(profile.plugins, field)
        for index, entry in enumerate(plugin_set.enabled):
            if entry.name in names.REMOVED_IN_V1:
                yield invalid(f"{path}.plugins.{_camel(field)}.enabled[{index}]", entry.name, detail)
    for index, config in enumerate(profile.plugin_config):
        if config.name in names.REMOVED_IN_V1:
            yield invalid(f"{path}.pluginConfig[{index}]", config.name, detail)


def _plugin_config(path: str, profile: KubeSchedulerProfile) -> Iterator[ConfigProblem]:
    seen: set[str] = set()
    for index, config in enumerate(profile.plugin_config):
        at = f"{path}.pluginConfig[{index}]"
        if config.name in seen:
            yield duplicate(at, config.name, also=(f"{at}.name",))
        seen.add(config.name)
        expected = ARGS_TYPES.get(config.name)
        if expected is None:
            continue
        if isinstance(config.args, expected):
            yield from validate_args(f"{at}.args", config.args)
        else:
            yield invalid(f"{at}.args", config.args, "has to match plugin args")


def _queue_sort(profiles: tuple[KubeSchedulerProfile, ...]) -> Iterator[ConfigProblem]:
    """The one queue is sorted one way: all profiles must agree with the first."""
    first = profiles[0].plugins.queue_sort
    if len(first.enabled) > 1:
        yield invalid(
            "profiles[0].plugins.queueSort.Enabled", len(first.enabled), "only one queue sort plugin can be enabled"
        )
    sorter = first.enabled[0].name if first.enabled else names.PRIORITY_SORT
    first_args = _args_of(profiles[0], sorter)
    for index, profile in enumerate(profiles[1:], start=1):
        if profile.plugins.queue_sort != first:
            yield invalid(
                f"profiles[{index}].plugins.queueSort",
                profile.plugins.queue_sort,
                "must be the same for all profiles",
                also=("profiles[0].plugins.queueSort",),
            )
        args = _args_of(profile, sorter)
        if args is not None and args != first_args:
            yield invalid(
                f"profiles[{index}].pluginConfig.args",
                args,
                "queueSort must be the same for all profiles",
                also=("profiles[0].pluginConfig",),
            )


def _args_of(profile: KubeSchedulerProfile, name: str) -> object:
    return next((config.args for config in profile.plugin_config if config.name == name), None)


def _extenders(extenders: tuple[Extender, ...]) -> Iterator[ConfigProblem]:
    managed: set[str] = set()
    binders = 0
    for i, extender in enumerate(extenders):
        path = f"extenders[{i}]"
        if extender.prioritize_verb and extender.weight <= 0:
            yield invalid(f"{path}.weight", extender.weight, "must have a positive weight applied to it")
        binders += 1 if extender.bind_verb else 0
        for j, resource in enumerate(extender.managed_resources):
            at = f"{path}.managedResources[{j}].name"
            problem = qualified_name_problem(resource.name)
            if problem is not None:
                yield invalid(at, resource.name, problem)
            elif not is_extended(resource.name):
                yield invalid(at, resource.name, "is an invalid extended resource name")
            if resource.name in managed:
                yield invalid(at, resource.name, "duplicate extender managed resource name")
            managed.add(resource.name)
    if binders > 1:
        yield invalid(
            "extenders", f"found {binders} extenders implementing bind", "only one extender can implement bind"
        )


def _camel(field: str) -> str:
    head, *rest = field.split("_")
    return head + "".join(part.capitalize() for part in rest)
