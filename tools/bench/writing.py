"""Counts what the life of a pod writes: rows and room by table, and WAL.

The pods of a workload are uploaded to a simulated cluster of its nodes, bound and started, with a browser connected.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import psycopg

from tools.bench import level3
from tools.bench.promises import Promise
from tools.bench.running import RunningService
from tools.bench.viewers import Viewers
from tools.bench.worker import Job

MOST_WAL_BYTES = 13_000
COUNTED_SECONDS = 15.0  # after which every session of PostgreSQL has told what it wrote
_TABLES = """
SELECT relname, n_tup_ins, n_tup_upd, n_tup_hot_upd, n_tup_del, pg_table_size(relid), pg_indexes_size(relid)
FROM pg_stat_user_tables
"""
_WAL = "SELECT pg_current_wal_insert_lsn() - '0/0'"


class Written(NamedTuple):
    """Of one table: rows, and the bytes it takes with its indexes beside it."""

    inserted: float
    updated: float
    updated_in_place: float  # HOT: no index was written
    deleted: float
    table_bytes: float
    index_bytes: float

    def since(self, before: Written, pods: int) -> Written:
        """What came to it, for each pod."""
        return Written(*((now - then) / pods for now, then in zip(self, before, strict=True)))

    @property
    def text(self) -> str:
        rows = [f"{self.inserted:.2f} inserted"] if self.inserted else []
        rows += [f"{self.updated:.2f} updated ({self.updated_in_place:.2f} in place)"] if self.updated else []
        rows += [f"{self.deleted:.2f} deleted"] if self.deleted else []
        return f"{', '.join(rows)}, {self.table_bytes:,.0f} + {self.index_bytes:,.0f} bytes"


_NOTHING = Written(0, 0, 0, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class _Standing:
    tables: dict[str, Written]
    wal_bytes: int


def measure(service: RunningService, job: Job) -> Iterator[Promise]:
    """One promise, about the bytes of WAL; its text has a line for each table."""
    workload = job.workload()
    pods = [level3.written(each) for each in workload.pods()]
    with psycopg.connect(service.database_url, autocommit=True) as database:
        cluster_id = level3.cluster_new(service, f"bench-{time.time_ns() // 1_000_000}")
        level3.load(service, cluster_id, [level3.written(each) for each in workload.objects()])
        level3.settled(database, cluster_id)
        database.execute("VACUUM ANALYZE")
        database.execute("CHECKPOINT")
        with Viewers(port=service.port, token=service.token, cluster_id=cluster_id, number=1):
            time.sleep(COUNTED_SECONDS)
            before = _Standing(_written(database), _wal_bytes(database))
            level3.upload(service, cluster_id, pods)
            level3.wait_bound(database, cluster_id, len(pods))
            level3.settled(database, cluster_id)
            wal = _wal_bytes(database)
            time.sleep(COUNTED_SECONDS)
            after = _Standing(_written(database), wal)
    service.client.call("DELETE", f"/api/clusters/{cluster_id}")
    yield _promise(workload.name, len(pods), before, after)


def _wal_bytes(database: psycopg.Connection[Any]) -> int:
    (wal,) = database.execute(_WAL).fetchone()  # type: ignore[misc]
    return int(wal)


def _written(database: psycopg.Connection[Any]) -> dict[str, Written]:
    return {name: Written(*counts) for name, *counts in database.execute(_TABLES).fetchall()}


def _promise(name: str, pods: int, before: _Standing, after: _Standing) -> Promise:
    wal = (after.wal_bytes - before.wal_bytes) / pods
    written = {
        table: now.since(before.tables.get(table, _NOTHING), pods) for table, now in sorted(after.tables.items())
    }
    told = {table: each for table, each in written.items() if max(each) * pods >= 1 and any(each[:4])}
    lines = "".join(f"\n  {table}: {each.text}" for table, each in told.items())
    text = f"{pods:,} pods of {name}: {wal:,.0f} bytes of WAL a pod, target under {MOST_WAL_BYTES:,}{lines}\n "
    values = {"wal_bytes": wal} | {
        f"{table}.{field}": value for table, each in told.items() for field, value in each._asdict().items()
    }
    return Promise("writes", text, values, wal < MOST_WAL_BYTES)
