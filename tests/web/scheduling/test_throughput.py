"""What was done when: counts by second and minute, as they were, with what is not known left out."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from kschedweb.cluster import services
from kschedweb.cluster.models import Cluster, Pod
from kschedweb.scheduling import retention
from kschedweb.scheduling.checkpoints import checkpoint_want
from kschedweb.scheduling.models import Binding
from kschedweb.scheduling.runner.host import EngineHost
from kschedweb.traces import selectors
from kschedweb.traces.models import Attempt, ThroughputCount
from kschedweb.traces.services import throughput_add, throughput_roll_up
from scheduler_core.api.times import microseconds
from tests.builders import make_node, make_pod
from tests.cases import cases
from tests.web.rest import logged_in
from tests.web.scheduling.conftest import lead, put, settle

pytestmark = pytest.mark.django_db(transaction=True)

START = datetime.fromisoformat("2026-11-20T10:00:00+00:00")


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


class Clock:
    """Engine time, moved by the test."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> int:
        return microseconds(self.now)


@pytest.fixture
def host(cluster: Cluster) -> EngineHost:
    host = lead(cluster)
    host.clock_us = Clock()
    return host


def points(cluster: Cluster, *, seconds: int = 1, since: datetime = START, until: float = 3600) -> list[Any]:
    found = selectors.throughput(cluster.pk, since=since, until=at(until), seconds=seconds)
    return [
        (int(point.at_ms / 1000 - START.timestamp()), point.results, point.bound, _sizes(point.queued))
        for point in found.points
    ]


def _sizes(queued: Any) -> Any:
    return queued and (queued.active, queued.backoff, queued.unschedulable, queued.gated)


def big(name: str) -> dict[str, Any]:
    return make_pod(name).req(cpu="900").manifest()


def test_attempts_and_queue_are_counted_as_they_were_second_by_second(cluster: Cluster, host: EngineHost) -> None:
    clock: Any = host.clock_us
    gated = make_pod("gated").req(cpu="1").manifest()
    gated["spec"]["schedulingGates"] = [{"name": "example.com/later"}]
    host.step()
    clock.now = at(7.3)
    put(cluster, make_node("n1").capacity(cpu="4"), big("big"), gated)
    host.step()
    clock.now = at(9.9)
    put(cluster, make_pod("small-1").req(cpu="1"), make_pod("small-2").req(cpu="1"))
    host.step()
    host.step()
    assert points(cluster) == [
        (0, {}, 0, (0, 0, 0, 0)),
        (7, {"unschedulable": 1}, 0, (0, 0, 1, 1)),
        (9, {"scheduled": 2}, 0, (0, 0, 1, 1)),
    ]
    # What is there now does not change what was.
    services.pod_delete(cluster_id=cluster.pk, namespace="default", name="big", grace_seconds=0, actor="test")
    clock.now = at(20)
    host.step()
    assert points(cluster)[1:] == [
        (7, {"unschedulable": 1}, 0, (0, 0, 1, 1)),
        (9, {"scheduled": 2}, 0, (0, 0, 1, 1)),
        (20, {}, 0, (0, 0, 0, 1)),
    ]


def test_only_pods_that_this_scheduler_bound_count_as_bound(cluster: Cluster, host: EngineHost) -> None:
    put(cluster, make_node("n1").capacity(cpu="9"))
    put(cluster, *(make_pod(f"imported-{index}").req(cpu="1").on("n1") for index in range(5)))
    settle(host)
    assert Pod.objects.filter(node_name="n1").count() == 5
    assert sum(row.bound for row in ThroughputCount.objects.all()) == 0
    put(cluster, *(make_pod(f"own-{index}").req(cpu="1") for index in range(3)))
    settle(host)
    assert Pod.objects.filter(node_name="n1").count() == 8
    assert sum(row.bound for row in ThroughputCount.objects.all()) == 3
    # Each when it was bound, with the time that browsers are told.
    (finished,) = {binding.finished_at.replace(microsecond=0) for binding in Binding.objects.all()}  # type: ignore[union-attr]
    assert ThroughputCount.objects.get(bound__gt=0).at == finished


def test_repeated_attempts_count(cluster: Cluster, host: EngineHost) -> None:
    clock: Any = host.clock_us
    put(cluster, make_node("n1").capacity(cpu="4"), big("big"))
    settle(host)
    clock.now = at(310)  # what was refused is tried again after five minutes
    host.step()
    host.step()
    (attempt,) = Attempt.objects.all()
    assert attempt.repeat_count == 1
    assert [(second, results) for second, results, *_ in points(cluster) if results] == [
        (0, {"unschedulable": 1}),
        (310, {"unschedulable": 1}),
    ]


def test_a_new_engine_is_another_run_so_that_a_gap_shows(cluster: Cluster, host: EngineHost) -> None:
    put(cluster, make_node("n1"), big("big"))
    settle(host)
    again = EngineHost(cluster.pk, host.epoch, clock_us=lambda: microseconds(at(600)))
    again.step()
    found = selectors.throughput(cluster.pk, since=START, until=at(3600), seconds=1).points
    assert [(point.at_ms / 1000 - START.timestamp(), point.run) for point in found][-1] == (600, 2)
    assert {point.run for point in found} == {1, 2}


def test_a_step_counts_in_one_statement_and_an_idle_one_in_none(cluster: Cluster, host: EngineHost) -> None:
    put(cluster, make_node("n1"), big("big"))
    with CaptureQueriesContext(connection) as queries:
        host.step()
        host.step()
    counted = [query["sql"] for query in queries if "traces_throughputcount" in query["sql"]]
    assert len(counted) <= 2
    before = list(ThroughputCount.objects.values())
    host.clock_us.now = at(30)  # type: ignore[attr-defined]
    host.step()
    assert list(ThroughputCount.objects.values()) == before


@pytest.fixture
def counted(cluster: Cluster) -> Callable[[float, int, int, int], None]:
    """`counted(second, run, scheduled, waiting)`"""

    def add(second: float, run: int, scheduled: int, waiting: int) -> None:
        sizes = {"active": 0, "backoff": 0, "unschedulable": waiting, "gated": 0}
        throughput_add(cluster_id=cluster.pk, at=at(second), run=run, results={"scheduled": scheduled}, queued=sizes)

    return add


def test_seconds_become_minutes_after_a_day_and_no_sum_changes(
    cluster: Cluster, counted: Callable[[float, int, int, int], None]
) -> None:
    for second, run, scheduled, waiting in [
        (0, 1, 3, 9),
        (59, 1, 4, 8),
        (60, 2, 5, 7),
        (2000, 2, 6, 6),
        (90_000, 2, 1, 2),
    ]:
        counted(second, run, scheduled, waiting)
    throughput_add(cluster_id=cluster.pk, at=at(65), bound=5)
    throughput_add(cluster_id=Cluster.objects.create(name="other", seed=1).pk, at=at(65), bound=5)
    by_minutes = points(cluster, seconds=60, until=100_000)
    assert by_minutes == [
        (0, {"scheduled": 7}, 0, (0, 0, 8, 0)),
        (60, {"scheduled": 5}, 5, (0, 0, 7, 0)),
        (1980, {"scheduled": 6}, 0, (0, 0, 6, 0)),
        (90_000, {"scheduled": 1}, 0, (0, 0, 2, 0)),
    ]
    for _ in range(2):
        throughput_roll_up(cluster_id=cluster.pk, now=at(90_030))
        assert points(cluster, seconds=60, until=100_000) == by_minutes
        rows = ThroughputCount.objects.order_by("seconds").values_list("cluster__name", "seconds")
        assert list(rows.filter(cluster=cluster)) == [(cluster.name, seconds) for seconds in (1, 60, 60, 60)]
        assert list(rows.exclude(cluster=cluster)) == [("other", 1)]
    # What is no longer known by seconds is not said by seconds, neither as nothing.
    found = selectors.throughput(cluster.pk, since=START, until=at(90_030), seconds=1)
    assert found.since_ms / 1000 == at(90_030 - 86_400).replace(second=0).timestamp()
    assert [point.at_ms / 1000 for point in found.points] == [at(90_000).timestamp()]
    assert found.carried is not None and _sizes(found.carried.queued) == (0, 0, 6, 0)


def test_counts_go_with_the_rest_of_the_past(cluster: Cluster, host: EngineHost) -> None:
    clock: Any = host.clock_us
    put(cluster, make_node("n1"), big("big"))
    settle(host)
    checkpoint_want(cluster_id=cluster.pk)
    clock.now = at(3_700)
    put(cluster, big("later"))
    host.step()
    old = ThroughputCount.objects.filter(at__lt=at(60)).count()
    assert old
    report = retention.prune(cluster_id=cluster.pk, hours=1, now=at(3 * 3600))
    assert report.cut is not None and report.rows["traces_throughputcount"] == old
    assert not ThroughputCount.objects.filter(at__lt=report.cut.at).exists()
    assert ThroughputCount.objects.filter(at__gte=report.cut.at).exists()
    services.cluster_delete(cluster_id=cluster.pk)
    assert not ThroughputCount.objects.exists()


def test_rest_answers_with_the_span_and_resolution_asked_for(
    cluster: Cluster, counted: Callable[[float, int, int, int], None]
) -> None:
    client = logged_in()
    path = f"/api/clusters/{cluster.pk}/throughput"
    for second in (10, 70, 75, 400):
        counted(second, 1, 2, second)
    span: dict[str, Any] = {"since": at(60).isoformat(), "until": at(120).isoformat()}
    by_seconds = client.get(path, {**span, "seconds": 1}).json()
    assert [point["at_ms"] / 1000 for point in by_seconds["points"]] == [at(70).timestamp(), at(75).timestamp()]
    assert by_seconds["points"][0]["results"] == {"scheduled": 2}
    assert by_seconds["carried"]["queued"]["unschedulable"] == 10
    by_minutes = client.get(path, {**span, "seconds": 60}).json()
    assert [point["results"] for point in by_minutes["points"]] == [{"scheduled": 4}]
    assert client.get(path).json()["seconds"] == 1
    assert client.get(path, {"last_seconds": 86_400}).json()["seconds"] == 60


@cases(
    "query, field",
    ("another resolution", {"seconds": 7}, "seconds"),
    ("too many points", {"last_seconds": 7 * 86_400, "seconds": 1}, "seconds"),
    ("backwards", {"since": at(10).isoformat(), "until": at(5).isoformat()}, "since"),
    ("no time", {"since": "yesterday"}, "since"),
)
def test_rest_names_the_parameter_that_is_wrong(cluster: Cluster, query: dict[str, Any], field: str) -> None:
    answer = logged_in().get(f"/api/clusters/{cluster.pk}/throughput", query)
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid")
    assert field in str(answer.json()["extra"])
