"""Extenders that take part in preemption."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler_core.config.types import Extender
from tests.builders import make_pod
from tests.cases import cases
from tests.core.scheduler.extender_harness import NAMES_ONLY, URL, ToldExtenders, only, refuse, start_with
from tests.core.scheduler.harness import Cluster


def crowded(told: ToldExtenders, *extenders: Extender) -> Cluster:
    """Three nodes, each with one pod on it that leaves no room."""
    cluster = start_with(told, *extenders)
    running = [make_pod(f"low{i}").req(cpu="4").on(f"n{i}").phase("Running").priority(i) for i in range(3)]
    cluster.put(*(pod.build() for pod in running))
    return cluster


def high() -> Any:
    return make_pod("high").req(cpu="4").priority(100).build()


def meta(**by_node: list[str]) -> Any:
    victims = {
        name: {"Pods": [{"UID": f"pod-default/{pod}"} for pod in pods], "NumPDBViolations": 0}
        for name, pods in by_node.items()
    }
    return lambda question: {"NodeNameToMetaVictims": victims}


@pytest.mark.parametrize("names_only", [True, False], ids=["uids", "whole pods"])
def test_extender_takes_candidates_away(names_only: bool) -> None:
    told = ToldExtenders({"preempt": meta(n2=["low2"])})
    cluster = crowded(told, Extender(url_prefix=URL, preempt_verb="preempt", node_cache_capable=names_only))
    effects = cluster.step(high())
    assert [eviction.name for eviction in effects.evictions] == ["low2"]
    (attempt,) = effects.attempts
    assert attempt.nominated_node_name == "n2"
    assert [exchange.point for exchange in attempt.exchanges] == ["preempt"]
    (question,) = told.questions("preempt")
    if names_only:
        assert question["NodeNameToVictims"] is None
        assert question["NodeNameToMetaVictims"]["n0"] == {"Pods": [{"UID": "pod-default/low0"}], "NumPDBViolations": 0}
    else:
        assert question["NodeNameToMetaVictims"] is None
        assert sorted(question["NodeNameToVictims"]) == ["n0", "n1", "n2"]
        assert question["NodeNameToVictims"]["n0"]["Pods"][0]["metadata"]["name"] == "low0"


PREEMPTER = Extender(url_prefix=URL, preempt_verb="preempt", node_cache_capable=True)


MAY_FAIL = Extender(url_prefix=URL, preempt_verb="preempt", node_cache_capable=True, ignorable=True)


@cases(
    "answer, message",
    ("no answer", refuse("down"), "down"),
    ("a pod that is not there", meta(n1=["nobody"]),
     f"extender: {URL} claims to preempt pod (UID: pod-default/nobody) on node: n1,"
     " but the pod is not found on that node"),
    ("a node that is not there", meta(n7=["low0"]), 'nodeinfo not found for node name "n7"'),
)  # fmt: skip
def test_failing_preempt_ends_the_preemption_unless_ignorable(answer: Any, message: str) -> None:
    attempt = crowded(ToldExtenders({"preempt": answer}), PREEMPTER).attempt(high())
    assert attempt.post_filter is not None
    assert attempt.post_filter.code == "Error"
    assert attempt.post_filter.message == f"preemption: {message}"
    assert attempt.nominated_node_name is None
    effects = crowded(ToldExtenders({"preempt": answer}), MAY_FAIL).step(high())
    assert [eviction.name for eviction in effects.evictions] == ["low0"]


def test_node_without_victims_is_an_error_or_left_out() -> None:
    answer = meta(n0=[], n1=["low1"])
    attempt = crowded(ToldExtenders({"preempt": answer}), PREEMPTER).attempt(high())
    assert attempt.post_filter is not None
    assert attempt.post_filter.message == 'preemption: expected at least one victim pod on node "n0"'
    effects = crowded(ToldExtenders({"preempt": answer}), MAY_FAIL).step(high())
    assert [eviction.name for eviction in effects.evictions] == ["low1"]


def test_nothing_happens_when_the_extenders_drop_every_candidate() -> None:
    told = ToldExtenders({"preempt": meta(), "never": meta()})
    cluster = crowded(told, PREEMPTER, Extender(url_prefix="http://f", preempt_verb="never"))
    effects = cluster.step(high())
    (attempt,) = effects.attempts
    assert attempt.post_filter is not None
    assert attempt.post_filter.code == "Unschedulable"
    assert attempt.post_filter.message.endswith("preemption: no candidate node for preemption")
    assert effects.evictions == [] and attempt.nominated_node_name is None
    assert [verb for _, verb, _ in told.asked] == ["preempt"]


def test_the_next_extender_is_asked_about_what_is_left() -> None:
    told = ToldExtenders({"a": meta(n1=["low1"], n2=["low2"]), "b": meta(n2=["low2"])})
    cluster = crowded(
        told,
        Extender(url_prefix="http://a", preempt_verb="a", node_cache_capable=True),
        Extender(url_prefix="http://b", preempt_verb="b", node_cache_capable=True),
    )
    assert [eviction.name for eviction in cluster.step(high()).evictions] == ["low2"]
    assert sorted(told.questions("b")[0]["NodeNameToMetaVictims"]) == ["n1", "n2"]


def test_filter_statuses_decide_where_preemption_looks() -> None:
    answer = only(FailedNodes={"n0": "busy"}, FailedAndUnresolvableNodes={"n1": "broken"})
    cluster = start_with(ToldExtenders({"filter": answer}), NAMES_ONLY)
    attempt = cluster.attempt(high())
    assert attempt.post_filter is not None and attempt.post_filter.preemption is not None
    assert attempt.post_filter.preemption.potential_nodes == ("n0",)
