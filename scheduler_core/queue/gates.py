"""PreEnqueue: whether a pod may enter the active queue at all, and what keeps it out.

The plugin that gates a pod now is asked first; the first refusal ends. A refusal is blamed and counted every time,
also for a plugin blamed already, and the blame outlasts the gate until the pod is popped (both as upstream).
"""

from __future__ import annotations

from scheduler_core.framework.hints import HintMaps, PreEnqueueMap
from scheduler_core.framework.points import PreEnqueuePlugin
from scheduler_core.model.events import ClusterEvent
from scheduler_core.model.status import CODE_NAMES, SUCCESS, Code, Status
from scheduler_core.model.types import QueuedPodInfo
from scheduler_core.ports import LogSink, Recorder, Stopwatch, stopped_watch
from scheduler_core.queue.options import QueueCounters


class Gates:
    """The PreEnqueue plugins of all profiles, with the events each registered in any of them."""

    def __init__(
        self,
        plugins: PreEnqueueMap,
        hint_maps: HintMaps,
        counters: QueueCounters,
        log: LogSink,
        recorder: Recorder | None = None,
        stopwatch: Stopwatch = stopped_watch,
    ) -> None:
        self._plugins = plugins
        self._counters = counters
        self._log = log
        self._recorder = recorder
        self._stopwatch = stopwatch
        names = {plugin.name: None for of_profile in plugins.values() for plugin in of_profile}
        self._events: dict[str, tuple[ClusterEvent, ...]] = {
            name: tuple(event for hint_map in hint_maps.values() for event in hint_map.events_of(name))
            for name in names
        }

    def run(self, info: QueuedPodInfo) -> None:
        """Ask the plugins and leave their answer in the entry's gating fields."""
        plugins = self._plugins.get(info.pod.spec.scheduler_name, ())
        gating = info.gating_plugin
        if gating:
            plugins = sorted(plugins, key=lambda plugin: plugin.name != gating)
        started = self._stopwatch()
        for plugin in plugins:
            status = self._ask(plugin, info)
            if not status.is_success:
                self._measure_point(status, info, started)
                return
        self._measure_point(SUCCESS, info, started)
        info.gating_plugin = ""

    def _measure_point(self, status: Status, info: QueuedPodInfo, since: int) -> None:
        if self._recorder is not None:
            # The profile is what the pod names, whether or not there is one (upstream).
            labels = ("PreEnqueue", CODE_NAMES[status.code], info.pod.spec.scheduler_name)
            self._recorder.duration("framework_extension_point_duration", labels, self._stopwatch() - since)

    def _ask(self, plugin: PreEnqueuePlugin, info: QueuedPodInfo) -> Status:
        is_timed = self._recorder is not None and self._recorder.samples_plugins()
        started = self._stopwatch()
        status = plugin.pre_enqueue(info.pod)
        if is_timed and self._recorder is not None:
            labels = (plugin.name, "PreEnqueue", status.code.name)
            self._recorder.duration("plugin_execution_duration", labels, self._stopwatch() - started)
        if status.is_success:
            return status
        info.unschedulable_plugins.add(plugin.name)
        self._counters.blame(plugin.name, info.pod.spec.scheduler_name, +1)
        info.gating_plugin = plugin.name
        info.gating_plugin_events = self._events[plugin.name]
        if status.code is Code.Error:
            fields: dict[str, object] = {"pod": info.key, "plugin": plugin.name, "err": status.message}
            self._log("Unexpected error running PreEnqueue plugin", fields)
        return status
