"""The API at a moment of the past: what it answered when that was the present, read-only."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any

import orjson
import pytest

from kschedweb.accounts.choices import Role
from kschedweb.cluster.models import Cluster
from kschedweb.kubeapi import access, answering
from kschedweb.kubeapi.access import Principal
from kschedweb.kubeapi.exchange import Answer, Query, RefusedError, Request
from kschedweb.ops import granting
from kschedweb.scheduling import retention
from kschedweb.scheduling.past import moments
from kschedweb.scheduling.runner.host import EngineHost
from kschedweb.traces.models import Checkpoint
from scheduler_core.apiserver.answers import Status
from tests.web import rest
from tests.web.scheduling import lived as living
from tests.web.scheduling.conftest import put

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("patient_fence")]

LEAST = 25  # positions
PATHS: tuple[tuple[str, Query], ...] = (
    ("/api/v1/pods", {}),
    ("/api/v1/namespaces/default/pods", {"limit": ["5"]}),
    ("/api/v1/pods", {"fieldSelector": ["spec.nodeName="]}),
    ("/api/v1/nodes", {}),
    ("/api/v1/nodes/n000", {}),
    ("/api/v1/events", {}),
    ("/apis/events.k8s.io/v1/events", {}),
    ("/apis/scheduling.k8s.io/v1/priorityclasses", {}),
)


def who(cluster: Cluster) -> Principal:
    return Principal("t", ("system:authenticated",), Role.ADMIN, cluster.pk, "frozen")


def answered(cluster: Cluster, path: str, query: Query, at: str | None = None) -> Any:
    answer = answering.answer(Request(cluster.name, "GET", path, query, {}, at=at), who(cluster))
    assert isinstance(answer, Answer)
    if at is not None and answer.code == 200:
        assert dict(answer.headers)["Ksched-Position"] == at
    return answer.code, orjson.loads(answer.content())


@dataclass
class Seen(living.Lived):
    """What the API answered after each step, by position of both logs."""

    answers: dict[str, list[Any]] = field(default_factory=dict)

    def note(self, host: EngineHost) -> None:
        super().note(host)
        self.cluster.refresh_from_db()
        at = f"{self.cluster.rv}.{self.cluster.seq}"
        if at not in self.answers:
            self.answers[at] = [answered(self.cluster, path, query) for path, query in PATHS]


@pytest.fixture(autouse=True)
def _nothing_kept() -> Iterator[None]:
    moments.forget()
    yield
    moments.forget()


def test_past_is_answered_as_the_present_was(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """Objects, events with their counts, and the versions of lists."""
    monkeypatch.setattr(living, "Lived", Seen)
    monkeypatch.setattr(living, "bind_untold", lambda *_: None)  # what no log tells of cannot be shown again
    monkeypatch.setattr(answering, "ensure_bootstrapped", lambda _: None)
    seen = living.live(cluster, rounds=10)
    assert isinstance(seen, Seen) and len(seen.answers) >= LEAST
    events = set()
    for at in Random(5).sample(list(seen.answers), len(seen.answers)):
        for (path, query), then in zip(PATHS, seen.answers[at], strict=True):
            assert answered(cluster, path, query, at) == then, (at, path)
        events |= {each["metadata"]["name"] for each in seen.answers[at][5][1]["items"]}
    assert len(events) > LEAST


def refused(cluster: Cluster, at: str, method: str = "GET", path: str = "/api/v1/pods") -> Status:
    request = Request(cluster.name, method, path, {}, {}, at=at)
    with pytest.raises(RefusedError) as error:
        access.authorize(who(cluster), request)
        answering.answer(request, who(cluster))
    return error.value.status


def test_what_is_gone_or_has_not_come_is_refused_with_a_status(cluster: Cluster) -> None:
    lived = living.live(cluster, rounds=3)
    cluster.refresh_from_db()
    for at in (f"{cluster.rv}.{cluster.seq + 1}", "2190-01-01", "yesterday", ""):
        status = refused(cluster, at)
        assert (status.code, status.reason) == (400, "BadRequest")
    assert "has not come yet" in refused(cluster, "2190-01-01").message
    row = Checkpoint.objects.filter(cluster=cluster).latest("seq")
    retention._clear(cluster.pk, retention.Cut(row.seq, row.rv, row.at, row.run, row.step), retention.PruneReport())
    status = refused(cluster, str(lived.places[0][0]))
    assert (status.code, status.reason) == (410, "Expired")
    assert status.message.startswith(f"history begins at {row.objects_rv}.{row.seq} ({row.at.isoformat()})")
    code, found = answered(cluster, "/api/v1/events", {}, f"{row.objects_rv}.{row.seq}")
    assert (code, found["kind"]) == (200, "EventList")
    # No engine is needed: a mirror has none that could be made again.
    Cluster.objects.filter(pk=cluster.pk).update(is_mirror=True)
    assert answered(cluster, "/api/v1/pods", {}, str(lived.places[-1][0]))[0] == 200


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/api/v1/namespaces/default/pods"),
        ("PUT", "/api/v1/nodes/n1"),
        ("PATCH", "/api/v1/nodes/n1/status"),
        ("DELETE", "/api/v1/namespaces/default/pods"),
        ("POST", "/api/v1/namespaces/default/pods/p/eviction"),
        ("POST", "/api/v1/namespaces/default/pods/p/exec"),
    ],
)
def test_nobody_writes_to_the_past(cluster: Cluster, method: str, path: str) -> None:
    status = refused(cluster, "0.0", method, path)
    assert (status.code, status.reason) == (405, "MethodNotAllowed")
    assert status.message == "this is the cluster as it was at 0.0, and is only read"


@pytest.mark.parametrize("path", ["/api/v1/secrets", "/api/v1/namespaces/default/secrets/s"])
def test_secrets_are_not_shown(cluster: Cluster, path: str) -> None:
    status = refused(cluster, "0.0", path=path)
    assert (status.code, status.reason) == (403, "Forbidden") and "not shown of the past" in status.message


def test_kubeconfig_names_the_position_that_words_stand_for(cluster: Cluster) -> None:
    put(cluster, rest.node("n1"))
    cluster.refresh_from_db()
    found = granting.moment(cluster.name, "0s ago")
    assert found["position"] == f"{cluster.rv}.{cluster.seq}" and found["time"].endswith("Z")
    assert granting.moment(cluster.name, found["position"])["position"] == found["position"]
    for name, at, problem in (
        (cluster.name, "yesterday", "expected a position"),
        (cluster.name, "9.9", "has not come yet"),
        ("none", "0s ago", "there is no cluster named none"),
    ):
        with pytest.raises(SystemExit, match=problem):
            granting.moment(name, at)
