"""One verdict per waiting pod: the first."""

from __future__ import annotations

from scheduler_core.framework.waiting_pods import WaitingPod, WaitingPods
from scheduler_core.model.status import SUCCESS, Status


def test_allowed_when_no_plugin_is_left() -> None:
    pod = WaitingPod("u", 0, {"A": 10, "B": 20})
    pod.allow("A")
    assert (pod.verdict, pod.deadline()) == (None, 20)
    pod.allow("B")
    assert (pod.verdict, pod.deadline()) == (SUCCESS, None)


def test_one_rejection_is_enough_and_the_first_counts() -> None:
    pod = WaitingPod("u", 0, {"A": 10, "B": 20})
    pod.reject("B", "no")
    pod.reject("A", "no again")
    pod.allow("A")
    assert pod.verdict == Status.unschedulable("no", plugin="B")


def test_allowing_a_plugin_that_does_not_wait_changes_nothing() -> None:
    pod = WaitingPod("u", 0, {"A": 10})
    pod.allow("B")
    assert pod.verdict is None


def test_earliest_timeout_strikes_at_its_very_moment() -> None:
    pods = WaitingPods()
    pods.add(WaitingPod("u", 1_000_000, {"A": 10_000_000, "B": 2_500_000}))
    assert pods.next_deadline() == 3_500_000
    pods.expire(3_499_999)
    assert [pod.verdict for pod in pods] == [None]
    pods.expire(3_500_000)
    text = "rejected due to timeout after waiting 2.5s at plugin B"
    assert [pod.verdict for pod in pods] == [Status.unschedulable(text, plugin="B")]
    assert pods.next_deadline() is None


def test_of_timeouts_that_are_over_the_earliest_struck_and_of_equal_ones_the_first_by_name() -> None:
    pod = WaitingPod("u", 0, {"Late": 9_000_000, "B": 2_000_000, "A": 2_000_000})
    pod.expire(60_000_000)
    assert pod.verdict == Status.unschedulable("rejected due to timeout after waiting 2s at plugin A", plugin="A")
