"""What moves pods between the queues: activation, events and hints, timers."""

from __future__ import annotations

from typing import Any

from scheduler_core.framework.answers import QueueingHint
from scheduler_core.model.events import UNSCHEDULABLE_TIMEOUT, ActionType, ClusterEvent, EventResource
from tests.builders import make_pod
from tests.cases import cases
from tests.core.queue.rig import MINUTE, T0, Refuser, Rig, S


class TestActivate:
    def test_backoff_is_skipped_and_its_expiry_kept(self, rig: Rig) -> None:
        info = rig.rejected("a")
        rig.move()
        rig.queue.activate([info.pod], T0)
        assert rig.where("a") == "active"
        assert rig.queue.backoff.is_backing_off(info, T0)
        assert rig.queue.move_request_cycle == 1  # from the move; activating does not touch it

    def test_a_pod_in_flight_hears_of_it(self, rig: Rig) -> None:
        rig.queue.add(make_pod("a").build(), T0)
        rig.queue.add(make_pod("b").build(), T0)
        a, b = rig.pop(), rig.pop()
        rig.queue.activate([a.pod], T0)
        assert rig.fail(b, "Refuser").to == "Unschedulable"
        assert rig.fail(a, "Refuser").to == "Backoff"
        assert rig.queue.move_request_cycle == 2


class TestMoveAll:
    def test_a_pre_check_limits_who_is_asked_but_not_who_is_in_flight(self, rig: Rig) -> None:
        rig.rejected("a")
        rig.rejected("b")
        info = rig.flying("c")
        rig.move(pre_check=lambda pod: pod.name == "b")
        assert (rig.where("a"), rig.where("b")) == ("unschedulable", "backoff")
        assert rig.fail(info, "Refuser").to == "Backoff"

    def test_pods_are_visited_by_name(self, rig: Rig) -> None:
        for name in ("b", "c", "a"):
            rig.rejected(name)
        del rig.moves[:]
        rig.move()
        assert [move.pod_key for move in rig.moves] == ["default/a", "default/b", "default/c"]

    def test_a_pod_whose_backoff_is_over_becomes_active(self, rig: Rig) -> None:
        rig.rejected("a")
        rig.move(now=T0 + 2 * S)
        assert rig.where("a") == "active"

    def test_moves_leave_timestamp_alone(self, rig: Rig) -> None:
        info = rig.rejected("a")
        rig.move(now=T0 + 5 * S)
        assert info.timestamp == T0

    def test_the_record_says_what_moved_the_pod_where(self, rig: Rig) -> None:
        rig.rejected("a")
        rig.move()
        last = rig.moves[-1]
        assert (last.to, last.event, last.hint_plugin) == ("backoff", "NodeAdd", "Refuser")
        assert (last.backoff_expiration, last.plugins, last.attempts) == (T0 + S, ("Refuser",), 1)


class TestFlushes:
    @cases(
        "failed_at, stays, leaves",
        ("within a second", 12_700_000, 13_999_999, 14_000_000),
        ("on the second", 12_000_000, 13_999_999, 14_000_000),
    )
    def test_backoff_ends_in_whole_seconds(self, rig: Rig, failed_at: int, stays: int, leaves: int) -> None:
        rig.queue.add(make_pod("a").build(), failed_at)
        rig.fail(rig.pop(failed_at), now=failed_at)
        rig.queue.flush_backoff_q_completed(stays)
        assert rig.where("a") == "errors"
        assert rig.queue.next_due() == leaves
        rig.queue.flush_backoff_q_completed(leaves)
        assert rig.where("a") == "active"
        assert rig.moves[-1].event == "BackoffComplete"

    def test_pods_wait_five_minutes_for_an_event(self, rig: Rig) -> None:
        rig.rejected("a")
        rig.queue.flush_unschedulable_pods_leftover(T0 + 5 * MINUTE)
        assert rig.where("a") == "unschedulable"
        rig.queue.flush_unschedulable_pods_leftover(T0 + 5 * MINUTE + 1)
        assert rig.where("a") == "active"
        assert rig.moves[-1].event == "UnschedulableTimeout"

    def test_five_minutes_that_end_with_a_flush_are_not_over(self, rig: Rig) -> None:
        rig.rejected("a", now=1_020 * S)
        assert rig.queue.next_due() == 1_350 * S  # at 1,320 s, when there is a flush, it is five minutes and no more
        rig.queue.run_due_flushes(1_320 * S)
        assert rig.where("a") == "unschedulable"
        rig.queue.run_due_flushes(1_350 * S - 1)
        assert rig.where("a") == "unschedulable"
        rig.queue.run_due_flushes(1_350 * S)
        assert rig.where("a") == "active"

    def test_the_leftover_flush_counts_for_pods_in_flight(self, rig: Rig) -> None:
        """Upstream's: a refused pod in flight during such a flush comes back to backoff."""
        rig.rejected("a")
        info = rig.flying("b")
        rig.queue.flush_unschedulable_pods_leftover(T0 + 6 * MINUTE)
        assert rig.fail(info, "Refuser", now=T0 + 6 * MINUTE).to == "Backoff"

    def test_flushes_run_once_per_tick(self, rig: Rig) -> None:
        rig.queue.run_due_flushes(T0)
        rig.rejected("a")
        rig.move()
        rig.queue.run_due_flushes(T0 + 2 * S - 1)
        assert rig.where("a") == "backoff"
        rig.queue.run_due_flushes(T0 + 2 * S)
        assert rig.where("a") == "active"

    def test_next_due_is_when_a_flush_changes_something(self, rig: Rig) -> None:
        assert rig.queue.next_due() is None
        rig.queue.add(make_pod("g").gate("g").build(), T0)
        assert rig.queue.next_due() is None  # only an event can free it
        rig.rejected("a")
        due = rig.queue.next_due()
        assert due == 1_320 * S  # 1,300 s are not enough, and flushes come every 30 s
        rig.queue.run_due_flushes(due)
        assert rig.where("a") == "active"
        assert rig.queue.next_due() is None

    def test_a_gated_pod_is_due_while_something_is_in_flight(self, rig: Rig) -> None:
        """Its flush is a wildcard event for those in flight."""
        rig.queue.add(make_pod("g").gate("g").build(), T0)
        rig.flying("a")
        due = rig.queue.next_due()
        assert due is not None
        rig.queue.run_due_flushes(due)
        assert [entry.event for entry in list(rig.queue.active.in_flight)[1:]] == [UNSCHEDULABLE_TIMEOUT]  # type: ignore[union-attr]
        assert rig.queue.next_due() == due + 30 * S


class TestHintsOff:
    def test_an_error_goes_to_backoff_always(self) -> None:
        rig = Rig(queueing_hints=False)
        assert rig.fail(rig.flying("a")).to == "Backoff"

    def test_hints_are_not_asked(self) -> None:
        rig = Rig(Refuser(hint=lambda *_: QueueingHint.SKIP), queueing_hints=False)
        rig.rejected("a")
        rig.move()
        assert rig.where("a") == "backoff"

    def test_an_update_in_flight_queues_the_pod_twice(self) -> None:
        rig = Rig(queueing_hints=False)
        info = rig.flying("a")
        rig.queue.update(make_pod("a").build(), make_pod("a").label(x="y").build(), T0)
        assert rig.where("a") == "active"
        assert rig.fail(info, "Refuser").error == "Pod default/a is already present in the active queue"

    @cases(
        "changed, want",
        ("labels", make_pod("a").label(x="y").build(), "backoff"),
        ("status", make_pod("a").status(phase="Running").build(), "unschedulable"),
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
