"""What is shown with `at` is what was shown when it was the present: pods, nodes, queues, reasons, objects, all."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from random import Random
from typing import Any

import pytest
from rest_framework.test import APIClient

from kschedweb.cluster import clock
from kschedweb.cluster import services as cluster_services
from kschedweb.cluster.models import Cluster, Pod
from kschedweb.query import LISTS
from kschedweb.scheduling import leases
from kschedweb.scheduling.past import walking
from kschedweb.scheduling.past.moments import Position
from kschedweb.scheduling.runner.host import EngineHost
from kschedweb.traces.models import Checkpoint, EngineStep
from scheduler_core.api.times import moment_of
from tests.web import rest
from tests.web.scheduling import lived as living
from tests.web.scheduling.conftest import all_places, put

pytestmark = pytest.mark.usefixtures("nothing_kept")

LISTED = ("Pod", "Node", "PriorityClass", "Event")
ROUNDS, LONG_ROUNDS = 4, 10
POSITIONS = 7  # asked for again, but in the long form, which asks for all
_serial = itertools.count(1)
QUERIES = (
    "pods?q=status:pending&sort=-attempts",
    "pods?q=status:unschedulable plugin:NodeResourcesFit reason:cpu",
    "pods?q=-status:bound result:unschedulable&sort=status",
    "attempts?q=attempts>1&sort=-duration",
    "attempts?q=result:scheduled -node:n00*&sort=seen",
    "nodes?q=-status:ready&sort=-pods",
    "events?q=type:Warning&sort=-times",
    "changes?q=kind:Pod operation:updated&sort=name",
)


@dataclass
class Seen(living.Lived):
    """What the service answered after each step, by position of both logs."""

    client: APIClient = field(default_factory=rest.logged_in)
    answers: dict[str, dict[str, Any]] = field(default_factory=dict)

    def note(self, host: EngineHost) -> None:
        super().note(host)
        self.cluster.refresh_from_db()
        at = f"{self.cluster.rv}.{self.cluster.seq}"
        if at not in self.answers:
            self.answers[at] = {path: answered(self.client, self.cluster, path) for path in self.paths()}

    def paths(self) -> list[str]:
        draws = Random(self.cluster.seq)
        pods = list(Pod.objects.filter(cluster=self.cluster).order_by("id").values_list("namespace", "name"))
        some = [f"pods/{'/'.join(pod)}" for pod in draws.sample(pods, min(4, len(pods)))]
        some += [f"{path}/{what}" for path in some[:2] for what in ("attempts", "history")]
        if pods:
            some += ["nodes/n000", "nodes/n001", "objects/Pod/" + "/".join(draws.choice(pods))]
        return [
            "snapshot",
            "snapshot/columns",
            "summary",
            "pending?limit=5",
            "pending/pods?limit=7",
            *(f"objects?kind={kind}&limit=9" for kind in LISTED),
            *some,
            *(f"lists/{what}?limit=1000" for what in LISTS),
            *(f"lists/{path}&limit=1000" for path in QUERIES),
        ]


def answered(client: APIClient, cluster: Cluster, path: str, at: str | None = None) -> Any:
    more = "" if at is None else f"{'&' if '?' in path else '?'}at={at}"
    answer = client.get(f"/api/clusters/{cluster.pk}/{path}{more}")
    assert answer.status_code == 200, (path, at, answer.content)
    if at is not None:
        assert answer.headers["Ksched-Position"] == at
    return timeless(answer.json())


def timeless(told: dict[str, Any]) -> dict[str, Any]:
    """Without the time of asking: how long ago the last step was when the present was asked decides nothing."""
    told.pop("at", None)
    if "throughput" in told:
        del told["throughput"]["since_ms"], told["throughput"]["until_ms"]
    for each in told.get("results", ()):
        if each.get("repeat_count"):
            del each["last_durations"]  # of a repeat before the last one they are not kept
    return told


@pytest.fixture
def cluster(committed: None) -> Cluster:
    """One that was made as people make them: its log begins with its settings."""
    return cluster_services.cluster_create(name=f"c{next(_serial)}", seed=1)


@pytest.fixture(scope="module")
def all_seen(committed: None) -> Iterator[list[Seen]]:
    """What `seen` has made; whoever spoils it empties the list."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(leases, "IDLE_IN_TRANSACTION_MS", 60_000)
        patch.setattr(living, "Lived", Seen)
        patch.setattr(living, "bind_untold", lambda *_: None)  # what no log tells of cannot be shown again
        yield []


@pytest.fixture
def seen(all_seen: list[Seen], request: pytest.FixtureRequest) -> Seen:
    if not all_seen:
        rounds = LONG_ROUNDS if request.config.getoption("--long") else ROUNDS
        found = living.live(cluster_services.cluster_create(name=f"seen{next(_serial)}", seed=1), rounds=rounds)
        assert isinstance(found, Seen)
        all_seen.append(found)
    return all_seen[0]


def test_past_is_answered_as_the_present_was(seen: Seen, request: pytest.FixtureRequest) -> None:
    count = len(seen.answers) if request.config.getoption("--long") else POSITIONS
    chosen = Random(5).sample(list(seen.answers), count)
    queues, pending = set(), 0
    for at in chosen:
        for path, then in seen.answers[at].items():
            assert answered(seen.client, seen.cluster, path, at) == then, (at, path)
        queues |= {each["queue"] for each in seen.answers[at]["snapshot"]["queue"]}
        pending += seen.answers[at]["summary"]["pending"]["pods"]
    assert {"unschedulable", "assumed"} <= queues and pending


def refused(client: APIClient, cluster: Cluster, at: str, path: str = "pending") -> Any:
    answer = client.get(f"/api/clusters/{cluster.pk}/{path}?at={at}")
    return answer.status_code, answer.json()


@pytest.mark.parametrize(
    "at",
    [
        "",
        "yesterday",
        "10 ago",
        "1w ago",
        "-1m ago",
        "1.2.3",
        "1.x",
        "٣.١",
        "9" * 30 + ".1",
        "0001-01-01",
        "999999999d ago",
    ],
)
def test_at_that_is_no_moment_is_refused_by_name(cluster: Cluster, at: str) -> None:
    status, told = refused(rest.logged_in(), cluster, at)
    assert (status, told["code"], list(told["extra"]["fields"])) == (400, "invalid", ["at"])


def test_time_is_that_of_the_clusters_clock(cluster: Cluster) -> None:
    """Its clock is two days ahead: what was an hour ago there is in the future of the wall."""
    cluster_services.clock_set(cluster_id=cluster.pk, skip_seconds=2 * 86_400, actor="test")
    put(cluster, rest.node("n1"))
    put(cluster, rest.node("n2"))
    now = moment_of(clock.now_of(cluster.pk))
    client, before = rest.logged_in(), now - timedelta(hours=1)
    answer = client.get(f"/api/clusters/{cluster.pk}/objects?kind=Node&at=0s ago")
    assert len(answer.json()["objects"]) == 2
    assert answer.headers["Ksched-Time"] >= now.isoformat()
    for at in ("1h ago", before.isoformat().replace("+00:00", "Z"), before.strftime("%Y-%m-%d %H:%M:%S")):
        assert client.get(f"/api/clusters/{cluster.pk}/objects?kind=Node&at={at}").json()["objects"] == []


def test_only_so_many_moments_are_read_at_a_time(seen: Seen) -> None:
    client, at = seen.client, "0s ago"
    with all_places():
        status, told = refused(client, seen.cluster, at)
        assert (status, told["code"]) == (429, "too_many")
        assert client.get(f"/api/clusters/{seen.cluster.pk}/pending").status_code == 200
    assert client.get(f"/api/clusters/{seen.cluster.pk}/pending?at={at}").status_code == 200


def test_engine_is_kept_for_the_next_question(seen: Seen, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a later moment, and after a question about what was not there."""
    started: list[Any] = []
    start = walking.start_before

    def counted(cluster: Cluster, target: tuple[int, int]) -> Any:
        started.append(target)
        return start(cluster, target)

    monkeypatch.setattr(walking, "start_before", counted)
    positions = [position for position, (run, _) in seen.places if run <= 2]
    assert len(positions) > 5
    for position in positions:
        assert seen.client.get(f"/api/clusters/{seen.cluster.pk}/pending?at={position}").status_code == 200
        assert seen.client.get(f"/api/clusters/{seen.cluster.pk}/nodes/none?at={position}").status_code == 404
    assert len(started) == 1


def test_what_is_confidential_is_not_listed(cluster: Cluster) -> None:
    client = rest.logged_in()
    for path in ("objects?kind=Secret", "objects/Secret/default/s", "objects?kind=Secret&at=0s ago"):
        assert client.get(f"/api/clusters/{cluster.pk}/{path}").status_code == 403
    for path in ("objects?kind=Pods", "objects/Pods/p", "objects/Pods/default/p"):
        answer = client.get(f"/api/clusters/{cluster.pk}/{path}")
        assert (answer.status_code, list(answer.json()["extra"]["fields"])) == (400, ["kind"])


def test_lists_of_objects_go_on_after_their_last(cluster: Cluster) -> None:
    put(cluster, *(rest.pod(name, namespace="default") for name in ("p2", "p-1", "p1")))
    client = rest.logged_in()
    for at in ("", "&at=0s ago"):
        found: list[str] = []
        after: Any = ""
        while after is not None and len(found) < 9:
            query = f"kind=Pod&namespace=default&limit=2{at}" + (f"&after={after}" if after else "")
            told = client.get(f"/api/clusters/{cluster.pk}/objects?{query}").json()
            found += [each["manifest"]["metadata"]["name"] for each in told["objects"]]
            after = told["after"]
        assert found == ["p-1", "p1", "p2"]


def test_what_cannot_be_shown_is_refused_with_the_reason(seen: Seen, all_seen: list[Seen]) -> None:
    all_seen.clear()  # its cluster has no beginning from here on
    client, cluster = rest.logged_in(), seen.cluster
    cluster.refresh_from_db()
    status, told = refused(client, cluster, f"{cluster.rv}.{cluster.seq + 1}")
    assert (status, list(told["extra"]["fields"])) == (400, ["at"])
    assert "has not come yet" in told["message"]
    status, told = refused(client, cluster, "2190-01-01")
    assert (status, list(told["extra"]["fields"])) == (400, ["at"])
    row = Checkpoint.objects.filter(cluster=cluster).earliest("seq")
    living.cut_at(row)
    status, told = refused(client, cluster, str(seen.places[0][0]))
    assert (status, told["code"]) == (410, "gone")
    assert told["extra"] == {"rv": row.objects_rv, "seq": row.seq, "since": row.at.isoformat()}
    EngineStep.objects.filter(cluster=cluster).update(began_from=None)
    unknown = next(position for position, place in dict(seen.places).items() if place[0] > row.run)
    status, told = refused(client, cluster, str(unknown), "snapshot")
    assert (status, told["code"]) == (409, "not_replayable") and "earlier release" in told["message"]
    before = objects_of(client, cluster, unknown)
    Cluster.objects.filter(pk=cluster.pk).update(is_mirror=True)
    status, told = refused(client, cluster, str(seen.places[-1][0]), "snapshot")
    assert status == 409 and "a mirror decides nothing" in told["message"]
    assert objects_of(client, cluster, unknown) == before, "objects need no engine"


def objects_of(client: APIClient, cluster: Cluster, at: Position) -> list[Any]:
    """What the three routes of objects say of a moment."""
    paths = ("objects?kind=Pod&limit=999&", "objects/PriorityClass/high?", "objects/Pod/default/p0001?")
    told = []
    for path in paths:
        answer = client.get(f"/api/clusters/{cluster.pk}/{path}at={at}")
        assert answer.status_code == 200 and answer.headers["Ksched-Position"] == str(at), answer.content
        told.append(answer.json())
    assert told[0]["objects"] and told[1]["manifest"]["metadata"]["name"] == "high"
    return told
