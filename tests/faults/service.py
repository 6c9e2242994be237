"""The whole service under `./ksched up` in a directory of its own, its processes to be killed, its rows to be read.

Rows are read by SQL over a connection of the test's own, so that nothing is believed because the service says so.
"""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import psycopg

from kschedweb.environment import ROOT, variables
from kschedweb.ops import client, supervisor
from kschedweb.ops.client import Client
from kschedweb.ops.processes import die_with_parent, wait_until
from tests.waiting import HANG_SECONDS

# So that a standby takes over soon after a kill: the tests wait for it again and again.
QUICK_LEASE = {
    "KSCHED_LEASE_DURATION_SECONDS": "3",
    "KSCHED_RENEW_DEADLINE_SECONDS": "2",
    "KSCHED_RETRY_PERIOD_SECONDS": "0.5",
}

# One row of booleans, all true once the cluster has settled: the leader in force has built its engine; that has seen
# the end of the change log; nobody has anything to carry out; every pod without a node is known to fit nowhere.
SETTLED = """
SELECT coalesce(l.holder, '') <> '' AND s.epoch = f.epoch AS led,
       s.rv_seen = c.rv AS seen,
       NOT EXISTS (SELECT 1 FROM bindings WHERE cluster_id = c.id AND status = 'pending')
       AND NOT EXISTS (SELECT 1 FROM evictions WHERE cluster_id = c.id AND status = 'pending') AS carried_out,
       NOT EXISTS (SELECT 1 FROM traces_queuestate WHERE cluster_id = c.id
                   AND queue NOT IN ('unschedulable', 'gated')) AS none_due,
       NOT EXISTS (SELECT 1 FROM cluster_pod p WHERE p.cluster_id = c.id AND p.node_name = ''
                   AND NOT EXISTS (SELECT 1 FROM traces_queuestate q
                                   WHERE q.cluster_id = c.id AND q.pod_uid = p.uid)) AS all_known
FROM cluster_cluster c
LEFT JOIN leases l ON l.cluster_id = c.id
LEFT JOIN lease_fences f ON f.cluster_id = c.id
LEFT JOIN engine_states s ON s.cluster_id = c.id
WHERE c.id = %s
"""


class Service:
    """One running service; `environment` names what it is to have besides its defaults."""

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        self.data = Path(tempfile.mkdtemp(prefix="ksfaults-"))
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        inherited = {name: value for name, value in os.environ.items() if name not in variables()}
        inherited.pop("DJANGO_SETTINGS_MODULE", None)
        self.environment = {**inherited, "PYTHONPATH": str(ROOT), **QUICK_LEASE, **(environment or {})}
        self.process: subprocess.Popen[bytes] | None = None
        self.database_url = ""
        self.given_environment: dict[str, str] = {}  # to its processes by `./ksched up`
        self.joined: dict[str, subprocess.Popen[bytes]] = {}

    def start(self) -> None:
        words = [sys.executable, "-P", "-m", "kschedweb.ops.cli", "up", "--no-sample"]
        with open(self.data / "output", "wb") as output:
            self.process = subprocess.Popen(
                [*words, "--data-dir", str(self.data), "--port", str(self.port)],
                cwd=ROOT,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
                preexec_fn=die_with_parent(signal.SIGTERM),
            )
        is_up = wait_until(lambda: "open http" in self.output or self.process_ended, seconds=HANG_SECONDS)
        assert is_up and not self.process_ended, self.output + self.logs()
        # The embedded server's address is in what the processes were given. Later a process may be down that is asked.
        words = Path(f"/proc/{self.pid('web')}/environ").read_bytes().decode().split("\0")
        self.given_environment = dict(word.split("=", 1) for word in words if "=" in word)
        self.database_url = self.given_environment["DATABASE_URL"]

    def join(self, name: str) -> None:
        """Start one more worker as another machine would: `binding-2` is of the kind `binding`. Not supervised."""
        with open(self.data / "logs" / f"{name}.log", "ab") as log:
            self.joined[name] = subprocess.Popen(
                [sys.executable, "-P", "-m", "kschedweb.ops.worker", name.partition("-")[0]],
                cwd=ROOT,
                env=self.given_environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                preexec_fn=die_with_parent(signal.SIGKILL),
            )

    def revive(self) -> None:
        """Start what had joined and has ended again, as the supervisor of that machine would."""
        for name, process in self.joined.items():
            if process.poll() is not None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                self.join(name)

    def leave(self) -> None:
        """End what had joined."""
        while self.joined:
            _, process = self.joined.popitem()
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def close(self) -> None:
        self.leave()
        if self.process is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.send_signal(signal.SIGTERM)
                self.process.wait(HANG_SECONDS)
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.data, ignore_errors=True)

    @property
    def process_ended(self) -> bool:
        return self.process is not None and self.process.poll() is not None

    @property
    def output(self) -> str:
        return (self.data / "output").read_text()

    def logs(self) -> str:
        """The end of every log, for the report of a test that failed."""
        paths = sorted((self.data / "logs").glob("*.log"))
        return "".join(f"\n--- {path.name}\n{path.read_text(errors='replace')[-2000:]}" for path in paths)

    # Processes

    def pid(self, name: str) -> int | None:
        if name in self.joined:
            return self.joined[name].pid if self.joined[name].poll() is None else None
        facts = json.loads(supervisor.status_path(self.data).read_text())
        found: int | None = facts["processes"][name]["pid"]
        return found

    def pids(self) -> dict[str, int | None]:
        facts = json.loads(supervisor.status_path(self.data).read_text())
        return {name: process["pid"] for name, process in facts["processes"].items()}

    def kill(self, name: str) -> Callable[[], bool]:
        """Kill a process of this name, or its pool's child as `name/child`; the answer says whether another runs."""
        kind, _, child = name.partition("/")
        parent = self.pid(kind)
        assert parent is not None, f"{kind} does not run"
        if not child:
            os.kill(parent, signal.SIGKILL)
            return lambda: self.pid(kind) not in (None, parent)
        old = children(parent)
        assert old, f"{kind} has no child"
        for pid in old:
            os.kill(pid, signal.SIGKILL)
        return lambda: bool(set(children(parent)) - set(old))

    # The service, as its users see it

    @property
    def client(self) -> Client:
        return client.connect(self.data)

    def cluster_create(self, name: str, *, seed: int = 1) -> int:
        made: dict[str, Any] = self.client.post("/api/clusters", {"name": name, "seed": seed})
        return int(made["id"])

    def clusters_delete(self) -> None:
        for cluster in self.client.all("/api/clusters"):
            self.client.call("DELETE", f"/api/clusters/{cluster['id']}")

    def upload(self, cluster_id: int, files: Sequence[tuple[str, bytes]]) -> dict[str, Any]:
        """Import the files in one request, as the command line does; its report, once it is accepted."""
        body, content_type = client.multipart(list(files))
        path = f"/api/clusters/{cluster_id}/import?admission=auto"
        _, answer = self.client.call("POST", path, body, content_type)
        while answer.get("status") in ("queued", "running"):
            time.sleep(0.5)
            _, answer = self.client.call("GET", f"/api/clusters/{cluster_id}/imports/{answer['id']}")
        assert answer["status"] == "done", answer
        report: dict[str, Any] = answer["report"]
        return report

    def digest(self, cluster_id: int) -> dict[str, Any]:
        _, answer = self.client.call("GET", f"/api/clusters/{cluster_id}/digest")
        found: dict[str, Any] = answer
        return found

    def replay(self, cluster: str, *words: str) -> dict[str, Any]:
        """What `./ksched replay` says of a cluster; where nothing could be made again, `reason` alone."""
        command = [sys.executable, "-P", "-m", "kschedweb.ops.cli", "replay", cluster, "--json", *words]
        done = subprocess.run(
            [*command, "--data-dir", str(self.data)], cwd=ROOT, env=self.environment, capture_output=True, text=True
        )
        assert "Traceback" not in done.stderr, done.stderr
        if done.returncode == 2:
            return {"reason": done.stderr.strip()}
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    # Rows

    def connect(self) -> "psycopg.Connection[Any]":
        return psycopg.connect(self.database_url, autocommit=True, connect_timeout=30)

    def rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        with self.connect() as connection:
            return connection.execute(query, values).fetchall()

    def count(self, query: str, *values: Any) -> int:
        return int(self.rows(query, *values)[0][0])

    def bound(self, cluster_id: int) -> int:
        return self.count("SELECT count(*) FROM cluster_pod WHERE cluster_id = %s AND node_name <> ''", cluster_id)

    def unsettled(self, cluster_id: int) -> str:
        """What keeps the cluster from having settled, empty when nothing does."""
        names = ("led", "seen", "carried_out", "none_due", "all_known")
        try:
            row = self.rows(SETTLED, cluster_id)[0]
        except psycopg.OperationalError as error:
            return str(error)
        return ", ".join(f"not {name}" for name, holds in zip(names, row, strict=True) if not holds)

    def wait_settled(self, cluster_id: int) -> None:
        why = ["never asked"]

        def settled() -> bool:
            why[0] = self.unsettled(cluster_id)
            return not why[0]

        if not wait_until(settled, seconds=HANG_SECONDS, pause_seconds=0.2):
            raise AssertionError(f"not settled: {why[0]}\n{self.logs()}")

    def epoch(self, cluster_id: int) -> int:
        return self.count("SELECT coalesce(max(epoch), 0) FROM lease_fences WHERE cluster_id = %s", cluster_id)


def children(pid: int) -> list[int]:
    """The processes a process has started and that still run."""
    try:
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def descendants(pid: int) -> list[int]:
    """The process and everything below it."""
    return [pid, *(below for child in children(pid) for below in descendants(child))]
