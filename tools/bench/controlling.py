"""Measures what the controllers of a large simulated cluster use: when nothing happens, and when nodes are lost.

The pods belong to ReplicaSets, run in three zones and tolerate a node that is lost for the usual 300 seconds. The nodes
that are lost are all of one zone and go at the same moment; the cluster's clock then goes as fast as it can.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import psycopg

from scheduler_core.controllers.node_agent import KUBELET, AgentState
from tools.bench import level3, objects
from tools.bench.promises import Promise
from tools.bench.running import RunningService, ServiceProblem

NODES, SETS, REPLICAS, LOST = 5_000, 60, 500, 100
IDLE_SECONDS, IDLE_SHARE = 60.0, 0.03
SETTLE_SECONDS = 15.0
# 50 s until a node counts as lost, one node in ten seconds is given up in a zone, and 300 s are tolerated.
LOSS_SECONDS = 50 + 10 * LOST + 300 + 120
_MOST_SECONDS = 1_200.0
PROCESS = "lifecycle"
_ID = "SELECT id FROM cluster_cluster WHERE name = %s"
_CLOCK = "SELECT clock_at_us IS NULL FROM cluster_cluster WHERE id = %s"
_RUNNING = (
    "SELECT count(*) FROM cluster_pod WHERE cluster_id = %s AND phase = 'Running' AND deletion_timestamp IS NULL"
    " AND NOT node_name = ANY(%s)"
)
_LEFT = "SELECT count(*) FROM cluster_pod WHERE cluster_id = %s AND deletion_timestamp IS NULL AND node_name = ANY(%s)"


def measure(service: RunningService, *, nodes: int = NODES, sets: int = SETS, lost: int = LOST) -> Iterator[Promise]:
    """The promises of controllers, each when it is measured."""
    pods = sets * REPLICAS
    name = f"bench-{time.time_ns() // 1_000_000}"
    cluster_id = int(service.client.post("/api/clusters", {"name": name, "lifecycle_mode": "simulate"})["id"])
    with psycopg.connect(service.database_url, autocommit=True) as database:
        level3.load(service, cluster_id, [objects.node(number) for number in range(nodes)])
        level3.load(service, cluster_id, [_replica_set(number) for number in range(sets)])
        level3.wait_bound(database, cluster_id, pods)
        level3.settled(database, cluster_id)
        time.sleep(SETTLE_SECONDS)
        yield _idle(service, nodes, pods)
        yield _loss(service, database, name, pods, lost)
    service.client.call("DELETE", f"/api/clusters/{cluster_id}")


def _idle(service: RunningService, nodes: int, pods: int) -> Promise:
    before, started = service.cpu_seconds()[PROCESS], time.monotonic()
    time.sleep(IDLE_SECONDS)
    share = (service.cpu_seconds()[PROCESS] - before) / (time.monotonic() - started)
    text = (
        f"{nodes:,} simulated nodes with {pods:,} pods: {share:.2%} of one core in {IDLE_SECONDS:.0f} s, target under"
        f" {IDLE_SHARE:.0%}"
    )
    return Promise("controllers idle", text, {"share_of_core": share}, share < IDLE_SHARE)


def _loss(service: RunningService, database: psycopg.Connection[Any], cluster: str, pods: int, lost: int) -> Promise:
    names = [objects.node_name(number * objects.ZONES) for number in range(lost)]
    (cluster_id,) = database.execute(_ID, [cluster]).fetchone()  # type: ignore[misc]
    (there,) = database.execute(_LEFT, [cluster_id, names]).fetchone()  # type: ignore[misc]
    before, started = service.cpu_seconds(), time.monotonic()
    off = {"metadata": {"annotations": {KUBELET: AgentState.OFF}}}
    for name in names:
        path = f"/k8s/{cluster}/api/v1/nodes/{name}"
        service.client.call("PATCH", path, json.dumps(off).encode(), "application/merge-patch+json")
    service.client.post(f"/api/clusters/{cluster_id}/clock", {"skip_seconds": LOSS_SECONDS})
    while not database.execute(_CLOCK, [cluster_id]).fetchone()[0]:  # type: ignore[index]
        if time.monotonic() - started > _MOST_SECONDS:
            raise ServiceProblem(f"the clock has not come through {LOSS_SECONDS} s in {_MOST_SECONDS:.0f} s")
        time.sleep(0.2)
    took = time.monotonic() - started
    spent = {process: after - before[process] for process, after in service.cpu_seconds().items()}
    (left,) = database.execute(_LEFT, [cluster_id, names]).fetchone()  # type: ignore[misc]
    (running,) = database.execute(_RUNNING, [cluster_id, names]).fetchone()  # type: ignore[misc]
    text = (
        f"{lost} nodes with {there} pods lost at once: after {LOSS_SECONDS} s of the cluster, {took:.0f} s here, {left}"
        f" of them are not asked to go, and {running:,} of {pods:,} run elsewhere;"
        f" {spent[PROCESS]:.1f} s of CPU for controllers, {sum(spent.values()):.1f} s for all processes"
    )
    values = {"seconds": took, "cpu_seconds": spent[PROCESS], "left": float(left), "running": float(running)}
    return Promise("nodes lost", text, values, left == 0 and running == pods)


def _replica_set(number: int) -> dict[str, Any]:
    labels = {"app": f"app-{number:02d}"}
    container = {"name": "c", "image": "registry/app:1", "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}}}
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": labels["app"], "namespace": "default"},
        "spec": {
            "replicas": REPLICAS,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    }
