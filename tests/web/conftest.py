"""What tests of the web half share: Django's database on the run's PostgreSQL, Valkey, and real Celery workers."""

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import redis
from django.contrib.auth.models import User
from django.db import connection

from kschedweb.accounts.models import AccessRecord
from kschedweb.cluster import services as cluster_services
from kschedweb.cluster.models import Cluster
from kschedweb.environment import ROOT
from kschedweb.ops import processes


@pytest.fixture(scope="session")
def django_db_modify_db_settings(django_db_modify_db_settings_parallel_suffix: None, postgres_url: str) -> None:
    """Start PostgreSQL before Django makes its test database."""


@pytest.fixture(autouse=True, scope="session")
def _valkey_runs(valkey_url: str) -> None:
    """The broker and the channel layer are there for every test of the web half."""


@pytest.fixture(scope="module")
def committed(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    """Some views read in a transaction of their own kind: what they read is committed, and goes in the end."""
    with django_db_blocker.unblock():
        yield
        for cluster in Cluster.objects.all():
            cluster_services.cluster_delete(cluster_id=cluster.pk)
        User.objects.all().delete()
        AccessRecord.objects.all().delete()


@pytest.fixture
def valkey_client(valkey_url: str) -> Iterator[redis.Redis]:
    """A client of a Valkey without messages."""
    with redis.Redis.from_url(valkey_url) as client:
        for key in client.scan_iter():
            # Which queues there are stays: Celery remembers what it declared, and would not do it again.
            if not key.startswith(b"_kombu.binding."):
                client.delete(key)
        yield client


@pytest.fixture
def start_worker(
    valkey_client: redis.Redis, transactional_db: None, tmp_path: Path
) -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Start real workers on the test database: `start_worker("binding")`, stopped after the test.

    The worker's output is in `process.log_path`; poll the database for what it does, never sleep.
    """
    started: list[subprocess.Popen[bytes]] = []

    def start(kind: str, **environment: str) -> subprocess.Popen[bytes]:
        own = connection.settings_dict
        launch = processes.Launch(
            argv=(sys.executable, "-m", "kschedweb.ops.worker", kind),
            environment={
                "DATABASE_URL": f"postgresql:///{own['NAME']}?host={own['HOST']}&user={own['USER']}"
                f"&password={own['PASSWORD']}&port={own['PORT']}",
                "KSCHED_DATA_DIR": str(tmp_path / "data"),
                "DJANGO_SETTINGS_MODULE": "kschedweb.settings",
                **environment,
            },
            cwd=ROOT,
        )
        log_path = tmp_path / f"{kind}-{len(started)}.log"
        with open(log_path, "wb") as log:
            process = processes.spawn(launch, log)
        process.log_path = log_path  # type: ignore[attr-defined]
        started.append(process)
        return process

    yield start
    failed = [process for process in started if process.poll() not in (None, 0, -signal.SIGKILL)]
    for process in reversed(started):
        processes.stop(process, signal.SIGTERM, patience_seconds=5)
    for process in failed:
        sys.stderr.write(process.log_path.read_text(errors="replace"))  # type: ignore[attr-defined]
