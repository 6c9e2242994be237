"""A profile whose plugins are timed one by one, for the cycles a recorder picks.

The plugins are the same; each call of theirs that belongs to an extension point is measured, with the status it came
to. A plugin's question over all rows of the table is one call.
Source: kubernetes v1.34.1, pkg/scheduler/framework/runtime/instrumented_plugins.go, framework.go (plugin metrics).
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from scheduler_core.framework.points import Plugin
from scheduler_core.framework.runtime import Framework
from scheduler_core.model.status import CODE_NAMES, Code, Status
from scheduler_core.ports import Recorder, Stopwatch

METRIC = "plugin_execution_duration"
POINTS = {
    "pre_filter": "PreFilter",
    "pre_filter_table": "PreFilter",
    "add_pod": "PreFilterExtensionAddPod",
    "remove_pod": "PreFilterExtensionRemovePod",
    "filter": "Filter",
    "filter_nodes": "Filter",
    "post_filter": "PostFilter",
    "pre_score": "PreScore",
    "pre_score_table": "PreScore",
    "score": "Score",
    "score_nodes": "Score",
    "normalize_scores": "ScoreExtensionNormalize",
    "reserve": "Reserve",
    "unreserve": "Unreserve",
    "permit": "Permit",
    "pre_bind": "PreBind",
    "bind": "Bind",
    "post_bind": "PostBind",
}
_LISTS = (
    *("pre_filter", "filter", "post_filter", "pre_score", "score", "reserve", "permit", "pre_bind", "bind"),
    *("post_bind", "pre_filter_extensions"),
)
_TABLES = ("table_filters", "table_pre_filters", "table_pre_scorers", "table_scorers", "normalizers")


class TimedPlugin:
    """A plugin as it is, but for the time its methods take."""

    def __init__(self, plugin: Plugin, recorder: Recorder, stopwatch: Stopwatch) -> None:
        self._plugin = plugin
        self._recorder = recorder
        self._stopwatch = stopwatch

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._plugin, name)
        point = POINTS.get(name)
        if point is None:
            return found
        timed = self._timed(found, point)
        self.__dict__[name] = timed  # looked up once
        return timed

    def _timed(self, method: Callable[..., Any], point: str) -> Callable[..., Any]:
        plugin, recorder, stopwatch = self._plugin.name, self._recorder, self._stopwatch

        def call(*args: Any) -> Any:
            started = stopwatch()
            answer = method(*args)
            recorder.duration(METRIC, (plugin, point, code_of(answer)), stopwatch() - started)
            return answer

        return call


def timed_framework(framework: Framework, recorder: Recorder, stopwatch: Stopwatch) -> Framework:
    """Copy the profile, with its plugins timed."""
    timed = copy.copy(framework)
    for name in _LISTS:
        plugins = getattr(framework, name)
        setattr(timed, name, [TimedPlugin(plugin, recorder, stopwatch) for plugin in plugins])
    for name in _TABLES:
        by_name = getattr(framework, name)
        setattr(timed, name, {key: TimedPlugin(plugin, recorder, stopwatch) for key, plugin in by_name.items()})
    timed.node_judges, timed.node_scorers = {}, {}  # what these give out is called without the plugin
    return timed


def code_of(answer: object) -> str:
    """The status code in what a plugin's method returned, as a label; methods without one succeed."""
    parts = answer if isinstance(answer, tuple) else (answer,)
    status = next((part for part in parts if isinstance(part, Status)), None)
    return CODE_NAMES[Code.Success if status is None else status.code]
