"""PreEnqueue: whether a pod may enter the active queue at all, and what keeps it out.

The plugin that gates a pod now is asked first; the first refusal ends. A refusal is blamed and counted every time,
also for a plugin blamed already, and the blame outlasts the gate until the pod is popped (both as upstream).
"""

from __future__ import annotations

from scheduler_core.framework.hints import HintMaps, PreEnqueueMap
from scheduler_core.framework.interface import PreEnqueuePlugin
from scheduler_core.model.events import ClusterEvent
from scheduler_core.model.status import Code
from scheduler_core.model.types import QueuedPodInfo
from scheduler_core.ports import LogSink
from scheduler_core.queue.options import QueueCounters


class Gates:
    """The PreEnqueue plugins of all profiles, with the events each registered in any of them."""

    def __init__(self, plugins: PreEnqueueMap, hint_maps: HintMaps, counters: QueueCounters, log: LogSink) -> None:
        self._plugins = plugins
        self._counters = counters
        self._log = log
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
        for plugin in plugins:
            if self._refuses(plugin, info):
                return
        info.gating_plugin = ""

    def _refuses(self, plugin: PreEnqueuePlugin, info: QueuedPodInfo) -> bool:
        status = plugin.pre_enqueue(info.pod)
        if status.is_success:
            return False
        info.unschedulable_plugins.add(plugin.name)
        self._counters.blame(plugin.name, info.pod.spec.scheduler_name, +1)
        info.gating_plugin = plugin.name
        info.gating_plugin_events = self._events[plugin.name]
        if status.code is Code.Error:
            fields: dict[str, object] = {"pod": info.key, "plugin": plugin.name, "err": status.message}
            self._log("Unexpected error running PreEnqueue plugin", fields)
        return True
