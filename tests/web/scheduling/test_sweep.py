"""The sweep: the thread that makes it, and what it asks for at a pace of its own."""

from __future__ import annotations

import threading

import pytest
import redis
from django.db import OperationalError
from django.db.models import F

from kschedweb.celery import app
from kschedweb.cluster.models import Cluster
from kschedweb.common import wake
from kschedweb.scheduling.models import EngineState, HistoryProof
from kschedweb.scheduling.runner import sweep
from tests.cases import cases
from tests.waiting import HANG_SECONDS


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, float | None]]:
    """Messages that were sent, with when they expire."""
    found: list[tuple[str, float | None]] = []
    monkeypatch.setattr(app, "send_task", lambda name, **options: found.append((name, options.get("expires"))))
    return found


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
def test_rest_finds_nothing(cluster: Cluster, sent: list[tuple[str, float | None]], mode: str) -> None:
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
        EngineState.objects.create(cluster=cluster, epoch=1, run=1, step=2)
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
    EngineState.objects.create(cluster=cluster, epoch=1, run=1, step=2)
    HistoryProof.objects.create(cluster=cluster, **proof)
    assert bool(sweep.sweep()) is waits


def test_nothing_with_a_pace_is_sent_while_valkey_is_away(
    sent: list[tuple[str, float | None]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wake, "_valkey", lambda: redis.Redis(unix_socket_path="/nowhere/valkey.sock"))
    assert not wake.paced("mirror.follow", 5)
    assert sent == []
