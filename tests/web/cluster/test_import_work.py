"""Large imports as rows of work: claimed once, carried to their end, given back when a worker dies."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import orjson
import pytest
import time_machine
from django.db import OperationalError
from django.utils import timezone

from kschedweb.cluster import runner, services
from kschedweb.cluster.intake.files import Received
from kschedweb.cluster.models import Cluster, Import, Pod
from kschedweb.cluster.services import imports
from tests.waiting import eventually
from tests.web.rest import items, log, logged_in, pod, upload

LARGE = orjson.dumps(items(pod("a"), pod("b"))) + b" " * (9 << 20)


@pytest.fixture
def queued(cluster: Cluster) -> Import:
    answer = upload(logged_in(), cluster, LARGE, "?partial=1")
    assert answer.status_code == 202
    return Import.objects.get(pk=answer.json()["id"])


def executed(row: Import) -> Import:
    """A worker takes its message."""
    runner.import_execute(str(row.pk))
    row.refresh_from_db()
    return row


def test_import_is_queued_and_its_task_sent_when_the_upload_is_large(
    cluster: Cluster, django_capture_on_commit_callbacks: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[tuple[str, Any]] = []
    monkeypatch.setattr("kschedweb.common.wake.send", lambda name, **kwargs: sent.append((name, kwargs)))
    with django_capture_on_commit_callbacks(execute=True):
        answer = upload(logged_in(), cluster, LARGE)
    assert sent == [("cluster.import_execute", {"import_id": answer.json()["id"]})]
    assert answer.json()["status"] == "queued"
    assert log(cluster) == []


def test_import_is_carried_out_once_when_its_message_comes_three_times(cluster: Cluster, queued: Import) -> None:
    for _ in range(3):
        executed(queued)
    assert (queued.status, queued.attempts, queued.files) == ("done", 1, [])
    assert queued.report is not None and queued.report["kinds"] == {"Pod": {"created": 2}}
    assert [entry[1] for entry in log(cluster)] == ["created", "created"]


def test_import_is_taken_over_when_its_worker_has_died(cluster: Cluster, queued: Import) -> None:
    assert imports.import_claim(import_id=queued.pk) is not None
    runner.import_execute(str(queued.pk))
    assert Pod.objects.count() == 0, "a worker whose heart beats keeps its claim"
    with time_machine.travel(timezone.now() + timedelta(seconds=31), tick=False):
        executed(queued)
    assert (queued.status, queued.attempts) == ("done", 2)


def test_import_leaves_nothing_when_the_claim_was_lost_meanwhile(cluster: Cluster, queued: Import) -> None:
    claim = imports.import_claim(import_id=queued.pk)
    assert claim is not None
    Import.objects.filter(pk=queued.pk).update(attempts=2)
    with pytest.raises(imports.ClaimLostError):
        imports.import_apply(
            cluster_id=cluster.pk, uploads=claim.uploads, options=claim.options, actor="x", claim=claim
        )
    assert log(cluster) == [] and Pod.objects.count() == 0


def test_import_fails_when_it_has_killed_three_workers(queued: Import) -> None:
    Import.objects.filter(pk=queued.pk).update(attempts=3)
    assert executed(queued).status == "failed"
    assert queued.error is not None and queued.error["code"] == "import_lost"


def test_import_keeps_its_claim_when_the_database_goes_away(queued: Import, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(**_: Any) -> None:
        raise OperationalError("the connection is closed")

    monkeypatch.setattr(imports, "import_apply", away)
    with pytest.raises(OperationalError):
        runner.import_execute(str(queued.pk))
    queued.refresh_from_db()
    assert queued.status == "running"


def test_import_fails_with_a_word_when_the_service_itself_is_at_fault(
    queued: Import, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(**_: Any) -> None:
        raise ZeroDivisionError("oh")

    monkeypatch.setattr(imports, "import_apply", broken)
    assert executed(queued).error == {"code": "internal_error", "message": "ZeroDivisionError: oh", "extra": {}}


@pytest.mark.django_db(transaction=True)
def test_import_beats_while_it_works(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = services.cluster_create(name="c")
    monkeypatch.setattr(runner, "HEARTBEAT_SECONDS", 0.05)
    upload(logged_in(), cluster, LARGE)
    real: Callable[..., Any] = imports.import_apply
    seen: list[Any] = []

    def slow(**kwargs: Any) -> Any:
        first = Import.objects.get().heartbeat_at
        eventually(lambda: Import.objects.get().heartbeat_at != first)
        seen.append(first)
        return real(**kwargs)

    monkeypatch.setattr(imports, "import_apply", slow)
    assert executed(Import.objects.get()).status == "done" and seen


def test_yaml_goes_to_a_worker_sooner_than_json(cluster: Cluster) -> None:
    padded = b"# pad\n" * 200_000
    row = services.import_take(
        cluster_id=cluster.pk,
        uploads=[Received.of("a.yaml", padded + b"kind: Pod\n")],
        options=services.ImportOptions(),
        actor="x",
    )
    assert row.status == "queued"


def test_a_real_worker_carries_a_large_import_out(start_worker: Callable[..., Any]) -> None:
    cluster = services.cluster_create(name="c")
    answer = upload(logged_in(), cluster, LARGE)
    assert answer.status_code == 202
    start_worker("lifecycle")
    eventually(lambda: Import.objects.get().status not in ("queued", "running"))
    row = Import.objects.get()
    assert (row.status, row.attempts) == ("done", 1)
    assert Pod.objects.count() == 2
