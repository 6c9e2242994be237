"""A backup taken while pods are being scheduled, restored into an empty PostgreSQL: all of it, and it goes on.

The commands are those of docs/operations.md, word for word. `pg_dump` is given the snapshot of a transaction of the
test's own, so that every table can be compared with what it was at that moment, while the service goes on writing.
"""

import contextlib
import json
import shlex
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest

from kschedweb.environment import ROOT
from kschedweb.ops import postgres, processes
from kschedweb.ops.processes import wait_until
from tests.faults import audit, workloads
from tests.faults.service import Service
from tests.faults.workloads import Workload
from tests.waiting import HANG_SECONDS

PAGE = ROOT / "docs" / "operations.md"
LATER_PODS = 80
RV = "SELECT rv FROM cluster_cluster WHERE id = %s"
BOUND = "SELECT count(*) FROM cluster_pod WHERE cluster_id = %s AND node_name <> ''"
Checksums = dict[str, tuple[int, str]]


@dataclass(frozen=True, slots=True)
class Backup:
    """A dump, and what its tables held: rows and a checksum of them by table."""

    path: Path
    tables: Checksums
    rv: int
    seq: int
    epoch: int


def documented(program: str) -> list[str]:
    """The words with which the page calls a program."""
    line = next(line for line in PAGE.read_text().splitlines() if line.startswith(f"{program} "))
    return shlex.split(line, comments=True)


def run(program: str, *more: str, database_url: str, folder: Path) -> None:
    """A command of the page, with our binaries."""
    words = [word.replace("$DATABASE_URL", database_url) for word in documented(program)[1:]]
    result = subprocess.run(
        [postgres.find_binaries() / program, *words, *more], cwd=folder, capture_output=True, text=True, timeout=120
    )
    assert result.returncode == 0, result.stderr


def checksums(connection: "psycopg.Connection[Any]") -> Checksums:
    """Of every table there is."""
    named = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1").fetchall()
    found = {}
    for (table,) in named:
        row = connection.execute(
            "SELECT count(*), coalesce(md5(string_agg(h, '' ORDER BY h)), '')"
            f" FROM (SELECT md5(t::text) AS h FROM {table} t) hashed"
        ).fetchone()
        assert row is not None
        found[table] = row
    return found


def logs_up_to(connection: "psycopg.Connection[Any]", cluster_id: int, backup: Backup) -> list[Any]:
    """Checksums of what both logs and the attempts hold up to the backup."""
    return [
        connection.execute(
            f"SELECT count(*), md5(string_agg(md5(ROW({columns})::text), '' ORDER BY {number})) FROM {table}"
            f" WHERE cluster_id = %s AND {number} <= %s",
            [cluster_id, limit],
        ).fetchone()
        for table, columns, number, limit in (
            ("cluster_change", "t.*", "rv", backup.rv),
            ("traces_enginelog", "t.*", "seq", backup.seq),
            # A repeated attempt is counted where it was first made, so counts and times of repeats may go on.
            ("traces_attempt", "seq, pod_uid, attempt, result, node_name, digest, matrix", "seq", backup.seq),
        )
        for table in [f"{table} t"]
    ]


def take_backup(service: Service, cluster_id: int, folder: Path) -> Backup:
    with service.connect() as connection, connection.transaction():
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        (snapshot,) = connection.execute("SELECT pg_export_snapshot()").fetchone() or ("",)
        row = connection.execute(
            "SELECT c.rv, c.seq, f.epoch FROM cluster_cluster c JOIN lease_fences f ON f.cluster_id = c.id"
            " WHERE c.id = %s",
            [cluster_id],
        ).fetchone()
        assert row is not None
        run("pg_dump", f"--snapshot={snapshot}", database_url=service.database_url, folder=folder)
        return Backup(folder / "ksched.dump", checksums(connection), *row)


@contextlib.contextmanager
def empty_postgres() -> Iterator[str]:
    """A PostgreSQL with an empty database, and nothing of the one the backup is from."""
    place = Path(tempfile.mkdtemp(prefix="ksbackup-"))
    place.chmod(0o711)
    server = postgres.prepare(data=place / "postgres", run=place / "run", sync=False)
    with open(place / "log", "wb") as log:
        process = processes.spawn(server.launch(postgres.TEST_OPTIONS), log)
    try:
        server.wait_ready()
        server.create_database()
        yield server.url()
    finally:
        processes.stop(process, signal.SIGINT)
        shutil.rmtree(place, ignore_errors=True)


def halves(workload: Workload) -> tuple[list[tuple[str, bytes]], list[tuple[str, bytes]]]:
    """All but the last pods, and those."""
    (name, document), *_ = workload.files
    items = json.loads(document)["items"]
    parts = (items[:-LATER_PODS], items[-LATER_PODS:])
    first, second = (json.dumps({"apiVersion": "v1", "kind": "List", "items": part}).encode() for part in parts)
    return [(name, first)], [(f"more-{name}", second)]


@pytest.fixture
def busy(service: Service) -> Iterator[tuple[int, Workload]]:
    """A cluster in the midst of being scheduled, and all it is going to hold once its other pods come."""
    workload = workloads.mixed(nodes=20, pods=240 + LATER_PODS, seed=11)
    cluster_id = service.cluster_create("backed-up", seed=11)
    service.client.post(f"/api/clusters/{cluster_id}/pace", {"pace": "slow", "rate": 25})
    service.upload(cluster_id, halves(workload)[0])
    assert wait_until(lambda: service.bound(cluster_id) > 30, seconds=HANG_SECONDS), service.logs()
    yield cluster_id, workload
    service.client.post(f"/api/clusters/{cluster_id}/pace", {"pace": "pause"})


def test_backup_of_a_busy_service_is_restored_in_full_and_goes_on(
    service: Service, busy: tuple[int, Workload], tmp_path: Path
) -> None:
    cluster_id, workload = busy
    backup = take_backup(service, cluster_id, tmp_path)
    assert wait_until(lambda: service.count(RV, cluster_id) > backup.rv, seconds=HANG_SECONDS)
    with empty_postgres() as url:
        run("pg_restore", database_url=url, folder=tmp_path)
        with psycopg.connect(url) as connection:
            assert checksums(connection) == backup.tables
            kept = logs_up_to(connection, cluster_id, backup)
            bound = connection.execute(BOUND, [cluster_id]).fetchone()
        assert bound is not None and 30 < bound[0] < 200  # in the midst of it
        assert all(count for count, _ in kept)

        restored = Service({"DATABASE_URL": url})
        try:
            restored.start()
            assert restored.epoch(cluster_id) >= backup.epoch
            restored.client.post(f"/api/clusters/{cluster_id}/pace", {"pace": "run"})
            restored.wait_settled(cluster_id)
            restored.upload(cluster_id, halves(workload)[1])
            restored.wait_settled(cluster_id)
            assert restored.epoch(cluster_id) > backup.epoch
            with restored.connect() as connection:
                assert audit.problems(connection, cluster_id, workload) == []
                assert logs_up_to(connection, cluster_id, backup) == kept
                row = connection.execute("SELECT rv, seq FROM cluster_cluster WHERE id = %s", [cluster_id]).fetchone()
            assert row is not None and row[0] > backup.rv + LATER_PODS and row[1] > backup.seq
            told = restored.replay("backed-up")
            assert (told["difference"], told["unproven_cycles"]) == (None, 0) and told["cycles"] >= len(workload.pods)
        finally:
            restored.close()
