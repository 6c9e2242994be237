"""Storms against scheduling: extenders that say nothing or nonsense, and clusters deleted while they are scheduled."""

import json
from contextlib import ExitStack
from functools import partial
from typing import Any

import orjson
import pytest

from kschedweb.ops.processes import wait_until
from tests.attack.conftest import Cast, Storming
from tests.attack.storm import Attacked, Storm
from tests.faults import workloads
from tests.faults.service import Service
from tests.waiting import HANG_SECONDS
from tests.web.rest import items, node, pod
from tests.web.scheduling import odd_extenders as odd

ROUNDS, CLUSTERS = 3, 4
LONG_ROUNDS = 15


def deep(opening: bytes, closing: bytes, depth: int = 200_000) -> bytes:
    return opening * depth + b"1" + closing * depth


ODD_ANSWERS = {
    "lists": odd.answers(deep(b"[", b"]")),
    "objects": odd.answers(deep(b'{"NodeNames":', b"}")),
    "brackets": odd.answers(b"[" * 1_000_000),
    "surrogates": odd.answers(b'{"NodeNames": ["\\ud800"]}'),
    "numbers": odd.answers(b'{"NodeNames": ' + b"1" * 5_000 + b"}"),
    "no HTTP": odd.drips(b"\xff\x00\r\n", b"x"),
}


def bad_cluster(service: Service, name: str, url: str) -> int:
    """A cluster whose pods wait for that extender, for an hour if it were allowed."""
    cluster_id = service.cluster_create(name)
    extender = {"urlPrefix": url, "filterVerb": "filter", "httpTimeout": "1h", "nodeCacheCapable": True}
    kind = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    text = json.dumps({**kind, "extenders": [extender]}).encode()
    service.client.call("PUT", f"/api/clusters/{cluster_id}/scheduler-config", text, "application/yaml")
    put(service, cluster_id, node(), *(pod(f"p{number}") for number in range(3)))
    return cluster_id


def put(service: Service, cluster_id: int, *objects: dict[str, Any]) -> None:
    service.client.call("POST", f"/api/clusters/{cluster_id}/objects", orjson.dumps(items(*objects)))


def errors(service: Service, cluster_id: int) -> list[str]:
    """What attempts of the cluster that ended as errors say."""
    query = "SELECT message FROM traces_attempt WHERE cluster_id = %s AND result = 'error'"
    return [message for (message,) in service.rows(query, cluster_id)]


def test_silent_extender_keeps_nobody_else_waiting(storming: Storming, attacked: Attacked) -> None:
    service = attacked.service
    others = service.cluster_create("others")
    put(service, others, *(node(f"n{number}") for number in range(3)))
    with storming(), odd.odd_extender(odd.silent) as extender:
        silent = bad_cluster(service, "silent", extender.url)
        assert wait_until(lambda: extender.asked > 0, seconds=HANG_SECONDS), service.logs()
        for number in (1, 2):
            put(service, others, *(pod(f"r{number}-{each}") for each in range(20)))
            done = wait_until(lambda number=number: service.bound(others) == 20 * number, seconds=HANG_SECONDS)
            assert done, service.logs()
        assert wait_until(lambda: bool(errors(service, silent)), seconds=HANG_SECONDS), service.logs()
        assert all("of one step have" in message for message in errors(service, silent))
        for cluster_id in (silent, others):
            service.client.call("DELETE", f"/api/clusters/{cluster_id}")


def test_odd_answers_are_errors_of_their_extender(storming: Storming, attacked: Attacked) -> None:
    service = attacked.service
    with storming(), ExitStack() as stack:
        clusters = [
            bad_cluster(service, f"odd-{number}", stack.enter_context(odd.odd_extender(behaviour)).url)
            for number, behaviour in enumerate(ODD_ANSWERS.values())
        ]
        for name, cluster_id in zip(ODD_ANSWERS, clusters, strict=True):
            answered = wait_until(lambda cluster_id=cluster_id: bool(errors(service, cluster_id)), seconds=HANG_SECONDS)
            assert answered, (name, service.logs())
        for cluster_id in clusters:
            service.client.call("DELETE", f"/api/clusters/{cluster_id}")


def test_clusters_are_deleted_while_they_are_scheduled(
    storming: Storming, attacked: Attacked, cast: Cast, request: pytest.FixtureRequest
) -> None:
    """And uploaded to: each deletion is a 204, an upload is taken or finds nothing."""
    service = attacked.service
    rounds = LONG_ROUNDS if request.config.getoption("--long") else ROUNDS
    admin = {"Authorization": f"Bearer {service.client.token}", "Content_Type": "application/octet-stream"}
    with storming() as storm:
        for number in range(rounds):
            doomed = [service.cluster_create(f"doomed-{number}-{each}") for each in range(CLUSTERS)]
            for cluster_id in doomed:
                service.upload(cluster_id, workloads.mixed(nodes=20, pods=200, seed=number).files)
            for cluster_id in doomed:
                assert wait_until(lambda cluster_id=cluster_id: service.bound(cluster_id) > 0, seconds=HANG_SECONDS)
            told = storm.at_once(2 * CLUSTERS, partial(_end_or_add, storm, doomed, admin))
            assert set(told[::2]) == {204} and set(told[1::2]) <= {201, 404, 409}, told
        left = (
            "SELECT count(*) FROM cluster_pod p LEFT JOIN cluster_cluster c ON c.id = p.cluster_id WHERE c.id IS NULL"
        )
        assert service.count(left) == 0
    put(service, cast.stormed, node("after"), pod("after"))
    assert wait_until(lambda: service.bound(cast.stormed) > 0, seconds=HANG_SECONDS), service.logs()


def _end_or_add(storm: Storm, doomed: list[int], admin: dict[str, str], turn: int) -> int:
    """Delete a cluster in each even turn, and upload to it in the next."""
    path = f"/api/clusters/{doomed[turn // 2]}"
    if turn % 2:
        late = orjson.dumps(items(*(pod(f"late{number}") for number in range(20))))
        return storm.ask(storm.stranger, "POST", f"{path}/import", late, **admin).status
    return storm.ask(storm.stranger, "DELETE", path, **admin).status
