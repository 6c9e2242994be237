"""Assume, confirm, forget, expire; nodes that come, change and go; every text upstream says."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler_core.cache.cache import Cache, CacheError, PodState
from scheduler_core.errors import CacheCorruptedError
from tests.builders import make_node, make_pod
from tests.cases import cases
from tests.core.cache.cached import Log, pod

UIDLESS = make_pod("p", uid="").on("n").build()
P = "pod uid-p(default/p)"
NO_UID = "cannot get cache key for pod with empty UID"


def totals(cache: Cache, name: str = "n") -> tuple[Any, ...]:
    info = cache.items[name].info
    return (
        info.requested, info.non_zero_milli_cpu, info.non_zero_memory, [each.pod.name for each in info.pods],
        info.used_ports, info.pvc_ref_counts, len(info.pods_with_affinity),
    )  # fmt: skip


class TestPods:
    def test_an_assumed_pod_confirmed_counts_once(self, cache: Cache) -> None:
        cache.assume_pod(pod())
        assert cache.is_assumed_pod(pod())
        cache.add_pod(pod())
        assert cache.items["n"].info.requested.milli_cpu == 1000
        assert not cache.is_assumed_pod(pod())
        assert cache.counts() == {"assumed_pods": 0, "pods": 1, "nodes": 1}

    def test_forgetting_restores_all_totals_but_the_generation(self, cache: Cache) -> None:
        cache.add_node(make_node("n").build())
        cache.add_pod(pod("other"))
        before, generation = totals(cache), cache.items["n"].info.generation
        full = (
            make_pod("p").req({"example.com/gpu": "1"}, cpu="2").host_port(80).claim_volume("c")
            .pod_affinity("zone", {"a": "b"}).on("n").build()
        )  # fmt: skip
        cache.assume_pod(full)
        assert totals(cache) != before
        cache.forget_pod(full)
        after = totals(cache)
        assert after[0].scalar == {"example.com/gpu": 0}  # an explicit zero stays, as upstream
        after[0].scalar.clear()
        assert after == before
        assert cache.items["n"].info.generation > generation

    def test_a_pod_may_come_before_its_node(self, cache: Cache) -> None:
        cache.add_pod(pod())
        assert cache.items["n"].info.node is None
        copy = cache.add_node(make_node("n").build())
        assert [info.pod.name for info in copy.pods] == ["p"]

    def test_a_confirmation_on_another_node_moves_the_pod(self, cache: Cache, log: Log) -> None:
        cache.add_node(make_node("n").build())
        cache.assume_pod(pod())
        cache.add_pod(pod(node="m"))
        assert (totals(cache, "n")[3], totals(cache, "m")[3]) == ([], ["p"])
        assert log == [
            (
                "Pod was added to a different node than it was assumed",
                {"podKey": "uid-p", "pod": "default/p", "assumedNode": "m", "currentNode": "n"},
            )
        ]

    def test_removal_goes_by_what_is_here(self, cache: Cache, log: Log) -> None:
        cache.assume_pod(pod())
        cache.remove_pod(make_pod("p", uid="uid-p").build())  # the last state before a missed deletion
        assert cache.counts() == {"assumed_pods": 0, "pods": 0, "nodes": 0}
        assert log.messages == ["Pod was added to a different node than it was assumed"]

    def test_removing_one_of_two_holders_frees_a_port(self, cache: Cache) -> None:
        """Upstream's: ports are a set."""
        for name in ("a", "b"):
            cache.add_pod(make_pod(name).host_port(80).on("n").build())
        cache.remove_pod(make_pod("a").host_port(80).on("n").build())
        assert cache.items["n"].info.used_ports == set()

    def test_the_last_pod_fills_the_hole(self, cache: Cache) -> None:
        for name in "abcd":
            cache.add_pod(pod(name))
        cache.remove_pod(pod("b"))
        assert totals(cache)[3] == ["a", "d", "c"]

    def test_get_pod_gives_the_object_held(self, cache: Cache) -> None:
        held = pod()
        cache.add_pod(held)
        assert cache.get_pod(make_pod("p", uid="uid-p").build()) is held

    def test_finish_binding_of_a_pod_not_assumed_is_no_matter(self) -> None:
        cache = Cache(ttl_us=5)
        cache.add_pod(pod())
        cache.finish_binding(pod(), 0)
        cache.finish_binding(pod("unknown"), 0)
        assert cache.pod_states["uid-p"].deadline is None


class TestTexts:
    @cases(
        "prepare, act, text",
        ("assume twice", "assume", lambda c: c.assume_pod(pod()), f"{P} is in the cache, so can't be assumed"),
        ("assume an added pod", "add", lambda c: c.assume_pod(pod()), f"{P} is in the cache, so can't be assumed"),
        ("forget on another node", "assume", lambda c: c.forget_pod(pod(node="m")),
         f"{P} was assumed on m but assigned to n"),
        ("forget an added pod", "add", lambda c: c.forget_pod(pod()), f"{P} wasn't assumed so cannot be forgotten"),
        ("forget an unknown pod", "", lambda c: c.forget_pod(pod()), f"{P} wasn't assumed so cannot be forgotten"),
        ("add twice", "add", lambda c: c.add_pod(pod()), f"{P} was already in added state"),
        ("update an unknown pod", "", lambda c: c.update_pod(pod(), pod()),
         f"{P} is not added to scheduler cache, so cannot be updated"),
        ("update an assumed pod", "assume", lambda c: c.update_pod(pod(), pod()),
         f"assumed {P} should not be updated"),
        ("remove an unknown pod", "", lambda c: c.remove_pod(pod()),
         f"{P} is not found in scheduler cache, so cannot be removed from it"),
        ("get an unknown pod", "", lambda c: c.get_pod(pod()), f"{P} does not exist in scheduler cache"),
        ("pod not on the node", "node", lambda c: _update_a_stray(c), "no corresponding pod p in pods of node n"),
        ("pod not on the ghost", "", lambda c: _update_a_stray(c), "no corresponding pod p in pods of node "),
        ("remove an unknown node", "", lambda c: c.remove_node(make_node("n").build()), "node n is not found"),
        ("remove a node the tree lacks", "add", lambda c: c.remove_node(make_node("n").build()),
         'node "n" in group "" was not found'),
        ("assume without uid", "", lambda c: c.assume_pod(UIDLESS), NO_UID),
        ("finish_binding without uid", "", lambda c: c.finish_binding(UIDLESS, 0), NO_UID),
        ("forget without uid", "", lambda c: c.forget_pod(UIDLESS), NO_UID),
        ("add without uid", "", lambda c: c.add_pod(UIDLESS), NO_UID),
        ("update without uid", "", lambda c: c.update_pod(UIDLESS, UIDLESS), NO_UID),
        ("remove without uid", "", lambda c: c.remove_pod(UIDLESS), NO_UID),
        ("get without uid", "", lambda c: c.get_pod(UIDLESS), NO_UID),
        ("is_assumed without uid", "", lambda c: c.is_assumed_pod(UIDLESS), NO_UID),
    )  # fmt: skip
    def test_a_refused_operation_says_why(self, cache: Cache, prepare: str, act: Any, text: str) -> None:
        if prepare == "assume":
            cache.assume_pod(pod())
        elif prepare == "add":
            cache.add_pod(pod())
        elif prepare == "node":
            cache.add_node(make_node("n").build())
        with pytest.raises(CacheError) as caught:
            act(cache)
        assert str(caught.value) == text

    def test_an_update_on_another_node_is_the_end(self, cache: Cache, log: Log) -> None:
        cache.add_pod(pod())
        with pytest.raises(CacheCorruptedError) as caught:
            cache.update_pod(pod(), pod(node="m"))
        assert str(caught.value) == (
            "Pod updated on a different node than previously added to."
            " Scheduler cache is corrupted and can badly affect scheduling decisions"
        )
        assert log.messages == ["Pod updated on a different node than previously added to"]

    def test_a_removal_on_another_node_is_the_end(self, cache: Cache, log: Log) -> None:
        cache.add_pod(pod())
        with pytest.raises(CacheCorruptedError) as caught:
            cache.remove_pod(pod(node="m"))
        assert str(caught.value) == "Scheduler cache is corrupted and can badly affect scheduling decisions"
        assert log[0][1]["err"] is None

    def test_an_assumed_key_without_state_is_the_end(self, cache: Cache) -> None:
        cache.assumed_pods["lost"] = None
        with pytest.raises(CacheCorruptedError) as caught:
            cache.cleanup_assumed_pods(0)
        assert str(caught.value) == "Key found in assumed set but not in podStates, potentially a logical error"

    def test_errors_inside_a_confirmation_are_only_logged(self, cache: Cache, log: Log) -> None:
        cache.assume_pod(pod())
        cache.items["n"].info.remove_pod(pod())
        cache.add_pod(pod())
        assert log == [
            (
                "Error occurred while updating pod",
                {"pod": "default/p", "err": "no corresponding pod p in pods of node "},
            )
        ]

    def test_a_pod_of_a_lost_node_is_let_go(self, cache: Cache, log: Log) -> None:
        cache.add_pod(pod())
        del cache.items["n"]
        cache.remove_pod(pod())
        assert log.messages == ["Node not found when trying to remove pod"]
        assert cache.counts()["pods"] == 0

    def test_moving_an_unknown_node_to_the_head_does_nothing(self, cache: Cache, log: Log) -> None:
        cache.move_to_head("n")
        assert log.messages == ["No node info with given name found in the cache"]


def _update_a_stray(cache: Cache) -> None:
    """The state says the pod is on the node, the node does not have it."""
    if "n" not in cache.items:
        cache.add_pod(pod("other"))
    cache.pod_states["uid-p"] = PodState(pod())
    cache.update_pod(pod(), pod())


class TestExpiry:
    def test_without_ttl_nothing_expires(self, cache: Cache, log: Log) -> None:
        cache.assume_pod(pod())
        cache.finish_binding(pod(), 10)
        cache.cleanup_assumed_pods(10**18)
        assert cache.is_assumed_pod(pod())
        assert log == []

    def test_a_finished_pod_expires_after_its_ttl(self, log: Log) -> None:
        cache = Cache(ttl_us=100, log=log)
        cache.assume_pod(pod())
        cache.cleanup_assumed_pods(10**9)
        cache.finish_binding(pod(), 10)
        cache.cleanup_assumed_pods(110)
        assert cache.is_assumed_pod(pod())
        cache.cleanup_assumed_pods(111)
        assert cache.counts() == {"assumed_pods": 0, "pods": 0, "nodes": 0}
        assert log.messages == ["Could not expire cache for pod as binding is still in progress", "Pod expired"]
        cache.add_pod(pod())
        assert cache.pod_count() == 1

    def test_a_pod_that_cannot_be_expired_is_logged(self, log: Log) -> None:
        cache = Cache(ttl_us=100, log=log)
        cache.assume_pod(pod())
        cache.finish_binding(pod(), 0)
        cache.items["n"].info.remove_pod(pod())
        cache.cleanup_assumed_pods(101)
        assert log.messages == ["Pod expired", "ExpirePod failed"]
