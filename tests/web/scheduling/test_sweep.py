"""The sweep: the thread that makes it, and what it asks for at a pace of its own."""

from __future__ import annotations

import threading
from datetime import datetime, timedelta

import pytest
import redis
from django.db import OperationalError
from django.db.models import F
from django.utils import timezone

from kschedweb.celery import app
from kschedweb.cluster.models import Cluster
from kschedweb.common import wake
from kschedweb.scheduling import due
from kschedweb.scheduling.models import EngineState, HistoryProof
from kschedweb.scheduling.runner import sweep
from kschedweb.traces.choices import StepKind
from kschedweb.traces.models import EngineStep
from scheduler_core.api.times import microseconds
from tests.cases import cases
from tests.waiting import HANG_SECONDS


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, float | None]]:
    """Messages that were sent, with when they expire."""
    found: list[tuple[str, float | None]] = []
    monkeypatch.setattr(app, "send_task", lambda name, **options: found.append((name, options.get("expires"))))
    return found


def engine(cluster: Cluster, *, step: int = 2, age: int = 60) -> None:
    """The engine of the cluster made its last step so many seconds ago."""
    EngineState.objects.create(cluster=cluster, epoch=1, run=1, step=step)
    EngineState.objects.update(updated_at=timezone.now() - timedelta(seconds=age))


def step_made(cluster: Cluster, step: int, at: datetime) -> None:
    nothing = dict.fromkeys(("log_from", "log_to", "seq_from", "seq_to"), 0)
    EngineStep.objects.create(
        cluster=cluster,
        run=1,
        epoch=1,
        step=step,
        kind=StepKind.APPLY,
        now=at,
        now_us=microseconds(at),
        digest=b"",
        **nothing,
    )


@cases(
    "error",
    ("the database is away", OperationalError("away")),
    ("something nobody thought of", RuntimeError("odd")),
)
def test_sweeper_goes_on_after_an_error(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    tries: list[int] = []
    again = threading.Event()

    def swept() -> None:
        tries.append(1)
        if len(tries) == 1:
            raise error
        again.set()

    monkeypatch.setattr(sweep, "sweep", swept)
    sweeper = sweep.Sweeper(seconds=0.0)
    sweeper.start()
    assert again.wait(HANG_SECONDS)
    sweeper.stop()


@pytest.mark.parametrize("mode", ["frozen", "simulate"])
def test_rest_finds_nothing(
    cluster: Cluster, sent: list[tuple[str, float | None]], valkey_client: redis.Redis, mode: str
) -> None:
    Cluster.objects.update(lifecycle_mode=mode, controllers_rv=F("rv"))
    assert sweep.sweep() == []
    assert sent == []


@cases(
    "task, seconds",
    ("a history that nobody has looked at", "scheduling.prove", 9),
    ("a mirror", "mirror.follow", 5),
)
def test_what_has_a_pace_is_asked_for_once_however_many_sweep(
    cluster: Cluster,
    sent: list[tuple[str, float | None]],
    valkey_client: redis.Redis,
    task: str,
    seconds: int,
) -> None:
    if task == "mirror.follow":
        Cluster.objects.update(is_mirror=True)
    else:
        engine(cluster)
    assert [sweep.sweep(), sweep.sweep()] == [[(task, "")], []]
    assert sent == [(task, seconds)]
    assert 0 < valkey_client.ttl(f"ksched:paced:{task}") <= seconds
    valkey_client.delete(f"ksched:paced:{task}")
    assert sweep.sweep() == [(task, "")]


@cases(
    "proof, waits",
    ("it was looked at up to its last step", {"run": 1, "step": 2}, False),
    ("another step was made since", {"run": 1, "step": 1}, True),
    ("its engine was made anew since", {"run": 0, "step": 9}, True),
    ("it differs", {"run": 1, "step": 1, "difference": {"step": 1}}, False),
)
def test_only_steps_that_were_not_looked_at_are_to_be_proven(
    cluster: Cluster,
    sent: list[tuple[str, float | None]],
    valkey_client: redis.Redis,
    proof: dict[str, object],
    waits: bool,
) -> None:
    engine(cluster)
    HistoryProof.objects.create(cluster=cluster, **proof)
    assert bool(sweep.sweep()) is waits


@cases(
    "ages, waits",
    ("it made a step just now", {1: 30, 2: 1}, False),
    ("it has rested", {1: 30, 2: 8}, True),
    ("it is always busy, and an old step was not looked at", {1: 90, 2: 70, 3: 1}, True),
    ("it is always busy, and what is old was looked at", {1: 90, 2: 30, 3: 1}, False),
)
def test_proof_waits_until_the_cluster_rests_but_a_minute_at_most(
    cluster: Cluster,
    sent: list[tuple[str, float | None]],
    valkey_client: redis.Redis,
    ages: dict[int, int],
    waits: bool,
) -> None:
    """The first step was looked at; each was made so many seconds ago."""
    for step, age in ages.items():
        step_made(cluster, step, timezone.now() - timedelta(seconds=age))
    engine(cluster, step=max(ages), age=min(ages.values()))
    HistoryProof.objects.create(cluster=cluster, run=1, step=1)
    assert bool(sweep.sweep()) is waits
    assert due.clusters_unproven() == ([cluster.pk] if waits else [])


def test_nothing_with_a_pace_is_sent_while_valkey_is_away(
    sent: list[tuple[str, float | None]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wake, "_valkey", lambda: redis.Redis(unix_socket_path="/nowhere/valkey.sock"))
    assert not wake.paced("mirror.follow", 5)
    assert sent == []
