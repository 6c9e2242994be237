"""Pods of three priorities come one after the other to full nodes whose pods take long to end.

All of the lowest have to go, the highest get their places, and those between them what is left. Which pods are tried
before which decides it: the medium ones, made first, fill the nodes with their nominations, each by one victim more. A
high one that is tried before the last of them takes a place by a victim that is leaving already, and one low pod stays.

Source: kubernetes, test/e2e/scheduling/preemption.go, "validates various priority Pods preempt expectedly with the
async preemption". Since the end of 2025 it waits for the victims before it makes high pods; until then it did not.
"""

from __future__ import annotations

import http.client
import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import Any

import pytest

from kschedweb.ops import up
from tests.builders import make_manifest, make_node, make_pod
from tests.faults.service import Service
from tests.waiting import HANG_SECONDS, eventually

NODES = ("n0", "n1", "n2", "n3")
ROOM = 10  # of pods on each node
HALF = ROOM // 2  # of each node, for the most important
RESOURCE = "example.com/room"
PRIORITIES = {"low": 1, "medium": 100, "high": 1000}
GRACE_SECONDS = 3600  # 80 there; none may end before all have been looked at, on a slow machine either
CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"
PODS = "/api/v1/namespaces/default/pods"
RUNS = 20

Manifest = dict[str, Any]


class Order(StrEnum):
    """When the high pods are made."""

    LATER = "once all low ones are leaving"
    AT_ONCE = "right after the medium ones"
    BY_NODE = "some after some of the medium ones"


class Api:
    """The Kubernetes API of one cluster by one connection, so that requests come as fast as they are answered."""

    def __init__(self, connection: http.client.HTTPConnection, token: str, cluster: str) -> None:
        self._connection, self._base = connection, f"/k8s/{cluster}"
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

    def ask(self, method: str, path: str, body: Manifest | None = None) -> Manifest:
        text = None if body is None else json.dumps(body)
        self._connection.request(method, self._base + path, text, self._headers)
        answer = self._connection.getresponse()
        content = answer.read().decode()
        assert answer.status < 300, content
        return dict(json.loads(content))

    def create(self, pods: Iterable[Manifest]) -> None:
        for each in pods:
            self.ask("POST", PODS, each)

    def names(self, kind: str, fact: Callable[[Manifest], object]) -> list[str]:
        """The pods of a kind that are so."""
        found = self.ask("GET", f"{PODS}?labelSelector=kind%3D{kind}")["items"]
        return [str(each["metadata"]["name"]) for each in found if fact(each)]


@contextmanager
def api_of(service: Service, cluster: str) -> Iterator[Api]:
    client = service.client
    connection = up.connection_to(client.host, client.port, client.certificate, HANG_SECONDS)
    try:
        yield Api(connection, client.token, cluster)
    finally:
        connection.close()


def pod(kind: str, number: int) -> Manifest:
    """One that takes a tenth of a node; a low one belongs to its node, and is slow to end."""
    made = make_pod(f"{kind}-{number:02d}").label(kind=kind).req({RESOURCE: "1"}).limit({RESOURCE: "1"}).image("pause")
    made.spec(priorityClassName=kind)
    if kind == "low":
        node = NODES[number // ROOM]
        made.required_node_affinity({"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]})
        made.spec(terminationGracePeriodSeconds=GRACE_SECONDS)
        made.annotation({"kschedweb.io/stop-seconds": str(GRACE_SECONDS)})
    return made.manifest()


LOW = [pod("low", number) for number in range(len(NODES) * ROOM)]
MEDIUM = [pod("medium", number) for number in range(len(NODES) * ROOM)]
HIGH = [pod("high", number) for number in range(len(NODES) * HALF)]


def test_all_low_pods_are_victims_and_high_ones_get_their_places(service: Service) -> None:
    play(service, "once", Order.AT_ONCE)


@pytest.mark.slow
@pytest.mark.parametrize("run", range(RUNS))
@pytest.mark.parametrize("order", Order)
def test_all_low_pods_are_victims_each_time(service: Service, order: Order, run: int) -> None:
    play(service, f"{order.name}-{run}".lower().replace("_", "-"), order)


def play(service: Service, name: str, order: Order) -> None:
    cluster_id = int(service.client.post("/api/clusters", {"name": name, "lifecycle_mode": "simulate"})["id"])
    try:
        with api_of(service, name) as api:
            fill(service, api)
            come(service, cluster_id, api, order)
            service.wait_settled(cluster_id)
            assert_all_leave(api)
            assert api.names("high", lambda each: "nominatedNodeName" not in each["status"]) == []

            for low in LOW:
                api.ask("DELETE", f"{PODS}/{low['metadata']['name']}?gracePeriodSeconds=0")
            eventually(lambda: len(api.names("high", is_running)) == len(HIGH), service.logs)
            service.wait_settled(cluster_id)
            assert len(api.names("medium", lambda each: "nodeName" in each["spec"])) == len(LOW) - len(HIGH)
    finally:
        service.client.call("DELETE", f"/api/clusters/{cluster_id}")


def fill(service: Service, api: Api) -> None:
    """Nodes whose pods run, with no room left."""
    for kind, value in PRIORITIES.items():
        api.ask("POST", CLASSES, make_manifest("PriorityClass", kind, value=value))
    for node in NODES:
        api.ask("POST", "/api/v1/nodes", make_node(node).capacity({RESOURCE: str(ROOM)}, pods="110").manifest())
    api.create(LOW)
    eventually(lambda: len(api.names("low", is_running)) == len(LOW), service.logs)


def come(service: Service, cluster_id: int, api: Api, order: Order) -> None:
    """The medium pods, and the high ones."""
    if order == Order.BY_NODE:
        for place in range(len(NODES)):
            api.create(MEDIUM[place * ROOM : (place + 1) * ROOM])
            api.create(HIGH[place * HALF : (place + 1) * HALF])
        return
    api.create(MEDIUM)
    if order == Order.LATER:
        service.wait_settled(cluster_id)
        assert_all_leave(api)
    api.create(HIGH)


def assert_all_leave(api: Api) -> None:
    leaving = api.names("low", lambda each: "deletionTimestamp" in each["metadata"])
    assert sorted(leaving) == [low["metadata"]["name"] for low in LOW]


def is_running(each: Manifest) -> bool:
    return bool(each["status"]["phase"] == "Running")
