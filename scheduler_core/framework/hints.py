"""Which plugin wants to hear of which event: the hint map of a profile, built once from its plugins.

A plugin that can refuse pods registers events with hints; one that registers nothing by itself gets the default
registrations, and an extender is heard as the pseudo-plugin `Extender`. Order is fixed: resource, action, plugin.
Source: kubernetes v1.34.1, pkg/scheduler/scheduler.go (buildQueueingHintMap), framework/runtime (enqueue extensions).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from scheduler_core.api.pod import Pod
from scheduler_core.framework.answers import ClusterEventWithHint, HintFn
from scheduler_core.framework.points import (
    EnqueueExtensions,
    FilterPlugin,
    PermitPlugin,
    Plugin,
    PreEnqueuePlugin,
    PreFilterPlugin,
    ReservePlugin,
)
from scheduler_core.framework.reuse import CacheablePlugin, DependsOn
from scheduler_core.model.events import ActionType, ClusterEvent, EventResource

EXTENDER = "Extender"

# Upstream leaves VolumeAttachment and ResourceSlice out.
_DEFAULT_RESOURCES = (
    EventResource.POD,
    EventResource.NODE,
    EventResource.PERSISTENT_VOLUME,
    EventResource.PERSISTENT_VOLUME_CLAIM,
    EventResource.CSI_NODE,
    EventResource.CSI_DRIVER,
    EventResource.CSI_STORAGE_CAPACITY,
    EventResource.STORAGE_CLASS,
    EventResource.RESOURCE_CLAIM,
    EventResource.DEVICE_CLASS,
)
DEFAULT_REGISTRATIONS = tuple(
    ClusterEventWithHint(ClusterEvent(resource, ActionType.ALL)) for resource in _DEFAULT_RESOURCES
)
_NODE_TAINT_UPDATED = ClusterEvent(EventResource.NODE, ActionType.UPDATE_NODE_TAINT)
# With hints off, updates of the pod itself are not asked about plugin by plugin, so nobody registers them.
_OWN_UPDATES = ActionType.UPDATE_POD_TOLERATION | ActionType.UPDATE_POD_SCHEDULING_GATES_ELIMINATED


@dataclass(frozen=True, slots=True)
class Registration:
    """One plugin's interest in one event; no hint means it always wants to try again.

    `depends_on`: the plugin's own, where it has it; see `is_same_for_equivalent`.
    """

    event: ClusterEvent
    plugin: str
    hint: HintFn | None
    depends_on: Callable[[Pod], DependsOn | None] | None = None

    def is_same_for_equivalent(self, pod: Pod) -> bool:
        """Whether the hint says the same of all pods with this one's signature, but those the event is about."""
        return self.hint is None or (self.depends_on is not None and self.depends_on(pod) is not None)


class HintMap:
    """Registrations of one profile, looked up by what comes in."""

    def __init__(self, registrations: Iterable[Registration]) -> None:
        self.registrations: tuple[Registration, ...] = tuple(
            sorted(registrations, key=lambda each: (each.event.resource.value, int(each.event.action)))
        )
        self._matching: dict[ClusterEvent, tuple[Registration, ...]] = {}
        # One event is asked about for every waiting pod in turn: its answer is at hand without hashing it again.
        self._last: tuple[ClusterEvent | None, tuple[Registration, ...]] = (None, ())

    @staticmethod
    def of(plugins: Sequence[Plugin], *, with_extender: bool = False, queueing_hints: bool = True) -> HintMap:
        """The map of a profile with these plugins, in their order."""
        registrations: list[Registration] = []
        if with_extender:
            registrations += _registered(EXTENDER, DEFAULT_REGISTRATIONS)
        for plugin in plugins:
            if _can_refuse(plugin):
                wanted = plugin.events_to_register() if isinstance(plugin, EnqueueExtensions) else DEFAULT_REGISTRATIONS
                depends_on = plugin.depends_on if isinstance(plugin, CacheablePlugin) else None
                wanted = wanted if queueing_hints else _without_hints(wanted)
                registrations += _registered(plugin.name, wanted, depends_on)
        return HintMap(registrations)

    def matching(self, incoming: ClusterEvent) -> tuple[Registration, ...]:
        """Registrations that want the event."""
        last, found = self._last
        if last is incoming:
            return found
        known = self._matching.get(incoming)
        if known is None:
            known = tuple(each for each in self.registrations if each.event.matches(incoming))
            self._matching[incoming] = known
        self._last = (incoming, known)
        return known

    def events_of(self, plugin: str) -> tuple[ClusterEvent, ...]:
        return tuple(each.event for each in self.registrations if each.plugin == plugin)


def is_of_interest(hint_maps: Mapping[str, HintMap], event: ClusterEvent) -> bool:
    """Whether any plugin of any profile wants the event; a wildcard always passes."""
    return event.is_wildcard or any(hint_map.matching(event) for hint_map in hint_maps.values())


def _can_refuse(plugin: Plugin) -> bool:
    return isinstance(plugin, (PreEnqueuePlugin, PreFilterPlugin, FilterPlugin, ReservePlugin, PermitPlugin))


def _registered(
    plugin: str,
    wanted: Iterable[ClusterEventWithHint],
    depends_on: Callable[[Pod], DependsOn | None] | None = None,
) -> list[Registration]:
    registrations = [Registration(each.event, plugin, each.hint, depends_on) for each in wanted]
    actions = [each.event.action for each in registrations if each.event.resource is EventResource.NODE]
    added = any(action & ActionType.ADD for action in actions)
    if added and not any(action & ActionType.UPDATE_NODE_TAINT for action in actions):
        # Upstream's mitigation for Node/Add events its preCheck hid; it holds although hints are on.
        registrations.append(Registration(_NODE_TAINT_UPDATED, plugin, None))
    return registrations


def _without_hints(wanted: Iterable[ClusterEventWithHint]) -> list[ClusterEventWithHint]:
    """What plugins register with queueing hints switched off: wider node events, no own updates, no hints."""
    changed = []
    for each in wanted:
        resource, action = each.event.resource, each.event.action
        if resource is EventResource.NODE and action & ActionType.ADD:
            action |= ActionType.UPDATE_NODE_LABEL | ActionType.UPDATE_NODE_TAINT
        elif resource is EventResource.POD and action != ActionType.ALL:
            action &= ~_OWN_UPDATES
        if action:
            changed.append(ClusterEventWithHint(ClusterEvent(resource, action, each.event.custom_label)))
    return changed


PreEnqueueMap = Mapping[str, Sequence[PreEnqueuePlugin]]
"""Profile → its PreEnqueue plugins in configured order."""

HintMaps = Mapping[str, HintMap]
"""Profile → its hint map."""
