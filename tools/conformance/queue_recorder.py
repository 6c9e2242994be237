"""A queue that tells what was called and asked of it, and its whole state in the form of the recordings.

Times of the recordings are milliseconds; the engine's are microseconds. Objects are written `namespace/name@version`.
"""

from __future__ import annotations

from typing import Any

from scheduler_core.api.meta import KubeObject
from scheduler_core.api.pod import Pod
from scheduler_core.framework.answers import NominatingInfo, NominatingMode, QueueingHint
from scheduler_core.framework.hints import is_of_interest
from scheduler_core.model.events import ClusterEvent, EventResource
from scheduler_core.model.types import QueuedPodInfo
from scheduler_core.ports import LogSink
from scheduler_core.queue.active_queue import InFlightEntry, PodMarker
from scheduler_core.queue.scheduling_queue import Requeued, SchedulingQueue
from scheduler_core.queue.sub_queues import QueueParts
from scheduler_core.queue.unschedulable_pods import UnschedulablePods
from scheduler_core.queue.worth import SKIP, Asked, PreCheck, Requeuing, Verdict, opens_gate

DEFAULT_PROFILE = "default-scheduler"
MS_US = 1_000

_STRATEGIES = ("Skip", "AfterBackoff", "Immediately")
_ALWAYS_HANDLED = (
    EventResource.ASSIGNED_POD,
    EventResource.UNSCHEDULABLE_POD,
    EventResource.NODE,
    EventResource.WILDCARD,
)

Json = dict[str, Any]


def written(obj: KubeObject | None) -> str:
    return "-" if obj is None else f"{obj.key}@{obj.metadata.resource_version}"


class RecordingRequeuing(Requeuing):
    """Notes every evaluation, with all hints that could have been asked."""

    def __init__(self, parts: QueueParts) -> None:
        super().__init__(parts.hint_maps, parts.log)
        self.evaluations: list[Json] = []

    def worth(
        self, info: QueuedPodInfo, event: ClusterEvent, old: KubeObject | None, new: KubeObject | None
    ) -> Verdict:
        verdict = super().worth(info, event, old, new)
        self._note(info, event, old, new, verdict)
        return verdict

    def not_skipped(
        self,
        pods: UnschedulablePods,
        event: ClusterEvent,
        old: KubeObject | None,
        new: KubeObject | None,
        pre_check: PreCheck | None,
    ) -> list[Asked]:
        """Return every question upstream asks, with the answer given for all equivalent pods."""
        told = {info.key: verdict for info, verdict in super().not_skipped(pods, event, old, new, pre_check)}
        for info in pods:
            passed = pre_check is None or pre_check(info.pod)
            if not passed or (info.gated and not opens_gate(info, event)):
                continue
            verdict = told.get(info.key, SKIP)
            if verdict is None:
                told[info.key] = self.worth(info, event, old, new)
            else:
                self._note(info, event, old, new, verdict)
        return [(info, told[info.key]) for info in pods if info.key in told]

    def _note(
        self,
        info: QueuedPodInfo,
        event: ClusterEvent,
        old: KubeObject | None,
        new: KubeObject | None,
        verdict: Verdict,
    ) -> None:
        self.evaluations.append(
            {
                "pod": info.key,
                "event": event.label,
                "hints": self._hints(info, event, old, new),
                "strategy": _STRATEGIES[verdict.strategy],
            }
        )

    def _hints(
        self, info: QueuedPodInfo, event: ClusterEvent, old: KubeObject | None, new: KubeObject | None
    ) -> list[list[str]]:
        hint_map = self.hint_maps.get(info.pod.spec.scheduler_name)
        if hint_map is None or event.is_wildcard:
            return []
        answers = []
        for registration in hint_map.matching(event):
            if registration.plugin not in info.blamed_plugins:
                continue
            answer = "Queue"
            try:
                if registration.hint is not None and registration.hint(info.pod, old, new) is QueueingHint.SKIP:
                    answer = "QueueSkip"
            except Exception:
                answer = "Error"
            answers.append([registration.plugin, answer])
        return sorted(answers)

    def sorted_evaluations(self) -> list[Json]:
        """Successive evaluations of one event sorted by pod."""
        ordered: list[Json] = []
        run: list[Json] = []
        for evaluation in self.evaluations:
            if run and run[0]["event"] != evaluation["event"]:
                ordered += sorted(run, key=lambda each: each["pod"])
                run = []
            run.append(evaluation)
        return ordered + sorted(run, key=lambda each: each["pod"])


class RecordingQueue(SchedulingQueue):
    """Notes the calls handlers and operations make."""

    def __init__(self, parts: QueueParts) -> None:
        super().__init__(parts)
        self.calls: list[str] = []
        self.errors: list[str] = []
        self.sort_key = parts.sort_key
        self.requeuing: RecordingRequeuing = RecordingRequeuing(parts)

    def add(self, pod: Pod, now: int, attempts: int = 0) -> None:
        self.calls.append(f"Add {written(pod)}")
        super().add(pod, now, attempts)

    def update(self, old: Pod | None, new: Pod, now: int) -> None:
        self.calls.append(f"Update {written(old)} {written(new)}")
        super().update(old, new, now)

    def delete(self, pod: Pod, now: int) -> None:
        self.calls.append(f"Delete {written(pod)}")
        super().delete(pod, now)

    def done(self, uid: str) -> None:
        self.calls.append(f"Done {uid}")
        super().done(uid)

    def move_all_to_active_or_backoff_queue(
        self,
        event: ClusterEvent,
        old: KubeObject | None,
        new: KubeObject | None,
        now: int,
        pre_check: PreCheck | None = None,
    ) -> None:
        # Other kinds have handlers only for verbs somebody registered.
        if event.resource in _ALWAYS_HANDLED or is_of_interest(self.requeuing.hint_maps, event):
            check = " preCheck" if pre_check is not None else ""
            self.calls.append(f"MoveAll {event.label} {written(old)} {written(new)}{check}")
        super().move_all_to_active_or_backoff_queue(event, old, new, now, pre_check)

    def assigned_pod_added(self, pod: Pod, now: int) -> None:
        self.calls.append(f"AssignedPodAdded {written(pod)}")
        super().assigned_pod_added(pod, now)

    def assigned_pod_updated(self, old: Pod, new: Pod, event: ClusterEvent, now: int) -> None:
        self.calls.append(f"AssignedPodUpdated {event.label} {written(old)} {written(new)}")
        super().assigned_pod_updated(old, new, event, now)

    def add_unschedulable_if_not_present(self, info: QueuedPodInfo, cycle: int, now: int) -> Requeued:
        self.calls.append(f"AddUnschedulable {written(info.pod)} {cycle}")
        requeued = super().add_unschedulable_if_not_present(info, cycle, now)
        if requeued.error:
            self.errors.append(requeued.error)
        return requeued

    def add_nominated_pod(self, pod: Pod, info: NominatingInfo | None) -> None:
        mode = "noop"
        if info is not None and info.mode is NominatingMode.OVERRIDE:
            mode = f'override "{info.nominated_node_name}"'
        self.calls.append(f"AddNominated {written(pod)} {mode}")
        super().add_nominated_pod(pod, info)

    def delete_nominated_pod_if_exists(self, pod: Pod) -> None:
        self.calls.append(f"DeleteNominated {written(pod)}")
        super().delete_nominated_pod_if_exists(pod)

    # -- state -----------------------------------------------------------------------------------------------------

    def state(self, now: int, log: LogSink) -> Json:
        """The whole state; `pods` are all entries. A pod found twice is reported to `log`."""
        ordinary = sorted(self.backoff.ordinary, key=self._backoff_order)
        errors = sorted(self.backoff.errors, key=self._backoff_order)
        waiting = [*self.unschedulable]
        pods: Json = {}
        for name, infos in (
            ("active", [*self.active.heap]),
            ("backoff", ordinary),
            ("errorBackoff", errors),
            ("", waiting),
        ):
            for info in infos:
                if info.key in pods:
                    log(f"ORACLE: in two sub-queues: {info.key}", {"err": None})
                pods[info.key] = self.entry(info, name or ("gated" if info.gated else "unschedulable"), now)
        in_flight = [*self.active.in_flight]
        return {
            "active": [info.key for info in self.active.heap],
            "backoff": [info.key for info in ordinary],
            "errorBackoff": [info.key for info in errors],
            "unschedulable": [info.key for info in waiting if not info.gated],
            "gated": [info.key for info in waiting if info.gated],
            "inFlight": [_in_flight(entry) for entry in in_flight],
            "inFlightPods": len(self.active.in_flight),
            "inFlightEvents": sum(not isinstance(entry, PodMarker) for entry in in_flight),
            "nominated": {node: [ref.key for ref in refs] for node, refs in self.nominator.pods_by_node.items()},
            "nominatedOf": dict(self.nominator.node_by_uid),
            "cycle": self.scheduling_cycle,
            "moveRequestCycle": self.move_request_cycle,
            "pendingMetric": self.pending(),
            "unschedulablePodsMetric": {
                plugin if profile == DEFAULT_PROFILE else f"{plugin}|{profile}": count
                for (plugin, profile), count in self.counters.unschedulable_by_plugin.items()
            },
            "pods": pods,
        }

    def entry(self, info: QueuedPodInfo, queue: str, now: int) -> Json:
        expiry = self.backoff.backoff_time(info)
        initial = info.initial_attempt_timestamp
        return {
            "uid": info.uid,
            "rv": info.pod.metadata.resource_version,
            "priority": info.pod.priority,
            "queue": queue,
            "attempts": info.attempts,
            "unschedulableCount": info.unschedulable_count,
            "consecutiveErrors": info.consecutive_errors_count,
            "timestamp": info.timestamp // MS_US,
            "initialAttempt": None if initial is None else initial // MS_US,
            "expiry": None if expiry is None else expiry // MS_US,
            "backingOff": self.backoff.is_backing_off(info, now),
            "unschedulablePlugins": sorted(info.unschedulable_plugins),
            "pendingPlugins": sorted(info.pending_plugins),
            "gatingPlugin": info.gating_plugin,
        }

    def _backoff_order(self, info: QueuedPodInfo) -> tuple[Any, ...]:
        return (self.backoff.backoff_time(info) or 0, *self.sort_key(info))


def _in_flight(entry: InFlightEntry) -> str:
    if isinstance(entry, PodMarker):
        return f"pod {entry.pod.key} {entry.pod.uid}"
    return f"event {entry.event.label} {written(entry.old)} {written(entry.new)}"
