"""A queue with plain plugins for tests: what it recorded, and a store to nominate from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from scheduler_core.api.meta import KubeObject
from scheduler_core.api.pod import Pod
from scheduler_core.framework.answers import ClusterEventWithHint, QueueingHint
from scheduler_core.framework.hints import HintMap
from scheduler_core.framework.points import PreEnqueuePlugin
from scheduler_core.model.effects import QueueMove
from scheduler_core.model.events import ActionType, ClusterEvent, EventResource
from scheduler_core.model.status import SUCCESS, Status
from scheduler_core.model.types import QueuedPodInfo
from scheduler_core.queue.options import SECOND_US, QueueOptions
from scheduler_core.queue.scheduling_queue import Requeued, SchedulingQueue
from scheduler_core.queue.sub_queues import QueueParts
from tests.builders import make_pod

PROFILE = "default-scheduler"
S = SECOND_US
MINUTE = 60 * S
T0 = 1_000 * S

NODE_ADDED = ClusterEvent(EventResource.NODE, ActionType.ADD)
LABELLED = ClusterEvent(EventResource.POD, ActionType.UPDATE_POD_LABEL)
POD_DELETED = ClusterEvent(EventResource.ASSIGNED_POD, ActionType.DELETE)


class Refuser:
    """A filter plugin whose hint answers as told: by default every event it registered is worth a try."""

    def __init__(
        self,
        name: str = "Refuser",
        events: Sequence[ClusterEvent] = (NODE_ADDED,),
        hint: Callable[[Pod, KubeObject | None, KubeObject | None], QueueingHint] | None = None,
    ) -> None:
        self.name = name
        self._events = events
        self._hint = hint

    def filter(self, *args: Any) -> Status:
        return SUCCESS

    def events_to_register(self) -> list[ClusterEventWithHint]:
        return [ClusterEventWithHint(event, self._hint) for event in self._events]


class Gate:
    """Keeps pods out while they have scheduling gates; a hint lets them in when the last gate goes."""

    name = "Gate"

    def pre_enqueue(self, pod: Pod) -> Status:
        return Status.unresolvable("gated") if pod.spec.scheduling_gates else SUCCESS

    def events_to_register(self) -> list[ClusterEventWithHint]:
        event = ClusterEvent(EventResource.POD, ActionType.UPDATE_POD_SCHEDULING_GATES_ELIMINATED)
        return [ClusterEventWithHint(event)]


class Rig:
    """The queue, its moves, its logs, and the pods the lister knows."""

    def __init__(self, *plugins: Any, **options: Any) -> None:
        self.options = QueueOptions(**options)
        self.plugins = plugins or (Gate(), Refuser())
        self.moves: list[QueueMove] = []
        self.logs: list[tuple[str, dict[str, object]]] = []
        self.stored: dict[str, Pod] = {}
        self.queue = self.fresh()

    def fresh(self) -> SchedulingQueue:
        hint_map = HintMap.of(self.plugins, queueing_hints=self.options.queueing_hints)
        return SchedulingQueue(
            QueueParts(
                sort_key=lambda info: (-info.pod.priority, info.timestamp),
                stored_pod=self.stored.get,
                options=self.options,
                hint_maps={PROFILE: hint_map},
                pre_enqueue={PROFILE: [each for each in self.plugins if isinstance(each, PreEnqueuePlugin)]},
                record=self.moves.append,
                log=lambda message, fields: self.logs.append((message, fields)),
            )
        )

    def pop(self, now: int = T0) -> QueuedPodInfo:
        info = self.queue.pop(now)
        assert info is not None
        return info

    def flying(self, name: str) -> QueuedPodInfo:
        """A pod that is added, and being tried."""
        self.queue.add(make_pod(name).build(), T0)
        return self.pop()

    def fail(self, info: QueuedPodInfo, *plugins: str, now: int = T0, pending: Sequence[str] = ()) -> Requeued:
        """The pod comes back blamed on these plugins; on none: an error."""
        info.unschedulable_plugins = set(plugins)
        info.pending_plugins = set(pending)
        return self.queue.add_unschedulable_if_not_present(info, self.queue.scheduling_cycle, now)

    def rejected(self, name: str, *plugins: str, now: int = T0, **spec: Any) -> QueuedPodInfo:
        """A pod added, tried and refused."""
        pod = make_pod(name).spec(**spec).build()
        self.queue.add(pod, now)
        info = self.queue.pop_pod(pod.key, now)
        assert info is not None
        self.fail(info, *(plugins or ("Refuser",)), now=now)
        return info

    def move(self, event: ClusterEvent = NODE_ADDED, now: int = T0, **more: Any) -> None:
        self.queue.move_all_to_active_or_backoff_queue(event, more.pop("old", None), more.pop("new", None), now, **more)

    def keys(self) -> dict[str, list[str]]:
        queue = self.queue
        return {
            "active": [info.pod.name for info in queue.active.heap],
            "backoff": [info.pod.name for info in queue.backoff.ordinary],
            "errors": [info.pod.name for info in queue.backoff.errors],
            "unschedulable": [info.pod.name for info in queue.unschedulable if not info.gated],
            "gated": [info.pod.name for info in queue.unschedulable if info.gated],
        }

    def where(self, name: str) -> str:
        found = [place for place, names in self.keys().items() if name in names]
        return "+".join(found)
