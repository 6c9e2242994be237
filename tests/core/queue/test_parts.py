"""The parts the queue is made of: heap, backoff, flights, nominator, the worth of an event, checkpoints of entries."""

from __future__ import annotations

import json
from typing import Any

import pytest

from scheduler_core.api import manifests
from scheduler_core.framework.answers import NominatingInfo, NominatingMode, QueueingHint
from scheduler_core.model.events import FORCE_ACTIVATE, UNSCHEDULABLE_TIMEOUT, ActionType, ClusterEvent, EventResource
from scheduler_core.model.types import QueuedPodInfo
from scheduler_core.ports import discard_log
from scheduler_core.queue.active_queue import InFlight
from scheduler_core.queue.backoff_queue import BackoffQueue
from scheduler_core.queue.checkpoint import dump_entry, load_entry
from scheduler_core.queue.cross_topology import may_be_helped
from scheduler_core.queue.nominator import Nominator
from scheduler_core.queue.options import SECOND_US, QueueCounters, QueueOptions
from scheduler_core.queue.pod_heap import pod_heap
from scheduler_core.queue.worth import Strategy
from tests.builders import make_pod
from tests.cases import cases
from tests.core.queue.rig import LABELLED, NODE_ADDED, POD_DELETED, T0, Refuser, Rig

S = SECOND_US


def entry(name: str = "a", *, sequence: int = 0, **fields: Any) -> QueuedPodInfo:
    return QueuedPodInfo(make_pod(name).build(), T0, sequence=sequence, **fields)


class TestKeyedHeap:
    def test_ties_go_by_sequence(self) -> None:
        heap = pod_heap(lambda info: (0,))
        for name, sequence in (("c", 3), ("a", 1), ("b", 2)):
            heap.put(entry(name, sequence=sequence))
        assert [info.pod.name for info in heap] == ["a", "b", "c"]
        assert [heap.pop().pod.name for _ in range(3)] == ["a", "b", "c"]  # type: ignore[union-attr]
        assert heap.pop() is None and heap.peek() is None

    def test_putting_a_key_again_replaces_and_sorts_anew(self) -> None:
        heap = pod_heap(lambda info: (info.attempts,))
        first = entry("a", attempts=5)
        heap.put(first)
        heap.put(entry("b", attempts=3))
        first.attempts = 1
        heap.put(first)
        assert len(heap) == 2
        assert heap.peek() is first
        assert heap.remove("default/a") is first
        assert heap.remove("default/a") is None
        assert [info.pod.name for info in heap] == ["b"]

    def test_replaced_records_do_not_pile_up(self) -> None:
        heap = pod_heap(lambda info: (info.attempts,))
        info = entry()
        for attempts in range(10_000):
            info.attempts = attempts
            heap.put(info)
        assert len(heap._records) <= 2 * len(heap) + 64


class TestBackoff:
    @staticmethod
    def queue(log: Any = discard_log, **options: Any) -> BackoffQueue:
        return BackoffQueue(QueueOptions(**options), lambda info: (-info.pod.priority,), QueueCounters(), log)

    @pytest.mark.parametrize(
        ("initial", "maximum", "count", "want"),
        [
            (1, 10, 1, 1),
            (1, 10, 4, 8),
            (1, 10, 5, 10),
            (1, 10, 90, 10),
            (3, 10, 2, 6),
            (7, 20, 2, 14),
            (5, 5, 1, 5),
            (10, 1000, 7, 640),
        ],
    )
    def test_backoff_doubles_up_to_its_maximum(self, initial: int, maximum: int, count: int, want: int) -> None:
        queue = self.queue(initial_backoff_us=initial * S, max_backoff_us=maximum * S)
        assert queue.backoff_time(entry(unschedulable_count=count)) == T0 + want * S

    def test_no_failure_or_no_maximum_is_no_backoff(self) -> None:
        assert self.queue().backoff_time(entry()) is None
        assert self.queue(max_backoff_us=0).backoff_time(entry(unschedulable_count=3)) is None

    @pytest.mark.parametrize(
        ("windows", "now", "want"),
        [(True, 2 * S - 1, True), (True, 2 * S, False), (False, S, True), (False, S + 1, False)],
    )
    def test_equality_still_counts_as_backing_off(self, windows: bool, now: int, want: bool) -> None:
        queue = self.queue(pop_from_backoff_q=windows)
        info = entry(unschedulable_count=1)
        assert queue.is_backing_off(info, T0 + now) is want

    def test_within_a_window_priority_decides(self) -> None:
        for windows, want in ((True, ["b", "a"]), (False, ["a", "b"])):
            queue = self.queue(pop_from_backoff_q=windows)
            early = entry("a", unschedulable_count=1, unschedulable_plugins={"X"})
            late = QueuedPodInfo(
                make_pod("b").priority(9).build(), T0 + 1, unschedulable_count=1, unschedulable_plugins={"X"}
            )
            queue.add(early, "E")
            queue.add(late, "E")
            assert [info.pod.name for info in queue.ordinary] == want

    @pytest.mark.parametrize(
        ("first", "text"),
        [
            (True, "BackoffQueue add() was called with a pod that was already in the podBackoffQ"),
            (False, "BackoffQueue add() was called with a pod that was already in the podErrorBackoffQ"),
        ],
        ids=["blamed first", "error first"],
    )
    def test_a_pod_in_the_other_heap_changes_over_uncounted(self, first: bool, text: str) -> None:
        logs: list[str] = []
        counters = QueueCounters()
        queue = BackoffQueue(QueueOptions(), lambda info: (0,), counters, lambda message, fields: logs.append(message))
        info = entry(unschedulable_count=1)
        for blamed in (first, not first):
            info.unschedulable_plugins = {"X"} if blamed else set()
            queue.add(info, "E")
        assert logs == [text]
        assert counters.incoming == {("backoff", "E"): 1}
        assert len(queue) == 1


class TestInFlight:
    def test_a_pod_sees_what_came_after_it(self) -> None:
        flights = InFlight()
        a, b = make_pod("a").build(), make_pod("b").build()
        flights.add_pod(a)
        flights.add_event(NODE_ADDED, None, None)
        flights.add_pod(b)
        flights.add_event(POD_DELETED, a, None)
        assert [each.event for each in flights.events_since(a.uid) or ()] == [NODE_ADDED, POD_DELETED]
        assert [each.event for each in flights.events_since(b.uid) or ()] == [POD_DELETED]
        assert flights.events_since("unknown") is None

    def test_events_nobody_can_want_are_dropped(self) -> None:
        flights = InFlight()
        a, b = make_pod("a").build(), make_pod("b").build()
        flights.add_pod(a)
        flights.add_event(NODE_ADDED, None, None)
        flights.add_pod(b)
        flights.done(b.uid)
        assert len(list(flights)) == 2
        flights.done(a.uid)
        flights.done(a.uid)
        assert list(flights) == [] and len(flights) == 0


class TestNominator:
    def test_an_override_wins_over_the_status_and_moves_to_the_end(self) -> None:
        a, b = make_pod("a").nominated("n1").build(), make_pod("b").nominated("n1").build()
        nominator = Nominator({pod.key: pod for pod in (a, b)}.get, discard_log)
        nominator.add(a)
        nominator.add(b, NominatingInfo())
        nominator.update(a, a)
        assert [ref.name for ref in nominator.refs_for_node("n1")] == ["b", "a"]
        nominator.add(a, NominatingInfo(NominatingMode.OVERRIDE, "n2"))
        assert nominator.node_by_uid == {b.uid: "n1", a.uid: "n2"}

    def test_an_empty_override_is_kept_under_the_empty_name(self) -> None:
        """Upstream's; no node has that name."""
        pod = make_pod("a").build()
        nominator = Nominator({pod.key: pod}.get, discard_log)
        nominator.add(pod, NominatingInfo(NominatingMode.OVERRIDE, ""))
        assert nominator.node_by_uid == {pod.uid: ""}

    def test_an_update_that_knows_of_no_nomination_keeps_the_one_here(self) -> None:
        pod = make_pod("a").build()
        nominator = Nominator({pod.key: pod}.get, discard_log)
        nominator.add(pod, NominatingInfo(NominatingMode.OVERRIDE, "n1"))
        nominator.update(pod, make_pod("a").label(x="y").build())
        assert nominator.node_by_uid == {pod.uid: "n1"}
        nominator.update(make_pod("a").nominated("n1").build(), make_pod("a").build())
        assert nominator.node_by_uid == {}

    @cases(
        "stored, text",
        ("gone", None, "Pod doesn't exist in podLister, aborted adding it to the nominator"),
        ("assigned", make_pod("a").on("n").build(),
         "Pod is already scheduled to a node, aborted adding it to the nominator"),
    )  # fmt: skip
    def test_a_pod_that_is_gone_or_assigned_is_not_nominated(self, stored: Any, text: str) -> None:
        logs: list[str] = []
        nominator = Nominator(lambda key: stored, lambda message, fields: logs.append(message))
        nominator.add(make_pod("a").nominated("n1").build())
        assert logs == [text]
        assert nominator.pods_by_node == {}


class TestWorth:
    @staticmethod
    def failing(*args: Any) -> QueueingHint:
        raise ValueError("no such thing")

    def test_an_error_counts_as_queue_and_is_logged(self) -> None:
        rig = Rig(Refuser(hint=self.failing))
        verdict = rig.queue.requeuing.worth(entry(unschedulable_plugins={"Refuser"}), NODE_ADDED, None, None)
        assert verdict == (Strategy.AFTER_BACKOFF, "Refuser")
        assert (rig.logs[0][0], rig.logs[0][1]["err"]) == ("QueueingHintFn returns error", "no such thing")

    def test_a_profile_without_hints_is_tried_again(self, rig: Rig) -> None:
        info = QueuedPodInfo(make_pod("a").scheduler("other").build(), T0, unschedulable_plugins={"X"})
        assert rig.queue.requeuing.worth(info, NODE_ADDED, None, None).strategy is Strategy.AFTER_BACKOFF
        assert rig.logs[0][0] == "No QueueingHintMap is registered for this profile"

    def test_a_pending_plugin_is_asked_even_after_another_said_queue(self) -> None:
        rig = Rig(Refuser("First"), Refuser("Second"))
        info = entry(unschedulable_plugins={"First", "Second"}, pending_plugins={"Second"})
        assert rig.queue.requeuing.worth(info, NODE_ADDED, None, None) == (Strategy.IMMEDIATELY, "Second")
        info = entry(unschedulable_plugins={"First"}, pending_plugins={"Other"})
        assert rig.queue.requeuing.worth(info, NODE_ADDED, None, None) == (Strategy.AFTER_BACKOFF, "First")

    @cases(
        "event, new, want",
        ("for all", UNSCHEDULABLE_TIMEOUT, None, Strategy.AFTER_BACKOFF),
        ("for this pod", FORCE_ACTIVATE, make_pod("a").build(), Strategy.AFTER_BACKOFF),
        ("for another pod", FORCE_ACTIVATE, make_pod("b").build(), Strategy.SKIP),
    )
    def test_a_wildcard_is_for_all_or_for_one(self, event: ClusterEvent, new: Any, want: Strategy) -> None:
        info = entry(unschedulable_plugins={"Refuser"})
        assert Rig().queue.requeuing.worth(info, event, None, new).strategy is want

    def test_plugins_not_blamed_are_not_asked(self) -> None:
        rig = Rig(Refuser("X", hint=self.failing), Refuser("Y", events=[POD_DELETED]))
        info = entry(unschedulable_plugins={"Y"})
        assert rig.queue.requeuing.worth(info, NODE_ADDED, None, None).strategy is Strategy.SKIP
        assert rig.logs == []


class TestCrossTopology:
    @cases(
        "term, want",
        ("own namespace", {"labelSelector": {"matchLabels": {"app": "x"}}}, True),
        ("other labels", {"labelSelector": {"matchLabels": {"app": "y"}}}, False),
        ("elsewhere", {"labelSelector": {"matchLabels": {"app": "x"}}, "namespaces": ["z"]}, False),
        ("namespace by label",
         {"labelSelector": {"matchLabels": {"app": "x"}}, "namespaceSelector": {"matchLabels": {"team": "a"}}}, True),
        ("bad", {"labelSelector": {"matchExpressions": [{"key": "a", "operator": "Near"}]}}, False),
    )  # fmt: skip
    def test_a_required_term_that_matches(self, term: dict[str, Any], want: bool) -> None:
        affinity = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "k", **term}]}}
        info = QueuedPodInfo(make_pod("a").spec(affinity=affinity).build(), T0)
        assigned = make_pod("x").label(app="x").on("n").build()
        assert may_be_helped(info, assigned, lambda name: {"team": "a"} if name == "default" else {}) is want


def test_an_entry_survives_a_checkpoint_whole() -> None:
    info = QueuedPodInfo(
        pod=make_pod("a").priority(3).gate("g").build(), timestamp=5, attempts=2, initial_attempt_timestamp=4,
        backoff_expiration=9, unschedulable_count=7, consecutive_errors_count=1, unschedulable_plugins={"X", "Y"},
        pending_plugins={"Z"}, gating_plugin="X",
        gating_plugin_events=(ClusterEvent(EventResource.NODE, ActionType.ADD | ActionType.DELETE, "label"),),
        sequence=11,
    )  # fmt: skip
    dumped = json.loads(json.dumps(dump_entry(info, manifests.encode)))
    assert load_entry(dumped, manifests.decode) == info
    assert 0 not in {value for value in dumped.values() if isinstance(value, int)}  # nothing tested by its default


def test_an_entry_in_two_sub_queues_stays_one_through_a_checkpoint() -> None:
    rig = Rig(Refuser(events=[LABELLED]), pop_from_backoff_q=False)
    rig.rejected("a")
    rig.queue.update(make_pod("a").build(), make_pod("a").label(x="y").toleration("k").build(), T0)
    twin = rig.fresh()
    twin.load(rig.queue.dump())
    assert twin.backoff.get("default/a") is twin.unschedulable.get("default/a") is not None
