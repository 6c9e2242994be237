"""Extenders that answer oddly or not at all: an extender error each time, within its time, and the step commits."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

import pytest

from kschedweb.cluster.extender_http import connect
from kschedweb.cluster.models import Cluster
from kschedweb.traces.models import Attempt, EngineStep
from scheduler_core.config.duration import Duration
from scheduler_core.config.types import Extender
from scheduler_core.errors import ExtenderError
from tests.builders import make_manifest, make_node, make_pod
from tests.waiting import joined
from tests.web.scheduling import odd_extenders as odd
from tests.web.scheduling.conftest import configure, lead, put, scheduled, settle
from tests.web.scheduling.extenders import ExtenderServer

CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

UNENDING = [
    pytest.param(odd.silent, id="silent"),
    pytest.param(odd.drips(b"", b"HTTP/1.1 200 OK\r\nX: " + b"x" * 50_000), id="its head comes byte by byte"),
    pytest.param(odd.drips(odd.HEAD, b"x"), id="its body comes byte by byte"),
    pytest.param(odd.drips(CHUNKED, b"1\r\nx\r\n"), id="its chunks come byte by byte"),
    pytest.param(odd.endless(odd.HEAD, b"[" * 65536), id="its body has no end"),
    pytest.param(odd.endless(b"", CONTINUE * 1000), id="says continue for ever"),
    pytest.param(odd.endless(CHUNKED + b"0\r\n", b"X: y\r\n" * 1000), id="its trailers have no end"),
]


@pytest.mark.parametrize("behaviour", UNENDING)
def test_question_is_over_after_its_time_whatever_the_extender_does(behaviour: odd.Behaviour) -> None:
    failures: list[BaseException] = []

    def ask(url: str) -> None:
        try:
            connect(Extender(url_prefix=url, http_timeout=Duration(100_000))).call("filter", b"{}")
        except BaseException as error:
            failures.append(error)

    with odd.odd_extender(behaviour) as extender:
        thread = threading.Thread(target=ask, args=(extender.url,), daemon=True)
        thread.start()
        joined(thread)  # none of them ends by itself before a test would be given up
    (failure,) = failures
    assert isinstance(failure, ExtenderError), repr(failure)


def deep(opening: bytes, closing: bytes, inner: bytes = b"1", depth: int = 200_000) -> bytes:
    return opening * depth + inner + closing * depth


ODD_ANSWERS = {
    "lists 200,000 deep": deep(b"[", b"]"),
    "objects 200,000 deep": deep(b'{"a":', b"}"),
    "nodes 200,000 deep": b'{"Nodes": ' + deep(b"[", b"]") + b"}",
    "a million brackets": b"[" * 1_000_000,
    "nothing": b"",
    "two values": b"null" * 2,
    "no UTF-8": b"\xff\xfe\x00",
    "text that is no UTF-8": b'{"Error": "\xff"}',
    "a key that is no UTF-8": b'{"\xff": 1}',
    "half a character": b'{"Error": "\\ud800"}',
    "an error that is a number": b'{"Error": 7}',
    "a number": b"7",
    "a text": b'"n0"',
    "a list": b"[]",
    "names that are an object": b'{"NodeNames": {"n0": 1}}',
    "names that are numbers": b'{"NodeNames": [7]}',
    "a name that is null": b'{"NodeNames": ["n0", null]}',
    "a node that was not asked about": b'{"NodeNames": ["elsewhere"]}',
    "a node twice": b'{"NodeNames": ["n0", "n0"]}',
    "a failed node without a reason": b'{"FailedNodes": {"n0": null}}',
    "a number without end": b'{"NodeNames": [], "FailedNodes": {"n0": 1e999}}',
    "a number of 6,000 digits": b'{"NodeNames": [], "x": ' + b"1" * 6000 + b"}",
    "a reason with a character of code 0": b'{"NodeNames": [], "FailedNodes": {"n0": "a\\u0000b"}}',
    "a reason of 48,000 bytes": {"NodeNames": [], "FailedNodes": {"n0": "".join(map(chr, range(0x4E00, 0x8E00)))}},
    "20,000 nodes nobody knows": {"NodeNames": [], "FailedNodes": {f"x{i}": f"r{i}" for i in range(20_000)}},
    "a name with a character of code 0": b'{"NodeNames": [], "FailedNodes": {"n\\u0000": "x"}}',
    "a node with a character of code 0": b'{"NodeNames": ["n\\u0000"]}',
    "an error with a character of code 0": b'{"Error": "a\\u0000b"}',
    "an error of 3 MB": {"Error": "x" * 3_000_000},
}


def attempts(cluster: Cluster, extender: ExtenderServer, verb: str, answers: Mapping[str, Any]) -> dict[str, Attempt]:
    """The attempt at a pod for each answer, all of one engine; the extender answers by the pod it is asked about."""
    names = {f"p{number}": name for number, name in enumerate(answers)}
    extender.answers[f"/{verb}"] = lambda question: answers[names[question["Pod"]["metadata"]["name"]]]
    put(cluster, *(make_node(f"n{i}").capacity(cpu="64") for i in range(2)))
    put(cluster, *(make_pod(name).req(cpu="1") for name in names))
    host = lead(cluster)
    host.clock_us = lambda: 2_000_000_000_000_000  # nothing is tried twice
    settle(host)
    made = {names[row.name]: row for row in Attempt.objects.filter(cluster=cluster)}
    assert made.keys() == answers.keys()
    return made


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("whole_nodes", [False, True], ids=["by name", "by whole nodes"])
def test_step_commits_whatever_the_filter_answers(
    cluster: Cluster, extender: ExtenderServer, whole_nodes: bool
) -> None:
    asked = {"urlPrefix": extender.url, "filterVerb": "filter", "nodeCacheCapable": not whole_nodes}
    configure(cluster, extenders=[asked])
    for name, attempt in attempts(cluster, extender, "filter", ODD_ANSWERS).items():
        assert attempt.result in ("error", "unschedulable", "scheduled"), name
        assert attempt.result == "scheduled" or attempt.message, name
        assert len(attempt.message) < 10_000 or "nodes are available" in attempt.message, name


def whole(name: str, **fields: Any) -> dict[str, Any]:
    return make_node(name).manifest() | fields


ODD_NODES = {
    "a node twice": [whole("n0"), whole("n0")],
    "a quantity of 5,000 digits": [whole("n0", status={"allocatable": {"cpu": "1" * 5000}})],
    "odd quantities": [whole("n0", status={"allocatable": {"cpu": "-4", "memory": "9" * 30}})],
    "taints that are a text": [whole("n0", spec={"taints": "x"})],
    "a node without a name": [{}],
    "a node without resources": [whole("n0"), whole("n1", status={})],
    "an odd taint": [whole("n0"), whole("n1", spec={"taints": [{"key": "k", "effect": "Odd"}]})],
    "in another order": [whole("n1"), whole("n0")],
}


@pytest.mark.django_db(transaction=True)
def test_step_commits_whatever_nodes_are_sent_back(cluster: Cluster, extender: ExtenderServer) -> None:
    configure(cluster, extenders=[{"urlPrefix": extender.url, "filterVerb": "filter"}])
    bodies = {name: {"Nodes": {"items": items}} for name, items in ODD_NODES.items()}
    for name, attempt in attempts(cluster, extender, "filter", bodies).items():
        assert attempt.result in ("error", "unschedulable", "scheduled"), name


ODD_SCORES = {
    "lists 200,000 deep": deep(b"[", b"]"),
    "an object": b"{}",
    "the largest number": b'[{"Host": "n0", "Score": 9223372036854775807}]',
    "a larger one": b'[{"Host": "n0", "Score": 9223372036854775808}]',
    "a fraction": b'[{"Host": "n0", "Score": 1.5}]',
    "a text": b'[{"Host": "n0", "Score": "1"}]',
    "a node twice": b'[{"Host": "n0", "Score": 1}, {"Host": "n0", "Score": 1}, {"Host": "?"}]',
    "no UTF-8": b"\xff",
}


@pytest.mark.django_db(transaction=True)
def test_pods_are_scheduled_whatever_the_scores(cluster: Cluster, extender: ExtenderServer) -> None:
    asked = {"urlPrefix": extender.url, "prioritizeVerb": "score", "weight": 9_000_000_000}
    configure(cluster, extenders=[asked])
    made = attempts(cluster, extender, "score", ODD_SCORES)
    assert {name: attempt.result for name, attempt in made.items()} == dict.fromkeys(ODD_SCORES, "scheduled")


ODD_VICTIMS = [
    pytest.param(lambda uid: deep(b"[", b"]"), id="lists 200,000 deep"),
    pytest.param(lambda uid: {"n1": {"Pods": [{"UID": uid}, {"UID": uid}]}}, id="a victim twice"),
    pytest.param(lambda uid: {"n1": {"Pods": [{"UID": "?"}]}}, id="a victim nobody knows"),
    pytest.param(lambda uid: {"n9": {"Pods": [{"UID": uid}]}}, id="a node nobody knows"),
    pytest.param(lambda uid: {"n1": {"Pods": []}}, id="no victims"),
    pytest.param(lambda uid: {"n1": None}, id="victims that are null"),
    pytest.param(lambda uid: {"n1": {"Pods": 7}}, id="victims that are a number"),
    pytest.param(lambda uid: {"n1": {"Pods": [{"UID": uid}], "NumPDBViolations": 2**63 - 1}}, id="many violations"),
    pytest.param(lambda uid: {"n1": {"Pods": [{"UID": uid}], "NumPDBViolations": -5}}, id="fewer than none"),
]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("answer", ODD_VICTIMS)
def test_step_commits_whatever_victims_are_chosen(cluster: Cluster, extender: ExtenderServer, answer: Any) -> None:
    low = [make_pod(f"l{i}").req(cpu="4").on(f"n{i}").phase("Running") for i in range(2)]
    told = answer(low[1].manifest()["metadata"]["uid"])
    extender.answers["/preempt"] = lambda question: told if isinstance(told, bytes) else {"NodeNameToMetaVictims": told}
    configure(cluster, extenders=[{"urlPrefix": extender.url, "preemptVerb": "preempt"}])
    put(cluster, make_manifest("PriorityClass", "high", value=100))
    put(cluster, *(make_node(f"n{i}").capacity(cpu="4") for i in range(2)), *low)
    put(cluster, make_pod("high").req(cpu="4").spec(priorityClassName="high"))
    host = lead(cluster)
    host.step()
    host.step()
    attempt = Attempt.objects.filter(cluster=cluster).order_by("seq")[0]
    assert attempt.result == "unschedulable"


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("verb", ["é", "a b", "a?b#c", "..", "a\nb", "%zz", "日本", "x" * 70_000])
def test_step_commits_whatever_the_verb_is(cluster: Cluster, verb: str) -> None:
    with odd.odd_extender(odd.answers(b'{"NodeNames": ["n0"]}')) as extender:
        configure(cluster, extenders=[{"urlPrefix": extender.url, "filterVerb": verb, "nodeCacheCapable": True}])
        scheduled(cluster, make_node("n0"), make_pod("p").req(cpu="1"))
    assert EngineStep.objects.filter(cluster=cluster).count() > 1
    assert Attempt.objects.get(cluster=cluster).result == ("error" if verb in ("a\nb", "%zz") else "scheduled")


HEADS = [
    pytest.param(b"", id="hangs up"),
    pytest.param(b"\xff" * 1000, id="no HTTP"),
    pytest.param(b"HTTP/1.1 abc\r\n\r\n", id="no status"),
    pytest.param(b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 1000 + b"\r\n", id="a thousand headers"),
    pytest.param(b"HTTP/1.1 200 OK\r\nX: " + b"x" * 100_000 + b"\r\n\r\n", id="a header of 100,000 bytes"),
    pytest.param(b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n{}", id="a negative length"),
    pytest.param(b"HTTP/1.1 200 OK\r\nContent-Length: " + b"9" * 5000 + b"\r\n\r\n{}", id="a length of 5,000 digits"),
    pytest.param(CHUNKED + b"zz\r\n{}\r\n", id="a chunk of no length"),
    pytest.param(CHUNKED + b"-2\r\n{}\r\n0\r\n\r\n", id="a chunk of negative length"),
    pytest.param(CHUNKED + b"f" * 5000 + b"\r\n{}\r\n", id="a chunk of endless length"),
    pytest.param(b"HTTP/1.1 200 \xff\r\n\xff: \xff\r\n\r\n{", id="headers that are no text"),
]


@pytest.mark.parametrize("head", HEADS)
def test_odd_heads_are_extender_errors_or_answers(head: bytes) -> None:
    def behave(connection: Any, over: threading.Event) -> None:
        connection.sendall(head)

    with odd.odd_extender(behave) as extender:
        transport = connect(Extender(url_prefix=extender.url, http_timeout=Duration(60_000_000)))
        try:
            assert isinstance(transport.call("filter", b"{}"), bytes)
        except ExtenderError as error:
            assert str(error)
