"""`python -m kschedweb.ops.worker KIND`: the one place that knows with which options each Celery process runs.

| kind      | queues                          | why so                                                              |
|-----------|---------------------------------|---------------------------------------------------------------------|
| scheduler | scheduler, scheduler.<worker id> | one engine process, leader of any number of clusters                |
| binding   | binding                         | short batches, never waits; a thread of it sweeps                   |
| lifecycle | lifecycle                       | kubelets, imports: work that may take a while                       |
| beat      |                                 | now and then, old history; its schedule is in the data directory    |

All are prefork with one child and take one message at a time. The child dies with its parent, whatever ends that.
"""

import argparse
import os
import secrets
import signal
import socket
import sys
from pathlib import Path
from typing import Any

from kschedweb import environment
from kschedweb.common.collector import ease_child, pause, settle
from kschedweb.ops.processes import die_with_parent, private_directory

KINDS = ("scheduler", "binding", "lifecycle", "beat")
# Where processors are short scheduling goes first: a simulated kubelet would have a machine of its own.
NICENESS = {"lifecycle": 5}


def new_worker_id() -> str:
    """A name for one incarnation of a scheduler worker."""
    return f"{socket.gethostname()[:60]}-{secrets.token_hex(4)}"


def arguments(kind: str, settings: environment.Environment) -> list[str]:
    """Celery's words for a kind."""
    log_level = f"--loglevel={settings.log_level}"
    if kind == "beat":
        return ["beat", f"--schedule={settings.data_dir / 'beat' / 'schedule'}", "--pidfile=", log_level]
    queues = f"scheduler,scheduler.{settings.worker_id}" if kind == "scheduler" else kind
    return [
        "worker",
        f"--hostname={kind}@{settings.worker_id}",
        f"--queues={queues}",
        "--pool=prefork",
        "--concurrency=1",
        "--prefetch-multiplier=1",
        # Workers never speak with each other: rows and leases do that.
        "--without-gossip",
        "--without-mingle",
        "--without-heartbeat",
        log_level,
    ]


def main(words: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="kschedweb.ops.worker", description="Run one Celery process of the service.")
    parser.add_argument("kind", choices=KINDS)
    kind = parser.parse_args(words).kind
    if kind != "beat":  # it has no pool, so that nobody would say when it has been loaded
        pause()
    # Settings are read in the pool's child too: the id has to be in the environment before either reads it.
    os.environ["KSCHED_WORKER_ID"] = os.environ.get("KSCHED_WORKER_ID") or new_worker_id()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kschedweb.settings")
    try:
        settings = environment.load()
    except environment.EnvironmentProblem as problem:
        sys.exit(f"kschedweb cannot start, the environment is not usable:\n{problem}")
    if kind == "beat":
        try:
            _keep_schedule_private(settings.data_dir / "beat")
        except PermissionError as problem:
            sys.exit(f"kschedweb cannot start: {problem}")

    from celery.signals import worker_before_create_process, worker_process_init

    from kschedweb.celery import app
    from kschedweb.common.memory import give_back_freed

    give_back_freed()
    if kind == "beat":
        app.loader.worker_initialized = True  # it sends tasks by name: their code, and with it Django's apps, stay out
    parent = os.getpid()
    os.nice(NICENESS.get(kind, 0))

    def end_with_worker(**_: Any) -> None:
        # Killed, not asked: whatever it was doing is a transaction that the database undoes.
        die_with_parent(signal.SIGKILL, parent=parent)()

    def settle_loaded(**_: Any) -> None:
        settle()

    def ease_collector(**_: Any) -> None:
        ease_child()

    # The app is loaded by then; the child shares it with its parent.
    worker_before_create_process.connect(settle_loaded, weak=False)
    worker_process_init.connect(end_with_worker, weak=False)
    worker_process_init.connect(ease_collector, weak=False)
    if kind == "scheduler":
        worker_process_init.connect(_watch_leases, weak=False)
    elif kind == "binding":
        worker_process_init.connect(_listen_and_sweep, weak=False)
    app.start(argv=arguments(kind, settings))


def _keep_schedule_private(folder: Path) -> None:
    """Let only our user read and write the schedule: the files that beat will make, and those it made before."""
    private_directory(folder)
    os.umask(0o077)
    for path in folder.iterdir():
        path.chmod(0o600)


def _watch_leases(**_: Any) -> None:
    """A scheduler worker is a standby from its start, not from its first message."""
    # Only the pool's child, where Django is set up, may import the app.
    from kschedweb.scheduling.runner import slices

    slices.worker()


def _listen_and_sweep(**_: Any) -> None:
    """A binding worker hears of what is ordered while it is at work, and looks for what no message told of."""
    from kschedweb.scheduling.runner import bindings, sweep

    bindings.listen()
    sweep.Sweeper().start()


if __name__ == "__main__":
    main(sys.argv[1:])
