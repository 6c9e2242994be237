"""Which plugin runs at which extension point, in which order, with which weight.

A profile names plugins per point and at MultiPoint; MultiPoint stands for every point a plugin takes part in.
Order at a point: plugins named at both (in the point's order), then the rest of MultiPoint, then the rest
of the point. Problems have upstream's texts and paths from the profile on; all of them are collected.
Source: kubernetes v1.34.1, pkg/scheduler/framework/runtime/framework.go (NewFramework, expandMultiPointPlugins).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from difflib import get_close_matches

from scheduler_core.config.types import Plugins, PluginSet
from scheduler_core.config.versions import FORMER_PLUGINS
from scheduler_core.errors import ConfigProblem
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


class Expansion:
    """Collects the problems of a profile's plugin sets while they are expanded.

    `installed` are the plugins there are: one that is among them and has no instance could not be made, which is told
    elsewhere.
    """

    def __init__(
        self, plugins: Plugins, instances: Mapping[str, points.Plugin], installed: Collection[str] = ()
    ) -> None:
        self.problems: list[ConfigProblem] = []
        self._plugins = plugins
        self._instances = instances
        self._installed = installed
        self._told_of_multi_point: set[str] = set()  # upstream meets each at the first point, and we tell once

    def expand(self) -> dict[str, list[points.Plugin]]:
        """The plugins of each extension point in running order, by the point's field name."""
        explicit = {point.field: self._explicit(point) for point in POINTS}
        if not self._plugins.multi_point.enabled:
            return explicit
        return {point.field: self._with_multi_point(point, explicit[point.field]) for point in POINTS}

    def score_weights(self, scorers: list[points.Plugin]) -> dict[str, int]:
        """Weights of the score plugins: an explicit one beats MultiPoint's, 0 becomes 1."""
        weights: dict[str, int] = {}
        total = 0
        for field in ("score", "multi_point"):
            plugin_set: PluginSet = getattr(self._plugins, field)
            for entry in plugin_set.enabled:
                if entry.name in weights or not isinstance(self._instances.get(entry.name), points.ScorePlugin):
                    continue
                weight = entry.weight or 1
                if weight * MAX_NODE_SCORE > MAX_TOTAL_SCORE - total:
                    self._add(field, entry.name, "total score of Score plugins could overflow")
                    return weights
                total += weight * MAX_NODE_SCORE
                weights[entry.name] = weight
        for plugin in scorers:
            if not weights.get(plugin.name):
                self._add("score", plugin.name, f'score plugin "{plugin.name}" is not configured with weight')
        return weights

    def _explicit(self, point: ExtensionPoint) -> list[points.Plugin]:
        plugin_set: PluginSet = getattr(self._plugins, point.field)
        chosen: dict[str, points.Plugin] = {}
        for entry in plugin_set.enabled:
            plugin = self._instances.get(entry.name)
            if plugin is None:
                self._missing(point.field, point, entry.name)
            elif not isinstance(plugin, point.protocol):
                text = f'plugin "{entry.name}" does not extend {point.type_name} plugin'
                self._add(point.field, entry.name, text, expected=f"a plugin with the point {camel(point.field)}")
            elif entry.name in chosen:
                self._twice(point.field, point, entry.name)
            else:
                chosen[entry.name] = plugin
        return list(chosen.values())

    def _with_multi_point(self, point: ExtensionPoint, explicit: list[points.Plugin]) -> list[points.Plugin]:
        disabled = {entry.name for entry in getattr(self._plugins, point.field).disabled}
        if "*" in disabled:
            return explicit
        named = {plugin.name for plugin in explicit}
        overrides: set[str] = set()
        added: dict[str, points.Plugin] = {}
        for entry in self._plugins.multi_point.enabled:
            plugin = self._instances.get(entry.name)
            if plugin is None:
                self._missing("multi_point", point, entry.name)
                continue
            if not isinstance(plugin, point.protocol) or entry.name in disabled:
                continue
            if entry.name in named:
                overrides.add(entry.name)
            elif entry.name in added:
                self._twice("multi_point", point, entry.name)
            else:
                added[entry.name] = plugin
        return [
            *(plugin for plugin in explicit if plugin.name in overrides),
            *added.values(),
            *(plugin for plugin in explicit if plugin.name not in overrides),
        ]

    def _missing(self, field: str, point: ExtensionPoint, name: str) -> None:
        if name not in self._installed:
            near = get_close_matches(name[:100], self._installed, n=1)
            expected = FORMER_PLUGINS.get(name) or (near[0] if near else "an installed plugin")
            self._add(field, name, f'{point.type_name} "{name}" does not exist', expected=expected)

    def _twice(self, field: str, point: ExtensionPoint, name: str) -> None:
        text = f'plugin "{name}" already registered as "{point.type_name}"'
        self._add(field, name, text, expected="each plugin once")

    def _add(self, field: str, name: str, text: str, *, expected: str = "") -> None:
        if field == "multi_point":
            if name in self._told_of_multi_point:
                return
            self._told_of_multi_point.add(name)
        path = f"plugins.{camel(field)}.enabled"
        self.problems.append(ConfigProblem(path, text, name, expected, item=name, sentence=text))


def camel(field: str) -> str:
    """The name of a point's field in documents."""
    head, *rest = field.split("_")
    return head + "".join(part.capitalize() for part in rest)
