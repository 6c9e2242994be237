"""Measures what a service uses while nothing happens: CPU time and memory by process, rows written, transactions.

The clusters are simulated: their pods are bound and run, so their controllers and engines are there and have nothing to
do. What follows an upload (the proof of its history, a checkpoint, PostgreSQL's sweeping up) is waited for.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import psycopg

from tools.bench import level3, objects
from tools.bench.promises import Promise
from tools.bench.running import RunningService, ServiceProblem

NODES, PODS = 5_000, 30_000
SECONDS = 60.0
RUNS = 2
# Of one core, all processes together: with one cluster, and with ten; between them in proportion.
ONE_SHARE, TEN_SHARE = 0.01, 0.03
QUIET_SECONDS = 25.0  # longer than a session of PostgreSQL keeps what it has counted, and the slowest of our wakings
MOST_SECONDS = 1_800.0

_WRITTEN = "SELECT relname, n_tup_ins + n_tup_upd + n_tup_del FROM pg_stat_user_tables"
_COMMITS = "SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()"
_WAL = "SELECT pg_current_wal_insert_lsn() - '0/0'"
UNPROVEN = (
    "SELECT count(*) FROM engine_states s LEFT JOIN history_proofs p USING (cluster_id)"
    " WHERE (p.run, p.step) IS DISTINCT FROM (s.run, s.step) AND p.difference IS NULL"
)
_RENEWED = "leases"  # while nothing happens at all their leaders may still say that they live


@dataclass(frozen=True, slots=True)
class Standing:
    """What has been used and written so far."""

    at: float
    cpu_seconds: dict[str, float]
    written: Counter[str]
    commits: int
    wal_bytes: int
    memory_mb: dict[str, float]


def measure(
    service: RunningService,
    clusters: int,
    *,
    nodes: int = NODES,
    pods: int = PODS,
    seconds: float = SECONDS,
    quiet_seconds: float = QUIET_SECONDS,
) -> Iterator[Promise]:
    """The promise, `RUNS` times over in the same service, each when it is measured."""
    names = [f"rest-{number}-{time.time_ns() // 1_000_000}" for number in range(clusters)]
    with psycopg.connect(service.database_url, autocommit=True) as database:
        for name in names:
            cluster_id = level3.cluster_new(service, name)
            level3.load(service, cluster_id, [objects.node(number) for number in range(nodes)])
            level3.load(service, cluster_id, [objects.running_pod(number, nodes) for number in range(pods)])
            level3.settled(database, cluster_id, stalled_seconds=MOST_SECONDS)
        _at_rest(database, quiet_seconds)
        for _ in range(RUNS):
            before = _standing(service, database)
            time.sleep(seconds)
            yield _promise(clusters, nodes, pods, before, _standing(service, database))


def _at_rest(database: psycopg.Connection[Any], quiet_seconds: float) -> None:
    begun = since = time.monotonic()
    last: Counter[str] | None = None
    while time.monotonic() - since < quiet_seconds:
        if time.monotonic() - begun > MOST_SECONDS:
            raise ServiceProblem(f"after {MOST_SECONDS:.0f} s something still writes")
        (unproven,) = database.execute(UNPROVEN).fetchone()  # type: ignore[misc]
        written = _written(database)
        del written[_RENEWED]
        if unproven or written != last:
            last, since = written, time.monotonic()
        time.sleep(1.0)


def _written(database: psycopg.Connection[Any]) -> Counter[str]:
    return Counter(dict(database.execute(_WRITTEN).fetchall()))


def _standing(service: RunningService, database: psycopg.Connection[Any]) -> Standing:
    (commits,) = database.execute(_COMMITS).fetchone()  # type: ignore[misc]
    (wal,) = database.execute(_WAL).fetchone()  # type: ignore[misc]
    return Standing(
        time.monotonic(), service.cpu_seconds(), _written(database), int(commits), int(wal), service.memory_mb()
    )


def _promise(clusters: int, nodes: int, pods: int, before: Standing, after: Standing) -> Promise:
    passed = after.at - before.at
    shares = {name: (spent - before.cpu_seconds[name]) / passed for name, spent in after.cpu_seconds.items()}
    written = after.written - before.written
    share, rows, target = sum(shares.values()), written.total(), target_of(clusters)
    each = ", ".join(f"{name} {part:.2%}" for name, part in sorted(shares.items(), key=lambda item: -item[1]))
    memory = ", ".join(
        f"{name} {part:,.0f}" for name, part in sorted(after.memory_mb.items(), key=lambda item: -item[1])
    )
    tables = f" ({', '.join(f'{table} {number}' for table, number in written.most_common())})" if rows else ""
    text = (
        f"{clusters} cluster{'s' if clusters > 1 else ''} of {nodes:,} nodes with {pods:,} pods: {share:.2%} of one"
        f" core in {passed:.0f} s, target under {target:.1%} ({each}); {rows} rows written{tables}, target none;"
        f" {after.commits - before.commits} transactions, {after.wal_bytes - before.wal_bytes:,} bytes of WAL;"
        f" {sum(after.memory_mb.values()):,.0f} MB ({memory})"
    )
    values = {
        "clusters": float(clusters),
        "share_of_core": share,
        "rows_written": float(rows),
        "transactions": float(after.commits - before.commits),
        "wal_bytes": float(after.wal_bytes - before.wal_bytes),
        **{f"share_of_{name}": part for name, part in shares.items()},
        **{f"megabytes_of_{name}": part for name, part in after.memory_mb.items()},
    }
    return Promise("idle", text, values, share < target and not rows)


def target_of(clusters: int) -> float:
    """The share of one core that all processes may use beside so many clusters at rest."""
    return ONE_SHARE + (TEN_SHARE - ONE_SHARE) * (clusters - 1) / 9
