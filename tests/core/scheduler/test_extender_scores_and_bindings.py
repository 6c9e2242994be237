"""Extenders that score nodes and bind pods."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler_core.config.types import (
    Extender,
    ExtenderManagedResource,
    KubeSchedulerProfile,
    PluginEntry,
    Plugins,
    PluginSet,
)
from scheduler_core.model.changes import PermitVerdict
from scheduler_core.model.effects import CacheMove, ExtenderExchange
from scheduler_core.model.status import WAIT
from tests.builders import make_pod
from tests.cases import cases
from tests.core.scheduler.extender_harness import GPU, NAMES_ONLY, URL, ToldExtenders, only, refuse, start_with
from tests.core.scheduler.harness import SECOND, BindingPlugin, ToldPlugins, profile


def scores(**by_node: int) -> Any:
    return lambda question: [{"Host": name, "Score": score} for name, score in by_node.items()]


def without_scores() -> KubeSchedulerProfile:
    return KubeSchedulerProfile(
        scheduler_name="default-scheduler", plugins=Plugins(score=PluginSet(disabled=(PluginEntry("*"),)))
    )


def test_scores_count_ten_times_their_weight() -> None:
    told = ToldExtenders({"a": scores(n0=1, n1=3, gone=10), "b": scores(n1=-1, n2=12)})
    cluster = start_with(
        told,
        Extender(url_prefix="http://a", prioritize_verb="a", weight=2),
        Extender(url_prefix="http://b", prioritize_verb="b", weight=1, node_cache_capable=True),
        profile=without_scores(),
    )
    attempt = cluster.attempt(make_pod().build())
    assert attempt.score_rows is not None
    assert attempt.score_rows.totals.tolist() == [20, 50, 120]
    assert attempt.node_name == "n2"
    assert [exchange.point for exchange in attempt.exchanges] == ["prioritize", "prioritize"]


def test_scores_are_added_to_those_of_the_plugins() -> None:
    def totals(*extenders: Extender) -> list[int]:
        cluster = start_with(ToldExtenders({"p": scores(n1=5)}), *extenders, count=2)
        rows = cluster.attempt(make_pod().req(cpu="1").build()).score_rows
        assert rows is not None
        return rows.totals.tolist()  # type: ignore[no-any-return]

    plain = totals()
    assert totals(Extender(url_prefix=URL, prioritize_verb="p", weight=3)) == [plain[0], plain[1] + 150]


@pytest.mark.parametrize("ignorable", [True, False])
def test_failing_prioritize_gives_no_scores_and_fails_nothing(ignorable: bool) -> None:
    logged: list[str] = []
    told = ToldExtenders({"p": refuse("down"), "q": lambda q: {"Host": "n0"}, "r": scores(n1=1)})
    cluster = start_with(
        told,
        Extender(url_prefix="http://p", prioritize_verb="p", weight=9, ignorable=ignorable),
        Extender(url_prefix="http://q", prioritize_verb="q", weight=9, ignorable=ignorable),
        Extender(url_prefix="http://r", prioritize_verb="r", weight=1),
        log=lambda message, fields: logged.append(message),
        count=2,
    )
    attempt = cluster.attempt(make_pod().build())
    assert (attempt.result, attempt.node_name) == ("scheduled", "n1")
    assert logged.count("Failed to run extender's priority function. No score given by this extender.") == 2
    errors = {exchange.extender: exchange.error for exchange in attempt.exchanges}
    assert errors == {"http://p": "down", "http://q": "", "http://r": ""}


def test_nobody_scores_a_single_node() -> None:
    told = ToldExtenders({"filter": only("n1"), "p": scores(n1=1)})
    cluster = start_with(told, NAMES_ONLY, Extender(url_prefix="http://p", prioritize_verb="p", weight=1))
    cluster.attempt(make_pod().build())
    assert told.questions("p") == []


BINDER = Extender(url_prefix=URL, bind_verb="bind")


def test_extender_binds_in_place_of_the_plugins() -> None:
    told = ToldExtenders({"bind": lambda q: {"Error": ""}})
    plugins = ToldPlugins().add("P", BindingPlugin)
    cluster = start_with(told, BINDER, profile=profile("P"), plugins=plugins, count=1)
    pod = make_pod("p", namespace="shop").build()
    effects = cluster.step(pod)
    assert told.questions("bind") == [{"PodName": "p", "PodNamespace": "shop", "PodUID": pod.uid, "Node": "n0"}]
    assert effects.bindings == []
    assert "bind P" not in plugins.log and plugins.log[-1] == "post_bind P"
    assert [move.kind for move in effects.moves if isinstance(move, CacheMove)] == ["assumed", "finished"]
    assert [event.note for event in effects.events] == ["Successfully assigned shop/p to n0"]
    (attempt,) = effects.attempts
    assert attempt.result == "scheduled"
    assert [exchange.point for exchange in attempt.exchanges] == ["bind"]
    assert not cluster.scheduler.engine.bindings
    # The binding it made comes back as any other change.
    cluster.put(pod.on_node("n0"))
    assert not cluster.scheduler.engine.cache.assumed_pods


@cases(
    "answer",
    ("no answer", refuse("no")),
    ("an error as the answer", lambda q: {"error": "no"}),
)
def test_failed_binding_is_undone(answer: Any) -> None:
    plugins = ToldPlugins().add("P", BindingPlugin)
    cluster = start_with(ToldExtenders({"bind": answer}), BINDER, profile=profile("P"), plugins=plugins, count=1)
    attempt = cluster.attempt(make_pod().build())
    assert (attempt.result, attempt.message, attempt.requeued_to) == ("error", "no", "Backoff")
    assert plugins.log[-1] == "unreserve P"
    assert not cluster.scheduler.engine.cache.assumed_pods


def test_plugins_bind_when_an_ignorable_extender_fails_or_does_not_care() -> None:
    ignorable = Extender(url_prefix=URL, bind_verb="bind", ignorable=True)
    uninterested = Extender(url_prefix="http://u", bind_verb="never", managed_resources=(ExtenderManagedResource(GPU),))
    told = ToldExtenders({"bind": refuse("no")})
    cluster = start_with(told, ignorable, uninterested, count=1)
    effects = cluster.step(make_pod().build())
    assert [binding.node_name for binding in effects.bindings] == ["n0"]
    assert [verb for _, verb, _ in told.asked] == ["bind"]


def test_answer_to_a_binding_that_waited_is_among_the_effects() -> None:
    told = ToldExtenders({"bind": lambda q: {}})
    plugins = ToldPlugins().add("P", BindingPlugin, permit=lambda pod, node: (WAIT, 10 * SECOND))
    cluster = start_with(told, BINDER, profile=profile("P"), plugins=plugins, count=1)
    pod = make_pod().build()
    assert cluster.attempt(pod).exchanges == []
    effects = cluster.step(PermitVerdict(pod.uid, "P", allowed=True))
    ((uid, exchange),) = effects.exchanges
    assert uid == pod.uid
    assert isinstance(exchange, ExtenderExchange) and (exchange.point, exchange.answer) == ("bind", b"{}")
