"""Level 3: pods uploaded to a whole running service, until the last one is bound.

The clock runs from the start of the first accepted POST until another database session, woken by PostgreSQL's
notification, has seen the last binding in the change log: it was committed by then. The cluster is simulated: every
pod that is bound is started too. A run begins when new nodes are at rest, and the next one when no row of it is left.
A pod's own time is from the POST that brought it until its binding was seen in that way. `phases_ns` is CPU time by
process of the service, from the start of the clock until nothing is left to do (the last pods started, the last frame
sent).
"""

from __future__ import annotations

import gzip
import http.client
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import psycopg

from tools.bench.engine.calibration import calibrate
from tools.bench.engine.result import Run
from tools.bench.listening import CHANGES, CommitClock
from tools.bench.running import RunningService, ServiceProblem, wait
from tools.bench.viewers import Viewers
from tools.bench.worker import Job

LEVEL = "L3"
CHUNK = 200  # pods in one request
PACK_LEVEL = 1
WARM_PODS = 200  # scheduled before anything is measured: processes are started, code is loaded
STALLED_SECONDS = 60.0
QUIET_SECONDS = 1.0  # in which nothing happens when all is done
REST_SECONDS = 6.0  # the same of new nodes: in their first seconds each gets marks and an event
DELETED_SECONDS = 120.0
START_DELAY_SECONDS = 1.0  # of a simulated kubelet, the default of a cluster

_TABLES = (
    "SELECT table_name FROM information_schema.columns WHERE column_name = 'cluster_id' AND table_schema = 'public'"
)
_DONE = (
    "SELECT count(*), count(*) FILTER (WHERE status = 'done') FROM bindings"
    " WHERE cluster_id = %s AND status <> 'pending'"
)
BOUND = (
    "SELECT name, rv FROM cluster_change"
    " WHERE cluster_id = %s AND rv > %s AND kind = 'Binding' AND operation = 'verdict' ORDER BY rv"
)
_STATE = (
    "SELECT c.rv, c.seq, coalesce(s.rv_seen, 0),"
    " (SELECT count(*) FROM cluster_pod WHERE cluster_id = c.id AND phase <> 'Running')"
    " FROM cluster_cluster c LEFT JOIN engine_states s ON s.cluster_id = c.id WHERE c.id = %s"
)


@dataclass(frozen=True, slots=True)
class Uploaded:
    """Pods and when, in seconds since the epoch, the POST that brought each began."""

    started: float
    posted: dict[str, float]


def warm_up(service: RunningService, job: Job) -> None:
    """Let every process do some of the work once."""
    run(service, msgspec.structs.replace(job, pods=WARM_PODS))


def run(service: RunningService, job: Job, *, viewers: int = 1, chunk: int = CHUNK, pause_seconds: float = 0.0) -> Run:
    """One run in a new cluster, which is deleted afterwards; `chunk` pods per request, with pauses between requests."""
    workload = job.workload()
    calibration_ns = calibrate(time.perf_counter_ns)
    started = time.perf_counter_ns()
    objects, pods = [written(each) for each in workload.objects()], [written(each) for each in workload.pods()]
    parse_ns = time.perf_counter_ns() - started
    with psycopg.connect(service.database_url, autocommit=True) as database:
        cluster_id = cluster_new(service, f"bench-{time.time_ns() // 1_000_000}")
        started = time.perf_counter_ns()
        load(service, cluster_id, objects)
        settled(database, cluster_id)
        build_ns = time.perf_counter_ns() - started
        rv, seq = settled(database, cluster_id, quiet_seconds=REST_SECONDS)
        token, port = service.token, service.port
        with (
            Viewers(port=port, token=token, cluster_id=cluster_id, number=viewers) as watching,
            CommitClock(service.database_url, CHANGES, cluster_id) as commits,
        ):
            cpu_before = service.cpu_seconds()
            uploaded = upload(service, cluster_id, pods, chunk=chunk, pause_seconds=pause_seconds)
            wait_bound(database, cluster_id, len(pods))
            scheduled = int(database.execute(_DONE, [cluster_id]).fetchone()[1])  # type: ignore[index]
            end = settled(database, cluster_id)
            complete = watching.reached(end, 10.0)
            cpu_after = service.cpu_seconds()
            bound = {name: commits.seen(at) for name, at in database.execute(BOUND, [cluster_id, rv]).fetchall()}
            if complete != viewers:
                raise ServiceProblem(f"{viewers - complete} of {viewers} viewers missed a frame")
        attempted = int(
            database.execute(
                "SELECT count(*) FROM traces_attempt WHERE cluster_id = %s AND seq > %s", [cluster_id, seq]
            ).fetchone()[0]  # type: ignore[index]
        )
        deleted(service, database, cluster_id)
    spent = {name: int((after - cpu_before.get(name, 0.0)) * 1e9) for name, after in cpu_after.items()}
    return Run(
        workload=workload.name,
        nodes=workload.num_nodes,
        existing_pods=workload.num_existing,
        pods=workload.num_pods,
        attempted=attempted,
        scheduled=scheduled,
        wall_ns=int((max(bound.values()) - uploaded.started) * 1e9),
        cpu_ns=sum(spent.values()),
        laps_ns=[int((at - uploaded.posted[name]) * 1e9) for name, at in bound.items() if name in uploaded.posted],
        parse_ns=parse_ns,
        build_ns=build_ns,
        snapshot_ns=0,
        bytes_stored=0,
        phases_ns=spent,
        peak_rss_bytes=service.peak_rss_bytes(),
        calibration_ns=calibration_ns,
    )


def deleted(service: RunningService, database: psycopg.Connection[Any], cluster_id: int) -> None:
    """Delete a cluster, and wait until no row of it is left: that is work, which would run beside what comes next."""
    service.client.call("DELETE", f"/api/clusters/{cluster_id}")
    tables = tables_of_clusters(database)
    wait(lambda: not rows_left(database, cluster_id, tables), "rows to go", seconds=DELETED_SECONDS)


def tables_of_clusters(database: psycopg.Connection[Any]) -> list[str]:
    """The tables with rows of clusters."""
    return [table for (table,) in database.execute(_TABLES).fetchall()]


def rows_left(database: psycopg.Connection[Any], cluster_id: int, tables: Sequence[str]) -> bool:
    """Whether one of the tables has a row of the cluster."""
    return any(
        database.execute(f"SELECT 1 FROM {table} WHERE cluster_id = %s LIMIT 1", [cluster_id]).fetchone()
        for table in tables
    )


def load(service: RunningService, cluster_id: int, objects: Sequence[dict[str, Any]]) -> None:
    """Import what is there before the first pod comes."""
    load_packed(service, cluster_id, packed(objects))


def packed(objects: Sequence[dict[str, Any]]) -> bytes:
    """A file that `load_packed` imports."""
    return gzip.compress(json.dumps({"kind": "List", "apiVersion": "v1", "items": objects}).encode(), PACK_LEVEL)


def load_packed(service: RunningService, cluster_id: int, body: bytes) -> None:
    """Import one file, and wait until its objects are stored."""
    client = service.client
    path = f"/api/clusters/{cluster_id}/import?filename=objects.json&admission=always&lifecycle=simulate"
    _, answer = client.call("POST", path, body)
    while answer.get("status") in ("queued", "running"):
        time.sleep(0.2)
        _, answer = client.call("GET", f"/api/clusters/{cluster_id}/imports/{answer['id']}")
    if answer.get("status") == "failed":
        raise ServiceProblem(f"the import failed: {answer.get('error')}")


def upload(
    service: RunningService,
    cluster_id: int,
    pods: Sequence[dict[str, Any]],
    *,
    chunk: int = CHUNK,
    pause_seconds: float = 0.0,
) -> Uploaded:
    """POST the pods one request after the other, over one connection."""
    bodies = [json.dumps(list(pods[at : at + chunk])).encode() for at in range(0, len(pods), chunk)]
    headers = {"Authorization": f"Bearer {service.token}", "Content-Type": "application/json"}
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=120)
    posted: dict[str, float] = {}
    started = time.time() + pause_seconds
    for number, body in enumerate(bodies):
        time.sleep(pause_seconds)
        at = time.time()
        connection.request("POST", f"/api/clusters/{cluster_id}/objects", body=body, headers=headers)
        response = connection.getresponse()
        text = response.read()
        if response.status != 201:
            raise ServiceProblem(f"POST of pods: {response.status} {text[:300]!r}")
        for pod in pods[number * chunk : (number + 1) * chunk]:
            posted[pod["metadata"]["name"]] = at
    connection.close()
    return Uploaded(started, posted)


def settled(
    database: psycopg.Connection[Any],
    cluster_id: int,
    *,
    quiet_seconds: float = QUIET_SECONDS,
    stalled_seconds: float = STALLED_SECONDS,
) -> tuple[int, int]:
    """Wait until the engine has seen everything, all bound pods run and nothing happens; return where the logs end."""
    last, since, begun = None, time.monotonic(), time.monotonic()
    while True:
        rv, seq, seen, not_running = database.execute(_STATE, [cluster_id]).fetchone()  # type: ignore[misc]
        state = (rv, seq, seen, not_running)
        if state != last:
            last, since = state, time.monotonic()
        quiet = time.monotonic() - since
        if seen == rv and not not_running and quiet > quiet_seconds:
            return rv, seq
        if quiet > stalled_seconds:
            raise ServiceProblem(f"nothing has happened for {quiet:.0f} s: {state}, {time.monotonic() - begun:.0f} s")
        time.sleep(0.1)


def wait_bound(database: psycopg.Connection[Any], cluster_id: int, number: int) -> None:
    """Wait until so many pods of the cluster are bound; ServiceProblem when none more is."""
    last, since = -1, time.monotonic()
    while True:
        done, _ = database.execute(_DONE, [cluster_id]).fetchone()  # type: ignore[misc]
        if done >= number:
            return
        if done != last:
            last, since = done, time.monotonic()
        elif time.monotonic() - since > STALLED_SECONDS:
            raise ServiceProblem(f"{done} of {number} pods were bound, and none more for {STALLED_SECONDS:.0f} s")
        time.sleep(0.1)


def cluster_new(service: RunningService, name: str) -> int:
    """Make a simulated cluster; its id."""
    return int(service.client.post("/api/clusters", {"name": name, "lifecycle_mode": "simulate"})["id"])


def written(manifest: dict[str, Any]) -> dict[str, Any]:
    """Return the object as a user would upload it: without the uid of the workload."""
    metadata = {name: value for name, value in manifest["metadata"].items() if name != "uid"}
    written = {name: value for name, value in manifest.items() if name != "status" or manifest["kind"] == "Node"}
    return {**written, "metadata": metadata}
