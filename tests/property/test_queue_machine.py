"""Random operations on the queue against a plain model, and against a copy that went through a checkpoint.

The model knows what is where by simple rules over lists; the queue must agree after every operation. At random points
the queue is dumped and a fresh one loaded; from then on both get every operation and must stay equal.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from scheduler_core.api import manifests
from scheduler_core.model.types import QueuedPodInfo
from scheduler_core.queue.checkpoint import dump_entry, load_entry
from scheduler_core.queue.options import SECOND_US
from scheduler_core.queue.scheduling_queue import SchedulingQueue
from tests.builders import make_pod
from tests.core.queue.rig import NODE_ADDED, T0, Gate, Refuser, Rig
from tests.examples import walks

NAMES = ("a", "b", "c", "d")
pod_names = st.sampled_from(NAMES)


@dataclass
class ModelPod:
    """What the model knows of a pod."""

    priority: int
    timestamp: int
    turn: int
    place: str
    gated_by_spec: bool
    rejections: int = 0
    errors: int = 0
    blamed: set[str] = field(default_factory=set)

    def expiry(self) -> int | None:
        count = self.errors or self.rejections
        if count == 0:
            return None
        seconds = min(10, 2 ** (count - 1))
        return (self.timestamp + seconds * SECOND_US) // SECOND_US * SECOND_US

    def backs_off(self, now: int) -> bool:
        expiry = self.expiry()
        return expiry is not None and expiry >= now // SECOND_US * SECOND_US

    def order(self) -> tuple[int, int, int]:
        return (-self.priority, self.timestamp, self.turn)


class QueueMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.now = T0
        self.turn = 0
        self.last_leftover_tick = -1
        self.rig = Rig(Gate(), Refuser(), Refuser("Deaf", events=()))
        self.queues: list[SchedulingQueue] = [self.rig.queue]
        self.flying: list[dict[str, QueuedPodInfo]] = [{}]
        self.model: dict[str, ModelPod] = {}
        self.seen_event: dict[str, bool] = {}  # pods in flight: whether a node came meanwhile

    # -- operations --------------------------------------------------------------------------------------------------

    @rule(name=pod_names, priority=st.integers(0, 2), gated=st.booleans())
    def add(self, name: str, priority: int, gated: bool) -> None:
        if name in self.model:
            return
        builder = make_pod(name).priority(priority)
        pod = (builder.gate("g") if gated else builder).build()
        for queue in self.queues:
            queue.add(pod, self.now)
        self.turn += 1
        self.model[name] = ModelPod(priority, self.now, self.turn, "gated" if gated else "active", gated)
        if gated:
            self.model[name].blamed.add("Gate")

    @rule()
    def pop(self) -> None:
        got = [queue.pop(self.now) for queue in self.queues]
        actives = self._names("active")
        backoffs = self._names("backoff")
        if actives:
            want = min(actives, key=lambda name: self.model[name].order())
        elif backoffs:
            want = min(backoffs, key=lambda name: (self.model[name].expiry() or 0, *self.model[name].order()))
        else:
            assert got == [None] * len(got)
            return
        assert all(info is not None and info.pod.name == want for info in got)
        for info, flying in zip(got, self.flying, strict=True):
            assert info is not None
            flying[want] = info
        self.model[want].place = "flight"
        self.model[want].blamed = set()
        self.seen_event[want] = False

    @precondition(lambda self: self.seen_event)
    @rule(data=st.data(), plugins=st.sampled_from([(), ("Refuser",), ("Deaf",)]))
    def fail(self, data: st.DataObject, plugins: tuple[str, ...]) -> None:
        name = data.draw(st.sampled_from(sorted(self.seen_event)))
        results = []
        for queue, flying in zip(self.queues, self.flying, strict=True):
            info = flying.pop(name)
            info.unschedulable_plugins = set(plugins)
            results.append(queue.add_unschedulable_if_not_present(info, queue.scheduling_cycle, self.now))
        assert len(set(results)) == 1
        pod = self.model[name]
        pod.timestamp = self.now
        pod.blamed = set(plugins)
        if plugins:
            pod.rejections += 1
            pod.errors = 0
        else:
            pod.errors += 1
        heard = self.seen_event.pop(name)
        if not plugins:
            pod.place = "errors"
        elif heard and plugins == ("Refuser",):
            pod.place = "backoff"
        else:
            pod.place = "unschedulable"

    @precondition(lambda self: self.seen_event)
    @rule(data=st.data())
    def bind(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.seen_event)))
        for queue, flying in zip(self.queues, self.flying, strict=True):
            queue.done(flying.pop(name).uid)
        del self.seen_event[name]
        del self.model[name]

    @rule()
    def node_comes(self) -> None:
        for queue in self.queues:
            queue.move_all_to_active_or_backoff_queue(NODE_ADDED, None, None, self.now)
        for name in self._names("unschedulable"):
            pod = self.model[name]
            if "Refuser" in pod.blamed:
                pod.place = "backoff" if pod.backs_off(self.now) else "active"
        self.seen_event = dict.fromkeys(self.seen_event, True)

    @rule(name=pod_names)
    def open_gate(self, name: str) -> None:
        pod = self.model.get(name)
        if pod is None or pod.place != "gated":
            return
        old = make_pod(name).priority(pod.priority).gate("g").build()
        new = make_pod(name).priority(pod.priority).build()
        for queue in self.queues:
            queue.update(old, new, self.now)
        pod.place, pod.gated_by_spec = "active", False

    @rule(name=pod_names)
    def delete(self, name: str) -> None:
        pod = self.model.get(name)
        if pod is None or pod.place == "flight":
            return
        for queue in self.queues:
            queue.delete(make_pod(name).build(), self.now)
        del self.model[name]

    @rule(name=pod_names)
    def activate(self, name: str) -> None:
        pod = self.model.get(name)
        if pod is None or pod.place == "flight":
            return
        given = make_pod(name).build()
        for queue in self.queues:
            queue.activate([given], self.now)
        if pod.place in ("unschedulable", "backoff", "errors"):
            pod.place = "active"

    @rule(milliseconds=st.sampled_from([1, 400, 1_000, 3_000, 20_000, 400_000]))
    def time_goes_by(self, milliseconds: int) -> None:
        self.now += milliseconds * 1_000
        for queue in self.queues:
            queue.run_due_flushes(self.now)
        for name in self._names("backoff", "errors"):
            if not self.model[name].backs_off(self.now):
                self.model[name].place = "active"
        tick = self.now // (30 * SECOND_US)
        if tick == self.last_leftover_tick:
            return
        self.last_leftover_tick = tick
        overdue = [
            name
            for name in self._names("unschedulable", "gated")
            if self.now - self.model[name].timestamp > 300 * SECOND_US
        ]
        for name in overdue:
            if self.model[name].place == "unschedulable":
                self.model[name].place = "active"
        if overdue:
            self._wildcard_in_flight()

    def _wildcard_in_flight(self) -> None:
        # The model does not follow the wildcard: whoever is in flight then is let go.
        for name in sorted(self.seen_event):
            for queue, flying in zip(self.queues, self.flying, strict=True):
                queue.done(flying.pop(name).uid)
            del self.model[name]
        self.seen_event.clear()

    @precondition(lambda self: len(self.queues) == 1)
    @rule()
    def fork_through_a_checkpoint(self) -> None:
        dumped = json.loads(json.dumps(self.queues[0].dump()))
        twin = self.rig.fresh()
        twin.load(dumped)
        self.queues.append(twin)
        flying = {
            name: load_entry(json.loads(json.dumps(dump_entry(info, manifests.encode))), manifests.decode)
            for name, info in self.flying[0].items()
        }
        self.flying.append(flying)

    # -- what must hold ------------------------------------------------------------------------------------------------

    @invariant()
    def everything_is_where_the_model_says(self) -> None:
        keys = self.rig.keys()
        for place, names in keys.items():
            assert sorted(names) == self._names(place)

    @invariant()
    def order_and_backoff_are_as_the_model_says(self) -> None:
        for queue in self.queues:
            active = sorted(self._names("active"), key=lambda name: self.model[name].order())
            assert [info.pod.name for info in queue.active.heap] == active
            backoff = sorted(
                self._names("backoff"), key=lambda name: (self.model[name].expiry() or 0, *self.model[name].order())
            )
            assert [info.pod.name for info in queue.backoff.ordinary] == backoff
            for name, pod in self.model.items():
                info = queue.get(f"default/{name}")
                if info is not None:
                    assert queue.backoff.backoff_time(info) == pod.expiry()
                    assert queue.backoff.is_backing_off(info, self.now) == pod.backs_off(self.now)

    @invariant()
    def gauges_are_right(self) -> None:
        queue = self.queues[0]
        assert queue.pending() == queue.sizes()
        assert len(queue.active.in_flight) == len(self.seen_event)

    @invariant()
    def the_twin_is_equal(self) -> None:
        first, *others = [self._plain(queue) for queue in self.queues]
        assert all(other == first for other in others)
        assert len({queue.next_due() for queue in self.queues}) == 1

    def _names(self, *places: str) -> list[str]:
        return sorted(name for name, pod in self.model.items() if pod.place in places)

    @staticmethod
    def _plain(queue: SchedulingQueue) -> dict[str, Any]:
        return json.loads(json.dumps(queue.dump()))  # type: ignore[no-any-return]


TestQueueMachine = QueueMachine.TestCase
TestQueueMachine.settings = walks(25, steps=40)
