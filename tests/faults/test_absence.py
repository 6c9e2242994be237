"""Every process survives the absence of PostgreSQL or Valkey for a minute, at work and at rest, and goes on by itself.

The servers are the test's own, so that nobody starts them again too soon: killed, their addresses refuse; stopped by a
signal, they keep their connections and say nothing.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from kschedweb.ops import postgres, processes, up, valkey
from kschedweb.ops.postgres import Postgres
from kschedweb.ops.processes import wait_until
from kschedweb.ops.valkey import Valkey
from tests.faults import audit, workloads
from tests.faults.service import Service, children, descendants
from tests.waiting import HANG_SECONDS

pytestmark = pytest.mark.slow

AWAY_SECONDS = 60.0


@dataclass
class Server:
    """A database server of the test's own, away for as long as a test likes."""

    server: Postgres | Valkey
    log: Path
    process: "subprocess.Popen[bytes] | None" = None

    def start(self) -> None:
        with open(self.log, "ab") as log:
            self.process = processes.spawn(self.server.launch(), log)
        self.server.wait_ready()

    @contextlib.contextmanager
    def away(self, how: str) -> Iterator[None]:
        assert self.process is not None
        if how == "killed":
            self.process.kill()
            self.process.wait()
            yield
            self.start()
            return
        everything = descendants(self.process.pid)
        for pid in everything:
            os.kill(pid, signal.SIGSTOP)
        yield
        for pid in everything:
            os.kill(pid, signal.SIGCONT)


@pytest.fixture(scope="module")
def servers() -> Iterator[dict[str, Server]]:
    place = Path(tempfile.mkdtemp(prefix="ksaway-"))
    place.chmod(0o711)
    made = {
        "postgres": Server(postgres.prepare(data=place / "data", run=place / "pg", sync=False), place / "pg.log"),
        "valkey": Server(valkey.prepare(run=place / "valkey"), place / "valkey.log"),
    }
    try:
        for server in made.values():
            server.start()
        database = made["postgres"].server
        assert isinstance(database, Postgres)
        database.create_database()
        yield made
    finally:
        for server in made.values():
            if server.process is not None:
                processes.stop(server.process, signal.SIGTERM, patience_seconds=2)
        shutil.rmtree(place, ignore_errors=True)


@pytest.fixture(scope="module")
def lonely_service(servers: dict[str, Server]) -> Iterator[Service]:
    """A service on servers that are not its own."""
    database, broker = servers["postgres"].server, servers["valkey"].server
    assert isinstance(database, Postgres) and isinstance(broker, Valkey)
    made = Service({"DATABASE_URL": database.url(), "REDIS_URL": broker.url})
    try:
        made.start()
        yield made
    finally:
        made.close()


@pytest.mark.parametrize("how", ["killed", "stopped"])
@pytest.mark.parametrize("name", ["postgres", "valkey"])
def test_service_goes_on_when_a_server_was_away(
    lonely_service: Service, servers: dict[str, Server], name: str, how: str
) -> None:
    service = lonely_service
    workload = workloads.roomy(nodes=20, pods=800)
    cluster_id = service.cluster_create(f"{name}-{how}", seed=1)
    service.client.post(f"/api/clusters/{cluster_id}/pace", {"pace": "slow", "rate": 40})
    service.upload(cluster_id, workload.files)
    assert wait_until(lambda: service.bound(cluster_id) > 100, seconds=HANG_SECONDS)
    everyone = _everyone(service)
    with servers[name].away(how):
        time.sleep(AWAY_SECONDS)
        assert _everyone(service) == everyone
    service.wait_settled(cluster_id)
    assert service.bound(cluster_id) == 800
    with servers[name].away(how):  # nothing to do this time
        time.sleep(AWAY_SECONDS)
        assert _everyone(service) == everyone
    assert wait_until(lambda: up.answers_ready("127.0.0.1", service.port), seconds=HANG_SECONDS), service.logs()
    later = workloads.roomy(nodes=2, pods=40)
    later_id = service.cluster_create(f"{name}-{how}-later", seed=1)
    service.upload(later_id, later.files)
    service.wait_settled(later_id)
    assert _everyone(service) == everyone
    with service.connect() as connection:
        assert audit.problems(connection, cluster_id, workload) == []
        assert audit.problems(connection, later_id, later) == []


def _everyone(service: Service) -> dict[str, list[int]]:
    """Each process with its children: the pool's child, the web process's worker."""
    return {name: [pid or 0, *children(pid or 0)] for name, pid in service.pids().items()}
