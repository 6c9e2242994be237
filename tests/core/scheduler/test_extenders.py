"""Extenders in the cycle: who is asked what, what their answers lead to, and what is kept of them."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import pytest

from scheduler_core.build import build
from scheduler_core.config.types import Extender, ExtenderManagedResource
from scheduler_core.errors import ConfigError
from scheduler_core.framework.hints import EXTENDER
from scheduler_core.model.effects import CacheMove
from scheduler_core.model.status import Code
from scheduler_core.ports import FirstDraws
from scheduler_core.trace import codec
from scheduler_core.trace.matrix import AttemptMatrix
from scheduler_core.trace.summary import Rejection, summarize
from tests.builders import make_node, make_pod
from tests.cases import cases
from tests.core.scheduler.extender_harness import (
    GPU,
    NAMES_ONLY,
    URL,
    ToldExtenders,
    names_of,
    only,
    refuse,
    start_with,
)
from tests.core.scheduler.harness import SECOND, FilteringPlugin, ToldPlugins, configure, profile
from tests.core.trace.test_codec import assert_same

WHOLE_NODES = Extender(url_prefix=URL, filter_verb="filter")


def only_whole(*kept: str, **more: Any) -> Any:
    """Keeps these nodes, sent back whole."""

    def answer(question: dict[str, Any]) -> Any:
        items = [item for item in question["Nodes"]["items"] if item["metadata"]["name"] in kept]
        return {"Nodes": {"items": items}, **more}

    return answer


def of_no_kind(question: dict[str, Any]) -> dict[str, Any]:
    """The second node as one of a version that there is not."""
    return {**question["Nodes"]["items"][1], "kind": "Node", "apiVersion": "v1beta3"}


@pytest.mark.parametrize("use_table", [True, False], ids=["table", "rows"])
@cases(
    "extender, answer",
    ("names", NAMES_ONLY, only("n1")),
    ("whole nodes", WHOLE_NODES, only_whole("n1")),
    ("keys in other letters", WHOLE_NODES, lambda q: {"nodes": {"Items": q["Nodes"]["items"][1:2]}}),
    ("null for what is absent", NAMES_ONLY, only("n1", FailedNodes=None, Error=None)),
    ("whatever nodes say that they are", WHOLE_NODES, lambda q: {"Nodes": {"items": [of_no_kind(q)]}}),
)
def test_pod_goes_where_the_filter_leaves_it(extender: Extender, answer: Any, use_table: bool) -> None:
    told = ToldExtenders({"filter": answer})
    cluster = start_with(told, extender, use_table=use_table)
    attempt = cluster.attempt(make_pod("p").req(cpu="1").build())
    assert (attempt.result, attempt.node_name) == ("scheduled", "n1")
    (question,) = told.questions("filter")
    assert question["Pod"]["metadata"]["name"] == "p"
    assert "kind" not in question["Pod"]
    assert names_of(question) == ["n0", "n1", "n2"]
    assert attempt.feasible is not None and attempt.feasible.tolist() == [1]
    assert attempt.unschedulable_plugins == ()


def test_question_and_answer_stay_with_the_attempt() -> None:
    told = ToldExtenders({"filter": lambda q: b'{"NodeNames": ["n2"], "FailedNodes": {"n0": "no"}}'})
    cluster = start_with(told, NAMES_ONLY)
    attempt = cluster.attempt(make_pod().build())
    (exchange,) = attempt.exchanges
    assert (exchange.extender, exchange.point, exchange.error) == (URL, "filter", "")
    assert exchange.answer == b'{"NodeNames": ["n2"], "FailedNodes": {"n0": "no"}}'
    assert len(exchange.request_digest) == 16
    assert attempt.node_order is not None
    read = codec.decode(codec.encode(attempt), attempt.node_order.names)
    assert_same(read, AttemptMatrix.of(attempt))
    assert read.exchanges == (exchange,)


def test_equal_questions_have_equal_digests() -> None:
    told = ToldExtenders({"filter": refuse("down")})
    cluster = start_with(told, WHOLE_NODES)
    first = cluster.attempt(make_pod().build())
    second = cluster.attempt(after=2 * SECOND)
    assert first.exchanges[0].request_digest != blake2b(b"", digest_size=16).digest()
    # Nothing the extender is shown has changed: nominations and conditions are not written here.
    assert [exchange.request_digest for exchange in second.exchanges] == [first.exchanges[0].request_digest]


def test_refusals_are_told_by_code_and_blamed_on_the_extender() -> None:
    answer = only(FailedNodes={"n0": "too hot", "n1": "too hot"}, FailedAndUnresolvableNodes={"n1": "on fire"})
    cluster = start_with(ToldExtenders({"filter": answer}), NAMES_ONLY)
    attempt = cluster.attempt(make_pod().build())
    assert attempt.result == "unschedulable"
    assert attempt.message.startswith("0/3 nodes are available: 1 on fire, 1 too hot.")
    assert attempt.unschedulable_plugins == (EXTENDER,)
    rows = list(AttemptMatrix.of(attempt).rows())
    assert [(row.node_name, row.status.code, row.status.plugin) for row in rows] == [
        ("n0", Code.Unschedulable, EXTENDER),
        ("n1", Code.UnschedulableAndUnresolvable, EXTENDER),
        ("n2", Code.UnschedulableAndUnresolvable, EXTENDER),
    ]
    assert Rejection(EXTENDER, "too hot", "Unschedulable", 1) in summarize(attempt).rejections


def test_pod_an_extender_refused_is_tried_again_on_any_event() -> None:
    cluster = start_with(ToldExtenders({"filter": only()}), NAMES_ONLY)
    cluster.attempt(make_pod().build())
    effects = cluster.put(make_node("n9").capacity(cpu="4", memory="8Gi", pods="10").build())
    assert [(move.to, move.hint_plugin) for move in effects.moves if not isinstance(move, CacheMove)] == [
        ("backoff", EXTENDER)
    ]


@pytest.mark.parametrize("ignorable", [True, False], ids=["ignorable", "fatal"])
@cases(
    "answer, message",
    ("no answer", refuse("connection refused"), "connection refused"),
    ("an error as the answer", lambda q: {"Error": "out of order"}, "out of order"),
    ("a node nobody asked about", lambda q: {"NodeNames": ["n7"]},
     f'extender "{URL}" claims a filtered node "n7" which is not found in the input node list'),
    ("an answer of another shape", lambda q: b"[]", "the extender's answer cannot be read: "),
    ("an empty answer", lambda q: b"", "the extender's answer cannot be read: "),
)  # fmt: skip
def test_failing_filter_ends_the_cycle_unless_ignorable(answer: Any, message: str, ignorable: bool) -> None:
    extender = Extender(url_prefix=URL, filter_verb="filter", node_cache_capable=True, ignorable=ignorable)
    cluster = start_with(ToldExtenders({"filter": answer}), extender)
    attempt = cluster.attempt(make_pod().build())
    if ignorable:
        assert attempt.result == "scheduled"
    else:
        assert attempt.result == "error"
        assert attempt.message.startswith(message)
        assert attempt.post_filter is None
        assert attempt.unschedulable_plugins == ()
        assert attempt.requeued_to == "Backoff"


def test_whole_nodes_that_are_not_there_are_refused() -> None:
    answer: Any = lambda q: {"Nodes": {"items": [{"metadata": {"name": "n7"}}]}}  # noqa: E731
    cluster = start_with(ToldExtenders({"filter": answer}), WHOLE_NODES)
    assert cluster.attempt(make_pod().build()).message.endswith("which is not found in the input node list")


@cases(
    "extender, answer",
    ("an answer without nodes", NAMES_ONLY, {"Nodes": None, "NodeNames": None}),
    ("names where whole nodes were asked for", WHOLE_NODES, {"NodeNames": ["n1"]}),
)
def test_answer_leaves_no_node(extender: Extender, answer: dict[str, Any]) -> None:
    attempt = start_with(ToldExtenders({"filter": lambda q: answer}), extender).attempt(make_pod().build())
    assert (attempt.result, attempt.unschedulable_plugins) == ("unschedulable", (EXTENDER,))


def test_ignorable_extenders_come_last_and_see_what_is_left() -> None:
    told = ToldExtenders({"first": only("n0", "n1"), "last": only("n1")})
    ignorable = Extender(url_prefix="http://late", filter_verb="last", node_cache_capable=True, ignorable=True)
    needed = Extender(url_prefix="http://early", filter_verb="first", node_cache_capable=True)
    cluster = start_with(told, ignorable, needed)
    assert cluster.attempt(make_pod().build()).node_name == "n1"
    assert [(prefix, names_of(question)) for prefix, _, question in told.asked] == [
        ("http://early", ["n0", "n1", "n2"]),
        ("http://late", ["n0", "n1"]),
    ]


def test_nobody_is_asked_once_no_node_is_left() -> None:
    told = ToldExtenders({"filter": only(), "never": refuse("asked all the same")})
    cluster = start_with(told, NAMES_ONLY, Extender(url_prefix="http://f", filter_verb="never"))
    cluster.attempt(make_pod().build())
    assert [verb for _, verb, _ in told.asked] == ["filter"]


def test_nodes_sent_back_are_scored_without_their_pods() -> None:
    def answer(question: dict[str, Any]) -> Any:
        return {"Nodes": question["Nodes"]}

    def totals(*extenders: Extender) -> list[int]:
        cluster = start_with(ToldExtenders({"filter": answer}), *extenders, count=2)
        cluster.put(make_pod("there").req(cpu="2", memory="4Gi").on("n1").build())
        attempt = cluster.attempt(make_pod("new").req(cpu="1", memory="1Gi").build())
        assert attempt.score_rows is not None
        return attempt.score_rows.totals.tolist()  # type: ignore[no-any-return]

    with_pods = totals()
    assert with_pods[0] != with_pods[1]
    without = totals(WHOLE_NODES)
    assert without[0] == without[1]


def test_nodes_sent_back_with_other_labels_are_scored_by_these() -> None:
    def answer(question: dict[str, Any]) -> Any:
        items = question["Nodes"]["items"]
        items[1]["metadata"]["labels"] = {"disk": "ssd"}
        return {"Nodes": {"items": items}}

    cluster = start_with(ToldExtenders({"filter": answer}), WHOLE_NODES, count=2)
    term = {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]}
    assert cluster.attempt(make_pod().preferred_node_affinity(50, term).build()).node_name == "n1"


@cases(
    "answer, want",
    ("kept", only("n0", "n1", "n2"), ("n2", True, "")),
    ("refused", only("n0", "n1", FailedNodes={"n2": "full"}), ("n0", False, "")),
    ("down", refuse("down"), ("", False, "down")),
)
def test_nominated_node_goes_through_the_extenders_too(answer: Any, want: tuple[str, bool, str]) -> None:
    told = ToldExtenders({"filter": answer})
    cluster = start_with(told, NAMES_ONLY)
    attempt = cluster.attempt(make_pod().nominated("n2").build())
    found = attempt.nominated
    assert found is not None
    assert (attempt.node_name, found.fits, found.error) == want
    assert names_of(told.questions("filter")[0]) == ["n2"]


def test_extender_may_speak_of_nodes_that_are_not_there() -> None:
    told = ToldExtenders({"filter": only("n0", FailedNodes={"n1": "no", "gone": "no"})})
    cluster = start_with(told, NAMES_ONLY)
    # The words about the nominated node stay in the diagnosis that the walk begins with.
    assert cluster.attempt(make_pod().nominated("n2").build()).node_name == "n0"


@cases(
    "extenders, want",
    ("without extenders", (), 1),
    ("filter", (Extender(url_prefix=URL, filter_verb="filter", node_cache_capable=True),), 4),
    ("prioritize", (Extender(url_prefix=URL, prioritize_verb="prioritize", weight=1),), 4),
    ("neither", (Extender(url_prefix=URL, bind_verb="bind"),), 1),
)
def test_one_node_is_enough_only_when_nobody_filters_or_scores(extenders: tuple[Extender, ...], want: int) -> None:
    told = ToldExtenders({"filter": only("n3"), "prioritize": lambda q: [], "bind": lambda q: {}})
    plugins = ToldPlugins().add("F", FilteringPlugin)
    cluster = start_with(told, *extenders, profile=profile("F"), plugins=plugins, count=4)
    assert cluster.attempt(make_pod().build()).num_nodes_to_find == want


@cases(
    "pod, asked",
    ("asks for nothing it manages", make_pod().req(cpu="1"), False),
    ("requests", make_pod().req({GPU: "1"}).limit({GPU: "1"}), True),
    ("limits", make_pod().req(cpu="1").limit({GPU: "1"}), True),
    ("init container", make_pod().req(cpu="1").init_container({GPU: "1"}), True),
)
def test_extender_is_asked_about_pods_with_its_resources_only(pod: Any, asked: bool) -> None:
    managed = (ExtenderManagedResource(GPU, ignored_by_scheduler=True),)
    extender = Extender(url_prefix=URL, filter_verb="filter", node_cache_capable=True, managed_resources=managed)
    told = ToldExtenders({"filter": only("n0", "n1", "n2")})
    cluster = start_with(told, extender)
    assert cluster.attempt(pod.build()).result == "scheduled"  # no node has any: it is not for the scheduler to say
    assert bool(told.asked) is asked


def test_managed_resource_that_is_not_ignored_is_still_looked_at() -> None:
    extender = Extender(url_prefix=URL, managed_resources=(ExtenderManagedResource(GPU),))
    cluster = start_with(ToldExtenders(), extender, count=1)
    attempt = cluster.attempt(make_pod().req({GPU: "1"}).build())
    assert attempt.message.startswith(f"0/1 nodes are available: 1 Insufficient {GPU}.")


def test_ignored_resources_need_the_plugins_arguments() -> None:
    extender = Extender(url_prefix=URL, managed_resources=(ExtenderManagedResource(GPU, True),))
    message = "^couldn't build extenders: can't find NodeResourcesFitArgs in plugin config$"
    with pytest.raises(ConfigError, match=message):
        start_with(ToldExtenders(), extender, profile=profile())


def test_extenders_need_a_way_to_reach_them() -> None:
    with pytest.raises(ConfigError, match="^couldn't build extenders: "):
        build(configure(extenders=(NAMES_ONLY,)), draws=FirstDraws())
