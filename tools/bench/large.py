"""Measures one large cluster in a whole service, a line for each step of its life.

All pods but some hundreds run already; those ask for more than any node has, so that each has to be explained. The
cluster is simulated and is uploaded in files of as many objects as an import takes. Later the scheduler's process is
killed: nobody stands by, so the one that is started again waits until the old lease is over.
"""

from __future__ import annotations

import http.client
import os
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import psycopg

from kschedweb.ops.client import Refused
from tools.bench import level3, objects
from tools.bench.engine.result import percentile
from tools.bench.memory import Memory
from tools.bench.promises import Promise
from tools.bench.running import RunningService, wait

NODES, PODS_PER_NODE = 20_000, 10
UNPLACEABLE, ARRIVING = 300, 500
UNPLACEABLE_CPU = "64"
OBJECTS_PER_FILE = 100_000
STORED_SECONDS, EXPLAINED_SECONDS = 120.0, 180.0
MEMORY_MB = 3_000.0
VIEW_SECONDS, VIEW_BYTES = 3.0, 5_000_000
CYCLE_P50_MS, CYCLE_P99_MS = 2.0, 10.0
REBUILD_SECONDS = 10.0
CHECKPOINT_SECONDS = 10.0
DELETED_SECONDS = 60.0
QUIET_SECONDS = 3.0
MOST_SECONDS = 900.0

_SEEN = "SELECT coalesce(max(rv_seen), 0) FROM engine_states WHERE cluster_id = %s"
_RV = "SELECT rv FROM cluster_cluster WHERE id = %s"
_EXPLAINED = "SELECT count(*) FROM traces_queuestate WHERE cluster_id = %s AND attempts > 0"
_POSITION = (
    "SELECT c.rv, c.seq, coalesce(s.rv_seen, 0) FROM cluster_cluster c LEFT JOIN engine_states s"
    " ON s.cluster_id = c.id WHERE c.id = %s"
)
_DURATIONS = (
    "SELECT duration_us FROM traces_attempt WHERE cluster_id = %s AND seq > %s AND result = 'scheduled' ORDER BY 1"
)
_WANT_CHECKPOINT = "UPDATE engine_states SET checkpoint_wanted = true WHERE cluster_id = %s"
_CHECKPOINT = (
    "SELECT length(engine), length(objects_packed) FROM traces_checkpoint WHERE cluster_id = %s"
    " ORDER BY run DESC, step DESC LIMIT 1"
)
_DATABASE_BYTES = "SELECT pg_database_size(current_database())"
_BOUND = "SELECT count(*) FROM bindings WHERE cluster_id = %s AND status = 'done'"


@dataclass(slots=True)
class _Cluster:
    """The cluster that is measured; `posted`: so many pods were sent to it one by one."""

    service: RunningService
    database: psycopg.Connection[Any]
    id: int
    posted: int = field(default=0)

    def asked(self, query: str, *more: object) -> Any:
        """The first value of a query about the cluster."""
        row = self.database.execute(query, [self.id, *more]).fetchone()
        return None if row is None else row[0]

    def post(self, number: int) -> None:
        """Send so many pods that fit."""
        pods = [objects.pending_pod(self.posted + each, prefix="new") for each in range(number)]
        self.posted += number
        level3.upload(self.service, self.id, pods)

    def wait_bound(self) -> None:
        """Wait until all pods sent are bound."""
        wait(lambda: self.asked(_BOUND) >= self.posted, "pods to be bound", seconds=MOST_SECONDS)

    def wait_quiet(self) -> int:
        """Wait until the engine is level and nothing happens; the end of the engine's log."""
        last, since = None, time.monotonic()

        def is_quiet() -> bool:
            nonlocal last, since
            position = self.database.execute(_POSITION, [self.id]).fetchone()
            if position != last:
                last, since = position, time.monotonic()
            assert last is not None
            return last[0] == last[2] and time.monotonic() - since > QUIET_SECONDS

        wait(is_quiet, "the cluster to be quiet", seconds=MOST_SECONDS)
        assert last is not None
        return int(last[1])

    def cpu_seconds(self, process: str) -> float:
        """CPU time of a process so far, which other programs' work does not lengthen."""
        return self.service.cpu_seconds()[process]

    def logged_seconds(self, message: str) -> list[float]:
        """The seconds that the scheduler logged of such messages about the cluster."""
        said = (line.partition(" seconds=") for line in self.service.log("scheduler").splitlines())
        about = f'] "{message}" cluster={self.id} '
        return [float(after.split()[0]) for before, found, after in said if found and about in f"{before} "]


def measure(service: RunningService, *, nodes: int = NODES, pods: int | None = None) -> Iterator[Promise]:
    """The promises of a large cluster, each when it is measured."""
    pods = nodes * PODS_PER_NODE if pods is None else pods
    packed = files(nodes, pods)
    with psycopg.connect(service.database_url, autocommit=True) as database, Memory(service) as memory:
        cluster = _Cluster(service, database, level3.cluster_new(service, f"large-{time.time_ns() // 1_000_000}"))
        yield _imported(cluster, packed, nodes, pods)
        yield _viewed(cluster)
        yield _checkpointed(cluster)
        yield _scheduled(cluster)
        yield _taken_over(cluster)
        yield memory_promise("large memory", memory, MEMORY_MB)
        yield _deleted(cluster)


def memory_promise(name: str, memory: Memory, most_mb: float) -> Promise:
    """What all processes of the service had at most."""
    values = {"memory_mb": memory.most_mb}
    values |= {f"megabytes_of_{process}": megabytes for process, megabytes in memory.most_by_process.items()}
    return Promise(name, f"{memory.told}, target under {most_mb:,.0f}", values, memory.most_mb < most_mb)


def files(nodes: int, pods: int) -> list[bytes]:
    """All of the cluster, the nodes first, in files of equal size that an import takes."""
    all_objects = [
        *(objects.node(number) for number in range(nodes)),
        *(objects.running_pod(number, nodes) for number in range(pods)),
        *(objects.pending_pod(number, prefix="waits", cpu=UNPLACEABLE_CPU) for number in range(UNPLACEABLE)),
    ]
    number = -(-len(all_objects) // OBJECTS_PER_FILE)
    size = -(-len(all_objects) // number)
    return [level3.packed(all_objects[at : at + size]) for at in range(0, len(all_objects), size)]


def _imported(cluster: _Cluster, packed: list[bytes], nodes: int, pods: int) -> Promise:
    cpu_before, started = cluster.service.cpu_seconds(), time.monotonic()
    for body in packed:
        level3.load_packed(cluster.service, cluster.id, body)
    stored = time.monotonic() - started
    rv = cluster.asked(_RV)
    wait(lambda: cluster.asked(_SEEN) >= rv, "the engine", seconds=MOST_SECONDS)
    made = time.monotonic() - started
    wait(lambda: cluster.asked(_EXPLAINED) >= UNPLACEABLE, "pods to be explained", seconds=MOST_SECONDS)
    explained = time.monotonic() - started
    spent = {process: after - cpu_before[process] for process, after in cluster.service.cpu_seconds().items()}
    by_process = ", ".join(f"{process} {seconds:.0f}" for process, seconds in spent.items() if seconds >= 1)
    stored_mb = int(cluster.database.execute(_DATABASE_BYTES).fetchone()[0]) / 1e6  # type: ignore[index]
    many = f" in {len(packed)} files" if len(packed) > 1 else ""
    text = (
        f"{nodes:,} nodes and {pods + UNPLACEABLE:,} pods{many}: stored after {stored:.1f} s, target under"
        f" {STORED_SECONDS:.0f}; the engine has all of it after {made:.1f} s, and {UNPLACEABLE} pending pods are"
        f" explained after {explained:.1f} s, target under {EXPLAINED_SECONDS:.0f}; {sum(spent.values()):.0f} s of CPU"
        f" ({by_process}); the database has {stored_mb:,.0f} MB"
    )
    values = {"nodes": float(nodes), "pods": float(pods), "stored_seconds": stored, "engine_seconds": made,
              "explained_seconds": explained, "cpu_seconds": sum(spent.values()), "database_mb": stored_mb}  # fmt: skip
    return Promise("large import", text, values, stored < STORED_SECONDS and explained < EXPLAINED_SECONDS)


def _viewed(cluster: _Cluster) -> Promise:
    cluster.wait_quiet()
    before = cluster.cpu_seconds("web")
    first, size = _snapshot(cluster)
    spent = cluster.cpu_seconds("web") - before
    again, _ = _snapshot(cluster)
    text = (
        f"the dashboard's snapshot is there after {first:.1f} s, target under {VIEW_SECONDS:.0f}, again after"
        f" {again:.1f} s; {spent:.1f} s of CPU of the web process; {size:,} bytes with gzip, target under"
        f" {VIEW_BYTES:,}"
    )
    values = {"first_seconds": first, "again_seconds": again, "cpu_seconds": spent, "bytes": float(size)}
    return Promise("large view", text, values, first < VIEW_SECONDS and size < VIEW_BYTES)


def _snapshot(cluster: _Cluster) -> tuple[float, int]:
    """Seconds and bytes of the answer that a browser fetches first."""
    return _asked(cluster, "GET", "/snapshot/columns")


def _asked(cluster: _Cluster, method: str, path: str) -> tuple[float, int]:
    """Seconds until the whole answer was there, and its bytes as they were sent; Refused when it is an error."""
    connection = http.client.HTTPConnection("127.0.0.1", cluster.service.port, timeout=MOST_SECONDS)
    headers = {"Authorization": f"Bearer {cluster.service.token}", "Accept-Encoding": "gzip"}
    started = time.monotonic()
    connection.request(method, f"/api/clusters/{cluster.id}{path}", headers=headers)
    response = connection.getresponse()
    body = response.read()
    seconds = time.monotonic() - started
    connection.close()
    if response.status >= 400:
        raise Refused(f"{method} {path}: {response.status} {body[:300]!r}")
    return seconds, len(body)


def _checkpointed(cluster: _Cluster) -> Promise:
    written, before = len(cluster.logged_seconds("checkpoint")), cluster.cpu_seconds("scheduler")
    cluster.database.execute(_WANT_CHECKPOINT, [cluster.id])
    cluster.post(1)  # it is written behind a step
    wait(lambda: len(cluster.logged_seconds("checkpoint")) > written, "a checkpoint", seconds=MOST_SECONDS)
    seconds, spent = cluster.logged_seconds("checkpoint")[-1], cluster.cpu_seconds("scheduler") - before
    row = cluster.database.execute(_CHECKPOINT, [cluster.id]).fetchone()
    assert row is not None
    engine, all_objects = row
    text = (
        f"{seconds:.1f} s, target under {CHECKPOINT_SECONDS:.0f}; {spent:.1f} s of CPU of the scheduler;"
        f" {engine + all_objects:,} bytes, of which the engine {engine:,} and objects {all_objects:,}"
    )
    values = {
        "seconds": seconds,
        "cpu_seconds": spent,
        "engine_bytes": float(engine),
        "object_bytes": float(all_objects),
    }
    return Promise("large checkpoint", text, values, seconds < CHECKPOINT_SECONDS)


def _scheduled(cluster: _Cluster) -> Promise:
    cluster.wait_bound()
    seq = cluster.wait_quiet()
    started = time.monotonic()
    cluster.post(ARRIVING)
    cluster.wait_bound()
    took = time.monotonic() - started
    rows = cluster.database.execute(_DURATIONS, [cluster.id, seq]).fetchall()
    laps_ms = [duration_us / 1000 for (duration_us,) in rows]
    p50, p99 = percentile(laps_ms, 50), percentile(laps_ms, 99)
    text = (
        f"{len(laps_ms)} pods came and were bound within {took:.1f} s; of their cycles p50 {p50:.2f} ms, target under"
        f" {CYCLE_P50_MS:.0f}; p99 {p99:.2f} ms, target under {CYCLE_P99_MS:.0f}"
    )
    values = {"seconds": took, "p50_ms": p50, "p99_ms": p99}
    return Promise("large cycles", text, values, p50 < CYCLE_P50_MS and p99 < CYCLE_P99_MS)


def _taken_over(cluster: _Cluster) -> Promise:
    cluster.wait_quiet()
    built = len(cluster.logged_seconds("engine built"))
    os.kill(cluster.service.pids()["scheduler"], signal.SIGKILL)
    started = time.monotonic()
    cluster.post(1)
    cluster.wait_bound()
    took = time.monotonic() - started
    wait(lambda: len(cluster.logged_seconds("engine built")) > built, "a line about the new engine")
    rebuilt, spent = cluster.logged_seconds("engine built")[-1], cluster.cpu_seconds("scheduler")
    lease = float(cluster.service.given["KSCHED_LEASE_DURATION_SECONDS"])
    text = (
        f"a new engine was made in {rebuilt:.1f} s, target under {REBUILD_SECONDS:.0f}; {took:.1f} s after the"
        f" scheduler was killed the next pod was bound, which includes the rest of its lease of {lease:.0f} s;"
        f" {spent:.1f} s of CPU of the new scheduler from its start"
    )
    values = {"rebuild_seconds": rebuilt, "bound_seconds": took, "cpu_seconds": spent}
    return Promise("large take-over", text, values, rebuilt < REBUILD_SECONDS)


def _deleted(cluster: _Cluster) -> Promise:
    tables = level3.tables_of_clusters(cluster.database)
    started = time.monotonic()
    answered, _ = _asked(cluster, "DELETE", "")
    wait(lambda: not level3.rows_left(cluster.database, cluster.id, tables), "rows to go", seconds=MOST_SECONDS)
    took = time.monotonic() - started
    text = (
        f"answered after {answered:.1f} s, and no row was left after {took:.1f} s, target under {DELETED_SECONDS:.0f}"
    )
    return Promise("large deletion", text, {"answered_seconds": answered, "seconds": took}, took < DELETED_SECONDS)
