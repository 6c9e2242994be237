"""Level 2 of scheduler_perf: the scheduler with an API server in memory, under a clock that never waits.

The clock runs while the scheduler and the controllers work and the API server carries out what they ask for. It stands
still while an operation writes, and jumps over time in which nothing happens. So a minute of waiting takes no minute,
and rates are those of a scheduler that waits. As in upstream's benchmark there are no kubelets: nothing starts a pod,
and a deleted pod is gone at once only without a grace period. With devices, claims are made from templates and taken
back.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from scheduler_core.api.pod import Pod
from scheduler_core.apiserver.answers import Outcome, Refused
from scheduler_core.apiserver.requests import Create, Delete, ObjectKey, Request
from scheduler_core.apiserver.requests import Update as UpdateRequest
from scheduler_core.build import build
from scheduler_core.controllers.controller import ClusterOptions, Controller
from scheduler_core.controllers.garbage import GarbageCollector
from scheduler_core.controllers.resource_claims import ResourceClaimController
from scheduler_core.model.changes import Change, ObjectDeleted, ObjectPut
from scheduler_core.ports import SeededDraws, Stopwatch
from scheduler_core.scheduler.scheduler import Budget
from scheduler_core.sim.world import World
from tools.bench.engine.keeping import STEP_CYCLES
from tools.bench.engine.prepare import NOW_US, SEED
from tools.bench.scheduler_perf import manifests
from tools.bench.scheduler_perf.ports import Manifest, OnScheduled
from tools.bench.scheduler_perf.problems import WorkloadFailed
from tools.bench.scheduler_perf.tickers import Tickers

TIMEOUT_US: Final = 600_000_000  # of waiting for pods, upstream's
_STEP: Final = Budget(max_cycles=STEP_CYCLES)
_POD_SCHEDULED: Final = "PodScheduled"


@dataclass(slots=True)
class _Seen:
    """A pod as it was last seen."""

    namespace: str
    name: str
    labels: Mapping[str, str]
    is_scheduled: bool = False
    is_attempted: bool = False

    def has(self, labels: Mapping[str, str]) -> bool:
        return labels.items() <= self.labels.items()


class PodWatch:
    """Follows the pods, as an informer does. `on_scheduled` hear of each pod that got its node."""

    name = actor = "pod-watch"
    group = "kubelet"

    def __init__(self) -> None:
        self.on_scheduled: list[OnScheduled] = []
        self._pods: dict[str, dict[str, _Seen]] = {}  # by namespace and uid
        self._scheduled: dict[str, int] = {}  # by namespace

    def step(self, now: int, changes: Sequence[Change]) -> list[Request]:
        for change in changes:
            if isinstance(change, ObjectPut) and isinstance(change.obj, Pod):
                self._put(change.obj, now)
            elif isinstance(change, ObjectDeleted) and change.kind == Pod.kind:
                gone = self._pods.get(change.namespace, {}).pop(change.uid, None)
                if gone is not None and gone.is_scheduled:
                    self._scheduled[change.namespace] -= 1
        return []

    def next_due(self) -> None:
        return None

    def scheduled(self, namespace: str, labels: Mapping[str, str]) -> int:
        if not labels:
            return self._scheduled.get(namespace, 0)
        return sum(pod.is_scheduled for pod in self._of(namespace, labels))

    def attempted(self, namespace: str, labels: Mapping[str, str]) -> int:
        return sum(pod.is_attempted or pod.is_scheduled for pod in self._of(namespace, labels))

    def _of(self, namespace: str, labels: Mapping[str, str]) -> Iterator[_Seen]:
        return (pod for pod in self._pods.get(namespace, {}).values() if pod.has(labels))

    def _put(self, pod: Pod, now: int) -> None:
        pods = self._pods.setdefault(pod.namespace, {})
        seen = pods.get(pod.uid)
        if seen is None:
            seen = pods[pod.uid] = _Seen(pod.namespace, pod.name, pod.labels)
        seen.labels = pod.labels
        seen.is_attempted = any(each.type == _POD_SCHEDULED for each in pod.status.conditions or ())
        if pod.spec.node_name and not seen.is_scheduled:
            seen.is_scheduled = True
            self._scheduled[pod.namespace] = self._scheduled.get(pod.namespace, 0) + 1
            for told in self.on_scheduled:
                told(pod.namespace, pod.name, pod.labels, now)


class Cluster:
    """One cluster at level 2. `clock` tells nanoseconds; `collect` is called before a measurement begins.

    The clock is read twice a step. The scheduler's own stopwatch is another one, because it is read for every hint.
    """

    def __init__(
        self,
        clock: Stopwatch,
        gates: Mapping[str, bool],
        *,
        has_devices: bool,
        collect: Callable[[], None] = lambda: None,
    ) -> None:
        self.watch = PodWatch()
        self.busy_ns = 0
        self._clock = clock
        self._collect = collect
        self._idle_us = 0
        self._more = False
        self._tickers = Tickers()
        self._priorities: set[int] = set()
        scheduler = build(None, draws=SeededDraws(SEED), stopwatch=time.perf_counter_ns, feature_gates=gates)
        controllers: list[Controller] = [self.watch]
        if has_devices:
            options = ClusterOptions(started_at=NOW_US)
            controllers += [GarbageCollector(options), ResourceClaimController(options)]
        self._world = World(scheduler, controllers, now=NOW_US, plugins=frozenset())

    @property
    def now(self) -> int:
        """The cluster's time in microseconds."""
        return NOW_US + self.busy_ns // 1000 + self._idle_us

    def settle(self) -> None:
        self._collect()

    # What operations do: the clock stands still

    def create(self, objects: Sequence[Manifest]) -> list[str]:
        names: list[str] = []
        for at in range(0, len(objects), STEP_CYCLES):
            if at:
                self._step()
            ready = [self._ready(each) for each in objects[at : at + STEP_CYCLES]]
            names += [answer["metadata"]["name"] for answer in self._done(*map(Create, ready))]
        return names

    def update(self, kind: str, namespace: str, manifest: Manifest, subresources: Collection[str]) -> None:
        key = ObjectKey(kind, namespace, manifest["metadata"]["name"])
        ready = self._ready(manifest)
        for subresource in (*(subresources or ("",)), "status"):
            self._done(UpdateRequest(key, ready, subresource))

    def write_status(self, kind: str, namespace: str, name: str, status: Manifest) -> None:
        key = ObjectKey(kind, namespace, name)
        stored = self._world.store.get(key)
        assert stored is not None  # it was listed, or has just been made
        self._done(UpdateRequest(key, {**stored, "status": status}, "status"))

    def delete(self, kind: str, namespace: str, name: str, grace_seconds: int | None = None) -> None:
        self._world.now = self.now
        self._world.request(Delete(ObjectKey(kind, namespace, name), grace_seconds))

    def objects(self, kind: str, namespace: str = "") -> list[Manifest]:
        return list(self._world.store.list(kind, namespace=namespace))

    def pod_names(self, namespace: str, labels: Mapping[str, str]) -> list[str]:
        metadata = [each["metadata"] for each in self.objects(Pod.kind, namespace)]
        return [each["name"] for each in metadata if labels.items() <= (each.get("labels") or {}).items()]

    def every(self, seconds: float, tick: Callable[[], bool]) -> None:
        self._tickers.add(self.now, seconds, tick)

    # Time

    def run_until(self, met: Callable[[], bool], what: str, deadline: int | None = None) -> None:
        last = self.now + TIMEOUT_US
        while not met():
            if deadline is not None and self.now >= deadline:
                return
            if self.now >= last:
                raise WorkloadFailed(f"{what}: not within {TIMEOUT_US // 1_000_000} s")
            self._tickers.fire(self.now)
            if not (self._more or self._world.has_changes):
                self._world.now = self.now
                due = self._next_due(deadline)
                if due is None:
                    raise WorkloadFailed(f"{what}: nothing more will happen")
                if due > self.now:
                    self._idle_us += due - self.now
                    continue
            self._step()

    def _next_due(self, deadline: int | None) -> int | None:
        times = [self._world.next_due(), deadline, self._tickers.next_at()]
        return min((time for time in times if time is not None), default=None)

    def _step(self) -> None:
        self._world.now = self.now
        started = self._clock()
        self._more = self._world.step(_STEP).more
        self.busy_ns += self._clock() - started

    def _ready(self, manifest: Manifest) -> Manifest:
        """With a class for its priority, which is made before."""
        ready, priority = manifests.with_class(manifest)
        if priority is not None and priority not in self._priorities:
            self._priorities.add(priority)
            self._done(Create(manifests.priority_class(priority)))
        return ready

    def _done(self, *requests: Request) -> list[Manifest]:
        self._world.now = self.now
        made: list[Manifest] = []
        for answer in self._world.request(*requests):
            if isinstance(answer, Refused):
                raise WorkloadFailed(f"the API server refuses: {answer.status.message}")
            assert isinstance(answer, Outcome) and isinstance(answer.answer, dict)  # of a creation or an update
            made.append(answer.answer)
        return made
