"""The plugins that come with the scheduler, those that installed packages bring, and how the two become one registry.

A factory takes (args object of the configuration or None, handle) and raises ConfigError on args it cannot use. A
package offers a plugin as an entry point of the group `scheduler_core.plugins`, named as the plugin; its code is
imported only when a profile names the plugin (docs/plugins.md).
Source: kubernetes v1.34.1, pkg/scheduler/framework/runtime/registry.go (Merge).
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final

from scheduler_core.errors import ConfigError
from scheduler_core.framework.handle import Handle, PluginFactory
from scheduler_core.plugins.default_binder import DefaultBinder
from scheduler_core.plugins.default_preemption import DefaultPreemption
from scheduler_core.plugins.dynamic_resources import DynamicResources
from scheduler_core.plugins.image_locality import ImageLocality
from scheduler_core.plugins.inter_pod_affinity.plugin import InterPodAffinity
from scheduler_core.plugins.node_affinity import NodeAffinity
from scheduler_core.plugins.node_name import NodeName
from scheduler_core.plugins.node_ports import NodePorts
from scheduler_core.plugins.node_resources_balanced_allocation import NodeResourcesBalancedAllocation
from scheduler_core.plugins.node_resources_fit import NodeResourcesFit
from scheduler_core.plugins.node_unschedulable import NodeUnschedulable
from scheduler_core.plugins.node_volume_limits import NodeVolumeLimits
from scheduler_core.plugins.pod_topology_spread.plugin import PodTopologySpread
from scheduler_core.plugins.priority_sort import PrioritySort
from scheduler_core.plugins.scheduling_gates import SchedulingGates
from scheduler_core.plugins.taint_toleration import TaintToleration
from scheduler_core.plugins.volume_binding.plugin import VolumeBinding
from scheduler_core.plugins.volume_restrictions import VolumeRestrictions
from scheduler_core.plugins.volume_zone import VolumeZone

ENTRY_POINT_GROUP: Final = "scheduler_core.plugins"

IN_TREE: Mapping[str, PluginFactory] = {
    plugin.name: plugin
    for plugin in (
        SchedulingGates,
        PrioritySort,
        NodeUnschedulable,
        NodeName,
        TaintToleration,
        NodeAffinity,
        NodePorts,
        NodeResourcesFit,
        VolumeRestrictions,
        NodeVolumeLimits,
        VolumeBinding,
        VolumeZone,
        NodeResourcesBalancedAllocation,
        PodTopologySpread,
        InterPodAffinity,
        DynamicResources,
        DefaultPreemption,
        ImageLocality,
        DefaultBinder,
    )
}


class InstalledPlugin:
    """A factory that imports its plugin when it is first asked for one; whatever goes wrong is a ConfigError."""

    def __init__(self, point: EntryPoint) -> None:
        self.point = point

    def __call__(self, args: Any, handle: Handle) -> Any:
        try:
            plugin = self.point.load()(args, handle)
        except ConfigError:
            raise
        except Exception as error:  # somebody else's code: the profile that names it is what cannot be used
            raise ConfigError([f"{self}: {type(error).__name__}: {error}"]) from error
        name = getattr(plugin, "name", None)
        if name != self.point.name:
            raise ConfigError([f"{self}: the plugin calls itself {name!r}, expected {self.point.name!r}"])
        return plugin

    def __str__(self) -> str:
        package = f" of package {self.point.dist.name}" if self.point.dist else ""
        return f"entry point {self.point.name} = {self.point.value}{package}"


def installed() -> tuple[InstalledPlugin, ...]:
    """What the packages of this environment offer, by name."""
    return _installed(tuple(sys.path))


def merged(*sources: Iterable[tuple[str, PluginFactory]]) -> dict[str, PluginFactory]:
    """One registry of the plugins in tree and those of the sources; a second plugin of a name is refused."""
    plugins = dict(IN_TREE)
    for source in sources:
        for name, factory in source:
            if name in plugins:
                raise ConfigError([f"a plugin named {name} already exists"])
            plugins[name] = factory
    return plugins


@cache  # engines are built often in tests and replays; what is installed only changes with the path or the process
def _installed(path: tuple[str, ...]) -> tuple[InstalledPlugin, ...]:
    points = sorted(entry_points(group=ENTRY_POINT_GROUP), key=lambda point: (point.name, point.value))
    return tuple(InstalledPlugin(point) for point in points)
