"""What tests of the web half share: Django's database on the run's PostgreSQL, Valkey, and real Celery workers."""

import io
import logging
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest
import redis
import structlog
from django.conf import settings as django_settings
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.test import TransactionTestCase
from django.test.utils import setup_databases, teardown_databases
from whitenoise.middleware import WhiteNoiseMiddleware

from kschedweb.accounts.models import AccessRecord
from kschedweb.cluster import services as cluster_services
from kschedweb.cluster.models import Cluster
from kschedweb.environment import ROOT
from kschedweb.ops import processes
from kschedweb.scheduling import leases
from kschedweb.scheduling.runner import host
from tests.waiting import eventually
from tests.web import tcp

# Rows that are there once the database is made, of which no test changes any.
LASTING_TABLES = ("django_content_type", "auth_permission")


@pytest.fixture(scope="session")
def django_db_modify_db_settings(django_db_modify_db_settings_parallel_suffix: None, postgres_url: str) -> None:
    """Start PostgreSQL before Django makes its test database."""


@pytest.fixture(scope="session")
def django_db_setup(
    django_db_modify_db_settings: None, django_db_blocker: Any, django_db_keepdb: bool, django_db_createdb: bool
) -> Iterator[None]:
    """Make the test database, also where no test is marked as having one: fixtures of a module have it as well."""
    keepdb = django_db_keepdb and not django_db_createdb
    with django_db_blocker.unblock():
        made = setup_databases(
            verbosity=0, interactive=False, keepdb=keepdb, aliases=["default"], serialized_aliases=[]
        )
    yield
    if not django_db_keepdb:
        with django_db_blocker.unblock():
            teardown_databases(made, verbosity=0)


@pytest.fixture(autouse=True, scope="session")
def _valkey_runs(valkey_url: str) -> None:
    """The broker and the channel layer are there for every test of the web half."""


@pytest.fixture(autouse=True, scope="session")
def _static_files_are_found_once() -> Iterator[None]:
    """Each client has the middleware made anew, which would look at every file of the build, as a process does once."""
    find, found = WhiteNoiseMiddleware.add_files_from_finders, {}

    def find_once(middleware: WhiteNoiseMiddleware) -> None:
        if not found:
            find(middleware)
            found.update(middleware.files)
        middleware.files.update(found)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(WhiteNoiseMiddleware, "add_files_from_finders", find_once)
        yield


# The tables that have room for rows, and how large each is, with its indexes.
SIZES = """
SELECT relname, pg_total_relation_size(oid) FROM pg_class
WHERE oid = ANY(%s::regclass[]) AND pg_relation_size(oid) > 0
"""
# What is deleted leaves its room behind. Making a file anew takes longer than deleting few rows: only large ones are.
LARGE_BYTES = 1 << 20


@pytest.fixture(autouse=True, scope="session")
def _tables_are_emptied_and_no_more() -> Iterator[None]:
    """After a test with transactions of its own: Django would truncate all tables, and make content types anew."""

    @cache
    def names() -> list[str]:
        made = connection.introspection.django_table_names(only_existing=True, include_views=False)
        return [name for name in made if name not in LASTING_TABLES]

    def empty(_: TransactionTestCase) -> None:
        with connection.cursor() as cursor:
            cursor.execute(SIZES, [names()])
            sizes = dict(cursor.fetchall())
            if not sizes:
                return
            # Keys are not checked: all that refers to a row goes as well.
            deletions = "".join(f'DELETE FROM "{name}";' for name in sizes)
            cursor.execute(
                f"SET session_replication_role = replica; {deletions} SET session_replication_role = DEFAULT"
            )
            large = [f'"{name}"' for name, size in sizes.items() if size > LARGE_BYTES]
            if large:
                cursor.execute(f"TRUNCATE {', '.join(large)} CASCADE")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransactionTestCase, "_fixture_teardown", empty)
        yield


@pytest.fixture(autouse=True, scope="session")
def _engines_leave_garbage() -> Iterator[None]:
    """A process of tests holds far more than one of the service: each new engine would visit all of it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(host, "settle_after", lambda objects: None)
        yield


@pytest.fixture
def cluster(db: None, request: pytest.FixtureRequest) -> Cluster:
    """An empty cluster; where all is told one made as people make them, whose log begins with its settings."""
    if "all_is_told" in request.fixturenames:
        return cluster_services.cluster_create(name="lived", seed=1)
    return Cluster.objects.create(name="scheduled", seed=1)


@pytest.fixture
def patient_fence(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a scheduler's transaction be silent for a minute: a test's own is one, and machines may be busy."""
    monkeypatch.setattr(leases, "IDLE_IN_TRANSACTION_MS", 60_000)


@pytest.fixture(scope="module")
def committed(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    """Some views read in a transaction of their own kind: what they read is committed, and goes in the end."""
    with django_db_blocker.unblock():
        yield
        for cluster in Cluster.objects.all():
            cluster_services.cluster_delete(cluster_id=cluster.pk)
        User.objects.all().delete()
        AccessRecord.objects.all().delete()


@pytest.fixture(scope="session")
def web(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tcp.Web]:
    """One web process for all tests: rows come and go below it."""
    with tcp.web_process(tmp_path_factory.mktemp("web")) as process:
        yield process


@pytest.fixture(scope="module")
def lasting(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    """What the fixtures of a module store stays for all its tests; what a test stores goes with that test.

    Not for a module that has tests with transactions of their own.
    """
    with django_db_blocker.unblock(), transaction.atomic():
        yield
        transaction.set_rollback(True)


@pytest.fixture
def log_lines() -> Iterator[Callable[[], list[str]]]:
    """What the service has logged since, as it writes it: `log_lines()`; a traceback counts with its own lines."""
    written = io.StringIO()
    handler = logging.StreamHandler(written)
    formatter = dict(django_settings.LOGGING["formatters"]["structlog"])
    formatter.pop("()")
    handler.setFormatter(structlog.stdlib.ProcessorFormatter(**formatter))
    for configured in logging.getLogger().handlers:
        handler.filters += configured.filters
    logging.getLogger().addHandler(handler)
    try:
        yield lambda: written.getvalue().splitlines()
    finally:
        logging.getLogger().removeHandler(handler)


@pytest.fixture
def valkey_client(valkey_url: str) -> Iterator[redis.Redis]:
    """A client of a Valkey without messages."""
    with redis.Redis.from_url(valkey_url) as client:
        messages_dropped(client)
        yield client


def messages_dropped(client: redis.Redis) -> None:
    """Empty a Valkey but for the names of queues: Celery remembers what it declared, and would not do it again."""
    for key in client.scan_iter():
        if not key.startswith(b"_kombu.binding."):
            client.delete(key)


StartProcess = Callable[..., "subprocess.Popen[bytes]"]


@pytest.fixture
def start_process(valkey_client: redis.Redis, transactional_db: None, tmp_path: Path) -> Iterator[StartProcess]:
    """Start processes of the service on the test database: `start_process("kschedweb.ops.web", KSCHED_PORT="1")`.

    They are stopped after the test. A process's output is in `process.log_path`.
    """
    with starting(tmp_path) as start:
        yield start


@contextmanager
def starting(folder: Path) -> Iterator[StartProcess]:
    """What `start_process` is, with the logs and the data of the processes in a folder; it stops them in the end."""
    started: list[subprocess.Popen[bytes]] = []

    def start(*words: str, **environment: str) -> subprocess.Popen[bytes]:
        launch = processes.Launch(
            argv=(sys.executable, "-m", *words),
            environment={
                "DATABASE_URL": tcp.database_url(),
                "KSCHED_DATA_DIR": str(folder / "data"),
                "DJANGO_SETTINGS_MODULE": "kschedweb.settings",
                **environment,
            },
            cwd=ROOT,
        )
        log_path = folder / f"{words[-1]}-{len(started)}.log"
        with open(log_path, "wb") as log:
            process = processes.spawn(launch, log)
        process.log_path = log_path  # type: ignore[attr-defined]
        started.append(process)
        return process

    try:
        yield start
    finally:
        failed = [process for process in started if process.poll() not in (None, 0, -signal.SIGKILL)]
        for process in reversed(started):
            processes.stop(process, signal.SIGTERM, patience_seconds=5)
    for process in failed:
        sys.stderr.write(process.log_path.read_text(errors="replace"))  # type: ignore[attr-defined]


@pytest.fixture
def start_worker(start_process: StartProcess) -> StartProcess:
    """Start real workers: `start_worker("binding")`. Poll the database for what they do, never sleep."""
    return partial(start_process, "kschedweb.ops.worker")


@pytest.fixture
def start_web(start_process: StartProcess) -> Callable[..., tcp.Web]:
    """Start the web process as production does, and wait until it answers."""

    def start(**environment: str) -> tcp.Web:
        port = tcp.free_port()
        process = start_process("kschedweb.ops.web", KSCHED_PORT=str(port), **environment)
        web = tcp.Web(port, process.log_path)  # type: ignore[attr-defined]
        eventually(web.answers, web.log)
        return web

    return start
