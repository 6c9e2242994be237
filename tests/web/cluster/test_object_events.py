"""Events of controllers beside those of the scheduler: in snapshots, in frames, and of one object."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from kschedweb.cluster import events, selectors, services
from kschedweb.cluster.models import ApiObject, Cluster, Event
from kschedweb.traces import selectors as traces
from kschedweb.views import EventPut, NodePut
from tests.web.rest import items, logged_in, node, pod, upload

AT = datetime(2030, 1, 1, tzinfo=UTC)
SECOND_MS = 1000
AT_MS = int(AT.timestamp()) * SECOND_MS


def written(name: str, kind: str, about: str, seconds: int, **fields: Any) -> dict[str, Any]:
    """An event as controllers write it, about an object of `default` or, of a node, of no namespace."""
    involved = {
        "kind": kind,
        "name": about,
        "uid": f"uid-{about}",
        **({} if kind == "Node" else {"namespace": "default"}),
    }
    at = f"2030-01-01T00:{seconds // 60:02}:{seconds % 60:02}Z"
    return {
        "apiVersion": "v1", "kind": "Event", "involvedObject": involved, "reason": name.upper(), "message": f"{name}!",
        "metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}", "creationTimestamp": at},
        "type": "Normal", "count": 1, "firstTimestamp": at, "lastTimestamp": at, **fields,
    }  # fmt: skip


def of_scheduler(cluster: Cluster, seq: int, about: str, seconds: int) -> None:
    at = datetime.fromtimestamp(AT.timestamp() + seconds, UTC)
    Event.objects.create(
        cluster=cluster, seq=seq, name=f"e{seq}", type="Normal", reason="Scheduled", note="placed",
        regarding_kind="Pod", regarding_namespace="default", regarding_name=about, regarding_uid=f"uid-{about}",
        reporter="s", first_at=at, last_at=at,
    )  # fmt: skip


@pytest.fixture
def cluster(transactional_db: None) -> Cluster:
    cluster = services.cluster_create(name="c", actor="a")
    objects = [node(), pod("p", uid="uid-p", creationTimestamp="2030-01-01T00:00:00Z")]
    assert upload(logged_in(), cluster, items(*objects)).status_code < 300
    return cluster


def put(cluster: Cluster, *events: dict[str, Any]) -> None:
    assert upload(logged_in(), cluster, items(*events)).status_code < 300
    cluster.refresh_from_db()


def told(events: Any) -> list[str]:
    return [event.reason for event in events]


def test_snapshot_has_events_of_all_in_the_order_of_time(cluster: Cluster) -> None:
    put(cluster, written("late", "Node", "n1", 30), written("early", "Deployment", "web", 10))
    of_scheduler(cluster, 1, "p", 20)
    events = traces.snapshot(cluster.pk).events
    assert told(events) == ["EARLY", "Scheduled", "LATE"]
    assert [(event.kind, event.key, event.name) for event in events] == [
        ("Deployment", "default/web", "default/early"),
        ("Pod", "default/p", ""),
        ("Node", "n1", "default/late"),
    ]


def test_events_about_pods_push_out_no_others(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kschedweb.traces.selectors.live.SNAPSHOT_EVENTS", 3)
    put(cluster, *(written(f"n{i}", "Node", "n1", i) for i in range(5)))
    put(cluster, *(written(f"p{i}", "Pod", "p", 10 + i) for i in range(2)))
    for i in range(2):
        of_scheduler(cluster, i + 1, "p", 20 + i)
    assert told(traces.snapshot(cluster.pk).events) == ["N2", "N3", "N4", "P1", "Scheduled", "Scheduled"]


def test_frame_tells_of_an_event_and_of_its_count(cluster: Cluster) -> None:
    before = cluster.rv
    put(cluster, written("gone", "Node", "n1", 0))
    put(cluster, written("gone", "Node", "n1", 0, count=2, lastTimestamp="2030-01-01T00:00:05Z", type="Warning"))
    rows = selectors.change_rows(cluster.pk, before, cluster.rv)
    events = [event.event for row in rows if isinstance(event := selectors.change_event(row), EventPut)]
    assert [(one.name, one.count, one.type, one.at_ms) for one in events] == [
        ("default/gone", 1, "Normal", AT_MS),
        ("default/gone", 2, "Warning", AT_MS + 5 * SECOND_MS),
    ]


def test_events_of_the_newer_form_are_read(cluster: Cluster) -> None:
    series = {"count": 7, "lastObservedTime": "2030-01-01T00:01:00.000000Z"}
    new = written("new", "Pod", "p", 0, series=series, count=0, lastTimestamp=None, eventTime="2030-01-01T00:00:01.5Z")
    put(cluster, new)
    (event,) = traces.snapshot(cluster.pk).events
    assert (event.count, event.at_ms) == (7, AT_MS + 60 * SECOND_MS)


def asked(cluster: Cluster, query: str) -> list[tuple[str, str]]:
    found = logged_in().get(f"/api/clusters/{cluster.pk}/object-events?{query}").json()["events"]
    return [(event["reason"], event["key"]) for event in found]


def test_events_about_one_object_are_those_of_all_and_of_no_other(cluster: Cluster) -> None:
    put(
        cluster,
        written("started", "Pod", "p", 20),
        written(
            "earlier", "Pod", "p", 5, involvedObject={"kind": "Pod", "name": "p", "namespace": "default", "uid": "u"}
        ),
        written("other", "Pod", "q", 30),
        written("node", "Node", "n1", 40),
        written("namesake", "Deployment", "p", 50),
    )
    of_scheduler(cluster, 1, "p", 10)
    of_scheduler(cluster, 2, "q", 15)
    assert asked(cluster, "kind=Pod&namespace=default&name=p") == [("STARTED", "default/p"), ("Scheduled", "default/p")]
    assert asked(cluster, "kind=Node&name=n1") == [("NODE", "n1")]
    assert asked(cluster, "kind=Deployment&namespace=default&name=p") == [("NAMESAKE", "default/p")]
    assert asked(cluster, "kind=Pod&namespace=default&name=p&limit=1") == [("STARTED", "default/p")]


@pytest.mark.parametrize(
    ("written_", "told_"), [("requested", "requested"), ("draining", "draining"), ("drained", "drained"), ("yes", "")]
)
def test_views_of_a_node_say_how_far_its_drain_is(cluster: Cluster, written_: str, told_: str) -> None:
    before = cluster.rv
    put(cluster, node("n2", annotations={"kschedweb.io/drain": written_}))
    found = {view.name: view.drain for view in traces.snapshot(cluster.pk).nodes}
    assert found == {"n1": "", "n2": told_}
    events = map(selectors.change_event, selectors.change_rows(cluster.pk, before, cluster.rv))
    assert [event.node.drain for event in events if isinstance(event, NodePut) and event.node.name == "n2"] == [told_]


def test_events_are_found_without_reading_all_of_them(cluster: Cluster) -> None:
    involved = {"kind": "Pod", "namespace": "default"}
    rows = [
        ApiObject(
            cluster=cluster, kind="Event", namespace="default", name=f"e{number}", uid=f"e{number}", rv=number,
            manifest={"metadata": {"name": f"e{number}"}, "involvedObject": {**involved, "name": f"p{number}"}},
        )
        for number in range(3_000)
    ]  # fmt: skip
    ApiObject.objects.bulk_create(rows)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE cluster_apiobject")
    with CaptureQueriesContext(connection) as asked:
        events.newest(cluster.pk, 10)
        (found,) = events.about(cluster.pk, "Pod", "default", "p7", "", 10)
    assert found.key == "default/p7"
    plans = []
    for query in asked.captured_queries:
        if "cluster_apiobject" in query["sql"]:
            with connection.cursor() as cursor:
                cursor.execute(f"EXPLAIN {query['sql']}")
                plans.append("\n".join(line for (line,) in cursor.fetchall()))
    indexes = ("event_object_newest ", "event_object_newest_others ", "event_object_by_subject ")
    assert len(plans) == len(indexes)
    for plan, index in zip(plans, indexes, strict=True):
        assert f"using {index}" in plan
