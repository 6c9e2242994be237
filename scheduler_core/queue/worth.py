"""Is the pod worth another try now that this happened? Asks the hints of the plugins blamed for it.

Equivalent pods (same signature, same blame) are asked about once; those an event is about, one by one.

Queue from a plugin the pod is pending on means at once; from any other, after its backoff. A pod nobody is blamed for
and a wildcard event always mean after backoff. A hint that raises counts as Queue.
Source: kubernetes v1.34.1, pkg/scheduler/backend/queue/scheduling_queue.go (isPodWorthRequeuing).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import IntEnum
from typing import NamedTuple

from scheduler_core.api.meta import KubeObject
from scheduler_core.api.pod import Pod
from scheduler_core.framework.answers import QueueingHint
from scheduler_core.framework.hints import HintMaps, Registration
from scheduler_core.model.events import ClusterEvent
from scheduler_core.model.types import QueuedPodInfo
from scheduler_core.ports import LogSink, Recorder, Stopwatch, stopped_watch
from scheduler_core.queue.active_queue import InFlight
from scheduler_core.queue.unschedulable_pods import UnschedulablePods

NOT_IN_FLIGHT = (
    "in flight Pod isn't found in the scheduling queue. If you see this error log, it's likely a bug in the scheduler"
)


class Strategy(IntEnum):
    """Where a pod goes; the order is that of eagerness."""

    SKIP = 0
    AFTER_BACKOFF = 1
    IMMEDIATELY = 2


class Verdict(NamedTuple):
    """`plugin`: whose hint decided, empty when none was asked."""

    strategy: Strategy
    plugin: str = ""


SKIP = Verdict(Strategy.SKIP)
AFTER_BACKOFF = Verdict(Strategy.AFTER_BACKOFF)

PreCheck = Callable[[Pod], bool]
Asked = tuple[QueuedPodInfo, Verdict | None]
"""A waiting pod, and whether it is worth another try where that is known already."""


class Requeuing:
    """The question, for all profiles."""

    def __init__(
        self,
        hint_maps: HintMaps,
        log: LogSink,
        recorder: Recorder | None = None,
        stopwatch: Stopwatch = stopped_watch,
    ) -> None:
        self.hint_maps = hint_maps
        self._log = log
        self._recorder = recorder
        self._stopwatch = stopwatch

    def worth(
        self, info: QueuedPodInfo, event: ClusterEvent, old: KubeObject | None, new: KubeObject | None
    ) -> Verdict:
        return self._verdict(
            info, event, new, lambda registration: self._says_queue(registration, info, event, old, new)
        )

    def not_skipped(
        self,
        pods: UnschedulablePods,
        event: ClusterEvent,
        old: KubeObject | None,
        new: KubeObject | None,
        pre_check: PreCheck | None,
    ) -> list[Asked]:
        """The waiting pods that pass the check but those known to be skipped, in key order.

        Equivalent pods are asked about once.
        """
        if not len(pods):
            return []
        about = {obj.key: obj.uid for obj in (old, new) if isinstance(obj, Pod)}
        found: list[Asked] = []
        for members in pods.equivalent():
            first = next(iter(members.values()))
            if first.gated and not opens_gate(first, event):
                continue
            verdict = self._worth_of_equivalent(first, event, old, new)
            if verdict is None or verdict.strategy is not Strategy.SKIP:
                found += [(info, None if about.get(key) == info.uid else verdict) for key, info in members.items()]
            else:
                own = (members[key] for key, uid in about.items() if key in members and members[key].uid == uid)
                found += to_be_asked(own)
        if pre_check is not None:
            found = [each for each in found if pre_check(each[0].pod)]
        found.sort(key=lambda each: each[0].key)
        return found

    def _worth_of_equivalent(
        self, info: QueuedPodInfo, event: ClusterEvent, old: KubeObject | None, new: KubeObject | None
    ) -> Verdict | None:
        """The verdict on all pods like this one that the event is not about; None when each has to be asked."""
        if info.pod.spec.scheduler_name not in self.hint_maps:
            return None
        try:
            return self._verdict(info, event, new, lambda each: self._all_say_queue(each, info.pod, event, old, new))
        except _AskEachError:
            return None

    def _verdict(
        self,
        info: QueuedPodInfo,
        event: ClusterEvent,
        new: KubeObject | None,
        says_queue: Callable[[Registration], bool],
    ) -> Verdict:
        pending = info.pending_plugins
        if not info.unschedulable_plugins and not pending:
            return AFTER_BACKOFF
        if event.is_wildcard:
            # One that carries a pod is meant for that pod only.
            meant = new is None or (isinstance(new, Pod) and new.uid == info.pod.uid)
            return AFTER_BACKOFF if meant else SKIP
        hint_map = self.hint_maps.get(info.pod.spec.scheduler_name)
        if hint_map is None:
            profile = info.pod.spec.scheduler_name
            message = "No QueueingHintMap is registered for this profile"
            self._log(message, {"profile": profile, "pod": info.key, "err": None})
            return AFTER_BACKOFF
        verdict = SKIP
        for registration in hint_map.matching(event):
            plugin = registration.plugin
            if plugin not in info.unschedulable_plugins and plugin not in pending:
                continue
            if not says_queue(registration):
                continue
            if plugin in pending:
                return Verdict(Strategy.IMMEDIATELY, plugin)
            if not pending:
                return Verdict(Strategy.AFTER_BACKOFF, plugin)
            if verdict is SKIP:
                verdict = Verdict(Strategy.AFTER_BACKOFF, plugin)
        return verdict

    def worth_after_flight(self, info: QueuedPodInfo, in_flight: InFlight) -> Verdict:
        """Whether any of the events that arrived while the pod was tried is worth another try."""
        if not info.unschedulable_plugins and not info.pending_plugins:
            return AFTER_BACKOFF
        events = in_flight.events_since(info.uid)
        if events is None:
            self._log("Error getting cluster events for pod", {"pod": info.key, "err": NOT_IN_FLIGHT})
            return AFTER_BACKOFF
        best = SKIP
        for each in events:
            verdict = self.worth(info, each.event, each.old, each.new)
            if verdict.strategy is Strategy.IMMEDIATELY:
                return verdict
            if verdict.strategy is Strategy.AFTER_BACKOFF:
                if not info.pending_plugins:
                    return verdict
                best = best if best.strategy is Strategy.AFTER_BACKOFF else verdict
        return best

    def _says_queue(
        self,
        registration: Registration,
        info: QueuedPodInfo,
        event: ClusterEvent,
        old: KubeObject | None,
        new: KubeObject | None,
    ) -> bool:
        if registration.hint is None:
            return True
        started = self._stopwatch()
        try:
            says_queue = registration.hint(info.pod, old, new) is QueueingHint.QUEUE
            self._measure(registration.plugin, event, "Queue" if says_queue else "QueueSkip", started)
            return says_queue
        except Exception as error:  # a plugin's fault must not leave the pod stuck
            fields: dict[str, object] = {
                "event": event.label,
                "plugin": registration.plugin,
                "pod": info.key,
                "err": str(error),
            }
            self._log("QueueingHintFn returns error", fields)
            self._measure(registration.plugin, event, "Error", started)
            return True

    def _all_say_queue(
        self, registration: Registration, pod: Pod, event: ClusterEvent, old: KubeObject | None, new: KubeObject | None
    ) -> bool:
        """The verdict for all pods equivalent to this one."""
        if registration.hint is None:
            return True
        if not registration.is_same_for_equivalent(pod):
            raise _AskEachError
        started = self._stopwatch()
        try:
            says_queue = registration.hint(pod, old, new) is QueueingHint.QUEUE
        except Exception as error:  # counts as Queue, and is logged for each pod
            raise _AskEachError from error
        self._measure(registration.plugin, event, "Queue" if says_queue else "QueueSkip", started)
        return says_queue

    def _measure(self, plugin: str, event: ClusterEvent, hint: str, since: int) -> None:
        if self._recorder is not None:
            labels = (plugin, event.label, hint)
            self._recorder.duration("queueing_hint_execution_duration", labels, self._stopwatch() - since)


def to_be_asked(infos: Iterable[QueuedPodInfo]) -> list[Asked]:
    """Pods of which nothing is known yet."""
    return [(info, None) for info in infos]


def opens_gate(info: QueuedPodInfo, event: ClusterEvent) -> bool:
    """Whether the plugin that gates the pod wants the event."""
    return any(registered.matches(event) for registered in info.gating_plugin_events)


class _AskEachError(Exception):
    """The answer for one pod is not that for all pods like it."""
