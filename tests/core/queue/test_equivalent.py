"""Asking once for all equivalent pods moves the same pods in the same order as asking each, with the same logs."""

from __future__ import annotations

from random import Random
from typing import Any

import msgspec
import pytest

from scheduler_core.api.meta import KubeObject
from scheduler_core.api.pod import Pod
from scheduler_core.api.signature import claim_names
from scheduler_core.framework.answers import QueueingHint
from scheduler_core.framework.reuse import DependsOn
from scheduler_core.model.events import ActionType, ClusterEvent, EventResource
from scheduler_core.queue.options import SECOND_US
from scheduler_core.queue.scheduling_queue import SchedulingQueue
from tests.builders import make_node, make_pod
from tests.core.queue.rig import LABELLED, NODE_ADDED, POD_DELETED, T0, Gate, Refuser, Rig

POD_UPDATED = ClusterEvent(EventResource.ASSIGNED_POD, ActionType.UPDATE_POD_LABEL)


def choosy(pod: Pod, old: KubeObject | None, new: KubeObject | None) -> QueueingHint:
    """Wants pods of the event's label, and the event about itself; cannot judge pods labelled so."""
    about = new or old
    if pod.labels.get("app") == "odd":
        raise ValueError(f"cannot judge {pod.name}")
    if about is None or about.uid == pod.uid:
        return QueueingHint.QUEUE
    return QueueingHint.QUEUE if about.labels.get("app") == pod.labels.get("app") else QueueingHint.SKIP


class Reading(Refuser):
    """Answers are the same for pods with one signature; for those of one label it cannot say so."""

    def __init__(self, name: str, asked: list[str]) -> None:
        def hint(pod: Pod, old: KubeObject | None, new: KubeObject | None) -> QueueingHint:
            asked.append(pod.name)
            return choosy(pod, old, new)

        super().__init__(name, (NODE_ADDED, POD_DELETED, POD_UPDATED), hint)

    def depends_on(self, pod: Pod) -> DependsOn | None:
        return None if pod.labels.get("app") == "own" else DependsOn.NODE_INFO


class Asking(Refuser):
    def __init__(self, name: str) -> None:
        super().__init__(name, (NODE_ADDED, POD_DELETED, POD_UPDATED), choosy)


def the_pod(number: int, *, gated: bool = False) -> Pod:
    app = ("a", "a", "b", "b", "own", "own", "odd", "odd")[number]
    builder = make_pod(f"p{number}").label(app=app)
    return (builder.gate("g") if gated else builder).build()


def rigs(**options: Any) -> tuple[Rig, Rig]:
    sharing = (Gate(), Reading("First", []), Reading("Second", []), Refuser("Free", (NODE_ADDED,)))
    return Rig(*sharing, **options), Rig(Gate(), Asking("First"), Asking("Second"), sharing[3], **options)


def plain(queue: SchedulingQueue) -> Any:
    return msgspec.to_builtins(queue.dump())


def check_files(queue: SchedulingQueue) -> None:
    """Every waiting pod is filed once, under what it is now."""
    pods = queue.unschedulable
    filed = [key for members in pods.equivalent() for key in members]
    assert sorted(filed) == [info.key for info in pods]
    for filed_under, members in pods._alike.items():
        assert {
            (
                info.signature(),
                claim_names(info.pod),
                frozenset(info.unschedulable_plugins),
                frozenset(info.pending_plugins),
                info.gating_plugin,
            )
            for info in members.values()
        } == {filed_under}
    for gated in (False, True):
        stamps = [info.timestamp for info in pods if gated or not info.gated]
        assert pods.earliest(gated=gated) == min(stamps, default=None)


@pytest.mark.parametrize("options", [{}, {"pop_from_backoff_q": False}], ids=["default", "no-pop-from-backoff"])
@pytest.mark.parametrize("seed", range(5))
def test_sharing_answers_changes_nothing_over_random_operations(seed: int, options: dict[str, Any]) -> None:
    random, now = Random(seed), T0
    both = rigs(**options)
    for _ in range(250):
        number, action = random.randrange(8), random.randrange(9)
        pod = the_pod(number)
        old = the_pod(number, gated=random.random() < 0.3)
        blamed = random.sample(["First", "Second", "Free", "Gate"], random.randrange(4))
        pending = [name for name in blamed if random.random() < 0.2]
        events: list[tuple[ClusterEvent, KubeObject | None, KubeObject | None]] = [
            (NODE_ADDED, None, None),
            (POD_DELETED, pod.on_node("n"), None),
            (POD_UPDATED, pod.on_node("n"), pod.on_node("n")),
        ]
        event, before, after = random.choice(events)
        check = random.random() < 0.3
        for rig in both:
            queue = rig.queue
            if action == 0 and queue.get(pod.key) is None and pod.uid not in queue.active.in_flight:
                queue.add(old, now)
            elif action in (1, 2, 3):
                info = queue.pop(now)
                if info is not None:
                    rig.fail(info, *blamed, now=now, pending=pending)
            elif action == 4:
                queue.delete(pod, now)
            elif action == 5 and queue.get(pod.key) is not None:
                queue.update(old, pod, now)
            elif action == 6:
                queue.activate([pod], now)
            else:
                pre_check = (lambda each: each.name != "p2") if check else None
                rig.move(event, now, old=before, new=after, pre_check=pre_check)
            check_files(queue)
        if random.random() < 0.3:
            now += random.choice([1, 400_000, 3 * SECOND_US, 200 * SECOND_US])
            for rig in both:
                rig.queue.run_due_flushes(now)
        sharing, asking = both
        assert plain(sharing.queue) == plain(asking.queue)
        assert sharing.moves == asking.moves
        assert sharing.queue.next_due() == asking.queue.next_due()
        assert [(text, {**fields}) for text, fields in sharing.logs] == asking.logs


def test_alike_pods_are_asked_about_once_when_nothing_speaks_against_it() -> None:
    asked: list[str] = []
    rig = Rig(Gate(), Reading("Refuser", asked))
    for number in range(50):
        pod = make_pod(f"twin-{number:02}").label(app="a").build()
        rig.queue.add(pod, T0)
        rig.fail(rig.pop(), "Refuser")
    gone = make_pod("other").label(app="b").on("n").build()
    rig.move(POD_DELETED, old=gone)
    assert len(asked) == 1
    assert len(rig.queue.unschedulable) == 50
    del asked[:]
    changed = make_pod("twin-07").label(app="b").on("n").build()
    rig.move(POD_UPDATED, old=changed, new=changed)
    assert sorted(set(asked)) == ["twin-00", "twin-07"]
    assert rig.keys()["unschedulable"] == [f"twin-{number:02}" for number in range(50) if number != 7]


def test_pod_that_changes_while_it_waits_is_asked_about_as_it_is_now() -> None:
    asked: list[str] = []
    rig = Rig(Gate(), Reading("Refuser", asked))
    for name in ("first", "second"):
        rig.rejected(name)
        rig.queue.update(make_pod(name).build(), make_pod(name).label(app="a").build(), T0)
    check_files(rig.queue)
    new = make_pod("second").label(app="b").build()
    rig.queue.update(make_pod("second").label(app="a").build(), new, T0)
    check_files(rig.queue)
    rig.move(NODE_ADDED, new=make_node("n").label(app="b").build())
    assert rig.keys()["unschedulable"] == ["first"]
    assert asked == ["first", "second"]


def test_pod_that_becomes_gated_while_it_waits_is_not_asked_with_the_others() -> None:
    rig = Rig(Gate(), Reading("Refuser", []), pop_from_backoff_q=False)
    for name in ("first", "second"):
        rig.rejected(name)
    rig.queue.unschedulable.get("default/second").pod = make_pod("second").gate("g").build()  # type: ignore[union-attr]
    rig.queue.unschedulable.note_change("default/second")
    rig.queue.activate([make_pod("second").gate("g").build()], T0)
    check_files(rig.queue)
    assert rig.where("second") == "gated"
    rig.move(NODE_ADDED, new=make_node("n").build())
    assert (rig.where("first"), rig.where("second")) == ("backoff", "gated")


TOLERATING = ClusterEvent(EventResource.POD, ActionType.UPDATE_POD_TOLERATION)


def test_pod_that_becomes_gated_on_its_way_to_backoff_is_filed_as_gated() -> None:
    rig = Rig(Gate(), Refuser("Refuser", (LABELLED,)))
    rig.rejected("first")
    rig.queue.update(make_pod("first").build(), make_pod("first").label(app="a").gate("g").build(), T0)
    assert rig.where("first") == "gated"
    check_files(rig.queue)


def test_pod_in_two_sub_queues_is_filed_as_it_is_while_it_is_tried_and_after() -> None:
    """Without pop-from-backoff all events of an update are asked about: one moves the pod, the next one keeps it."""
    skip = Refuser("Skip", (TOLERATING,), lambda *_: QueueingHint.SKIP)
    rig = Rig(Gate(), Refuser("Refuser", (LABELLED,)), skip, pop_from_backoff_q=False)
    rig.rejected("first", "Refuser", "Skip")
    changed = make_pod("first").label(app="a").toleration("k", operator="Exists").build()
    rig.queue.update(make_pod("first").build(), changed, T0)
    assert rig.where("first") == "backoff+unschedulable"
    info = rig.queue.pop_pod("default/first", T0)
    assert info is not None
    check_files(rig.queue)
    rig.fail(info, "Skip")
    check_files(rig.queue)
