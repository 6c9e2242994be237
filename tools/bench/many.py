"""Measures many small clusters in one service with two scheduler workers: how soon a pod of each is bound, and memory.

The clusters are simulated and their pods run. Then one pod is sent to each, one request after the other.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import psycopg

from tools.bench import level3, objects
from tools.bench.large import memory_promise
from tools.bench.memory import Memory
from tools.bench.promises import Promise
from tools.bench.running import RunningService, wait

NODES, PODS = 50, 500
BOUND_SECONDS, MEMORY_MB = 10.0, 3_000.0
QUIET_SECONDS = 3.0
SECOND, READY = "scheduler-2", " ready."  # as Celery says it

_POSITIONS = (
    "SELECT count(*) FILTER (WHERE s.rv_seen = c.rv), sum(c.rv + c.seq) FROM cluster_cluster c"
    " LEFT JOIN engine_states s ON s.cluster_id = c.id"
)
_BOUND = "SELECT count(*) FROM bindings WHERE status = 'done'"
_LED = "SELECT count(*) FROM leases GROUP BY holder ORDER BY 1 DESC"


def measure(service: RunningService, clusters: int, *, nodes: int = NODES, pods: int = PODS) -> Iterator[Promise]:
    """The promises of many clusters, each when it is measured."""
    service.join("scheduler", SECOND)
    wait(lambda: READY in service.log(SECOND), "the second worker")
    with psycopg.connect(service.database_url, autocommit=True) as database, Memory(service) as memory:
        body = level3.packed([
            *(objects.node(number) for number in range(nodes)),
            *(objects.running_pod(number, nodes) for number in range(pods)),
        ])  # fmt: skip
        started = time.monotonic()
        ids = [level3.cluster_new(service, f"small-{number}") for number in range(clusters)]
        for cluster_id in ids:
            level3.load_packed(service, cluster_id, body)
        _wait_quiet(database, clusters)
        ready = time.monotonic() - started
        yield _bound(service, database, ids, nodes, pods, ready)
        yield memory_promise("many memory", memory, MEMORY_MB)


def _wait_quiet(database: psycopg.Connection[Any], clusters: int) -> None:
    last, since = None, time.monotonic()

    def is_quiet() -> bool:
        nonlocal last, since
        position = database.execute(_POSITIONS).fetchone()
        if position != last:
            last, since = position, time.monotonic()
        assert last is not None
        return bool(last[0] == clusters) and time.monotonic() - since > QUIET_SECONDS

    wait(is_quiet, "all clusters to be quiet")


def _bound(
    service: RunningService, database: psycopg.Connection[Any], ids: list[int], nodes: int, pods: int, ready: float
) -> Promise:
    started = time.monotonic()
    for cluster_id in ids:
        level3.upload(service, cluster_id, [objects.pending_pod(0, prefix="new")])
    posted = time.monotonic() - started
    wait(lambda: database.execute(_BOUND).fetchone()[0] >= len(ids), "a pod of each cluster to be bound")  # type: ignore[index]
    took = time.monotonic() - started
    led = " and ".join(str(number) for (number,) in database.execute(_LED).fetchall())
    text = (
        f"{len(ids)} clusters of {nodes} nodes with {pods} pods were stored and had engines after {ready:.1f} s, of"
        f" which two workers led {led}; a pod sent to each within {posted:.1f} s: all bound after {took:.1f} s, target"
        f" under {BOUND_SECONDS:.0f}"
    )
    values = {"clusters": float(len(ids)), "ready_seconds": ready, "posted_seconds": posted, "seconds": took}
    return Promise("many clusters", text, values, took < BOUND_SECONDS)
