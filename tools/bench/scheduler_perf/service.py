"""Level 3 of scheduler_perf: a whole service, in real time.

Objects are uploaded over HTTP, bindings read from the service's database.
Nodes are simulated with their kubelets, so that pods start and deleted ones go, which upstream's benchmark has not. "At
work" is the CPU time of all processes. What it cannot do is named as not supported: it tells of pods only that they are
bound, and writes no status.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final

import psycopg

from kschedweb.ops.client import Refused
from scheduler_core.apiserver.kinds import KINDS
from tools.bench.level3 import CHUNK, STALLED_SECONDS
from tools.bench.running import RunningService
from tools.bench.scheduler_perf import manifests
from tools.bench.scheduler_perf.cluster import TIMEOUT_US
from tools.bench.scheduler_perf.ports import Manifest, OnScheduled
from tools.bench.scheduler_perf.problems import NotSupported, WorkloadFailed
from tools.bench.scheduler_perf.tickers import Tickers

POLL_SECONDS: Final = 0.02
_BOUND: Final = (
    "SELECT rv, namespace, name FROM cluster_change"
    " WHERE cluster_id = %s AND rv > %s AND kind = 'Binding' AND operation = 'verdict' ORDER BY rv"
)
_ALL_SEEN: Final = (
    "SELECT 1 FROM cluster_cluster c JOIN engine_states s ON s.cluster_id = c.id WHERE c.id = %s AND s.rv_seen >= c.rv"
)


class BoundPods:
    """Which of the pods that were made here are bound."""

    def __init__(self) -> None:
        self.on_scheduled: list[OnScheduled] = []
        self.labels: dict[tuple[str, str], Mapping[str, str]] = {}
        self._bound: dict[str, dict[str, Mapping[str, str]]] = {}  # by namespace and name

    def scheduled(self, namespace: str, labels: Mapping[str, str]) -> int:
        bound = self._bound.get(namespace, {})
        return sum(labels.items() <= own.items() for own in bound.values()) if labels else len(bound)

    def attempted(self, namespace: str, labels: Mapping[str, str]) -> int:
        raise NotSupported("level 3: operation barrier: stageRequirement Attempted")

    def see(self, namespace: str, name: str, now: int) -> None:
        labels = self.labels.get((namespace, name), {})
        self._bound.setdefault(namespace, {})[name] = labels
        for told in self.on_scheduled:
            told(namespace, name, labels, now)

    def forget(self, namespace: str, name: str) -> None:
        self.labels.pop((namespace, name), None)
        self._bound.get(namespace, {}).pop(name, None)


class ServedCluster:
    """One new cluster of the service; use as a context manager, which deletes it."""

    def __init__(self, service: RunningService) -> None:
        self.watch = BoundPods()
        self._service = service
        self._client = service.client
        self._name = f"perf-{time.time_ns() // 1_000_000}"
        made = self._client.post("/api/clusters", {"name": self._name, "lifecycle_mode": "simulate"})
        self._id = int(made["id"])
        self._database = psycopg.connect(service.database_url, autocommit=True)
        self._tickers = Tickers()
        self._numbers = 0
        self._priorities: set[int] = set()
        self._read = 0  # of the change log

    def __enter__(self) -> ServedCluster:
        return self

    def __exit__(self, *_: object) -> None:
        self._database.close()
        self._client.call("DELETE", f"/api/clusters/{self._id}")

    @property
    def now(self) -> int:
        return time.time_ns() // 1000

    @property
    def busy_ns(self) -> int:
        return int(sum(self._service.cpu_seconds().values()) * 1e9)

    def settle(self) -> None:
        """Wait until the scheduler has seen everything."""
        last = time.monotonic() + STALLED_SECONDS
        while not self._database.execute(_ALL_SEEN, [self._id]).fetchone():
            if time.monotonic() > last:
                raise WorkloadFailed(f"the scheduler has not seen everything within {STALLED_SECONDS:.0f} s")
            time.sleep(POLL_SECONDS)
        self._look()

    def create(self, objects: Sequence[Manifest]) -> list[str]:
        named = [self._ready(each) for each in objects]
        for at in range(0, len(named), CHUNK):
            self._post(named[at : at + CHUNK])
        return [each["metadata"]["name"] for each in named]

    def update(self, kind: str, namespace: str, manifest: Manifest, subresources: Collection[str]) -> None:
        raise NotSupported("level 3: operation updateAny")

    def write_status(self, kind: str, namespace: str, name: str, status: Manifest) -> None:
        raise NotSupported(f"level 3: the status of a {kind}")

    def delete(self, kind: str, namespace: str, name: str, grace_seconds: int | None = None) -> None:
        place = f"namespaces/{namespace}/" if KINDS[kind].namespaced else ""
        options = {} if grace_seconds is None else {"gracePeriodSeconds": grace_seconds}
        with contextlib.suppress(Refused):
            path = f"/k8s/{self._name}/api/v1/{place}{kind.lower()}s/{name}"
            self._client.call("DELETE", path, json.dumps(options).encode())
        if kind == "Pod":
            self.watch.forget(namespace, name)

    def objects(self, kind: str, namespace: str = "") -> list[Manifest]:
        raise NotSupported(f"level 3: a list of kind {kind}")

    def pod_names(self, namespace: str, labels: Mapping[str, str]) -> list[str]:
        made = self.watch.labels.items()
        return [name for (where, name), own in made if where == namespace and labels.items() <= own.items()]

    def every(self, seconds: float, tick: Callable[[], bool]) -> None:
        self._tickers.add(self.now, seconds, tick)

    def run_until(self, met: Callable[[], bool], what: str, deadline: int | None = None) -> None:
        last = self.now + TIMEOUT_US
        self._look()
        while not met():
            if deadline is not None and self.now >= deadline:
                return
            if self.now >= last:
                raise WorkloadFailed(f"{what}: not within {TIMEOUT_US // 1_000_000} s")
            self._tickers.fire(self.now)
            time.sleep(POLL_SECONDS)
            self._look()

    def _look(self) -> None:
        rows = self._database.execute(_BOUND, [self._id, self._read]).fetchall()
        now = self.now
        for rv, namespace, name in rows:
            self._read = rv
            self.watch.see(namespace, name, now)

    def _ready(self, manifest: Manifest) -> Manifest:
        """With a name, and with a class for its priority, which is made before."""
        ready, priority = manifests.with_class(manifest)
        if priority is not None and priority not in self._priorities:
            self._priorities.add(priority)
            self._post([manifests.priority_class(priority)])
        metadata = ready["metadata"]
        if "name" not in metadata:
            self._numbers += 1
            kept: dict[str, Any] = {key: value for key, value in metadata.items() if key != "generateName"}
            ready = {**ready, "metadata": {**kept, "name": f"{metadata['generateName']}{self._numbers:06d}"}}
        if ready["kind"] == "Pod":
            key = (ready["metadata"]["namespace"], ready["metadata"]["name"])
            self.watch.labels[key] = ready["metadata"].get("labels") or {}
        return ready

    def _post(self, objects: Sequence[Manifest]) -> None:
        try:
            self._client.call("POST", f"/api/clusters/{self._id}/objects", json.dumps(objects).encode())
        except Refused as problem:
            raise WorkloadFailed(f"the service refuses: {problem}") from problem
