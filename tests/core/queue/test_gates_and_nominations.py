"""Gated pods, and pods nominated to a node."""

from __future__ import annotations

from msgspec.structs import replace

from scheduler_core.framework.answers import NominatingInfo, NominatingMode
from tests.builders import make_pod
from tests.core.queue.rig import MINUTE, T0, Rig, S


class TestGates:
    def test_a_gated_pod_survives_the_flush_and_enters_when_its_last_gate_goes(self, rig: Rig) -> None:
        gated, free = make_pod("a").gate("g").build(), make_pod("a").build()
        rig.queue.add(gated, T0)
        assert rig.where("a") == "gated"
        rig.queue.flush_unschedulable_pods_leftover(T0 + 6 * MINUTE)
        assert rig.where("a") == "gated"
        rig.queue.update(gated, free, T0 + 7 * MINUTE)
        assert rig.where("a") == "active"
        info = rig.pop()
        assert (info.initial_attempt_timestamp, info.timestamp) == (T0 + 7 * MINUTE, T0)

    def test_a_gate_is_counted_at_every_refusal_and_taken_off_once(self, rig: Rig) -> None:
        """Upstream's drift of the gauge, kept."""
        pod = make_pod("a").gate("g").build()
        rig.queue.add(pod, T0)
        rig.queue.activate([pod], T0)
        assert rig.queue.counters.unschedulable_by_plugin == {("Gate", "default-scheduler"): 2}
        rig.queue.delete(pod, T0)
        assert rig.queue.counters.unschedulable_by_plugin == {("Gate", "default-scheduler"): 2}
        assert rig.queue.pending()["gated"] == 0

    def test_a_waiting_pod_that_becomes_gated_stays_in_its_gauge(self, rig: Rig) -> None:
        """Upstream's drift of the gauge, kept; the sizes are right."""
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

    def test_events_the_gate_did_not_register_leave_the_pod(self, rig: Rig) -> None:
        rig.queue.add(make_pod("a").gate("g").build(), T0)
        rig.move()
        assert rig.where("a") == "gated"
        assert rig.queue.counters.unschedulable_by_plugin == {("Gate", "default-scheduler"): 1}

    def test_backoff_asks_the_gates_where_it_may_be_popped_from(self, rig: Rig) -> None:
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


class TestNominations:
    def test_entering_by_add_nominates_by_status(self, rig: Rig) -> None:
        pod = make_pod("a").nominated("n1").build()
        rig.stored[pod.key] = pod
        rig.queue.add(pod, T0)
        assert rig.queue.nominated_node_names() == ["n1"]
        (info,) = rig.queue.nominated_pods_for_node("n1")
        assert info.pod is pod
        rig.pop()
        (bare,) = rig.queue.nominated_pods_for_node("n1")
        assert (bare.pod.key, bare.pod.spec.priority) == ("default/a", None)

    def test_a_queued_pod_is_seen_as_it_is_now(self, rig: Rig) -> None:
        pod = make_pod("a").nominated("n1").build()
        rig.stored[pod.key] = pod
        rig.queue.add(pod, T0)
        newer = replace(pod, spec=replace(pod.spec, priority=7))
        rig.queue.update(pod, newer, T0)
        assert rig.queue.nominated_pods_for_node("n1")[0].pod is newer

    def test_deleting_the_pod_ends_its_nomination(self, rig: Rig) -> None:
        pod = make_pod("a").build()
        rig.stored[pod.key] = pod
        rig.queue.add(pod, T0)
        rig.queue.add_nominated_pod(pod, NominatingInfo(NominatingMode.OVERRIDE, "n1"))
        rig.queue.delete(pod, T0)
        assert rig.queue.nominated_node_names() == []
