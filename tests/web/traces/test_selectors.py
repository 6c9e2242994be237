"""Log ranges as live events, the snapshot they continue, digests and what pods wait for."""

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import numpy as np
import orjson
import pytest
import zstandard
from django.utils import timezone

from kschedweb import views
from kschedweb.cluster import clock, services
from kschedweb.cluster.models import Change, Cluster, Node, Pod
from kschedweb.traces import selectors
from kschedweb.traces.models import Attempt, EngineLog, NodeOrder, QueueState
from kschedweb.views import Cursor
from scheduler_core.apiserver.requests import Bind, ObjectKey
from scheduler_core.model import effects
from scheduler_core.model.status import Code, Status
from scheduler_core.trace import codec
from tests.web.rest import items, logged_in, node, pod, upload

AT = datetime(2030, 1, 1, tzinfo=UTC)
REFUSED = {"plugin": "NodeResourcesFit", "reason": "Insufficient cpu", "code": "Unschedulable", "count": 2}
AT_MS = int(AT.timestamp() * 1000)
QUEUE = {
    "uid": "u1", "key": "default/p1", "queue": "active", "event": "PodAdd", "since_ms": AT_MS, "attempts": 0,
    "backoff_until_ms": None, "plugins": [], "hint": "",
}  # fmt: skip
CACHE = {"uid": "u1", "key": "default/p1", "node": "n1", "kind": "assumed", "at_ms": AT_MS}
NOTE = {"type": "Normal", "reason": "Scheduled", "note": "ok", "key": "default/p1", "at_ms": AT_MS}


@pytest.fixture
def cluster(db: None) -> Cluster:
    """A cluster whose log holds: 1 setting, 2 node n1, 3 pod p1, 4 node n2 cordoned later."""
    cluster = services.cluster_create(name="c")
    assert upload(logged_in(), cluster, items(node(), pod())).status_code == 201
    cluster.refresh_from_db()
    return cluster


def attempt_payload(**changes: Any) -> dict[str, Any]:
    return {
        "uid": "u1", "key": "default/p1", "attempt": 1, "result": "unschedulable", "node": "", "message": "0/1",
        "evaluated": 1, "feasible": 0, "duration_us": 42, "at_ms": AT_MS, "place": 0,
    } | changes  # fmt: skip


def engine_log(cluster: Cluster, *entries: tuple[int, str, dict[str, Any]]) -> None:
    """Append entries (rv seen, kind, payload) as the engine does."""
    for rv, kind, payload in entries:
        cluster.seq += 1
        EngineLog.objects.create(
            cluster=cluster, seq=cluster.seq, rv=rv, step=1, kind=kind, pod_uid="u1", payload=payload, at=AT
        )
    cluster.save(update_fields=["seq"])


def make_attempt(cluster: Cluster, seq: int, **changes: Any) -> Attempt:
    values: dict[str, Any] = {
        "step": 1, "place": 0, "pod_uid": "u1", "namespace": "default", "name": "p1", "attempt": 1,
        "profile": "default-scheduler", "result": "unschedulable", "message": "0/2 nodes", "started_at": AT,
        "unschedulable_plugins": ["NodeResourcesFit"], "digest": b"d", "last_seen_at": AT,
        "rejections": [REFUSED],
    }  # fmt: skip
    return Attempt.objects.create(cluster=cluster, seq=seq, **(values | changes))


def test_log_range_tells_of_both_logs_in_the_order_the_engine_saw_them(cluster: Cluster) -> None:
    engine_log(
        cluster,
        (2, "queue", QUEUE),
        (3, "attempt", attempt_payload()),
        (3, "cache", CACHE),
        (3, "event", NOTE),
        (3, "step", {"cycles": 1, "kind": "apply"}),
        (3, "attempt", attempt_payload(attempt=2, repeats=2)),
    )
    services.node_update(cluster_id=cluster.pk, name="n1", unschedulable=True, actor="ada")
    found = selectors.log_range(cluster.pk, Cursor(0, 0), 100)
    assert found.to == Cursor(4, 6)
    types = [event.__struct_config__.tag for event in found.events]
    assert types == [
        "cluster_setting", "node_put", "queue_move", "pod_put", "attempt", "cache_move", "event", "step", "attempt",
        "node_put",
    ]  # fmt: skip
    repeat = found.events[8]
    assert isinstance(repeat, views.AttemptMade)
    assert (repeat.seq, repeat.attempt.seq, repeat.attempt.attempt) == (6, 2, 2)
    assert all(msgspec.json.encode(event) for event in found.events)


def test_log_range_ends_where_it_began_when_nothing_is_new_or_entries_are_cleared_away(cluster: Cluster) -> None:
    nothing = selectors.log_range(cluster.pk, Cursor(3, 0), 100)
    assert (nothing.to, list(nothing.events)) == (Cursor(3, 0), [])
    Change.objects.filter(rv=2).delete()
    assert selectors.log_range(cluster.pk, Cursor(0, 0), 100).to == Cursor(0, 0)
    assert selectors.log_range(cluster.pk, Cursor(2, 0), 100).to == Cursor(3, 0)
    assert selectors.head(424242) is None


def test_log_range_begins_after_what_was_read(cluster: Cluster) -> None:
    engine_log(cluster, *((3, "attempt", attempt_payload(attempt=number)) for number in (1, 2, 3)))
    found = selectors.log_range(cluster.pk, Cursor(3, 2), 100)
    assert (found.to, [event.seq for event in found.events]) == (Cursor(3, 3), [3])


def test_log_range_reads_at_most_the_limit(cluster: Cluster) -> None:
    assert selectors.log_range(cluster.pk, Cursor(0, 0), 2).to == Cursor(2, 0)


def test_a_pod_looks_alike_in_snapshot_and_log(cluster: Cluster) -> None:
    bind = Bind(ObjectKey("Pod", "default", "p1"), "n1")
    services.requests_carry_out(cluster_id=cluster.pk, requests=[bind], actor="s", now=clock.now_of(cluster.pk))
    told = selectors.log_range(cluster.pk, Cursor(1, 0), 100).events
    from kschedweb.cluster import selectors as cluster_selectors

    pods, _ = cluster_selectors.pod_views(cluster.pk, timezone.now())
    assert isinstance(told[-1], views.PodPut) and isinstance(told[0], views.NodePut)
    assert told[-1].pod == pods[0]
    assert told[0].node == cluster_selectors.node_views(cluster.pk)[0]


def test_deletions_are_told_by_their_names(cluster: Cluster) -> None:
    uid = Pod.objects.get().uid
    services.pod_delete(cluster_id=cluster.pk, namespace="default", name="p1", actor="ada")
    told = selectors.log_range(cluster.pk, Cursor(3, 0), 100).events
    assert told == [views.PodDeleted(rv=4, uid=uid, key="default/p1")]


@pytest.mark.django_db(transaction=True)
def test_snapshot_is_of_one_cursor_and_counts_what_it_leaves_out() -> None:
    cluster = services.cluster_create(name="c")
    client = logged_in()
    upload(client, cluster, items(node(), pod("shown"), pod("old"), pod("ended")))
    long_ago = timezone.now() - timedelta(minutes=11)
    Pod.objects.filter(name="old").update(phase="Succeeded", created_at=long_ago)
    Pod.objects.filter(name="ended").update(phase="Failed")
    cluster.refresh_from_db()
    engine_log(cluster, (5, "step", {"cycles": 0, "kind": "rebuild"}))
    uid = Pod.objects.get(name="shown").uid
    QueueState.objects.create(
        cluster=cluster, pod_uid=uid, pod_key="default/shown", queue="backoff", since=AT, backoff_until=AT, seq=1
    )
    make_attempt(cluster, 1, pod_uid=uid)
    answer = client.get(f"/api/clusters/{cluster.pk}/snapshot")
    assert answer.status_code == 200
    told = answer.json()
    assert told["cursor"] == [5, 1]
    assert [one["key"] for one in told["pods"]] == ["default/ended", "default/shown"] and told["pods_left_out"] == 1
    assert [one["name"] for one in told["nodes"]] == ["n1"]
    assert told["queue"][0]["backoff_until_ms"] == AT_MS
    assert told["attempts"][0]["key"] == "default/p1"
    assert told["cluster"]["name"] == "c" and told["events"] == []
    assert client.get("/api/clusters/424242/snapshot").status_code == 404


@pytest.mark.django_db(transaction=True)
def test_snapshot_takes_the_same_queries_for_any_size(django_assert_num_queries: Any) -> None:
    cluster = services.cluster_create(name="c")
    upload(
        logged_in(), cluster, items(*(node(f"n{number}") for number in range(30)), *(pod(f"p{n}") for n in range(60)))
    )
    # begin, isolation, cluster, pods, those left out, nodes, queue, events, attempts, commit
    with django_assert_num_queries(15):
        found = selectors.snapshot(cluster.pk)
    assert (len(found.nodes), len(found.pods)) == (30, 60)


def test_frames_answer_what_was_missed_or_that_it_is_too_much(cluster: Cluster) -> None:
    client = logged_in()
    url = f"/api/clusters/{cluster.pk}/frames"
    frames = client.get(f"{url}?rv=1&seq=0").json()["frames"]
    assert [(frame["from"], frame["to"], len(frame["events"])) for frame in frames] == [([1, 0], [3, 0], 2)]
    assert client.get(f"{url}?rv=3&seq=0").json() == {"frames": []}
    ahead = client.get(f"{url}?rv=9&seq=0")
    assert (ahead.status_code, ahead.json()["code"]) == (410, "gone")
    Cluster.objects.filter(pk=cluster.pk).update(seq=9_000)
    assert client.get(f"{url}?rv=3&seq=0").status_code == 410
    assert client.get(f"{url}?rv=x").status_code == 400


def test_first_attempts_digest_tells_decisions_not_times_or_ids(cluster: Cluster) -> None:
    make_attempt(cluster, 1)
    make_attempt(cluster, 2, attempt=2, result="scheduled", node_name="n1")
    make_attempt(cluster, 3, pod_uid="u2", name="p2", result="scheduled", node_name="n1")
    first = selectors.first_attempts(cluster.pk)
    assert (first.attempts, first.scheduled) == (2, 1)
    other = services.cluster_create(name="other")
    make_attempt(other, 5, pod_uid="x2", name="p2", result="scheduled", node_name="n1", step=4, duration_us=9)
    make_attempt(other, 7, pod_uid="x1", started_at=timezone.now())
    assert selectors.first_attempts(other.pk).digest == first.digest
    Attempt.objects.filter(cluster=other, seq=5).update(node_name="n2")
    assert selectors.first_attempts(other.pk).digest != first.digest
    assert logged_in().get(f"/api/clusters/{cluster.pk}/digest").json()["digest"] == first.digest


def test_summary_counts_pending_pods_by_their_last_refusal(cluster: Cluster) -> None:
    uid = Pod.objects.get().uid
    old = [{"plugin": "TaintToleration", "reason": "taint", "code": "Unschedulable", "count": 1}]
    make_attempt(cluster, 1, pod_uid=uid, rejections=old)
    # One reason with two codes is still one pod.
    make_attempt(cluster, 2, pod_uid=uid, attempt=2, rejections=[REFUSED, REFUSED | {"code": "Unresolvable"}])
    QueueState.objects.create(
        cluster=cluster, pod_uid=uid, pod_key="default/p1", queue="unschedulable", since=AT, seq=1
    )
    told = logged_in().get(f"/api/clusters/{cluster.pk}/summary").json()
    assert told["pending"] == {
        "pods": 1,
        "queues": {"unschedulable": 1},
        "unqueued": {"no_profile": {}, "unseen": 0},
        "profiles": ["default-scheduler"],
        "reasons": [
            {
                "plugin": "NodeResourcesFit", "reason": "Insufficient cpu", "pods": 1, "nodes": 2 * REFUSED["count"],
                "share": 1.0, "examples": ["default/p1"], "amounts": [],
            }
        ],
    }  # fmt: skip
    assert told["overcommitted"] == [] and told["objects"] == {"Node": 1, "Pod": 1}


def test_reasons_come_by_the_share_of_nodes_they_keep_from_pods(cluster: Cluster) -> None:
    names = ("p2", "p3", "p4")
    assert upload(logged_in(), cluster, items(*(pod(name) for name in names))).status_code == 201
    cordoned = {"plugin": "NodeUnschedulable", "reason": "cordoned", "code": "Unschedulable", "count": 1}
    other = {"plugin": "NodeAffinity", "reason": "other", "code": "Unschedulable", "count": 9}
    rejected: dict[str, tuple[int, list[dict[str, Any]]]] = {
        "p1": (10, [REFUSED | {"count": 9}, cordoned]),
        "p2": (10, [REFUSED | {"count": 9}, cordoned]),
        "p3": (10, [other, cordoned]),
        "p4": (0, [{**other, "plugin": "VolumeBinding", "count": 10}]),  # before any node was evaluated
    }
    for seq, (name, (evaluated, rejections)) in enumerate(rejected.items(), start=1):
        uid = Pod.objects.get(name=name).uid
        make_attempt(cluster, seq, pod_uid=uid, name=name, evaluated=evaluated, rejections=rejections)
    told = logged_in().get(f"/api/clusters/{cluster.pk}/pending").json()["reasons"]
    assert [(one["plugin"], one["pods"], one["share"]) for one in told] == [
        ("NodeResourcesFit", 2, 1.8),
        ("VolumeBinding", 1, 1.0),
        ("NodeAffinity", 1, 0.9),
        ("NodeUnschedulable", 3, 0.3),
    ]


def test_pending_counts_unassigned_pods_of_the_cluster_that_have_not_ended(cluster: Cluster) -> None:
    client, other = logged_in(), services.cluster_create(name="other")
    names = ("bound", "succeeded", "failed", "untried")
    assert upload(client, cluster, items(*(pod(name) for name in names))).status_code == 201
    assert upload(client, other, items(pod("stranger"))).status_code == 201
    for name, changes in (
        ("bound", {"node_name": "n1"}),
        ("succeeded", {"phase": "Succeeded"}),
        ("failed", {"phase": "Failed"}),
    ):
        Pod.objects.filter(cluster=cluster, name=name).update(**changes)
    for seq, row in enumerate(Pod.objects.exclude(name="untried").order_by("name"), start=1):
        make_attempt(row.cluster, seq, pod_uid=row.uid, name=row.name)
    told = client.get(f"/api/clusters/{cluster.pk}/pending").json()
    assert told["pods"] == 2  # p1 and the one nobody has tried
    assert [(one["pods"], one["examples"]) for one in told["reasons"]] == [(1, ["default/p1"])]
    waiting = selectors.pending_pods(cluster.pk, plugin="", reason="", limit=10)
    assert [one.name for one in waiting] == ["p1"]
    named = {"plugin": str(REFUSED["plugin"]), "reason": str(REFUSED["reason"])}
    assert [one.name for one in selectors.pending_pods(cluster.pk, **named, limit=10)] == ["p1"]
    for wrong in ({"plugin": "Other"}, {"reason": "other"}):
        assert selectors.pending_pods(cluster.pk, **(named | wrong), limit=10) == []


def test_attempts_before_the_end_of_a_backoff_were_taken_early() -> None:
    ends = AT_MS + 1000
    log: list[tuple[str, str, int]] = [  # pod, queue it entered (empty: an attempt), ms since AT
        ("a", "backoff", 0), ("b", "backoff", 0), ("a", "", 999), ("a", "unschedulable", 999), ("b", "", 1000),
        ("a", "", 999), ("c", "errorBackoff", 0), ("c", "", 1), ("d", "backoff", 0), ("d", "active", 1), ("d", "", 1),
    ]  # fmt: skip
    rows = [
        EngineLog(
            seq=seq,
            pod_uid=uid,
            kind="queue" if queue else "attempt",
            payload={"queue": queue, "backoff_until_ms": ends} if queue else {},
            at=AT + timedelta(milliseconds=ms),
        )
        for seq, (uid, queue, ms) in enumerate(log)
    ]
    assert selectors.history.taken_early(rows) == {2}


def test_moves_tell_of_queues_and_cache_only(cluster: Cluster) -> None:
    engine_log(cluster, (2, "queue", QUEUE), (3, "attempt", attempt_payload()), (3, "cache", CACHE), (3, "event", NOTE))
    other = services.cluster_create(name="other")
    engine_log(other, (1, "queue", QUEUE))
    assert sorted(row.kind for row in selectors.moves(cluster.pk)) == ["cache", "queue"]
    after, second = AT + timedelta(seconds=1), timedelta(seconds=1)
    assert selectors.moves(cluster.pk, since=AT).count() == 2 and selectors.moves(cluster.pk, since=after).count() == 0
    assert selectors.moves(cluster.pk, until=AT).count() == 0
    assert selectors.moves(cluster.pk, since=AT - second, until=after).count() == 2


def test_attempt_is_shown_with_its_matrix(cluster: Cluster) -> None:
    names = ("n1", "n2", "n3")
    refused = Status(Code.Unschedulable, ("Insufficient cpu",), plugin="NodeResourcesFit")
    made = effects.Attempt("default/p1", "u1", 1, "default-scheduler", 0, result="scheduled", node_name="n3")
    made.node_order = effects.NodeOrder("order", names)
    made.evaluated_nodes = 3
    made.filter_rows = effects.FilterRows(
        np.array([0, 1, 2], dtype=np.int32), np.array([1, 0, 0], dtype=np.uint8), (refused,)
    )
    made.feasible = np.array([1, 2], dtype=np.int32)
    scores = np.array([[10, 90]], dtype=np.int64)
    made.score_rows = effects.ScoreRows((("NodeResourcesFit", 1),), scores, scores, scores[0], ())
    NodeOrder.objects.create(cluster=cluster, digest="order", names=zstandard.compress(orjson.dumps(names)))
    uid = Pod.objects.get().uid
    make_attempt(cluster, 1, pod_uid=uid, matrix=codec.encode(made), node_order="order")
    make_attempt(cluster, 2, pod_uid=uid, attempt=2)
    client = logged_in()
    url = f"/api/clusters/{cluster.pk}"
    matrix = client.get(f"{url}/attempts/1").json()["matrix"]
    assert [(row["node"], row["feasible"], row["total"]) for row in matrix["nodes"]] == [
        ("n1", False, None), ("n2", True, 10), ("n3", True, 90),
    ]  # fmt: skip
    assert matrix["nodes"][0]["status"]["reasons"] == ["Insufficient cpu"]
    assert matrix["nodes"][2]["scores"]["NodeResourcesFit"]["weighted"] == 90
    # What all nodes come to stays, whichever are asked for.
    one = client.get(f"{url}/attempts/1?limit=1&node=n3").json()["matrix"]
    assert (one["found"], one["looked_at"]) == (1, 3)
    assert one["refused_by"] == [{"plugin": "NodeResourcesFit", "nodes": 1}]
    low, high = ({"raw": score, "normalized": score, "weighted": score} for score in (10, 90))
    assert one["plugins"] == [{"name": "NodeResourcesFit", "weight": 1, "lowest": low, "highest": high}]
    assert client.get(f"{url}/attempts/2").json()["matrix"] is None
    assert client.get(f"{url}/attempts/9").status_code == 404
    listed = client.get(f"{url}/pods/default/p1/attempts").json()["results"]
    assert [one["seq"] for one in listed] == [2, 1] and "matrix" not in listed[0]
    assert client.get(f"{url}/pods/default/p1").json()["queue"] is None


def test_attempt_list_takes_the_same_queries_for_many_attempts(
    cluster: Cluster, django_assert_num_queries: Any
) -> None:
    uid = Pod.objects.get().uid
    for seq in range(1, 30):
        make_attempt(cluster, seq, pod_uid=uid, attempt=seq)
    client = logged_in()
    with django_assert_num_queries(6):  # session, user, cluster, pod, attempts, whether the cluster is there still
        page = client.get(f"/api/clusters/{cluster.pk}/pods/default/p1/attempts?limit=10").json()
    assert len(page["results"]) == 10 and page["next"]
    assert Node.objects.count() == 1
