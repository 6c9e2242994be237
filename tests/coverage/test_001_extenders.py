"""File 001, extenders: one test per verb, against a server on this machine."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from kschedweb.cluster.extender_http import connect
from scheduler_core import config
from scheduler_core.build import build
from scheduler_core.ports import FirstDraws
from tests.builders import make_node, make_pod
from tests.core.scheduler.harness import Cluster

HEAD = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
Answer = Callable[[dict[str, Any]], Any]


class Webhook:
    """Answers by verb; what it was asked is kept."""

    def __init__(self) -> None:
        self.answers: dict[str, Answer] = {}
        self.asked: list[tuple[str, dict[str, Any]]] = []
        webhook = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                verb = self.path.rpartition("/")[2]
                question = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                webhook.asked.append((verb, question))
                answer = webhook.answers.get(verb)
                self.send_response(200 if answer else 500)
                self.end_headers()
                if answer:
                    self.wfile.write(json.dumps(answer(question)).encode())

            def log_message(self, format: str, *args: object) -> None:
                """Nothing on the terminal."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/scheduler"
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()


@pytest.fixture
def webhook() -> Iterator[Webhook]:
    made = Webhook()
    yield made
    made.server.shutdown()
    made.server.server_close()


def cluster_with(webhook: Webhook, *nodes: str, **extender: Any) -> Cluster:
    given = {"urlPrefix": webhook.url, "nodeCacheCapable": True, **extender}
    loaded = config.load({**HEAD, "extenders": [given]})
    cluster = Cluster(build(loaded, draws=FirstDraws(), connect_extender=connect))
    cluster.put(*(make_node(name).capacity(cpu="1").build() for name in nodes))
    return cluster


def test_001_extender_filters(webhook: Webhook) -> None:
    """Scheduler extenders (HTTP)"""
    webhook.answers["filter"] = lambda asked: {"NodeNames": asked["NodeNames"][1:], "FailedNodes": {"n0": "too warm"}}
    cluster = cluster_with(webhook, "n0", "n1", filterVerb="filter")
    assert cluster.attempt(make_pod("a").build()).node_name == "n1"
    (verb, question), = webhook.asked  # fmt: skip
    assert (verb, question["NodeNames"], question["Pod"]["metadata"]["name"]) == ("filter", ["n0", "n1"], "a")
    webhook.answers["filter"] = lambda asked: {"NodeNames": [], "FailedNodes": dict.fromkeys(asked["NodeNames"], "hot")}
    attempt = cluster.attempt(make_pod("b").build())
    assert attempt.message.startswith("0/2 nodes are available: 2 hot.")
    assert attempt.unschedulable_plugins == ("Extender",)


@pytest.mark.parametrize(("ignorable", "result"), [(True, "scheduled"), (False, "error")])
def test_001_extender_fails(webhook: Webhook, ignorable: bool, result: str) -> None:
    """Scheduler extenders (HTTP)"""
    cluster = cluster_with(webhook, "n0", filterVerb="filter", ignorable=ignorable)
    attempt = cluster.attempt(make_pod().build())
    failed = f"failed filter with extender at URL {webhook.url}/filter, code 500"
    assert (attempt.result, attempt.message) == (result, "" if ignorable else failed)


def test_001_extender_prioritizes(webhook: Webhook) -> None:
    """Scheduler extenders (HTTP)"""
    webhook.answers["prioritize"] = lambda asked: [{"Host": "n0", "Score": 1}, {"Host": "n2", "Score": 7}]
    cluster = cluster_with(webhook, "n0", "n1", "n2", prioritizeVerb="prioritize", weight=3)
    attempt = cluster.attempt(make_pod("a").build())
    assert attempt.score_rows is not None
    first, second, third = attempt.score_rows.totals.tolist()
    assert (first - second, third - second) == (1 * 3 * 10, 7 * 3 * 10)
    assert attempt.node_name == "n2"
    del webhook.answers["prioritize"]
    assert cluster.attempt(make_pod("b").build()).result == "scheduled"  # a failure never counts here


def test_001_extender_binds(webhook: Webhook) -> None:
    """Scheduler extenders (HTTP)"""
    webhook.answers["bind"] = lambda asked: {"Error": ""}
    cluster = cluster_with(webhook, "n0", bindVerb="bind")
    effects = cluster.step(make_pod("a").build())
    assert effects.bindings == []  # the extender has done it
    (_, question), = webhook.asked  # fmt: skip
    assert question == {"PodName": "a", "PodNamespace": "default", "PodUID": "pod-default/a", "Node": "n0"}
    webhook.answers["bind"] = lambda asked: {"Error": "no more"}
    effects = cluster.step(make_pod("b").build())
    (patch,) = effects.status_patches
    assert (patch.reason, patch.message) == ("SchedulerError", "no more")


def test_001_extender_preempts(webhook: Webhook) -> None:
    """Scheduler extenders (HTTP)"""
    webhook.answers["preempt"] = lambda asked: {
        "NodeNameToMetaVictims": {"n1": asked["NodeNameToMetaVictims"]["n1"]},
    }
    cluster = cluster_with(webhook, "n0", "n1", preemptVerb="preempt")
    for node, priority in (("n0", 0), ("n1", 5)):  # by itself n0 would be chosen
        cluster.put(make_pod(f"on-{node}").req(cpu="1").priority(priority).on(node).phase("Running").build())
    attempt = cluster.attempt(make_pod("p").req(cpu="1").priority(9).build())
    assert attempt.nominated_node_name == "n1"
    assert [eviction.name for eviction in cluster.effects[-1].evictions] == ["on-n1"]
    offered = webhook.asked[0][1]["NodeNameToMetaVictims"]
    assert {name: [pod["UID"] for pod in victims["Pods"]] for name, victims in offered.items()} == {
        "n0": ["pod-default/on-n0"],
        "n1": ["pod-default/on-n1"],
    }


def test_001_extender_manages_resources(webhook: Webhook) -> None:
    """Scheduler extenders (HTTP)"""
    webhook.answers["filter"] = lambda asked: {"NodeNames": asked["NodeNames"]}
    managed = [{"name": "example.com/slot", "ignoredByScheduler": True}]
    cluster = cluster_with(webhook, "n0", filterVerb="filter", managedResources=managed)
    assert cluster.attempt(make_pod("plain").build()).node_name == "n0"
    assert webhook.asked == []
    assert cluster.attempt(make_pod("slotted").req({"example.com/slot": "5"}).build()).node_name == "n0"
    assert len(webhook.asked) == 1
