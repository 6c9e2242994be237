"""Gated pods wait until their last gate is gone."""

from __future__ import annotations

from scheduler_core.framework.answers import QueueingHint
from scheduler_core.model.events import ActionType, ClusterEvent, EventResource
from scheduler_core.model.status import SUCCESS, Status
from tests.builders import make_pod
from tests.core.plugins.support import ask_hint, make_plugin

GATES_GONE = ClusterEvent(EventResource.UNSCHEDULABLE_POD, ActionType.UPDATE_POD_SCHEDULING_GATES_ELIMINATED)


def test_pre_enqueue_passes_a_pod_without_gates() -> None:
    assert make_plugin("SchedulingGates").pre_enqueue(make_pod().build()) == SUCCESS


def test_pre_enqueue_names_the_gates_in_order() -> None:
    status = make_plugin("SchedulingGates").pre_enqueue(make_pod().gate("g2", "g1").build())
    assert status == Status.unresolvable("waiting for scheduling gates: [g2 g1]")


def test_the_pod_is_queued_when_its_own_gates_are_gone() -> None:
    plugin, pod = make_plugin("SchedulingGates"), make_pod("a").gate("g").build()
    assert ask_hint(plugin, GATES_GONE, pod, pod, make_pod("a")) is QueueingHint.QUEUE
    assert ask_hint(plugin, GATES_GONE, pod, pod, make_pod("b")) is QueueingHint.SKIP
