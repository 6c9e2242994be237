"""Pods added to the queue, popped, failed, updated and deleted, and the acceptance checks it was specified with."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler_core.framework.answers import QueueingHint
from scheduler_core.model.events import ClusterEvent
from tests.builders import make_node, make_pod
from tests.cases import cases
from tests.core.queue.rig import LABELLED, NODE_ADDED, POD_DELETED, T0, Gate, Refuser, Rig, S


class TestPop:
    def test_higher_priority_comes_first_then_who_came_first(self, rig: Rig) -> None:
        for name, priority in (("low", 5), ("first", 10), ("second", 10)):
            rig.queue.add(make_pod(name).priority(priority).build(), T0)
        assert [rig.pop().pod.name for _ in range(3)] == ["first", "second", "low"]
        assert rig.queue.scheduling_cycle == 3

    def test_nothing_is_given_when_nothing_waits(self) -> None:
        assert Rig().queue.pop(T0) is None

    def test_a_pod_in_ordinary_backoff_is_given_when_nothing_is_active(self, rig: Rig) -> None:
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

    def test_a_pod_in_error_backoff_waits(self, rig: Rig) -> None:
        assert rig.fail(rig.flying("a")).to == "Backoff"
        assert rig.where("a") == "errors"
        assert rig.queue.pop(T0) is None

    def test_blame_and_gate_of_the_last_attempt_are_forgotten(self, rig: Rig) -> None:
        rig.rejected("a")
        assert rig.queue.counters.unschedulable_by_plugin == {("Refuser", "default-scheduler"): 1}
        rig.move()
        info = rig.pop()
        assert (info.attempts, info.blamed_plugins, info.gating_plugin) == (2, set(), "")
        assert rig.queue.counters.unschedulable_by_plugin == {}

    def test_a_pod_in_flight_met_again_is_dropped(self, rig: Rig) -> None:
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

    def test_adding_a_queued_pod_again_starts_it_afresh(self, rig: Rig) -> None:
        rig.rejected("a")
        rig.move()
        rig.queue.add(make_pod("a").build(), T0)
        assert rig.where("a") == "active"
        assert rig.pop().attempts == 1


class TestPopPod:
    @pytest.mark.parametrize("event", [None, NODE_ADDED], ids=["unschedulable", "in backoff"])
    def test_a_pod_is_taken_from_wherever_it_waits(self, rig: Rig, event: ClusterEvent | None) -> None:
        rig.rejected("a")
        if event is not None:
            rig.move(event)
        info = rig.queue.pop_pod("default/a", T0)
        assert info is not None and info.attempts == 2
        assert rig.where("a") == ""

    def test_a_gated_pod_stays(self, rig: Rig) -> None:
        rig.queue.add(make_pod("a").gate("g").build(), T0)
        assert rig.queue.pop_pod("default/a", T0) is None
        assert rig.where("a") == "gated"


class TestFailure:
    def test_rejections_back_off_ever_longer(self, rig: Rig) -> None:
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

    def test_an_error_counts_by_itself_and_a_rejection_goes_on_where_it_was(self, rig: Rig) -> None:
        rig.queue.add(make_pod("a").build(), T0)
        waits = []
        for plugins in (["Refuser"], ["Refuser"], ["Refuser"], [], ["Refuser"]):
            info = rig.queue.pop_pod("default/a", T0)
            assert info is not None
            rig.fail(info, *plugins)
            waits.append((rig.queue.backoff.backoff_time(info) or 0) - T0)
        assert waits == [1 * S, 2 * S, 4 * S, 1 * S, 8 * S]

    @cases(
        "added, want",
        ("room", "8", "Backoff"),
        ("too small", "1", "Unschedulable"),
    )
    def test_a_node_added_while_in_flight_counts_when_the_pod_comes_back(self, added: str, want: str) -> None:
        def has_room(pod: Any, old: Any, new: Any) -> QueueingHint:
            return QueueingHint.QUEUE if new.status.allocatable["cpu"].value() >= 4 else QueueingHint.SKIP

        rig = Rig(Refuser("NodeResourcesFit", hint=has_room))
        info = rig.flying("a")
        rig.move(new=make_node("n").capacity(cpu=added).build())
        assert rig.fail(info, "NodeResourcesFit").to == want
        if want == "Backoff":
            assert rig.moves[-1].hint_plugin == "NodeResourcesFit"
        assert list(rig.queue.active.in_flight) == []

    def test_an_event_nobody_registered_is_not_kept(self, rig: Rig) -> None:
        rig.flying("a")
        rig.move(POD_DELETED)
        assert rig.queue.move_request_cycle == -1
        assert len(list(rig.queue.active.in_flight)) == 1

    def test_a_pending_plugin_brings_the_pod_back_at_once(self, rig: Rig) -> None:
        info = rig.flying("a")
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
    def test_a_pod_queued_already_is_refused_and_its_flight_ends(self, rig: Rig, place: str, text: str) -> None:
        info = rig.flying("a")
        rig.queue.add(make_pod("a", uid="other").build(), T0)
        if place != "active":
            rig.fail(rig.pop(), "Refuser")
        if place == "backoff":
            rig.move()
        requeued = rig.fail(info, "Refuser")
        assert (requeued.to, requeued.error) == ("", text)
        assert info.uid not in rig.queue.active.in_flight

    def test_a_pod_not_in_flight_is_tried_again_soon_and_logged(self, rig: Rig) -> None:
        info = rig.flying("a")
        rig.queue.done(info.uid)
        assert rig.fail(info, "Refuser").to == "Backoff"
        (message, fields) = rig.logs[-1]
        assert f"{message}: {fields['err']}" == (
            "Error getting cluster events for pod: in flight Pod isn't found in the scheduling queue."
            " If you see this error log, it's likely a bug in the scheduler"
        )

    def test_a_recreated_pod_leaves_the_old_uid_in_flight(self, rig: Rig) -> None:
        """Upstream's: the entry got the new pod before it came back."""
        rig.queue.add(make_pod("a", uid="old").build(), T0)
        info = rig.pop()
        info.pod = make_pod("a", uid="new").build()
        rig.fail(info, "Refuser")
        assert "old" in rig.queue.active.in_flight


class TestUpdate:
    @pytest.mark.parametrize("place", ["active", "backoff", "errors"])
    def test_a_waiting_pod_is_swapped_and_sorted_anew(self, rig: Rig, place: str) -> None:
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
        rig = Rig(Refuser(events=[LABELLED]))
        rig.rejected("a")
        rig.queue.update(make_pod("a").build(), make_pod("a").label(x="y").build(), T0)
        assert rig.where("a") == "backoff"
        assert rig.moves[-1].event == "UnschedulablePodUpdatePodLabel"

    def test_a_change_nobody_registered_swaps_the_pod_only(self, rig: Rig) -> None:
        rig.rejected("a")
        new = make_pod("a").annotation({"x": "y"}).build()
        rig.queue.update(make_pod("a").build(), new, T0)
        assert rig.where("a") == "unschedulable"
        assert rig.queue.get("default/a").pod is new  # type: ignore[union-attr]

    def test_a_pod_in_flight_keeps_its_changes_for_later(self) -> None:
        rig = Rig(Refuser(events=[LABELLED]))
        info = rig.flying("a")
        rig.queue.update(make_pod("a").build(), make_pod("a").label(x="y").build(), T0)
        assert rig.where("a") == ""
        assert rig.fail(info, "Refuser").to == "Backoff"

    def test_an_unknown_pod_is_queued(self, rig: Rig) -> None:
        rig.queue.update(make_pod("a").build(), make_pod("a").build(), T0)
        assert rig.where("a") == "active"
        assert rig.queue.counters.incoming == {("active", "UnschedulablePodUpdate"): 1}

    def test_two_changes_can_put_a_pod_into_two_sub_queues(self) -> None:
        """Upstream's, with pop-from-backoff off: after a move to backoff the next change is asked about too."""
        rig = Rig(Refuser(events=[LABELLED]), pop_from_backoff_q=False)
        rig.rejected("a")
        rig.queue.update(make_pod("a").build(), make_pod("a").label(x="y").toleration("k").build(), T0)
        assert rig.where("a") == "backoff+unschedulable"


class TestDelete:
    @pytest.mark.parametrize("place", ["active", "backoff", "unschedulable", "gated"])
    def test_the_pod_is_gone_from_where_it_waited(self, rig: Rig, place: str) -> None:
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

    def test_an_unknown_pod_is_no_matter(self, rig: Rig) -> None:
        rig.queue.delete(make_pod("a").build(), T0)
        assert rig.moves == []


def test_close_ends_all_flights_and_leaves_what_waits(rig: Rig) -> None:
    rig.flying("a")
    rig.queue.add(make_pod("b").build(), T0)
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
