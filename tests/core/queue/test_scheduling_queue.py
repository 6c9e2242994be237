"""The operations of the queue, and the acceptance checks it was specified with."""

# Longer than 400 lines because it has a class for each method of the queue.

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from scheduler_core.framework.interface import NominatingInfo, NominatingMode, QueueingHint
from scheduler_core.model.events import UNSCHEDULABLE_TIMEOUT, ActionType, ClusterEvent, EventResource
from scheduler_core.queue.options import SECOND_US
from tests.builders import make_node, make_pod
from tests.core.queue.rig import NODE_ADDED, POD_DELETED, T0, Gate, Refuser, Rig

S = SECOND_US
MINUTE = 60 * S


class TestPop:
    def test_higher_priority_comes_first_then_who_came_first(self) -> None:
        rig = Rig()
        for name, priority in (("low", 5), ("first", 10), ("second", 10)):
            rig.queue.add(make_pod(name).priority(priority).build(), T0)

        assert [rig.pop().pod.name for _ in range(3)] == ["first", "second", "low"]
        assert rig.queue.scheduling_cycle == 3

    def test_nothing_is_given_when_nothing_waits(self) -> None:
        assert Rig().queue.pop(T0) is None

    def test_a_pod_in_ordinary_backoff_is_given_when_nothing_is_active(self) -> None:
        rig = Rig()
        rig.rejected("a")
        rig.move()
        assert rig.where("a") == "backoff"

        assert rig.queue.has_next
        assert rig.pop().pod.name == "a"
        assert rig.queue.counters.incoming["active", "PopFromBackoffQ"] == 1

    def test_a_pod_in_ordinary_backoff_waits_when_popping_it_is_off(self) -> None:
        rig = Rig(pop_from_backoff_q=False)
        rig.rejected("a")
        rig.move()

        assert not rig.queue.has_next
        assert rig.queue.pop(T0) is None

    def test_a_pod_in_error_backoff_waits(self) -> None:
        rig = Rig()
        rig.queue.add(make_pod("a").build(), T0)
        assert rig.fail(rig.pop()).to == "Backoff"

        assert rig.where("a") == "errors"
        assert rig.queue.pop(T0) is None

    def test_blame_and_gate_of_the_last_attempt_are_forgotten(self) -> None:
        rig = Rig()
        rig.rejected("a")
        assert rig.queue.counters.unschedulable_by_plugin == {("Refuser", "default-scheduler"): 1}
        rig.move()

        info = rig.pop()
        assert (info.attempts, info.blamed_plugins, info.gating_plugin) == (2, set(), "")
        assert rig.queue.counters.unschedulable_by_plugin == {}

    def test_a_pod_in_flight_met_again_is_dropped(self) -> None:
        rig = Rig()
        pod = make_pod("a").build()
        rig.queue.add(pod, T0)
        rig.pop()
        rig.queue.add(pod, T0)
        rig.queue.add(make_pod("b").build(), T0)

        assert rig.pop().pod.name == "b"
        assert rig.where("a") == ""
        assert rig.queue.scheduling_cycle == 2
        assert [(move.to, move.event) for move in rig.moves if move.pod_key == "default/a"][-1] == ("", "Discarded")
        message = "The same pod is tracked in multiple places in the scheduler, and just discard it"
        assert rig.logs == [(message, {"pod": "default/a", "err": None})]

    def test_adding_a_queued_pod_again_starts_it_afresh(self) -> None:
        rig = Rig()
        rig.rejected("a")
        rig.move()
        rig.queue.add(make_pod("a").build(), T0)

        assert rig.where("a") == "active"
        assert rig.pop().attempts == 1


class TestPopPod:
    @pytest.mark.parametrize("event", [None, NODE_ADDED], ids=["unschedulable", "in backoff"])
    def test_a_pod_is_taken_from_wherever_it_waits(self, event: ClusterEvent | None) -> None:
        rig = Rig()
        rig.rejected("a")
        if event is not None:
            rig.move(event)

        info = rig.queue.pop_pod("default/a", T0)
        assert info is not None and info.attempts == 2
        assert rig.where("a") == ""

    def test_a_gated_pod_stays(self) -> None:
        rig = Rig()
        rig.queue.add(make_pod("a").gate("g").build(), T0)

        assert rig.queue.pop_pod("default/a", T0) is None
        assert rig.where("a") == "gated"


class TestFailure:
    def test_rejections_back_off_ever_longer(self) -> None:
        rig = Rig()
        rig.queue.add(make_pod("a").build(), T0)
        waits = []
        for _ in range(6):
            info = rig.pop()
            rig.fail(info, "Refuser")
            expiry = rig.queue.backoff.backoff_time(info)
            assert expiry is not None
            waits.append((expiry - T0) // S)
            rig.move()

        assert waits == [1, 2, 4, 8, 10, 10]

    def test_an_error_counts_by_itself_and_a_rejection_goes_on_where_it_was(self) -> None:
        rig = Rig()
        rig.queue.add(make_pod("a").build(), T0)
        waits = []
        for plugins in (["Refuser"], ["Refuser"], ["Refuser"], [], ["Refuser"]):
            info = rig.queue.pop_pod("default/a", T0)
            assert info is not None
            rig.fail(info, *plugins)
            waits.append((rig.queue.backoff.backoff_time(info) or 0) - T0)

        assert waits == [1 * S, 2 * S, 4 * S, 1 * S, 8 * S]

    @pytest.mark.parametrize(
        ("added", "want"),
        [pytest.param("8", "Backoff", id="room"), pytest.param("1", "Unschedulable", id="too small")],
    )
    def test_a_node_added_while_in_flight_counts_when_the_pod_comes_back(self, added: str, want: str) -> None:
        def has_room(pod: Any, old: Any, new: Any) -> QueueingHint:
            return QueueingHint.QUEUE if new.status.allocatable["cpu"].value() >= 4 else QueueingHint.SKIP

        rig = Rig(Refuser("NodeResourcesFit", hint=has_room))
        rig.queue.add(make_pod("a").build(), T0)
        info = rig.pop()
        rig.move(new=make_node("n").capacity(cpu=added).build())

        assert rig.fail(info, "NodeResourcesFit").to == want
        if want == "Backoff":
            assert rig.moves[-1].hint_plugin == "NodeResourcesFit"
        assert list(rig.queue.active.in_flight) == []

    def test_an_event_nobody_registered_is_not_kept(self) -> None:
        rig = Rig()
        rig.queue.add(make_pod("a").build(), T0)
        rig.pop()
        rig.move(POD_DELETED)

        assert rig.queue.move_request_cycle == -1
        assert len(list(rig.queue.active.in_flight)) == 1

    def test_a_pending_plugin_brings_the_pod_back_at_once(self) -> None:
        rig = Rig()
        rig.queue.add(make_pod("a").build(), T0)
        info = rig.pop()
        rig.move()

        assert rig.fail(info, "Refuser", pending=["Refuser"]).to == "Active"

    @pytest.mark.parametrize(
        ("place", "text"),
        [
            ("unschedulable", "Pod default/a is already present in unschedulable queue"),
            ("active", "Pod default/a is already present in the active queue"),
            ("backoff", "Pod default/a is already present in the backoff queue"),
        ],
    )
    def test_a_pod_queued_already_is_refused_and_its_flight_ends(self, place: str, text: str) -> None:
        rig = Rig()
        rig.queue.add(make_pod("a").build(), T0)
        info = rig.pop()
        rig.queue.add(make_pod("a", uid="other").build(), T0)
        if place != "active":
            rig.fail(rig.pop(), "Refuser")
        if place == "backoff":
            rig.move()

        requeued = rig.fail(info, "Refuser")
        assert (requeued.to, requeued.error) == ("", text)
        assert info.uid not in rig.queue.active.in_flight

    def test_a_pod_not_in_flight_is_tried_again_soon_and_logged(self) -> None:
        rig = Rig()
        rig.queue.add(make_pod("a").build(), T0)
        info = rig.pop()
        rig.queue.done(info.uid)

        assert rig.fail(info, "Refuser").to == "Backoff"
        (message, fields) = rig.logs[-1]
        assert f"{message}: {fields['err']}" == (
            "Error getting cluster events for pod: in flight Pod isn't found in the scheduling queue."
            " If you see this error log, it's likely a bug in the scheduler"
        )

    def test_a_recreated_pod_leaves_the_old_uid_in_flight(self) -> None:
        """Upstream's: the entry got the new pod before it came back."""
        rig = Rig()
        rig.queue.add(make_pod("a", uid="old").build(), T0)
        info = rig.pop()
        info.pod = make_pod("a", uid="new").build()
        rig.fail(info, "Refuser")

        assert "old" in rig.queue.active.in_flight


class TestGates:
    def test_a_gated_pod_survives_the_flush_and_enters_when_its_last_gate_goes(self) -> None:
        rig = Rig()
        gated, free = make_pod("a").gate("g").build(), make_pod("a").build()
        rig.queue.add(gated, T0)
        assert rig.where("a") == "gated"
        rig.queue.flush_unschedulable_pods_leftover(T0 + 6 * MINUTE)
        assert rig.where("a") == "gated"

        rig.queue.update(gated, free, T0 + 7 * MINUTE)
        assert rig.where("a") == "active"
        info = rig.pop()
        assert (info.initial_attempt_timestamp, info.timestamp) == (T0 + 7 * MINUTE, T0)

    def test_a_gate_is_counted_at_every_refusal_and_taken_off_once(self) -> None:
        """Upstream's drift of the gauge, kept."""
        rig = Rig()
        pod = make_pod("a").gate("g").build()
        rig.queue.add(pod, T0)
        rig.queue.activate([pod], T0)
        assert rig.queue.counters.unschedulable_by_plugin == {("Gate", "default-scheduler"): 2}
        rig.queue.delete(pod, T0)
        assert rig.queue.counters.unschedulable_by_plugin == {("Gate", "default-scheduler"): 2}
        assert rig.queue.pending()["gated"] == 0

    def test_a_waiting_pod_that_becomes_gated_stays_in_its_gauge(self) -> None:
        """Upstream's drift of the gauge, kept; the sizes are right."""
        rig = Rig()
        rig.rejected("a")
        gated = make_pod("a").gate("g").build()
        info = rig.queue.get("default/a")
        assert info is not None
        info.pod = gated
        rig.queue.activate([gated], T0)

        assert rig.where("a") == "gated"
        assert rig.moves[-1].to == "gated"
        assert (rig.queue.pending()["unschedulable"], rig.queue.sizes()["gated"]) == (1, 1)
        rig.queue.delete(gated, T0)
        assert (rig.queue.pending()["unschedulable"], rig.queue.pending()["gated"]) == (1, -1)

    def test_events_the_gate_did_not_register_leave_the_pod(self) -> None:
        rig = Rig()
        rig.queue.add(make_pod("a").gate("g").build(), T0)
        rig.move()
        assert rig.where("a") == "gated"
        assert rig.queue.counters.unschedulable_by_plugin == {("Gate", "default-scheduler"): 1}

    def test_backoff_asks_the_gates_where_it_may_be_popped_from(self) -> None:
        rig = Rig()
        info = rig.rejected("a")
        info.pod = make_pod("a").gate("g").build()
        rig.move()
        assert rig.where("a") == "gated"

    def test_without_popping_from_backoff_the_flush_asks_the_gates(self) -> None:
        rig = Rig(pop_from_backoff_q=False)
        info = rig.rejected("a")
        info.pod = make_pod("a").gate("g").build()
        rig.move()
        assert rig.where("a") == "backoff"
        rig.queue.flush_backoff_q_completed(T0 + 3 * S)
        assert rig.where("a") == "gated"


class TestUpdate:
    @pytest.mark.parametrize("place", ["active", "backoff", "errors"])
    def test_a_waiting_pod_is_swapped_and_sorted_anew(self, place: str) -> None:
        rig = Rig()
        for name in ("a", "b"):
            rig.queue.add(make_pod(name).build(), T0)
        if place != "active":
            for info in (rig.pop(), rig.pop()):
                rig.fail(info, *(("Refuser",) if place == "backoff" else ()))
            rig.move()
        assert rig.keys()[place] == ["a", "b"]

        rig.queue.update(make_pod("b").build(), make_pod("b").priority(9).build(), T0)
        assert rig.keys()[place] == (["a", "b"] if place == "errors" else ["b", "a"])
        assert rig.queue.get("default/b").pod.priority == 9  # type: ignore[union-attr]

    def test_a_change_a_hint_wants_moves_a_refused_pod(self) -> None:
        labels = ClusterEvent(EventResource.POD, ActionType.UPDATE_POD_LABEL)
        rig = Rig(Refuser(events=[labels]))
        rig.rejected("a")
        rig.queue.update(make_pod("a").build(), make_pod("a").label(x="y").build(), T0)

        assert rig.where("a") == "backoff"
        assert rig.moves[-1].event == "UnschedulablePodUpdatePodLabel"

    def test_a_change_nobody_registered_swaps_the_pod_only(self) -> None:
        rig = Rig()
        rig.rejected("a")
        new = make_pod("a").annotation({"x": "y"}).build()
        rig.queue.update(make_pod("a").build(), new, T0)

        assert rig.where("a") == "unschedulable"
        assert rig.queue.get("default/a").pod is new  # type: ignore[union-attr]

    def test_a_pod_in_flight_keeps_its_changes_for_later(self) -> None:
        labels = ClusterEvent(EventResource.POD, ActionType.UPDATE_POD_LABEL)
        rig = Rig(Refuser(events=[labels]))
        rig.queue.add(make_pod("a").build(), T0)
        info = rig.pop()
        rig.queue.update(make_pod("a").build(), make_pod("a").label(x="y").build(), T0)

        assert rig.where("a") == ""
        assert rig.fail(info, "Refuser").to == "Backoff"

    def test_an_unknown_pod_is_queued(self) -> None:
        rig = Rig()
        rig.queue.update(make_pod("a").build(), make_pod("a").build(), T0)
        assert rig.where("a") == "active"
        assert rig.queue.counters.incoming == {("active", "UnschedulablePodUpdate"): 1}

    def test_two_changes_can_put_a_pod_into_two_sub_queues(self) -> None:
        """Upstream's, with pop-from-backoff off: after a move to backoff the next change is asked about too."""
        labels = ClusterEvent(EventResource.POD, ActionType.UPDATE_POD_LABEL)
        rig = Rig(Refuser(events=[labels]), pop_from_backoff_q=False)
        rig.rejected("a")
        rig.queue.update(make_pod("a").build(), make_pod("a").label(x="y").toleration("k").build(), T0)
        assert rig.where("a") == "backoff+unschedulable"


class TestDelete:
    @pytest.mark.parametrize("place", ["active", "backoff", "unschedulable", "gated"])
    def test_the_pod_is_gone_from_where_it_waited(self, place: str) -> None:
        rig = Rig()
        pod = (make_pod("a").gate("g") if place == "gated" else make_pod("a")).build()
        rig.queue.add(pod, T0)
        if place in ("backoff", "unschedulable"):
            rig.fail(rig.pop(), "Refuser")
        if place == "backoff":
            rig.move()
        assert rig.where("a") == place

        rig.queue.delete(pod, T0)
        assert rig.where("a") == ""
        assert rig.queue.pending() == {"active": 0, "backoff": 0, "unschedulable": 0, "gated": 0}
        assert (rig.moves[-1].to, rig.moves[-1].event) == ("", "UnschedulablePodDelete")

    def test_an_unknown_pod_is_no_matter(self) -> None:
        rig = Rig()
        rig.queue.delete(make_pod("a").build(), T0)
        assert rig.moves == []


class TestActivate:
    def test_backoff_is_skipped_and_its_expiry_kept(self) -> None:
        rig = Rig()
        info = rig.rejected("a")
        rig.move()
        rig.queue.activate([info.pod], T0)

        assert rig.where("a") == "active"
        assert rig.queue.backoff.is_backing_off(info, T0)
        assert rig.queue.move_request_cycle == 1  # from the move; activating does not touch it

    def test_a_pod_in_flight_hears_of_it(self) -> None:
        rig = Rig()
        rig.queue.add(make_pod("a").build(), T0)
        rig.queue.add(make_pod("b").build(), T0)
        a, b = rig.pop(), rig.pop()
        rig.queue.activate([a.pod], T0)

        assert rig.fail(b, "Refuser").to == "Unschedulable"
        assert rig.fail(a, "Refuser").to == "Backoff"
        assert rig.queue.move_request_cycle == 2


class TestMoveAll:
    def test_a_pre_check_limits_who_is_asked_but_not_who_is_in_flight(self) -> None:
        rig = Rig()
        rig.rejected("a")
        rig.rejected("b")
        rig.queue.add(make_pod("c").build(), T0)
        info = rig.pop()
        rig.move(pre_check=lambda pod: pod.name == "b")

        assert (rig.where("a"), rig.where("b")) == ("unschedulable", "backoff")
        assert rig.fail(info, "Refuser").to == "Backoff"

    def test_pods_are_visited_by_name(self) -> None:
        rig = Rig()
        for name in ("b", "c", "a"):
            rig.rejected(name)
        del rig.moves[:]
        rig.move()
        assert [move.pod_key for move in rig.moves] == ["default/a", "default/b", "default/c"]

    def test_a_pod_whose_backoff_is_over_becomes_active(self) -> None:
        rig = Rig()
        rig.rejected("a")
        rig.move(now=T0 + 2 * S)
        assert rig.where("a") == "active"

    def test_moves_leave_timestamp_alone(self) -> None:
        rig = Rig()
        info = rig.rejected("a")
        rig.move(now=T0 + 5 * S)
        assert info.timestamp == T0

    def test_the_record_says_what_moved_the_pod_where(self) -> None:
        rig = Rig()
        rig.rejected("a")
        rig.move()
        last = rig.moves[-1]
        assert (last.to, last.event, last.hint_plugin) == ("backoff", "NodeAdd", "Refuser")
        assert (last.backoff_expiration, last.plugins, last.attempts) == (T0 + S, ("Refuser",), 1)


class TestFlushes:
    @pytest.mark.parametrize(
        ("failed_at", "stays", "leaves"),
        [
            pytest.param(12_700_000, 13_999_999, 14_000_000, id="within a second"),
            pytest.param(12_000_000, 13_999_999, 14_000_000, id="on the second"),
        ],
    )
    def test_backoff_ends_in_whole_seconds(self, failed_at: int, stays: int, leaves: int) -> None:
        rig = Rig()
        rig.queue.add(make_pod("a").build(), failed_at)
        rig.fail(rig.pop(failed_at), now=failed_at)

        rig.queue.flush_backoff_q_completed(stays)
        assert rig.where("a") == "errors"
        assert rig.queue.next_due() == leaves
        rig.queue.flush_backoff_q_completed(leaves)
        assert rig.where("a") == "active"
        assert rig.moves[-1].event == "BackoffComplete"

    def test_pods_wait_five_minutes_for_an_event(self) -> None:
        rig = Rig()
        rig.rejected("a")
        rig.queue.flush_unschedulable_pods_leftover(T0 + 5 * MINUTE)
        assert rig.where("a") == "unschedulable"
        rig.queue.flush_unschedulable_pods_leftover(T0 + 5 * MINUTE + 1)
        assert rig.where("a") == "active"
        assert rig.moves[-1].event == "UnschedulableTimeout"

    def test_five_minutes_that_end_with_a_flush_are_not_over(self) -> None:
        rig = Rig()
        rig.rejected("a", now=1_020 * S)
        assert rig.queue.next_due() == 1_350 * S  # at 1,320 s, when there is a flush, it is five minutes and no more
        rig.queue.run_due_flushes(1_320 * S)
        assert rig.where("a") == "unschedulable"
        rig.queue.run_due_flushes(1_350 * S - 1)
        assert rig.where("a") == "unschedulable"
        rig.queue.run_due_flushes(1_350 * S)
        assert rig.where("a") == "active"

    def test_the_leftover_flush_counts_for_pods_in_flight(self) -> None:
        """Upstream's: a refused pod in flight during such a flush comes back to backoff."""
        rig = Rig()
        rig.rejected("a")
        rig.queue.add(make_pod("b").build(), T0)
        info = rig.pop()
        rig.queue.flush_unschedulable_pods_leftover(T0 + 6 * MINUTE)
        assert rig.fail(info, "Refuser", now=T0 + 6 * MINUTE).to == "Backoff"

    def test_flushes_run_once_per_tick(self) -> None:
        rig = Rig()
        rig.queue.run_due_flushes(T0)
        rig.rejected("a")
        rig.move()
        rig.queue.run_due_flushes(T0 + 2 * S - 1)
        assert rig.where("a") == "backoff"
        rig.queue.run_due_flushes(T0 + 2 * S)
        assert rig.where("a") == "active"

    def test_next_due_is_when_a_flush_changes_something(self) -> None:
        rig = Rig()
        assert rig.queue.next_due() is None
        rig.queue.add(make_pod("g").gate("g").build(), T0)
        assert rig.queue.next_due() is None  # only an event can free it
        rig.rejected("a")
        due = rig.queue.next_due()
        assert due == 1_320 * S  # 1,300 s are not enough, and flushes come every 30 s
        rig.queue.run_due_flushes(due)
        assert rig.where("a") == "active"
        assert rig.queue.next_due() is None

    def test_a_gated_pod_is_due_while_something_is_in_flight(self) -> None:
        """Its flush is a wildcard event for those in flight."""
        rig = Rig()
        rig.queue.add(make_pod("g").gate("g").build(), T0)
        rig.queue.add(make_pod("a").build(), T0)
        rig.pop()
        due = rig.queue.next_due()
        assert due is not None
        rig.queue.run_due_flushes(due)
        assert [entry.event for entry in list(rig.queue.active.in_flight)[1:]] == [UNSCHEDULABLE_TIMEOUT]  # type: ignore[union-attr]
        assert rig.queue.next_due() == due + 30 * S


class TestHintsOff:
    @pytest.mark.parametrize(
        ("moved", "want"), [pytest.param(True, "Backoff", id="moved"), pytest.param(False, "Unschedulable", id="not")]
    )
    def test_a_move_request_during_the_cycle_sends_the_pod_to_backoff(self, moved: bool, want: str) -> None:
        rig = Rig(queueing_hints=False)
        rig.queue.add(make_pod("a").build(), T0)
        info = rig.pop()
        if moved:
            rig.move()
        assert rig.fail(info, "Refuser").to == want

    def test_an_error_goes_to_backoff_always(self) -> None:
        rig = Rig(queueing_hints=False)
        rig.queue.add(make_pod("a").build(), T0)
        assert rig.fail(rig.pop()).to == "Backoff"

    def test_hints_are_not_asked(self) -> None:
        rig = Rig(Refuser(hint=lambda *_: QueueingHint.SKIP), queueing_hints=False)
        rig.rejected("a")
        rig.move()
        assert rig.where("a") == "backoff"

    def test_an_update_in_flight_queues_the_pod_twice(self) -> None:
        rig = Rig(queueing_hints=False)
        rig.queue.add(make_pod("a").build(), T0)
        info = rig.pop()
        rig.queue.update(make_pod("a").build(), make_pod("a").label(x="y").build(), T0)
        assert rig.where("a") == "active"
        assert rig.fail(info, "Refuser").error == "Pod default/a is already present in the active queue"

    @pytest.mark.parametrize(
        ("changed", "want"),
        [
            pytest.param(make_pod("a").label(x="y").build(), "backoff", id="labels"),
            pytest.param(make_pod("a").status(phase="Running").build(), "unschedulable", id="status"),
        ],
    )
    def test_an_own_update_moves_a_pod_that_really_changed(self, changed: Any, want: str) -> None:
        rig = Rig(queueing_hints=False)
        rig.rejected("a")
        rig.queue.update(make_pod("a").build(), changed, T0)
        assert rig.where("a") == want

    def test_an_assigned_pod_helps_those_that_count_their_neighbours(self) -> None:
        event = ClusterEvent(EventResource.POD, ActionType.ADD)
        rig = Rig(Refuser("PodTopologySpread", [event]), Refuser("Other", [event]), queueing_hints=False)
        rig.rejected("spread", "PodTopologySpread")
        rig.rejected("other", "Other")
        rig.queue.assigned_pod_added(make_pod("x").on("n").build(), T0)
        assert (rig.where("spread"), rig.where("other")) == ("backoff", "unschedulable")

    def test_an_assigned_pod_that_became_smaller_helps_everybody(self) -> None:
        event = ClusterEvent(EventResource.POD, ActionType.UPDATE_POD_SCALE_DOWN)
        rig = Rig(Refuser("Other", [event]), queueing_hints=False)
        rig.rejected("other", "Other")
        pod = make_pod("x").on("n").build()
        smaller = ClusterEvent(EventResource.ASSIGNED_POD, ActionType.UPDATE_POD_SCALE_DOWN)
        rig.queue.assigned_pod_updated(pod, pod, smaller, T0)
        assert rig.where("other") == "backoff"


class TestNominations:
    def test_entering_by_add_nominates_by_status(self) -> None:
        rig = Rig()
        pod = make_pod("a").nominated("n1").build()
        rig.stored[pod.key] = pod
        rig.queue.add(pod, T0)

        assert rig.queue.nominated_node_names() == ["n1"]
        (info,) = rig.queue.nominated_pods_for_node("n1")
        assert info.pod is pod
        rig.pop()
        (bare,) = rig.queue.nominated_pods_for_node("n1")
        assert (bare.pod.key, bare.pod.spec.priority) == ("default/a", None)

    def test_a_queued_pod_is_seen_as_it_is_now(self) -> None:
        rig = Rig()
        pod = make_pod("a").nominated("n1").build()
        rig.stored[pod.key] = pod
        rig.queue.add(pod, T0)
        newer = replace(pod, spec=replace(pod.spec, priority=7))
        rig.queue.update(pod, newer, T0)
        assert rig.queue.nominated_pods_for_node("n1")[0].pod is newer

    def test_deleting_the_pod_ends_its_nomination(self) -> None:
        rig = Rig()
        pod = make_pod("a").build()
        rig.stored[pod.key] = pod
        rig.queue.add(pod, T0)
        rig.queue.add_nominated_pod(pod, NominatingInfo(NominatingMode.OVERRIDE, "n1"))
        rig.queue.delete(pod, T0)
        assert rig.queue.nominated_node_names() == []


def test_close_ends_all_flights_and_leaves_what_waits() -> None:
    rig = Rig()
    rig.queue.add(make_pod("a").build(), T0)
    rig.queue.add(make_pod("b").build(), T0)
    rig.pop()
    rig.queue.close()

    assert len(rig.queue.active.in_flight) == 0
    assert rig.pop().pod.name == "b"
    assert rig.queue.pop(T0) is None
    with pytest.raises(ValueError, match="closed already"):
        rig.queue.close()


def test_pending_pods_are_summed_up() -> None:
    rig = Rig(Gate(), Refuser())
    rig.rejected("c")
    rig.move()
    rig.rejected("b")
    rig.queue.add(make_pod("a").build(), T0)
    pods, summary = rig.queue.pending_pods()
    assert summary == "activeQ:1; backoffQ:1; unschedulablePods:1"
    assert [pod.name for pod in pods] == ["a", "c", "b"]
