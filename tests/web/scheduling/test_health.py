"""Probes: groups of checks, single checks, and what fails when something is away."""

import re
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone

from kschedweb.cluster.models import Cluster
from kschedweb.scheduling import health, leadership, leases
from kschedweb.scheduling.models import EngineState, Lease, LeaseFence
from tests.cases import cases
from tests.waiting import HANG_SECONDS, eventually

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _fresh(valkey_client: object) -> Iterator[None]:
    """A process that has just begun."""
    health._latch.clear()
    yield
    health._latch.clear()
    health._asked.clear()


def led(name: str = "led", *, age: float = 0, built: int = 1) -> Cluster:
    cluster = Cluster.objects.create(name=name, rv=5)
    renewed = timezone.now() - timedelta(seconds=age)
    Lease.objects.create(cluster=cluster, holder="w/1", renewed_at=renewed)
    LeaseFence.objects.create(cluster=cluster, epoch=1, holder="w/1")
    EngineState.objects.create(cluster=cluster, epoch=built, rv_seen=5)
    return cluster


def get(path: str) -> tuple[int, str]:
    answer = Client().get(path)
    assert answer["Content-Type"] == "text/plain; charset=utf-8"
    assert answer["X-Content-Type-Options"] == "nosniff"
    return answer.status_code, answer.content.decode()


@pytest.mark.parametrize("group", ["healthz", "livez", "readyz"])
def test_group_passes_when_everything_is_there(group: str) -> None:
    led()
    assert get(f"/{group}") == (200, "ok")
    status, text = get(f"/{group}?verbose")
    names = health.GROUPS[group]
    assert (status, text) == (200, "".join(f"[+]{name} ok\n" for name in names) + f"{group} check passed\n")


def test_leader_that_is_heard_of_is_healthy_however_old_its_record_is() -> None:
    cluster = led()
    (view,) = leases.leases_list()
    for _ in range(2):  # a write, and a beat
        view = leases.leases_renew(views=[view], duration_seconds=15)[cluster.pk]
    Lease.objects.update(renewed_at=timezone.now() - timedelta(seconds=60))
    (one,) = leadership.leaderships()
    assert one.age < 15 and one.is_led and get("/healthz") == (200, "ok")
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_unlock_all()")  # as when its session ends
    (one,) = leadership.leaderships()
    assert one.age >= 60 and not one.is_led and get("/healthz")[0] == 503


def test_liveness_needs_nothing_but_the_process(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A restart brings neither a database nor a free connection back."""

    class NoConnection(Exception):
        pass

    def refuse(*_: Any, **__: Any) -> Any:
        raise NoConnection

    settings.REDIS_URL = "unix:///nowhere/valkey.sock"
    monkeypatch.setattr("django.db.backends.base.base.BaseDatabaseWrapper.cursor", refuse)
    assert get("/livez") == get("/livez/ping") == (200, "ok")


@pytest.fixture
def nowhere(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """`nowhere(what)`: how a process finds its surroundings while a service starts, or a part of it is away."""
    health._migrated.clear()
    with socket.create_server(("127.0.0.1", 0)) as silent:  # takes connections and says nothing
        host, port = silent.getsockname()

        def arrange(what: str) -> None:
            database = connection.settings_dict
            if what == "no tables":
                monkeypatch.setitem(database, "NAME", "postgres")
            elif what == "PostgreSQL refuses":
                monkeypatch.setitem(database, "HOST", "/nowhere")
            elif what == "PostgreSQL is silent":
                monkeypatch.setitem(database, "HOST", host)
                monkeypatch.setitem(database, "PORT", port)
            elif what == "Valkey refuses":
                settings.REDIS_URL = "unix:///nowhere/valkey.sock"
            else:
                settings.REDIS_URL = f"redis://{host}:{port}"
            if what.endswith("silent"):
                monkeypatch.setattr(health, "CHECK_SECONDS", 1.5)
            connection.close()

        yield arrange
        monkeypatch.undo()
        connection.close()
    for one in health._asked.values():
        one.answer.exception(HANG_SECONDS)
    health._migrated.clear()


OF_THE_DATABASE = "healthz: postgresql leaderElection, readyz: postgresql migrations leaderElection sched-handler-sync"


@pytest.mark.parametrize(
    ("what", "failing"),
    [
        ("no tables", "healthz: leaderElection, readyz: migrations leaderElection sched-handler-sync"),
        ("PostgreSQL refuses", OF_THE_DATABASE),
        ("PostgreSQL is silent", OF_THE_DATABASE),
        ("Valkey refuses", "healthz: valkey, readyz: valkey"),
        ("Valkey is silent", "healthz: valkey, readyz: valkey"),
    ],
)
def test_what_is_missing_is_said_and_is_no_error_of_the_service(
    what: str, failing: str, nowhere: Callable[[str], None], log_lines: Callable[[], list[str]]
) -> None:
    nowhere(what)
    for each in failing.split(", "):
        group, _, names = each.partition(": ")
        status, text = get(f"/{group}")
        assert status == 503 and text.endswith(f"{group} check failed\n")
        assert re.findall(r"^\[-\](\S+) failed: ", text, re.M) == names.split()
        assert get(f"/{group}?" + "&".join(f"exclude={name}" for name in names.split())) == (200, "ok")
        for name in names.split():
            assert get(f"/{group}/{name}")[0] == 503
    if what == "no tables":
        assert re.search(r"^\[-\]migrations failed: \d+ migrations are not applied$", text, re.M)
    for path in ("/metrics", "/metrics/resources"):
        answer = Client().get(path)
        if what.startswith("Valkey"):
            assert answer.status_code == 200
        else:
            assert (answer.status_code, answer["Content-Type"]) == (503, "text/plain; charset=utf-8")
            assert ("postgresql" if "PostgreSQL" in what else "migrations") in answer.content.decode()
    assert [line for line in log_lines() if line[:1] not in "IW"] == []


@pytest.fixture
def hanging(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[list[int], threading.Event]]:
    """The check of the database hangs until it may go on: how often it was begun, and what lets it go on."""
    go_on, started = threading.Event(), list[int]()

    def hang() -> str:
        started.append(1)
        go_on.wait(HANG_SECONDS)
        return ""

    monkeypatch.setitem(health.CHECKS, "postgresql", hang)
    yield started, go_on
    go_on.set()


def test_check_that_hangs_has_failed_and_is_not_started_again(
    hanging: tuple[list[int], threading.Event], monkeypatch: pytest.MonkeyPatch
) -> None:
    started, _ = hanging
    monkeypatch.setattr(health, "CHECK_SECONDS", 0.05)
    for _ in range(3):
        assert health.problems(("ping", "postgresql")) == {"ping": "", "postgresql": "does not answer"}
    assert len(started) == 1


def test_probes_at_the_same_time_share_an_answer(
    hanging: tuple[list[int], threading.Event], monkeypatch: pytest.MonkeyPatch
) -> None:
    started, go_on = hanging
    monkeypatch.setattr(health, "CHECK_SECONDS", HANG_SECONDS)
    with ThreadPoolExecutor() as threads:
        probes = [threads.submit(health.problems, ("postgresql",)) for _ in range(4)]
        try:
            eventually(lambda: started)
        finally:
            go_on.set()
        assert [probe.result(HANG_SECONDS) for probe in probes] == 4 * [{"postgresql": ""}]


@cases(
    "age, status",
    ("lease and grace are not over", 34, 200),
    ("nobody renews", 36, 503),
)
def test_leader_election_fails_when_nobody_has_renewed_for_35_seconds(age: float, status: int) -> None:
    led(age=age)
    assert get("/healthz/leaderElection")[0] == status
    if status == 503:
        assert get("/healthz/leaderElection")[1] == (
            "failed election to renew leadership on lease kube-scheduler of cluster led\n"
        )
        assert get("/readyz")[0] == 503 and get("/livez")[0] == 200


def test_cluster_nothing_happened_in_needs_no_leader() -> None:
    cluster = Cluster.objects.create(name="empty")
    Cluster.objects.filter(pk=cluster.pk).update(created_at="2020-01-01T00:00:00Z")
    assert get("/readyz") == (200, "ok")


def test_cluster_never_led_fails_after_a_while() -> None:
    cluster = Cluster.objects.create(name="orphan", rv=1)
    assert get("/healthz") == (200, "ok")
    Cluster.objects.filter(pk=cluster.pk).update(created_at="2020-01-01T00:00:00Z")
    assert get("/healthz")[0] == 503


def test_process_is_ready_once_all_engines_were_built() -> None:
    cluster = led(built=0)
    status, text = get("/readyz")
    assert status == 503 and "[-]sched-handler-sync failed" in text
    assert get("/readyz/sched-handler-sync")[1] == "handlers are not fully synchronized\n"
    EngineState.objects.filter(cluster=cluster).update(epoch=1)
    assert get("/readyz") == (200, "ok")
    EngineState.objects.filter(cluster=cluster).update(epoch=0)  # a later takeover takes nothing back
    assert get("/readyz") == (200, "ok")


def test_unknown_names() -> None:
    assert get("/healthz/nothing")[0] == 404
    status, text = get("/healthz?verbose&exclude=nothing&exclude=valkey")
    assert status == 200
    assert "[+]valkey excluded: ok\n" in text
    assert 'warn: some health checks cannot be excluded: no matches for "nothing"\n' in text
