"""Extenders that answer oddly or not at all: an extender error each time, within its time, and the step commits."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest

from kschedweb.cluster.extender_http import connect
from kschedweb.cluster.models import Cluster
from kschedweb.traces.models import Attempt, EngineStep
from scheduler_core.config.duration import Duration
from scheduler_core.config.types import Extender
from scheduler_core.errors import ExtenderError
from tests.builders import make_node, make_pod
from tests.waiting import joined
from tests.web.scheduling import odd_extenders as odd
from tests.web.scheduling.conftest import PutObjects, lead, settle
from tests.web.scheduling.test_extender_http import configure, nodes

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


ODD_ANSWERS = [
    pytest.param(deep(b"[", b"]"), id="lists 200,000 deep"),
    pytest.param(deep(b'{"a":', b"}"), id="objects 200,000 deep"),
    pytest.param(b'{"Nodes": ' + deep(b"[", b"]") + b"}", id="nodes 200,000 deep"),
    pytest.param(b"[" * 1_000_000, id="a million brackets"),
    pytest.param(b"", id="nothing"),
    pytest.param(b"null" * 2, id="two values"),
    pytest.param(b"\xff\xfe\x00", id="no UTF-8"),
    pytest.param(b'{"Error": "\xff"}', id="text that is no UTF-8"),
    pytest.param(b'{"\xff": 1}', id="a key that is no UTF-8"),
    pytest.param(b'{"Error": "\\ud800"}', id="half a character"),
    pytest.param(b'{"Error": 7}', id="an error that is a number"),
    pytest.param(b"7", id="a number"),
    pytest.param(b'"n0"', id="a text"),
    pytest.param(b"[]", id="a list"),
    pytest.param(b'{"NodeNames": {"n0": 1}}', id="names that are an object"),
    pytest.param(b'{"NodeNames": [7]}', id="names that are numbers"),
    pytest.param(b'{"NodeNames": ["n0", null]}', id="a name that is null"),
    pytest.param(b'{"NodeNames": ["elsewhere"]}', id="a node that was not asked about"),
    pytest.param(b'{"NodeNames": ["n0", "n0"]}', id="a node twice"),
    pytest.param(b'{"FailedNodes": {"n0": null}}', id="a failed node without a reason"),
    pytest.param(b'{"NodeNames": [], "FailedNodes": {"n0": 1e999}}', id="a number without end"),
    pytest.param(b'{"NodeNames": [], "x": ' + b"1" * 6000 + b"}", id="a number of 6,000 digits"),
    pytest.param(b'{"NodeNames": [], "FailedNodes": {"n0": "a\\u0000b"}}', id="a reason with a character of code 0"),
    pytest.param(
        json.dumps({"NodeNames": [], "FailedNodes": {"n0": "".join(map(chr, range(0x4E00, 0x8E00)))}}).encode(),
        id="a reason of 48,000 bytes",
    ),
    pytest.param(
        json.dumps({"NodeNames": [], "FailedNodes": {f"x{i}": f"r{i}" for i in range(20_000)}}).encode(),
        id="20,000 nodes nobody knows",
    ),
    pytest.param(b'{"NodeNames": [], "FailedNodes": {"n\\u0000": "x"}}', id="a name with a character of code 0"),
    pytest.param(b'{"NodeNames": ["n\\u0000"]}', id="a node with a character of code 0"),
    pytest.param(b'{"Error": "a\\u0000b"}', id="an error with a character of code 0"),
    pytest.param(json.dumps({"Error": "x" * 3_000_000}).encode(), id="an error of 3 MB"),
]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("whole_nodes", [False, True], ids=["by name", "by whole nodes"])
@pytest.mark.parametrize("body", ODD_ANSWERS)
def test_step_commits_whatever_the_filter_answers(
    cluster: Cluster, put_objects: PutObjects, body: bytes, whole_nodes: bool
) -> None:
    with odd.odd_extender(odd.answers(body)) as extender:
        configure(cluster, {"urlPrefix": extender.url, "filterVerb": "filter", "nodeCacheCapable": not whole_nodes})
        put_objects(cluster, [*nodes(2), make_pod("p").req(cpu="1").manifest()])
        settle(cluster, lead(cluster))
    attempt = Attempt.objects.get(cluster=cluster)
    assert attempt.result in ("error", "unschedulable", "scheduled")
    assert attempt.result == "scheduled" or attempt.message
    assert len(attempt.message) < 10_000 or "nodes are available" in attempt.message


def whole(name: str, **fields: Any) -> dict[str, Any]:
    return make_node(name).capacity(cpu="4", memory="8Gi", pods="10").manifest() | fields


ODD_NODES = [
    pytest.param([whole("n0"), whole("n0")], id="a node twice"),
    pytest.param([whole("n0", status={"allocatable": {"cpu": "1" * 5000}})], id="a quantity of 5,000 digits"),
    pytest.param([whole("n0", status={"allocatable": {"cpu": "-4", "memory": "9" * 30}})], id="odd quantities"),
    pytest.param([whole("n0", spec={"taints": "x"})], id="taints that are a text"),
    pytest.param([{}], id="a node without a name"),
    pytest.param([whole("n0"), whole("n1", status={})], id="a node without resources"),
    pytest.param([whole("n0"), whole("n1", spec={"taints": [{"key": "k", "effect": "Odd"}]})], id="an odd taint"),
    pytest.param([whole("n1"), whole("n0")], id="in another order"),
]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("items", ODD_NODES)
def test_step_commits_whatever_nodes_are_sent_back(
    cluster: Cluster, put_objects: PutObjects, items: list[dict[str, Any]]
) -> None:
    body = json.dumps({"Nodes": {"items": items}}).encode()
    with odd.odd_extender(odd.answers(body)) as extender:
        configure(cluster, {"urlPrefix": extender.url, "filterVerb": "filter"})
        put_objects(cluster, [*nodes(2), make_pod("p").req(cpu="1").manifest()])
        settle(cluster, lead(cluster))
    assert Attempt.objects.get(cluster=cluster).result in ("error", "unschedulable", "scheduled")


ODD_SCORES = [
    pytest.param(deep(b"[", b"]"), id="lists 200,000 deep"),
    pytest.param(b"{}", id="an object"),
    pytest.param(b'[{"Host": "n0", "Score": 9223372036854775807}]', id="the largest number"),
    pytest.param(b'[{"Host": "n0", "Score": 9223372036854775808}]', id="a larger one"),
    pytest.param(b'[{"Host": "n0", "Score": 1.5}]', id="a fraction"),
    pytest.param(b'[{"Host": "n0", "Score": "1"}]', id="a text"),
    pytest.param(b'[{"Host": "n0", "Score": 1}, {"Host": "n0", "Score": 1}, {"Host": "?"}]', id="a node twice"),
    pytest.param(b"\xff", id="no UTF-8"),
]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("body", ODD_SCORES)
def test_pod_is_scheduled_whatever_the_scores(cluster: Cluster, put_objects: PutObjects, body: bytes) -> None:
    with odd.odd_extender(odd.answers(body)) as extender:
        configure(cluster, {"urlPrefix": extender.url, "prioritizeVerb": "score", "weight": 9_000_000_000})
        put_objects(cluster, [*nodes(2), make_pod("p").req(cpu="1").manifest()])
        settle(cluster, lead(cluster))
    assert Attempt.objects.get(cluster=cluster).result == "scheduled"


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
def test_step_commits_whatever_victims_are_chosen(cluster: Cluster, put_objects: PutObjects, answer: Any) -> None:
    low = make_pod("low").req(cpu="4").on("n1").phase("Running").manifest()
    told = answer(low["metadata"]["uid"])
    body = told if isinstance(told, bytes) else json.dumps({"NodeNameToMetaVictims": told}).encode()
    priority = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "high"},
        "value": 100,
    }
    with odd.odd_extender(odd.answers(body)) as extender:
        configure(cluster, {"urlPrefix": extender.url, "preemptVerb": "preempt"})
        put_objects(
            cluster, [priority, *nodes(2), low, make_pod("l0").req(cpu="4").on("n0").phase("Running").manifest()]
        )
        put_objects(cluster, [make_pod("high").req(cpu="4").spec(priorityClassName="high").manifest()])
        host = lead(cluster)
        host.step()
        host.step()
    attempt = Attempt.objects.filter(cluster=cluster).order_by("seq")[0]
    assert attempt.result == "unschedulable"


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("verb", ["é", "a b", "a?b#c", "..", "a\nb", "%zz", "日本", "x" * 70_000])
def test_step_commits_whatever_the_verb_is(cluster: Cluster, put_objects: PutObjects, verb: str) -> None:
    with odd.odd_extender(odd.answers(b'{"NodeNames": ["n0"]}')) as extender:
        configure(cluster, {"urlPrefix": extender.url, "filterVerb": verb, "nodeCacheCapable": True})
        put_objects(cluster, [*nodes(1), make_pod("p").req(cpu="1").manifest()])
        settle(cluster, lead(cluster))
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
