"""Measures how a running service follows a large cluster: its first list, then changes at a steady rate. A line each.

The cluster is served from memory by a process of its own (`elsewhere`), on the same processors. How far the mirror is
behind is the time from a change there until another session of the database sees its version among the positions that
are written with the objects; the lag that the mirror tells of itself stands beside it.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any

import psycopg

from kschedweb.environment import ROOT
from kschedweb.ops.processes import die_with_parent
from tools.bench.elsewhere.server import TOKEN
from tools.bench.engine.result import percentile
from tools.bench.listening import CommitClock
from tools.bench.memory import Memory
from tools.bench.promises import Promise
from tools.bench.running import RunningService, ServiceProblem, wait

NODES, PODS, RATE = 5_000, 100_000, 200
LISTED_SECONDS, MEMORY_MB, BEHIND_SECONDS = 60.0, 1_500.0, 2.0
WARM_SECONDS, CHANGING_SECONDS = 10.0, 60.0
_LEVEL = "the mirror to be level"
_MIRROR = "SELECT is_synced FROM cluster_cluster WHERE id = %s"
_ENGINE = (
    "SELECT c.rv, coalesce(s.rv_seen, 0) FROM cluster_cluster c LEFT JOIN engine_states s ON s.cluster_id = c.id"
    " WHERE c.id = %s"
)
_POSITIONS = "SELECT positions FROM mirror_mirror WHERE cluster_id = %s"


def measure(service: RunningService, *, nodes: int = NODES, pods: int = PODS) -> Iterator[Promise]:
    """The promises of a mirror, each when it is measured."""
    with (
        _Elsewhere(nodes, pods) as elsewhere,
        psycopg.connect(service.database_url, autocommit=True) as database,
        Memory(service) as memory,
    ):
        started = time.monotonic()
        body = {"name": f"bench-{time.time_ns() // 1_000_000}", "kubeconfig": elsewhere.kubeconfig}
        cluster_id = int(service.client.post("/api/mirrors", body)["id"])
        wait(lambda: bool(database.execute(_MIRROR, [cluster_id]).fetchone()[0]), _LEVEL)  # type: ignore[index]
        listed = time.monotonic() - started
        wait(lambda: _engine_is_level(database, cluster_id), _LEVEL)
        ready = time.monotonic() - started
        yield _first_list(memory, nodes, pods, listed, ready)
        yield _changing(service, memory, elsewhere, cluster_id)
        service.client.call("DELETE", f"/api/clusters/{cluster_id}")


def _first_list(memory: Memory, nodes: int, pods: int, listed: float, ready: float) -> Promise:
    text = (
        f"{nodes:,} nodes and {pods:,} pods listed and stored in {listed:.1f} s, target under {LISTED_SECONDS:.0f}; the"
        f" engine has them after {ready:.1f} s; {memory.told}, target under {MEMORY_MB:.0f}"
    )
    values = {"listed_seconds": listed, "ready_seconds": ready, "memory_mb": memory.most_mb}
    return Promise("mirror list", text, values, listed < LISTED_SECONDS and memory.most_mb < MEMORY_MB)


def _changing(service: RunningService, memory: Memory, elsewhere: _Elsewhere, cluster_id: int) -> Promise:
    elsewhere.ask(f"/-/changes?rate={RATE}")
    time.sleep(WARM_SECONDS)
    elsewhere.ask("/-/made")
    cpu_before, shown = service.cpu_seconds(), list[float]()
    with CommitClock(service.database_url, _POSITIONS, cluster_id) as positions:
        ends_at = time.monotonic() + CHANGING_SECONDS
        while time.monotonic() < ends_at:
            time.sleep(0.5)
            shown.append(float(service.client.call("GET", f"/api/clusters/{cluster_id}/mirror")[1]["lag_seconds"]))
        elsewhere.ask("/-/changes?rate=0")
        made = elsewhere.ask("/-/made")
        spent = sum(service.cpu_seconds().values()) - sum(cpu_before.values())
        last, kind, _ = made[-1]
        wait(lambda: positions.has(last, _of(kind)), _LEVEL)
        stopped = time.monotonic()
        with psycopg.connect(service.database_url, autocommit=True) as database:
            wait(lambda: _engine_is_level(database, cluster_id), _LEVEL)
        compared = time.monotonic() - stopped
    behind = sorted(positions.seen(version, _of(kind)) - at for version, kind, at in made)
    p50, p99, most = percentile(behind, 50), percentile(behind, 99), behind[-1]
    text = (
        f"{len(made) / CHANGING_SECONDS:.0f} changes/s for {CHANGING_SECONDS:.0f} s: stored after p50 {p50 * 1000:.0f}"
        f" ms, p99 {p99 * 1000:.0f} ms, at most {most * 1000:.0f} ms, target under {BEHIND_SECONDS * 1000:.0f}; lag"
        f" shown at most {max(shown) * 1000:.0f} ms; the engine had compared all {compared:.1f} s after the last;"
        f" {spent / CHANGING_SECONDS:.0%} of one core; {memory.told}, target under {MEMORY_MB:.0f}"
    )
    values = {"p50_seconds": p50, "p99_seconds": p99, "most_seconds": most, "shown_seconds": max(shown),
              "compared_seconds": compared, "memory_mb": memory.most_mb}  # fmt: skip
    return Promise("mirror lag", text, values, max(most, *shown) < BEHIND_SECONDS and memory.most_mb < MEMORY_MB)


def _of(kind: str) -> Callable[[dict[str, str]], int]:
    """Takes a kind's version out of a mirror's positions."""
    return lambda positions: int(positions[kind])


def _engine_is_level(database: psycopg.Connection[Any], cluster_id: int) -> bool:
    rv, seen = database.execute(_ENGINE, [cluster_id]).fetchone()  # type: ignore[misc]
    return bool(rv == seen)


class _Elsewhere:
    """The process that serves the cluster."""

    def __init__(self, nodes: int, pods: int) -> None:
        words = [sys.executable, "-P", "-m", "tools.bench.elsewhere.server", "0", str(nodes), str(pods)]
        self._process = subprocess.Popen(
            words, cwd=ROOT, env={"PYTHONPATH": str(ROOT)}, stdout=subprocess.PIPE, text=True,
            preexec_fn=die_with_parent(signal.SIGTERM),
        )  # fmt: skip
        line = (self._process.stdout.readline() if self._process.stdout else "").strip()
        if not line.startswith("serving on"):
            raise ServiceProblem("the cluster to be followed does not start")
        self._address = f"http://127.0.0.1:{line.rpartition(' ')[2]}"

    def __enter__(self) -> _Elsewhere:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait()
        if self._process.stdout:
            self._process.stdout.close()

    @property
    def kubeconfig(self) -> str:
        return json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
            "clusters": [{"name": "k", "cluster": {"server": self._address}}],
            "users": [{"name": "u", "user": {"token": TOKEN}}],
        })  # fmt: skip

    def ask(self, path: str) -> Any:
        with urllib.request.urlopen(self._address + path, timeout=60) as answer:
            return json.loads(answer.read())
