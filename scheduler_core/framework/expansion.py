"""Which plugin runs at which extension point, in which order, with which weight.

A profile names plugins per point and at MultiPoint; MultiPoint stands for every point a plugin takes part in.
Order at a point: plugins named at both (in the point's order), then the rest of MultiPoint, then the rest
of the point. Errors are ConfigErrors with upstream's texts.
Source: kubernetes v1.34.1, pkg/scheduler/framework/runtime/framework.go (NewFramework, expandMultiPointPlugins).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from scheduler_core.config.types import Plugins, PluginSet
from scheduler_core.errors import ConfigError
from scheduler_core.framework import points
from scheduler_core.framework.answers import MAX_NODE_SCORE

MAX_TOTAL_SCORE = 2**63 - 1


@dataclass(frozen=True, slots=True)
class ExtensionPoint:
    """One extension point: the field of `Plugins`, upstream's type name, and the Protocol a plugin must meet."""

    field: str
    type_name: str
    protocol: type


POINTS = (
    ExtensionPoint("pre_enqueue", "PreEnqueuePlugin", points.PreEnqueuePlugin),
    ExtensionPoint("queue_sort", "QueueSortPlugin", points.QueueSortPlugin),
    ExtensionPoint("pre_filter", "PreFilterPlugin", points.PreFilterPlugin),
    ExtensionPoint("filter", "FilterPlugin", points.FilterPlugin),
    ExtensionPoint("post_filter", "PostFilterPlugin", points.PostFilterPlugin),
    ExtensionPoint("reserve", "ReservePlugin", points.ReservePlugin),
    ExtensionPoint("pre_score", "PreScorePlugin", points.PreScorePlugin),
    ExtensionPoint("score", "ScorePlugin", points.ScorePlugin),
    ExtensionPoint("pre_bind", "PreBindPlugin", points.PreBindPlugin),
    ExtensionPoint("bind", "BindPlugin", points.BindPlugin),
    ExtensionPoint("post_bind", "PostBindPlugin", points.PostBindPlugin),
    ExtensionPoint("permit", "PermitPlugin", points.PermitPlugin),
)


def needed_plugins(plugins: Plugins) -> list[str]:
    """Every name enabled at any point or at MultiPoint, each once, in that order."""
    names: dict[str, None] = {}
    for plugin_set in [plugins.multi_point, *(getattr(plugins, point.field) for point in POINTS)]:
        for entry in plugin_set.enabled:
            names[entry.name] = None
    return list(names)


def expand(plugins: Plugins, instances: Mapping[str, points.Plugin]) -> dict[str, list[points.Plugin]]:
    """The plugins of each extension point in running order, by the point's field name."""
    explicit = {point.field: _explicit(point, getattr(plugins, point.field), instances) for point in POINTS}
    if not plugins.multi_point.enabled:
        return explicit
    return {point.field: _with_multi_point(point, plugins, explicit[point.field], instances) for point in POINTS}


def score_weights(
    plugins: Plugins, instances: Mapping[str, points.Plugin], scorers: list[points.Plugin]
) -> dict[str, int]:
    """Weights of the score plugins: an explicit one beats MultiPoint's, 0 becomes 1."""
    weights: dict[str, int] = {}
    total = 0
    for entry in (*plugins.score.enabled, *plugins.multi_point.enabled):
        if entry.name in weights or not isinstance(instances.get(entry.name), points.ScorePlugin):
            continue
        weight = entry.weight or 1
        if weight * MAX_NODE_SCORE > MAX_TOTAL_SCORE - total:
            raise ConfigError(["total score of Score plugins could overflow"])
        total += weight * MAX_NODE_SCORE
        weights[entry.name] = weight
    for plugin in scorers:
        if not weights.get(plugin.name):
            raise ConfigError([f'score plugin "{plugin.name}" is not configured with weight'])
    return weights


def _explicit(
    point: ExtensionPoint, plugin_set: PluginSet, instances: Mapping[str, points.Plugin]
) -> list[points.Plugin]:
    chosen: dict[str, points.Plugin] = {}
    for entry in plugin_set.enabled:
        plugin = instances.get(entry.name)
        if plugin is None:
            raise _does_not_exist(point, entry.name)
        if not isinstance(plugin, point.protocol):
            raise ConfigError([f'plugin "{entry.name}" does not extend {point.type_name} plugin'])
        if entry.name in chosen:
            raise _already_registered(point, entry.name)
        chosen[entry.name] = plugin
    return list(chosen.values())


def _with_multi_point(
    point: ExtensionPoint,
    plugins: Plugins,
    explicit: list[points.Plugin],
    instances: Mapping[str, points.Plugin],
) -> list[points.Plugin]:
    disabled = {entry.name for entry in getattr(plugins, point.field).disabled}
    if "*" in disabled:
        return explicit
    named = {plugin.name for plugin in explicit}
    overrides: set[str] = set()
    added: dict[str, points.Plugin] = {}
    for entry in plugins.multi_point.enabled:
        plugin = instances.get(entry.name)
        if plugin is None:
            raise _does_not_exist(point, entry.name)
        if not isinstance(plugin, point.protocol) or entry.name in disabled:
            continue
        if entry.name in named:
            overrides.add(entry.name)
        elif entry.name in added:
            raise _already_registered(point, entry.name)
        else:
            added[entry.name] = plugin
    return [
        *(plugin for plugin in explicit if plugin.name in overrides),
        *added.values(),
        *(plugin for plugin in explicit if plugin.name not in overrides),
    ]


def _does_not_exist(point: ExtensionPoint, name: str) -> ConfigError:
    return ConfigError([f'{point.type_name} "{name}" does not exist'])


def _already_registered(point: ExtensionPoint, name: str) -> ConfigError:
    return ConfigError([f'plugin "{name}" already registered as "{point.type_name}"'])
