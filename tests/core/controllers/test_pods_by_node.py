"""Pods are found by their nodes, and forgotten with their keys."""

from __future__ import annotations

from scheduler_core.controllers.pods_by_node import PodsByNode
from tests.builders import make_pod


def test_pods_are_kept_by_their_node() -> None:
    pods = PodsByNode()
    first, other = make_pod("p").on("a").build(), make_pod("q").on("a").build()
    assert pods.put(make_pod("p").build()) is None and not pods.nodes()
    assert pods.put(first) is pods.put(other) is None
    again = make_pod("p").on("a").phase("Running").build()
    assert pods.put(again) is first
    assert list(pods.on("a")) == [again, other] and pods.get("default/q") is other
    assert pods.put(make_pod("p", uid="new").on("a").build()) is None  # a namesake
    moved = make_pod("q").on("b").build()
    assert pods.put(moved) is None and list(pods.nodes()) == ["a", "b"]
    assert pods.remove("default/q") is moved and pods.remove("default/q") is None
    assert list(pods.nodes()) == ["a"] and not pods.on("b") and pods.get("default/q") is None
