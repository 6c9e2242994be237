"""What one engine holds: objects, cache, queue, profiles, waiting pods, bindings under way, and this step's effects.

`now` and `effects` are those of the step that is running. The parts of the scheduler are functions over this.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

from scheduler_core.api.meta import KubeObject
from scheduler_core.api.pod import Pod
from scheduler_core.cache.cache import Cache, CacheError
from scheduler_core.cache.snapshot import Snapshot
from scheduler_core.cycle.cycle import Cycle
from scheduler_core.cycle.runner import Runners
from scheduler_core.cycle.view import PickedNodes, SnapshotView
from scheduler_core.framework.cycle_state import CycleState
from scheduler_core.framework.extenders import Extenders
from scheduler_core.framework.roles import EvictionObserver
from scheduler_core.framework.runtime import Framework
from scheduler_core.framework.waiting_pods import WaitingPod, WaitingPods
from scheduler_core.model.effects import Attempt, CacheMove, Effects, EventRecord, NodeOrder
from scheduler_core.model.events import ClusterEvent
from scheduler_core.model.status import CODE_NAMES, Status
from scheduler_core.model.types import QueuedPodInfo
from scheduler_core.ports import Draws, LogSink, Recorder, Stopwatch
from scheduler_core.queue.scheduling_queue import SchedulingQueue
from scheduler_core.scheduler.amounts import Keeper
from scheduler_core.scheduler.hints_off import WithoutHints
from scheduler_core.scheduler.recent import Recent
from scheduler_core.scheduler.store import ObjectStore
from scheduler_core.scheduler.watches import Watches
from scheduler_core.scheduler.write_limit import WriteLimit

EventKind = tuple[str, str, str]
"""Type, reason and action of an event."""
SCHEDULED: EventKind = ("Normal", "Scheduled", "Binding")
FAILED_SCHEDULING: EventKind = ("Warning", "FailedScheduling", "Scheduling")


class BindingStage(IntEnum):
    """How far a chosen pod has come."""

    PERMIT = 0
    PRE_BIND = 1
    BIND = 2


@dataclass(slots=True)
class BindingCycle:
    """A pod between its assumption and the verdict on its binding."""

    queued: QueuedPodInfo
    pod: Pod  # with the node name set, as it was assumed
    profile: str
    state: CycleState
    node_name: str
    stage: BindingStage = BindingStage.PERMIT
    next_pre_bind: int = 0  # index of the PreBind plugin to run next
    bind_plugin: str = ""
    awaited_plugin: str = ""  # PreBind plugin whose work must be done first
    deadline: int | None = None  # when that plugin is asked again at the latest
    attempt: Attempt | None = None  # of this step, until the step ends
    started_ns: int | None = None  # by the stopwatch, when the pod was popped; None: by an engine before this one
    is_sampled: bool = False  # its plugins are timed one by one


@dataclass(slots=True)
class Observer:
    """Marks an engine that watches another scheduler at work: it decides, and nothing it decides is carried out.

    `missing_plugins`: what the other scheduler's configuration names and nobody has here. `is_configured`: whether that
    configuration was given. `compares`: whether bindings by others are compared with own decisions. `recent`: what it
    may not have seen yet when it decided. `watches`: what is known of how far it had seen.
    """

    is_configured: bool = False
    missing_plugins: tuple[str, ...] = ()
    compares: bool = True
    recent: Recent = field(default_factory=Recent)
    watches: Watches = field(default_factory=Watches)


@dataclass(slots=True)
class Engine:
    """All state of a scheduler. `percentage_of_nodes_to_score` is the global one; 0 adapts."""

    store: ObjectStore
    cache: Cache
    snapshot: Snapshot
    queue: SchedulingQueue
    frameworks: dict[str, Framework]
    runners: dict[str, Runners]  # by profile
    draws: Draws
    stopwatch: Stopwatch
    log: LogSink
    percentage_of_nodes_to_score: int
    extenders: Extenders
    recorder: Recorder | None = None
    keeper: Keeper | None = None  # None: amounts are kept of no attempt
    timed_frameworks: dict[str, Framework] = field(default_factory=dict)  # for cycles the recorder samples
    waiting_pods: WaitingPods = field(default_factory=WaitingPods)
    bindings: dict[str, BindingCycle] = field(default_factory=dict)  # by pod uid
    restored_bindings: dict[str, str] = field(default_factory=dict)  # pod uid -> node name, until the pod arrives
    restored_attempts: dict[str, int] = field(default_factory=dict)  # by pod uid, until the pod arrives
    observer: Observer | None = None  # None: what the engine decides is carried out
    witness: Callable[[Cycle, PickedNodes], None] | None = None  # looks on between filtering and what follows from it
    write_limit: WriteLimit | None = None  # None: writes as fast as it can
    shared: dict[str, Any] = field(default_factory=dict)  # what plugins of several profiles hold together
    next_start_node_index: int = 0
    now: int = 0
    effects: Effects = field(default_factory=Effects)
    _view: SnapshotView | None = None

    def framework_of(self, cycle: BindingCycle) -> Framework:
        """The cycle's profile, its plugins timed when they were so far."""
        return (self.timed_frameworks if cycle.is_sampled else self.frameworks)[cycle.profile]

    def measure_point(self, point: str, status: Status, profile: str, since: int) -> None:
        """Tell the recorder how long an extension point took since the stopwatch showed `since`."""
        if self.recorder is not None:
            labels = (point, CODE_NAMES[status.code], profile)
            self.recorder.duration("framework_extension_point_duration", labels, self.stopwatch() - since)

    def measure_attempt(self, result: str, profile: str, started_ns: int | None) -> None:
        """Tell the recorder that an attempt ended, unless an engine before this one began it."""
        if self.recorder is not None and started_ns is not None:
            self.recorder.duration("scheduling_attempt_duration", (result, profile), self.stopwatch() - started_ns)

    def node_view(self) -> SnapshotView:
        """The snapshot as the node walk sees it; rebuilt only when the node order changed."""
        snapshot, view = self.snapshot, self._view
        if view is None or view.snapshot_order is not snapshot.order or view.table is not snapshot.table:
            infos = snapshot.list()
            names = tuple(info.name for info in infos)
            digest = hashlib.blake2b("\n".join(names).encode(), digest_size=16).hexdigest()
            order = view.order if view is not None and view.order.digest == digest else NodeOrder(digest, names)
            view = self._view = SnapshotView.of(order, infos, snapshot.order, snapshot.table)
        return view

    def move_all(
        self,
        event: ClusterEvent,
        old: KubeObject | None,
        new: KubeObject | None,
        pre_check: Callable[[Pod], bool] | None = None,
    ) -> None:
        """Let the waiting pods this event may help try again."""
        if self.queue.options.queueing_hints:
            self.queue.move_all_to_active_or_backoff_queue(event, old, new, self.now, pre_check)
        else:
            WithoutHints(self.queue, self.cache).move_all(event, old, new, self.now, pre_check)

    def activate(self, pod_keys: Iterable[str]) -> None:
        """Bring the pods to the active queue, whatever their backoff."""
        pods = [pod for key in sorted(pod_keys) if (pod := self.store.pod(key)) is not None]
        if pods:
            self.queue.activate(pods, self.now)

    def note_change(self, kind: str, old: KubeObject | None, new: KubeObject | None) -> None:
        """Remember what changes now; `kind` is the object's, or `BINDING`."""
        if self.observer is not None:
            self.observer.recent.note(kind, old, new, self.now)

    def eviction_observers(self) -> list[EvictionObserver]:
        """Plugins that want to hear what came of evictions, those of the first profile first."""
        return [plugin for framework in self.frameworks.values() for plugin in framework.eviction_observers]

    def is_assumed(self, pod: Pod) -> bool:
        """Whether the pod is assumed on a node. One without a uid cannot be, which is logged."""
        try:
            return self.cache.is_assumed_pod(pod)
        except CacheError as error:
            self.log("Failed to check whether pod is assumed", {"pod": pod.key, "err": str(error)})
            return False

    @contextmanager
    def log_cache_errors(self, message: str) -> Iterator[None]:
        """Cache errors of event handlers are logged; what follows happens anyway."""
        try:
            yield
        except CacheError as error:
            self.log(message, {"err": str(error)})

    def note_cache_move(self, kind: str, pod: Pod, node_name: str, message: str = "") -> None:
        self.effects.log.append(CacheMove(kind, pod.key, pod.uid, node_name, self.now, message))

    def note_wait(self, pod: Pod, node_name: str, waiting: WaitingPod) -> None:
        plugins = tuple(sorted(waiting.timeouts_us))
        self.effects.log.append(
            CacheMove("waiting", pod.key, pod.uid, node_name, self.now, plugins=plugins, until=waiting.deadline())
        )

    def emit_event(self, kind: EventKind, note: str, pod: Pod, profile: str) -> None:
        """Record an event about the pod, as kubectl describe shows it."""
        self.effects.log.append(EventRecord(*kind, note, Pod.kind, pod.key, pod.uid, profile, self.now))
