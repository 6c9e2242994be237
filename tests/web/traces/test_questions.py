"""Questions over 100,000 attempts, each answered from the indexes meant for it."""

import time
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import orjson
import pytest
import zstandard
from django.db import connection
from django.db.models import QuerySet
from django.utils import timezone

from kschedweb.cluster import services
from kschedweb.cluster.models import Cluster
from kschedweb.common import bulk, packing
from kschedweb.scheduling.services import ATTEMPT_COLUMNS
from kschedweb.traces import selectors
from kschedweb.traces.models import NodeOrder
from kschedweb.traces.selectors import AttemptFilter, pending, questions
from scheduler_core.model.effects import Attempt
from scheduler_core.trace import codec, summary
from scheduler_core.trace.matrix import AttemptMatrix
from tests.core.trace.attempts import TAINT, large_attempt, make_attempt, node_order
from tests.web.rest import logged_in

pytestmark = pytest.mark.django_db

ATTEMPTS = 100_000
HOURS = 10
PENDING = 2_000
NODES = 1_000
SECONDS = 1.0
TRIES = 5
NOW = timezone.now().replace(microsecond=0)
KINDS = 8  # different attempts the rows are copies of


@pytest.fixture(scope="module")
def stored(lasting: None) -> Cluster:
    """A cluster with 100,000 attempts of ten hours, of which every second was refused by taints."""
    cluster = services.cluster_create(name="long-lived")
    order = node_order(NODES)
    NodeOrder.objects.create(cluster=cluster, digest=order.digest, names=zstandard.compress(orjson.dumps(order.names)))
    _copy_attempts(cluster.pk)
    bulk.copy_rows("cluster_pod", *_pods(cluster.pk))
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE traces_attempt; ANALYZE cluster_pod")
    return cluster


def kinds() -> list[Attempt]:
    return [
        large_attempt(NODES, 100, seed=seed, start=seed * 125)
        if seed % 2
        else make_attempt(NODES, result="scheduled", evaluated_nodes=NODES)
        for seed in range(KINDS)
    ]


def pod_name(seq: int) -> str:
    """Two fifths of all attempts are of pods that stay pending."""
    return f"pod-{seq % PENDING if seq % 5 < 2 else seq:05}"


def duration(seq: int) -> int:
    return (seq * 7919) % 50_000


def _copy_attempts(cluster_id: int) -> None:
    """COPY whole lines: their values change in six places only, and writing each value would take most of a minute."""
    step = timedelta(hours=HOURS) / ATTEMPTS
    lines = [_line(cluster_id, made) for made in kinds()]
    columns = ", ".join(["cluster_id", *ATTEMPT_COLUMNS])
    with connection.cursor() as cursor, cursor.copy(f"COPY traces_attempt ({columns}) FROM STDIN") as copy:
        for seq in range(1, ATTEMPTS + 1):
            at = (NOW - timedelta(hours=HOURS) + step * seq).isoformat()
            copy.write(lines[seq % KINDS].format(seq=seq, name=pod_name(seq), at=at, duration=duration(seq)))


def _line(cluster_id: int, made: Attempt) -> str:
    """A line of COPY for an attempt, with {names} for what differs between copies of it."""
    told = summary.summarize(made).rejections
    refused = sorted({word for one in told for word in (one.plugin, one.reason)})
    rejections = [{"plugin": one.plugin, "reason": one.reason, "code": one.code, "count": one.count} for one in told]
    values: dict[str, Any] = {
        "seq": "{seq}", "rv": "{seq}", "config_version": 1, "run": 1, "step": "{seq}", "place": 0, "pod_uid": "{name}",
        "namespace": "shop", "name": "{name}", "attempt": 1, "profile": "default-scheduler", "result": "unschedulable",
        "node_name": "", "nominated_node_name": "\\N", "message": f"0/{NODES} nodes fit", "started_at": "{at}",
        "duration_us": "{duration}", "durations": _braces("{}"), "evaluated": NODES, "feasible": 0,
        "unschedulable_plugins": _braces("{}"), "rejections": _braces(bulk.json_text(rejections)),
        "refused": _braces("{" + ",".join(f'"{word}"' for word in refused) + "}"), "best": "[]",
        "preemption": "\\N", "tied": "\\N", "tried_first": "f", "devices": "\\N", "amounts": "\\N",
        "node_order": node_order(NODES).digest, "matrix": f"\\\\x{codec.encode(made).hex()}", "digest": "d",
        "repeat_count": 0, "last_seen_at": "{at}",
    }  # fmt: skip
    return "\t".join(str(value) for value in (cluster_id, *(values[column] for column in ATTEMPT_COLUMNS))) + "\n"


def _braces(text: str) -> str:
    """Text whose braces are no places to fill in."""
    return text.replace("{", "{{").replace("}", "}}")


def _pods(cluster_id: int) -> tuple[list[str], Iterator[tuple[Any, ...]]]:
    values: dict[str, Any] = {
        "namespace": "shop", "rv": 1, "node_name": "", "phase": "Pending", "priority": 0, "gated": False,
        "scheduler_name": "default-scheduler", "nominated_node_name": "", "requests": "{}",
        "manifest": packing.packed({}), "created_at": NOW, "condition_reason": "Unschedulable", "condition_message": "",
        "owner": "",
    }  # fmt: skip
    columns = ["cluster_id", "name", "uid", *values]
    names = (f"pod-{number:05}" for number in range(PENDING))
    return columns, ((cluster_id, name, name, *values.values()) for name in names)


def plan(sql: str, values: Any) -> str:
    """How PostgreSQL would answer, as text."""
    with connection.cursor() as cursor:
        cursor.execute("EXPLAIN " + sql, values)
        return "\n".join(line for (line,) in cursor)


def query_plan(query: QuerySet[Any]) -> str:
    return plan(*query.query.sql_with_params())


def refused_by_taints(node: str) -> list[bool]:
    """Of each kind of attempt, whether its whole matrix says so of the node."""
    return [
        any(row.node_name == node and row.status.plugin == "TaintToleration" for row in AttemptMatrix.of(made).rows())
        for made in kinds()
    ]


def test_who_was_refused_by_taints_on_a_node_in_the_last_hour(stored: Cluster) -> None:
    node = next(name for name in node_order(NODES).names if 0 < sum(refused_by_taints(name)) < KINDS // 2)
    told = refused_by_taints(node)
    last_hour = range(ATTEMPTS - ATTEMPTS // HOURS, ATTEMPTS + 1)
    expected = {pod_name(seq) for seq in last_hour if told[seq % KINDS]}
    wanted = AttemptFilter(plugin="TaintToleration", since=NOW - timedelta(hours=1))
    found: set[str] = set()
    before = None
    while True:
        answer = selectors.node_refusals(stored.pk, node, wanted, limit=ATTEMPTS, before=before)
        assert all(one.plugin == "TaintToleration" and one.reasons == list(TAINT.reasons) for one in answer.refusals)
        found |= {one.name for one in answer.refusals}
        before = answer.before
        if before is None:
            break
    assert found == expected


def test_a_question_that_would_take_too_long_says_where_to_go_on(stored: Cluster) -> None:
    ticks = iter([0.0] * 2001 + [1.0] * ATTEMPTS)
    node, wanted = node_order(NODES).names[0], AttemptFilter(plugin="NodeResourcesFit")
    answer = selectors.node_refusals(stored.pk, node, wanted, limit=ATTEMPTS, monotonic=lambda: next(ticks))
    assert answer.examined == 2000
    assert answer.before == ATTEMPTS - 2 * 2000  # every second attempt was refused somewhere
    rest = selectors.node_refusals(stored.pk, node, wanted, limit=10, before=answer.before, monotonic=lambda: 0.0)
    assert (rest.examined, rest.before) == (ATTEMPTS // 2 - 2000, None)


def test_last_hours_refusals_come_from_the_summary_index(stored: Cluster) -> None:
    wanted = AttemptFilter(plugin="TaintToleration", since=NOW - timedelta(hours=1))
    told = query_plan(questions.refused_attempts(stored.pk, wanted))
    assert "attempt_by_time" in told or "attempt_by_refusal" in told
    assert "Seq Scan" not in told


def test_refusals_for_a_rare_reason_come_from_the_summary_index(stored: Cluster) -> None:
    wanted = AttemptFilter(plugin="TaintToleration", reason="node(s) had untolerated taint {never: seen}")
    assert "attempt_by_refusal" in query_plan(questions.refused_attempts(stored.pk, wanted))
    assert selectors.node_refusals(stored.pk, "node-00001", wanted, limit=10).examined == 0


def test_top_reasons_for_pending_count_pods_by_their_last_attempt(stored: Cluster) -> None:
    summary = selectors.pending_summary(stored.pk)
    assert (summary.pods, len(summary.reasons)) == (PENDING, 2)
    last = {pod_name(seq): seq % KINDS for seq in range(1, ATTEMPTS + 1)}
    refused = sum(bool(kind % 2) for name, kind in last.items() if int(name[4:]) < PENDING)
    assert {reason.plugin: reason.pods for reason in summary.reasons} == {
        "NodeResourcesFit": refused,
        "TaintToleration": refused,
    }
    values = pending.pending_values(stored.pk, ["default-scheduler"])
    told = plan(pending.PENDING_REASONS, [*values, pending.EXAMPLES, 50])
    assert "attempt_by_pod" in told and "Seq Scan on traces_attempt" not in told
    reason = TAINT.reasons[0]
    pods = selectors.pending_pods(stored.pk, plugin="TaintToleration", reason=reason, limit=10_000)
    assert len(pods) == refused and all(pod.nodes for pod in pods)


def test_slowest_cycles_come_from_their_index(stored: Cluster) -> None:
    slowest = list(selectors.slowest_attempts(stored.pk, AttemptFilter())[:20])
    durations = sorted((duration(seq) for seq in range(1, ATTEMPTS + 1)), reverse=True)[:20]
    assert [attempt.duration_us for attempt in slowest] == durations
    told = query_plan(selectors.slowest_attempts(stored.pk, AttemptFilter())[:20])
    assert "attempt_by_duration" in told and "Sort" not in told


def test_questions_are_one_request_each(stored: Cluster) -> None:
    client = logged_in()
    answers = [client.get(path, asked) for path, asked in asked_of(stored)]
    assert [answer.status_code for answer in answers] == [200] * 4
    assert len(answers[2].json()) == 5
    listed = answers[3].json()["results"]
    assert len(listed) == 50
    assert all("TaintToleration" in {rejection["plugin"] for rejection in one["rejections"]} for one in listed)


def asked_of(cluster: Cluster) -> list[tuple[str, dict[str, Any]]]:
    """Path and query of each question."""
    url = f"/api/clusters/{cluster.pk}"
    since = (NOW - timedelta(hours=1)).isoformat()
    return [
        (f"{url}/refusals", {"plugin": "TaintToleration", "node": "node-00003", "since": since}),
        (f"{url}/pending", {}),
        (f"{url}/slowest", {"limit": 5}),
        (f"{url}/attempts", {"plugin": "TaintToleration", "limit": 50}),
    ]


@pytest.mark.slow
def test_each_question_is_answered_within_a_second(stored: Cluster) -> None:
    client = logged_in()
    for path, asked in asked_of(stored):
        took = []
        for _ in range(TRIES):
            started = time.perf_counter()
            client.get(path, asked)
            took.append(time.perf_counter() - started)
        assert min(took) < SECONDS, path
