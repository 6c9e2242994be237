"""Measures the path of one pod: from the start of its POST until its binding could be read, at several rates.

Pods come one request each, at moments drawn beforehand (Poisson) as those of many clients do, whatever the service is
doing. In the last row every pod needs the room of another, which is of lower priority and goes without grace.
"""

from __future__ import annotations

import http.client
import json
import random
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any

import psycopg

from tools.bench import level3
from tools.bench.engine.result import percentile
from tools.bench.listening import CHANGES, CommitClock
from tools.bench.promises import Promise
from tools.bench.running import RunningService, ServiceProblem
from tools.bench.worker import Job

CONNECTIONS = 8
WARM_UP = 100
SECONDS = 15.0  # of each rate, but for so many pods at least
LEAST_PODS = 100
STEPS = "SELECT count(*) FILTER (WHERE cycles > 0), count(*) FROM traces_enginestep WHERE cluster_id = %s"


@dataclass(frozen=True, slots=True)
class Row:
    """A rate in pods per second, whether its pods preempt, and what at most p50 and p95 may be, in ms."""

    rate: float
    preempts: bool
    p50_ms: float
    p95_ms: float

    @property
    def name(self) -> str:
        return f"{self.rate:g} pods/s{', each preempting one' if self.preempts else ''}"


ROWS = (
    Row(4, False, 20, 40), Row(10, False, 20, 40), Row(60, False, 20, 40), Row(300, False, 20, 40),
    Row(10, True, 60, 60), Row(60, True, 60, 60),
)  # fmt: skip


def measure(service: RunningService, job: Job, rows: Sequence[Row] = ROWS) -> Iterator[Promise]:
    """Each row in a cluster of its own."""
    nodes = [level3.written(each) for each in job.workload().objects()]
    for row in rows:
        yield _measured(service, nodes, row)


@dataclass(frozen=True, slots=True)
class Streamed:
    """Pods that came at a rate: ms from POST to bound, in order of size, and CPU seconds by process until all ran."""

    laps_ms: list[float]
    cpu_seconds: dict[str, float]


class Stream:
    """A simulated cluster of its own to which pods come one request each, after some that are not measured."""

    def __init__(
        self,
        service: RunningService,
        database: psycopg.Connection[Any],
        objects: Sequence[dict[str, Any]],
        *,
        preempts: bool = False,
    ) -> None:
        self._service, self._database, self._preempts = service, database, preempts
        name = f"bench-{time.time_ns() // 1_000_000}"
        self.cluster_id = level3.cluster_new(service, name)
        level3.load(service, self.cluster_id, objects)
        self._sending = _Sending(service, f"/k8s/{name}/api/v1/namespaces/default/pods")
        self._sent = 0
        self._send(WARM_UP, 200.0)
        self._settle()
        database.execute("VACUUM ANALYZE")  # behind the import, which PostgreSQL would do while pods come

    def run(self, pods: int, rate: float) -> Streamed:
        """So many pods, at so many a second."""
        rv, _ = level3.settled(self._database, self.cluster_id)
        with CommitClock(self._service.database_url, CHANGES, self.cluster_id) as commits:
            cpu = self._service.cpu_seconds()
            posted = self._send(pods, rate)
            self._settle()
            spent = {name: after - cpu.get(name, 0.0) for name, after in self._service.cpu_seconds().items()}
            bound: dict[str, int] = dict(self._database.execute(level3.BOUND, [self.cluster_id, rv]).fetchall())
            laps = sorted((commits.seen(bound[pod]) - at) * 1000 for pod, at in posted.items())
        return Streamed(laps, spent)

    def close(self) -> None:
        """Delete the cluster."""
        self._service.client.call("DELETE", f"/api/clusters/{self.cluster_id}")

    def _send(self, pods: int, rate: float) -> dict[str, float]:
        named = [_pod(f"pod-{place}", self._preempts) for place in range(self._sent, self._sent + pods)]
        self._sent += pods
        return self._sending.all(named, rate=rate)

    def _settle(self) -> None:
        level3.wait_bound(self._database, self.cluster_id, self._sent)
        level3.settled(self._database, self.cluster_id)


def _measured(service: RunningService, nodes: list[dict[str, Any]], row: Row) -> Promise:
    pods = max(LEAST_PODS, int(row.rate * SECONDS))
    with psycopg.connect(service.database_url, autocommit=True) as database:
        objects = nodes + (_filling(nodes) if row.preempts else [])
        stream = Stream(service, database, objects, preempts=row.preempts)
        steps = database.execute(STEPS, [stream.cluster_id]).fetchone()
        streamed = stream.run(pods, row.rate)
        with_cycles, steps_made = (
            after - before
            for after, before in zip(database.execute(STEPS, [stream.cluster_id]).fetchone(), steps, strict=True)  # type: ignore[arg-type]
        )
        stream.close()
    spent = streamed.cpu_seconds
    p50, p95, p99 = (percentile(streamed.laps_ms, share) for share in (50, 95, 99))
    by_process = ", ".join(f"{each} {seconds / pods * 1000:.1f}" for each, seconds in spent.items() if seconds)
    text = (
        f"{pods:,} pods: from POST to bound p50 {p50:.0f} ms, target {row.p50_ms:.0f}; p95 {p95:.0f} ms, "
        f"target {row.p95_ms:.0f}; p99 {p99:.0f} ms; {with_cycles} steps with cycles of {steps_made}; "
        f"{sum(spent.values()) / pods * 1000:.1f} ms of CPU a pod ({by_process})"
    )
    values = {"p50_ms": p50, "p95_ms": p95, "p99_ms": p99, "steps": float(with_cycles)}
    return Promise(row.name, text, values, p50 <= row.p50_ms and p95 <= row.p95_ms)


class _Sending:
    """Clients with a connection each, which take requests from one queue when these are due."""

    def __init__(self, service: RunningService, path: str) -> None:
        self._port, self._path = service.port, path
        self._headers = {"Authorization": f"Bearer {service.token}", "Content-Type": "application/json"}

    def all(self, pods: Sequence[dict[str, Any]], *, rate: float, seed: int = 1) -> dict[str, float]:
        """Send them at this rate; when the POST of each began, in seconds since the epoch."""
        due: SimpleQueue[dict[str, Any] | None] = SimpleQueue()
        posted: dict[str, float] = {}
        problems: list[str] = []
        threads = [threading.Thread(target=self._client, args=(due, posted, problems)) for _ in range(CONNECTIONS)]
        for each in threads:
            each.start()
        draws, at = random.Random(seed), time.monotonic()
        for pod in pods:
            at += draws.expovariate(rate)
            time.sleep(max(0.0, at - time.monotonic()))
            due.put(pod)
        for _ in threads:
            due.put(None)
        for each in threads:
            each.join()
        if problems:
            raise ServiceProblem(problems[0])
        return posted

    def _client(self, due: SimpleQueue[dict[str, Any] | None], posted: dict[str, float], problems: list[str]) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
        while (pod := due.get()) is not None:
            posted[pod["metadata"]["name"]] = time.time()
            connection.request("POST", self._path, body=json.dumps(pod).encode(), headers=self._headers)
            response = connection.getresponse()
            text = response.read()
            if response.status != 201:
                problems.append(f"POST of a pod: {response.status} {text[:300]!r}")
        connection.close()


def _pod(name: str, preempts: bool) -> dict[str, Any]:
    requests = {"cpu": "1" if preempts else "10m", "memory": "16Mi"}
    container = {"name": "c", "image": "registry/app:1", "resources": {"requests": requests}}
    spec: dict[str, Any] = {"containers": [container]}
    if preempts:
        spec["priorityClassName"] = "high"
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"app": "bench"}}, "spec": spec}


def _filling(nodes: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Pods of one processor each that run on the nodes and leave no room, and the class of those that may have it."""
    found: list[dict[str, Any]] = [
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": "high"},
            "value": 1000,
        }
    ]
    for node in nodes:
        if node["kind"] != "Node":
            continue
        for place in range(int(node["status"]["allocatable"]["cpu"])):
            pod = _pod(f"low-{node['metadata']['name']}-{place}", False)
            pod["metadata"]["namespace"] = "default"
            pod["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "1"
            found.append(
                pod | {"spec": pod["spec"] | {"nodeName": node["metadata"]["name"], "terminationGracePeriodSeconds": 0}}
            )
    return found
