"""The options of each Celery process, and that a task reaches a real one."""

import contextlib
import json
import os
import shelve
import signal
import stat
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from celery.beat import ScheduleEntry

from kschedweb import environment
from kschedweb.celery import app
from kschedweb.environment import ROOT
from kschedweb.ops import worker
from kschedweb.scheduling.runner import bindings, sweep
from tests.cases import cases
from tests.waiting import eventually


@cases(
    "kind, queues",
    ("scheduler listens on a queue of its own", "scheduler", "scheduler,scheduler.w1"),
    ("binding", "binding", "binding"),
    ("lifecycle", "lifecycle", "lifecycle"),
)
def test_worker_takes_one_message_at_a_time_from_its_queues(
    kind: str, queues: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KSCHED_WORKER_ID", "w1")
    words = worker.arguments(kind, environment.load())
    assert f"--queues={queues}" in words
    assert {"--pool=prefork", "--concurrency=1", "--prefetch-multiplier=1"} <= set(words)


def test_binding_worker_listens_and_sweeps(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[object] = []
    monkeypatch.setattr(bindings, "listen", lambda: begun.append("listens"))
    monkeypatch.setattr(sweep.Sweeper, "start", lambda sweeper: begun.append(sweeper.seconds))
    worker._listen_and_sweep()
    assert begun == ["listens", 2.0]


def test_every_incarnation_has_another_id() -> None:
    assert worker.new_worker_id() != worker.new_worker_id()


@cases(
    "task, queue",
    ("slice", "scheduling.slice_run", "scheduler"),
    ("ensure_leader", "scheduling.ensure_leader", "scheduler"),
    ("bindings", "scheduling.bindings_apply", "binding"),
    ("old sessions", "accounts.sessions_clear", "lifecycle"),
    ("lifecycle", "lifecycle.anything", "lifecycle"),
    ("import", "cluster.import_execute", "lifecycle"),
    ("unknown", "unknown.task", "lifecycle"),
)
def test_tasks_go_to_the_queue_of_their_kind(task: str, queue: str) -> None:
    route = app.amqp.router.route({}, task)
    assert route.get("queue", app.amqp.queues[app.conf.task_default_queue]).name == queue


def test_beat_wakes_the_clearing_away_and_lets_old_wakings_expire() -> None:
    schedule = app.conf.beat_schedule
    assert {entry["task"]: entry["schedule"] for entry in schedule.values()} == {
        "scheduling.prune": 300.0,
        "accounts.sessions_clear": 3600.0,
    }
    app.loader.import_default_modules()
    assert {entry["task"] for entry in schedule.values()} <= app.tasks.keys()
    for entry in schedule.values():
        assert entry["schedule"] <= entry["options"]["expires"] <= max(60, entry["schedule"])


# What Celery's beat does before it waits; then whether the code of a task is there.
BEAT = """
import sys
from kschedweb.celery import app
from kschedweb.ops import worker

def start(argv):
    app.loader.init_worker()
    app.finalize()
    print(argv[0], "kschedweb.cluster.models" in sys.modules)

app.start = start
worker.main(["beat"])
"""


def test_beat_does_without_the_code_of_tasks(tmp_path: Path) -> None:
    environment = {**os.environ, "KSCHED_DATA_DIR": str(tmp_path)}
    words = [sys.executable, "-c", BEAT]
    done = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["beat", "False"]


def test_a_lost_worker_costs_a_minute_at_most() -> None:
    conf = app.conf
    assert conf.broker_transport_options["visibility_timeout"] == 60
    assert conf.task_acks_late and conf.task_reject_on_worker_lost and conf.task_ignore_result
    assert conf.broker_connection_max_retries is None


@pytest.mark.django_db(transaction=True)
def test_worker_takes_a_task_and_outlives_its_child_but_not_the_other_way_round(start_worker, valkey_client) -> None:
    def send() -> None:
        app.send_task("scheduling.bindings_run", kwargs={"cluster_id": 1})

    send()
    assert valkey_client.llen("binding") == 1
    process = start_worker("binding")

    def is_done() -> bool:
        return valkey_client.llen("binding") == 0 and valkey_client.hlen("unacked") == 0

    eventually(is_done, process.log_path.read_text)

    (child,) = _children(process.pid)
    os.kill(child, signal.SIGKILL)
    eventually(lambda: _children(process.pid) not in ([child], []), process.log_path.read_text)
    send()
    eventually(is_done, process.log_path.read_text)

    (child,) = _children(process.pid)
    process.kill()
    eventually(lambda: child not in _living())


@pytest.mark.django_db(transaction=True)
def test_beat_keeps_its_schedule_in_the_data_directory_and_private(start_worker, valkey_client, tmp_path: Path) -> None:
    """Also what an older version left open."""
    folder = tmp_path / "data" / "beat"
    folder.mkdir(parents=True, mode=0o755)
    with shelve.open(str(folder / "schedule")) as older:
        # What was due long ago; beat takes the rest of the entry from its own configuration.
        past = ScheduleEntry("prune", "scheduling.prune", datetime(2026, 1, 1, tzinfo=UTC), schedule=300.0, app=app)
        older.update(entries={"prune": past}, __version__="5", tz="UTC", utc_enabled=True)
    made = list(folder.iterdir())
    for path in made:
        path.chmod(0o644)
    process = start_worker("beat")
    eventually(lambda: valkey_client.llen("lifecycle") >= 1, process.log_path.read_text)
    headers = json.loads(valkey_client.lindex("lifecycle", 0))["headers"]
    assert headers["task"] == "scheduling.prune"
    assert headers["expires"] is not None
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert made and {stat.S_IMODE(path.stat().st_mode) for path in (*made, *folder.iterdir())} == {0o600}


def _living() -> dict[int, int]:
    """Every process that is no zombie, with its parent."""
    found = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = path.read_text().rpartition(")")[2].split()
            if fields[0] != "Z":
                found[int(path.parent.name)] = int(fields[1])
    return found


def _children(pid: int) -> list[int]:
    return sorted(child for child, parent in _living().items() if parent == pid)
