"""What REST tells of a pod's way: queues with event and hint, attempts, the cache, bindings, preemption, downloads."""

from __future__ import annotations

import csv
import io
from datetime import timedelta
from typing import Any

import orjson
import pytest
from django.contrib.auth.models import User
from django.core.handlers.asgi import ASGIRequest
from django.utils import timezone
from rest_framework.request import Request

from kschedweb import views
from kschedweb.cluster.models import Cluster, Event
from kschedweb.cluster.services import pod_delete
from kschedweb.rest import exports
from kschedweb.scheduling import services
from kschedweb.traces.models import Attempt, EngineLog
from tests.builders import make_manifest, make_node, make_pod
from tests.web.rest import get, logged_in
from tests.web.scheduling.conftest import bind_untold, lead, put, scheduled, settle

pytestmark = pytest.mark.django_db(transaction=True)


def node(name: str, cpu: str = "4") -> dict[str, Any]:
    return make_node(name).capacity(cpu=cpu).manifest()


def pod(name: str, cpu: str = "1") -> dict[str, Any]:
    return make_pod(name).req(cpu=cpu, memory="1Gi").manifest()


def history(cluster: Cluster, name: str) -> list[tuple[str, str]]:
    entries = get(cluster, f"pods/default/{name}/history")["entries"]
    return [(entry["kind"], entry["what"]) for entry in entries]


def test_history_follows_a_pod_from_the_queue_to_its_node(cluster: Cluster) -> None:
    scheduled(cluster, node("n1"), pod("a"))
    told = history(cluster, "a")
    assert told[:3] == [("queue", "active"), ("attempt", "scheduled"), ("cache", "assumed")]
    assert set(told[3:]) == {
        ("binding", "done"), ("cache", "confirmed"), ("cache", "finished"), ("event", "Scheduled"),
    }  # fmt: skip


def test_history_names_the_event_and_the_hint_that_moved_a_pod(cluster: Cluster) -> None:
    host = scheduled(cluster, node("n1", cpu="2"), pod("big", cpu="16"))
    put(cluster, node("n2", cpu="32"))
    settle(host)
    entries = get(cluster, "pods/default/big/history")["entries"]
    refused = next(one for one in entries if one["what"] == "unschedulable" and one["kind"] == "queue")
    assert refused["plugins"] == ["NodeResourcesFit"]
    moved = next(one for one in entries if one["hint"])
    assert (moved["hint"], moved["event"]) == ("NodeResourcesFit", "NodeAdd")
    assert [one["attempts"] for one in entries if one["kind"] == "attempt"] == [1, 2]


def test_history_says_why_a_binding_failed(cluster: Cluster) -> None:
    put(cluster, node("n1"), pod("a"))
    host = lead(cluster)
    host.step()
    bind_untold(cluster, "a", "elsewhere")
    services.bindings_carry_out(cluster_id=cluster.pk)
    host.step()
    entries = get(cluster, "pods/default/a/history")["entries"]
    refused = next(one for one in entries if one["kind"] == "binding")
    reason = 'Operation cannot be fulfilled on pods/binding "a": pod a is already assigned to node "elsewhere"'
    assert (refused["what"], refused["node"], refused["message"]) == ("refused", "n1", reason)
    forgotten = next(one for one in entries if one["what"] == "forgotten")
    assert reason in forgotten["message"]


def test_history_of_a_pod_nobody_tried_is_not_found(cluster: Cluster) -> None:
    assert logged_in().get(f"/api/clusters/{cluster.pk}/pods/default/nobody/history").status_code == 404


def test_number_time_and_duration_of_equal_attempts_are_those_of_the_last(cluster: Cluster) -> None:
    put(cluster, node("n1", cpu="2"), pod("big", cpu="16"))
    host = lead(cluster)
    for seconds in (0, 331, 662):  # what was refused is tried again after five minutes
        host.clock_us = lambda at=seconds: (1_790_000_000 + at) * 1_000_000  # type: ignore[misc]
        settle(host)
    *_, last = made = [one for one in get(cluster, "pods/default/big/history")["entries"] if one["kind"] == "attempt"]
    logged = EngineLog.objects.get(cluster=cluster, seq=last["seq"]).payload
    assert [one["attempts"] for one in made] == [1, 2, 3] and logged["repeats"] == made[0]["seq"]
    (told,) = get(cluster, "pods/default/big/attempts")["results"]
    assert (told["attempt"], told["started_at"], told["repeat_count"]) == (1, made[0]["at"], 2)
    assert (told["last_attempt"], told["last_seen_at"]) == (3, last["at"])
    assert told["last_duration_us"] == logged["duration_us"]
    of_number = [get(cluster, "pods/default/big/attempts", attempt=n)["results"] for n in range(5)]
    assert of_number == [[], [told], [told], [told], []]
    assert set(told["last_durations"]) == set(told["durations"])
    assert {(one["attempt_seq"], one["what"], one["message"]) for one in made} == {
        (told["seq"], told["result"], told["message"])
    }
    (refused,) = get(cluster, "refusals", node="n1")["refusals"]
    (pending,) = get(cluster, "pending/pods")["pods"]
    (live,) = get(cluster, "snapshot")["attempts"]
    assert {one["attempt"] for one in (refused, pending, live)} == {3}
    assert (live["duration_us"], live["seq"]) == (logged["duration_us"], told["seq"])


def test_last_of_equal_attempts_that_an_older_version_counted() -> None:
    once, again = Attempt(attempt=4, duration_us=9, durations={"filter": 9}), Attempt(attempt=4, repeat_count=2)
    assert (once.last_attempt, once.last_duration_us, once.last_durations) == (4, 9, {"filter": 9})
    assert (again.last_attempt, again.last_duration_us, again.last_durations) == (6, None, {})


@pytest.fixture
def crowded(cluster: Cluster) -> Cluster:
    """A pod of high priority that finds room on one of two nodes only when others go."""
    high = make_pod("high").req(cpu="3").spec(priorityClassName="high").manifest()
    low = [make_pod(f"low-{n}").req(cpu="2").on(f"n{n}").phase("Running").manifest() for n in (1, 2)]
    scheduled(cluster, make_manifest("PriorityClass", "high", value=100), node("n1"), node("n2"), *low, high)
    return cluster


def test_preemptions_tell_what_decided_and_the_victims(crowded: Cluster) -> None:
    (told,) = get(crowded, "preemptions")["results"]
    assert (told["name"], told["nominated_node_name"]) == ("high", told["detail"]["node"])
    assert (told["last_attempt"], told["last_seen_at"]) == (told["attempt"], told["started_at"])
    assert (told["detail"]["potential"], told["detail"]["candidates"], told["detail"]["refused"]) == (2, 2, 0)
    assert told["detail"]["victims"] == told["preemption"]["victims"]
    assert told["detail"]["criterion"] == told["preemption"]["decided_by"]


def test_success_names_the_attempt_that_made_room(crowded: Cluster) -> None:
    (search,) = get(crowded, "preemptions")["results"]
    for victim in search["detail"]["victims"]:
        pod_delete(cluster_id=crowded.pk, namespace="default", name=victim.split("/")[1], actor="test", grace_seconds=0)
    scheduled(crowded, pod("other", cpu="500m"))
    placed, searched = get(crowded, "pods/default/high/attempts")["results"]
    assert (placed["node_name"], placed["tried_first"]) == (search["detail"]["node"], True)
    by = {"seq": searched["seq"], "attempt": searched["last_attempt"], "num_victims": 1}
    assert placed["nominated_by"] == by
    (alone,) = get(crowded, "pods/default/other/attempts")["results"]
    assert {(one["tried_first"], one["nominated_by"]) for one in (searched, alone)} == {(False, None)}
    every = get(crowded, "attempts")["results"] + get(crowded, "slowest") + [get(crowded, f"attempts/{placed['seq']}")]
    assert [one["nominated_by"] for one in every if one["seq"] == placed["seq"]] == [by] * 3
    # What came between has the last word.
    Attempt.objects.filter(seq=searched["seq"]).update(nominated_node_name="")
    (placed, _) = get(crowded, "pods/default/high/attempts")["results"]
    assert (placed["tried_first"], placed["nominated_by"]) == (True, None)


def test_search_for_victims_is_paged_by_node_beside_the_attempt(crowded: Cluster) -> None:
    stored = Attempt.objects.get(cluster=crowded)
    path = f"attempts/{stored.seq}/preemption"
    whole = get(crowded, path)
    told = [(one["node"], one["outcome"], one["victims"], one["num_pdb_violations"]) for one in whole["nodes"]]
    assert sorted(told) == [("n1", "candidate", ["default/low-1"], 0), ("n2", "candidate", ["default/low-2"], 0)]
    victims = stored.preemption["victims"]
    assert (whole["found"], whole["node"], whole["victims"]) == (2, stored.nominated_node_name, victims)
    second = get(crowded, path, offset=1, limit=1)
    assert (second["nodes"], second["found"]) == (whole["nodes"][1:], 2)
    assert get(crowded, path, outcome="refused")["found"] == 0
    assert [one["node"] for one in get(crowded, path, node="n2")["nodes"]] == ["n2"]
    assert logged_in().get(f"/api/clusters/{crowded.pk}/{path}?outcome=maybe").json()["extra"]["fields"].keys() == {
        "outcome"
    }


def test_attempt_with_a_page_of_its_matrix_does_not_list_all_nodes(cluster: Cluster) -> None:
    """300 nodes are full of pods of the same priority: each is tried for victims in vain."""
    names = [f"a-node-with-a-name-of-some-length-{number}" for number in range(300)]
    equal = make_pod("equal").req(cpu="2").spec(priorityClassName="high")
    there = [{**equal.on(name).phase("Running").manifest()} for name in names]
    for name, one in zip(names, there, strict=True):
        one["metadata"] = {**one["metadata"], "name": f"on-{name}", "uid": f"uid-{name}"}
    high = make_pod("high").req(cpu="3").spec(priorityClassName="high").manifest()
    objects = [make_manifest("PriorityClass", "high", value=100), *map(node, names), *there, high]
    scheduled(cluster, *objects)
    path = f"attempts/{Attempt.objects.get(cluster=cluster).seq}"
    told = logged_in().get(f"/api/clusters/{cluster.pk}/{path}", {"limit": 1})
    assert len(told.content) < 5000
    assert told.json()["preemption"]["tried"] == 300
    search = get(cluster, f"{path}/preemption", outcome="refused", limit=7)
    assert (len(search["nodes"]), search["found"], search["refused"]) == (7, 300, 300)
    assert search["nodes"][0]["status"]["reasons"]


def test_attempt_without_a_search_for_victims_has_none(cluster: Cluster) -> None:
    scheduled(cluster, node("n1"), pod("a"))
    seq = Attempt.objects.get(cluster=cluster).seq
    answer = logged_in().get(f"/api/clusters/{cluster.pk}/attempts/{seq}/preemption")
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


def test_attempt_says_how_many_nodes_tied_and_which(cluster: Cluster) -> None:
    scheduled(cluster, *(node(f"n{number}") for number in range(4)), node("small", cpu="2"), pod("a", cpu="1"))
    stored = Attempt.objects.get(cluster=cluster)
    (listed,) = get(cluster, "pods/default/a/attempts")["results"]
    assert listed["tied"] == stored.tied == 4
    path = f"attempts/{stored.seq}"
    matrix = get(cluster, path, tied=True)["matrix"]
    assert sorted(row["node"] for row in matrix["nodes"]) == ["n0", "n1", "n2", "n3"]
    assert {row["tied"] for row in matrix["nodes"]} == {True}
    assert [row["node"] for row in get(cluster, path, tied=False)["matrix"]["nodes"]] == ["small"]
    assert stored.node_name in {row["node"] for row in matrix["nodes"]}


def test_attempt_with_one_best_node_ties_with_nobody(cluster: Cluster) -> None:
    host = scheduled(cluster, node("large", cpu="64"), node("small", cpu="2"), pod("a", cpu="1"))
    assert Attempt.objects.get(cluster=cluster).tied == 1
    put(cluster, pod("too-big", cpu="128"))
    settle(host)
    assert Attempt.objects.get(cluster=cluster, name="too-big").tied is None


def test_attempt_says_where_it_stood_and_how_the_walk_went(crowded: Cluster) -> None:
    stored = Attempt.objects.get(cluster=crowded)
    told = get(crowded, f"attempts/{stored.seq}")
    assert (told["run"], told["config_version"], told["seed"], told["place"]) == (1, 1, crowded.seed, 0)
    assert told["rv"] > 0 and told["digest"] == bytes(stored.digest).hex()
    assert set(told["durations"]) >= {"pre_filter", "filter"}
    matrix = told["matrix"]
    assert (matrix["start_index"], matrix["end_index"], matrix["found"]) == (0, 0, 2)


def test_matrix_is_paged_sorted_and_filtered(cluster: Cluster) -> None:
    sizes = {f"n{number}": str(2 + 2 * number) for number in range(6)}
    tainted = make_node("locked").capacity(cpu="64").taint("dedicated", "x").manifest()
    scheduled(cluster, *(node(name, cpu) for name, cpu in sizes.items()), tainted, pod("a", cpu="3"))
    path = f"attempts/{Attempt.objects.get(cluster=cluster).seq}"

    def nodes(**query: Any) -> list[str]:
        return [row["node"] for row in get(cluster, path, **query)["matrix"]["nodes"]]

    whole = get(cluster, path)["matrix"]
    totals = {row["node"]: row["total"] for row in whole["nodes"]}
    by_total = sorted((name for name in totals if totals[name] is not None), key=lambda name: -totals[name])
    assert nodes(sort="total", descending=True)[: len(by_total)] == by_total
    assert nodes(feasible=False) == [name for name in totals if totals[name] is None]
    assert nodes(plugin="TaintToleration") == ["locked"]
    assert nodes(reason="Insufficient cpu") == ["n0"]
    assert nodes(node="n3") == ["n3"]
    assert nodes(sort="node", offset=2, limit=3) == sorted(totals)[2:5]
    fits = {row["node"]: row["scores"]["NodeResourcesFit"] for row in whole["nodes"] if row["feasible"]}
    assert nodes(sort="raw:NodeResourcesFit", feasible=True) == sorted(fits, key=lambda name: fits[name]["raw"])
    weights = {plugin["name"]: plugin["weight"] for plugin in whole["plugins"]}
    for row in whole["nodes"]:
        for plugin, score in row["scores"].items():
            assert score["weighted"] == score["normalized"] * weights[plugin] and 0 <= score["normalized"] <= 100
    assert logged_in().get(f"/api/clusters/{cluster.pk}/{path}?sort=height").status_code == 400


def test_events_are_filtered(crowded: Cluster) -> None:
    told = get(crowded, "events", reason="FailedScheduling")["results"]
    assert [(one["regarding_name"], one["type"]) for one in told] == [("high", "Warning")]
    assert get(crowded, "events", name="nobody")["results"] == []


EXPORTS = ("attempts", "preemptions", "events", "moves")


def exported(cluster: Cluster, file: str, **query: str) -> bytes:
    answer = logged_in().get(f"/api/clusters/{cluster.pk}/export/{file}", query)
    assert answer["Content-Type"].startswith("text/csv" if file.endswith(".csv") else "application/x-ndjson")
    return b"".join(answer.streaming_content)  # type: ignore[attr-defined]


def lines_of(cluster: Cluster, what: str, **query: str) -> list[Any]:
    return [orjson.loads(line) for line in exported(cluster, f"{what}.jsonl", **query).splitlines()]


def cells_of(cluster: Cluster, what: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(exported(cluster, f"{what}.csv").decode(), newline="")))


def test_export_has_one_line_for_each_row_in_both_forms(crowded: Cluster) -> None:
    for what in EXPORTS:
        rows, cells = lines_of(crowded, what), cells_of(crowded, what)
        assert rows and len(rows) == len(cells), what
        assert list(rows[0]) == list(cells[0]), what
        nested = next((name for name, value in rows[0].items() if isinstance(value, list | dict)), None)
        if nested is not None:
            assert orjson.loads(cells[0][nested]) == rows[0][nested], what


def test_export_goes_on_where_a_page_ended(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kschedweb.rest.exports.ROWS_AT_ONCE", 3)
    scheduled(cluster, node("n1", cpu="64"), *(pod(f"p{number}") for number in range(8)))
    sent = list(logged_in().get(f"/api/clusters/{cluster.pk}/export/attempts.jsonl").streaming_content)  # type: ignore[attr-defined]
    assert [chunk.count(b"\n") for chunk in sent] == [3, 3, 2]
    names = [orjson.loads(line)["name"] for line in b"".join(sent).splitlines()]
    assert sorted(names) == [f"p{number}" for number in range(8)]


def test_export_is_refused_when_there_is_none_of_the_kind_or_the_form(cluster: Cluster) -> None:
    for file in ("secrets.csv", "events.xml", "secrets.xml"):
        answer = logged_in().get(f"/api/clusters/{cluster.pk}/export/{file}")
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found"), file


def test_export_has_the_rows_of_the_span_that_is_asked_for(crowded: Cluster) -> None:
    before, after = ((timezone.now() + timedelta(hours=hours)).isoformat() for hours in (-1, 1))
    for what in EXPORTS:
        whole = lines_of(crowded, what)
        assert whole, what
        for within in ({"since": before, "until": after}, {"since": before}, {"until": after}):
            assert lines_of(crowded, what, **within) == whole, (what, within)
        assert lines_of(crowded, what, since=after) == lines_of(crowded, what, until=before) == [], what


def test_export_has_the_attempts_that_are_asked_for(crowded: Cluster) -> None:
    for what in ("attempts", "preemptions"):
        assert {row["name"] for row in lines_of(crowded, what, name="high")} == {"high"}, what
        assert lines_of(crowded, what, name="nobody") == [], what


def test_cell_of_a_table_is_never_a_formula(cluster: Cluster) -> None:
    notes = [f'{start}HYPERLINK("http://elsewhere")' for start in "=+-@\t\r\n"]
    now = timezone.now()
    about = {"regarding_kind": "Pod", "regarding_name": "p", "reporter": "scheduler", "type": "Normal", "reason": "R"}
    for note in notes:
        Event.objects.create(cluster=cluster, name="e", note=note, count=1, first_at=now, last_at=now, **about)
    cells = cells_of(cluster, "events")
    assert sorted(row["note"] for row in cells) == sorted(f"'{note}" for note in notes)
    assert {row["count"] for row in cells} == {"1"}
    assert sorted(row["note"] for row in lines_of(cluster, "events")) == sorted(notes)


def test_service_is_given_an_asynchronous_answer(crowded: Cluster) -> None:
    request = Request(ASGIRequest({"type": "http", "method": "GET", "path": "/", "query_string": b""}, io.BytesIO()))
    request.user = User(pk=1)
    answer = exports.ExportView().get(request, crowded.pk, "moves", "csv", views.AttemptQuery())
    assert answer.is_async
