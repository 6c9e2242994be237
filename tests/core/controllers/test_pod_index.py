"""Pods are found by their nodes, and an index takes over each step's changes once, whoever reads it."""

from __future__ import annotations

from scheduler_core.controllers.controller import ClusterOptions
from scheduler_core.controllers.object_index import ORPHANS, Update
from scheduler_core.controllers.pod_index import PodIndex, PodReader
from scheduler_core.controllers.registry import controllers_of
from scheduler_core.model.changes import Change, ObjectDeleted, ObjectPut
from tests.builders import make_node, make_pod

ORPHAN = (ORPHANS + "default",)


def test_pods_are_kept_by_their_node() -> None:
    pods = PodIndex()
    pending, first, other = make_pod("p").build(), make_pod("p").on("a").build(), make_pod("q").on("a").build()
    pods.put(pending)
    assert not pods.on("a") and not pods.on("")
    for pod in (first, other):
        pods.put(pod)
    again = make_pod("p").on("a").phase("Running").build()
    assert pods.put(again) == (Update(first, again, ORPHAN),)
    assert list(pods.on("a")) == [again, other]
    moved = make_pod("q").on("b").build()
    pods.put(moved)
    assert list(pods.on("a")) == [again] and list(pods.on("b")) == [moved]
    pods.remove(ObjectDeleted("Pod", "default", "q"))
    namesake = make_pod("p", uid="new").on("b").build()
    pods.put(namesake)
    assert not pods.on("a") and list(pods.on("b")) == [namesake]


def test_changes_of_pods_are_told_with_what_was_before_in_their_order() -> None:
    pods, node, pod = PodIndex(), make_node("a").build(), make_pod("p").build()
    bound = make_pod("p").on("a").build()
    gone = ObjectDeleted("Node", "", "a")
    changes: list[Change] = [
        ObjectPut(pod), ObjectPut(node), ObjectPut(bound), gone,
        ObjectDeleted("Pod", "default", "unknown"), ObjectDeleted("Pod", "default", "p"),
    ]  # fmt: skip
    assert pods.follow(changes) == [
        Update(None, pod, ORPHAN), ObjectPut(node), Update(pod, bound, ORPHAN), gone,
        Update(bound, bound, ORPHAN, True),
    ]  # fmt: skip


def test_readers_take_over_the_changes_of_a_step_once() -> None:
    pods, pod = PodIndex(), make_pod("p").build()
    changes: list[Change] = [ObjectPut(pod)]
    told = pods.follow(changes)
    assert pods.follow(changes) is told == [Update(None, pod, ORPHAN)]
    again: list[Change] = [ObjectPut(pod)]
    assert pods.follow(again) == [Update(pod, pod, ORPHAN)]


def test_controllers_of_a_cluster_share_an_index_and_others_have_their_own() -> None:
    readers = [each for each in controllers_of(ClusterOptions()) if isinstance(each, PodReader)]
    others = [each for each in controllers_of(ClusterOptions()) if isinstance(each, PodReader)]
    assert len({id(each.pods) for each in readers}) == 1 < len(readers)
    assert readers[0].pods is not others[0].pods
    assert PodReader(ClusterOptions()).pods is not PodReader(ClusterOptions()).pods
