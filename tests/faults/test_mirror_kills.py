"""The process that follows a cluster is killed while that changes: no change is lost, none is stored twice."""

from __future__ import annotations

import json
import urllib.request

import orjson

from kschedweb.common import packing
from kschedweb.ops.processes import wait_until
from tests.faults.service import Service
from tests.waiting import HANG_SECONDS
from tools.bench.elsewhere.server import TOKEN, Life, Server, Store, filled, serving

NODES, PODS, RATE = 20, 200, 50
_OPERATIONS = {"ADDED": "created", "MODIFIED": "updated", "DELETED": "deleted"}
Entry = tuple[str, str, str]  # operation, name, uid


def _told(store: Store, kind: str) -> list[Entry]:
    """What watches of the kind told, in order."""
    events = [orjson.loads(text) for _, text in store.changes[kind]]
    return [
        (_OPERATIONS[event["type"]], event["object"]["metadata"]["name"], event["object"]["metadata"]["uid"])
        for event in events
    ]


def test_no_change_is_lost_or_doubled_when_the_process_that_follows_is_killed(service: Service) -> None:
    store = filled(NODES, PODS)
    with serving(Server(store, Life(store, NODES, PODS))) as port:
        document = {
            "current-context": "c",
            "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
            "clusters": [{"name": "k", "cluster": {"server": f"http://127.0.0.1:{port}"}}],
            "users": [{"name": "u", "user": {"token": TOKEN}}],
        }
        made = service.client.post("/api/mirrors", {"name": "killed-mirror", "kubeconfig": json.dumps(document)})
        cluster_id = int(made["id"])
        synced = "SELECT count(*) FROM cluster_cluster WHERE id = %s AND is_synced"
        assert wait_until(lambda: service.count(synced, cluster_id) == 1, seconds=HANG_SECONDS), service.logs()
        begun = service.count("SELECT max(rv) FROM cluster_change WHERE cluster_id = %s", cluster_id)
        _ask(port, f"/-/changes?rate={RATE}")
        for name, is_waited_for in (("lifecycle/child", True), ("lifecycle", False)):
            stored = _end(service, cluster_id)
            assert wait_until(lambda stored=stored: _end(service, cluster_id) > stored + RATE, seconds=HANG_SECONDS)  # type: ignore[misc]
            epoch = _epoch(service, cluster_id)
            assert wait_until(service.kill(name), seconds=HANG_SECONDS), service.logs()
            if not is_waited_for:
                _end_hold(service, cluster_id)
            taken = wait_until(lambda epoch=epoch: _epoch(service, cluster_id) > epoch, seconds=HANG_SECONDS)  # type: ignore[misc]
            assert taken, service.logs()
        _ask(port, "/-/changes?rate=0")
        told = {kind: _told(store, kind) for kind in ("Node", "Pod")}
        total = sum(map(len, told.values()))
        wait_until(lambda: _end(service, cluster_id) >= begun + total, seconds=HANG_SECONDS)
        found = service.rows(
            "SELECT kind, operation, name, uid, object FROM cluster_change WHERE cluster_id = %s AND rv > %s"
            " AND operation <> 'setting' ORDER BY rv",
            cluster_id,
            begun,
        )
        for kind, expected in told.items():
            assert [tuple(row[1:4]) for row in found if row[0] == kind] == expected
        last: dict[str, object] = {}
        for kind, operation, name, _, packed in found:
            if kind == "Pod" and operation == "deleted":  # another of its name may come
                last.pop(name, None)
            elif kind == "Pod":
                last[name] = packing.unpacked(packed)["status"]
        there = {key[1]: orjson.loads(text)["status"] for key, text in store.objects["Pod"].items()}
        assert last and all(there[name] == status for name, status in last.items())
    service.client.call("DELETE", f"/api/clusters/{cluster_id}")


def _end(service: Service, cluster_id: int) -> int:
    return service.count("SELECT max(rv) FROM cluster_change WHERE cluster_id = %s", cluster_id)


def _epoch(service: Service, cluster_id: int) -> int:
    return service.count("SELECT epoch FROM mirror_mirror WHERE cluster_id = %s", cluster_id)


def _end_hold(service: Service, cluster_id: int) -> None:
    """Let what the dead held be over, as it is after a while."""
    with service.connect() as connection:
        connection.execute("UPDATE mirror_mirror SET held_until = now() WHERE cluster_id = %s", [cluster_id])


def _ask(port: int, path: str) -> None:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=HANG_SECONDS) as answer:
        answer.read()
