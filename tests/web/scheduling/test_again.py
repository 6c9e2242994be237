"""An attempt made again is the stored one, and its values are those of the plugins in their node form."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kschedweb.cluster.models import Cluster
from kschedweb.scheduling.past import journal, moments
from kschedweb.scheduling.past.attempts import Again, attempt_again
from kschedweb.traces.models import Attempt
from scheduler_core.explain.again import Wanted
from scheduler_core.scheduler import checkpoint
from scheduler_core.trace import codec
from tests.builders import make_manifest, make_node, make_pod
from tests.web.rest import get, logged_in
from tests.web.scheduling.conftest import all_places, lead, put, scheduled, settle

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("patient_fence", "nothing_kept")]

ALL = Wanted(limit=10_000)


def made_again(row: Attempt) -> Again:
    made = attempt_again(cluster_id=row.cluster_id, seq=row.seq, wanted=ALL)
    assert made.difference is None, made.difference
    return made


def agrees(row: Attempt) -> str:
    """Compare every field that is stored as well; what kind of attempt it was."""
    made = made_again(row)
    assert made.attempt is not None
    assert (made.attempt.node_name, made.attempt.result, made.attempt.message) == (
        row.node_name, row.result, row.message,
    )  # fmt: skip
    seen = made.observation
    if seen is None:
        return "unseen"
    matrix = codec.decode(bytes(row.matrix or b""), journal.node_names(row.cluster_id, row.node_order))
    by_name = {node.name: node for node in seen.nodes}
    assert set(by_name) == set(matrix.node_names)
    looked_at = {each.node_name: each for each in matrix.rows()}
    assert {name for name, node in by_name.items() if node.looked_at} >= set(looked_at)
    for name, verdict in looked_at.items():
        assert by_name[name].status == verdict.status
    for node in seen.nodes:
        refused = [status for _, status in node.filters if not status.is_success]
        assert not node.filters or node.status.is_success == (not refused)
        assert not refused or refused[0] == node.status
    if seen.scores is not None:
        assert matrix.score_rows is not None
        np.testing.assert_array_equal(seen.scores.raw, matrix.score_rows.raw)
        np.testing.assert_array_equal(seen.scores.normalized, matrix.score_rows.normalized)
        np.testing.assert_array_equal(seen.scores.totals, matrix.score_rows.totals)
    search = matrix.post_filter.preemption if matrix.post_filter is not None else None
    if search is not None and search.chosen:
        chosen = by_name[search.chosen].trial
        assert chosen is not None and set(chosen.victims) == set(search.victims)
        return "preempting"
    return "unseen nodes" if len(looked_at) < len(by_name) else row.result


def crowded(cluster: Cluster) -> None:
    """A hundred and fifty nodes, of which not all are looked at; then pods that fit nowhere, and take others' place."""
    zone, web = "topology.kubernetes.io/zone", {"app": "web"}
    budget = {"minAvailable": 40, "selector": {"matchLabels": web}}
    nodes = [make_node(f"n{i:03}").zone(f"z{i % 3}").capacity(cpu=str(4 + i % 3), pods="20") for i in range(150)]
    put(cluster, make_manifest("PriorityClass", "high", value=100), *nodes)
    put(cluster, make_manifest("PodDisruptionBudget", "web", spec=budget))
    host = lead(cluster)
    waves = [
        [make_pod(f"w{i}").label(web).req(cpu="1").spread(zone, web, max_skew=2) for i in range(40)],
        [make_pod(f"a{i}").req(cpu="1").pod_affinity(zone, web, weight=10) for i in range(10)],
        [make_pod(f"f{i}").req(cpu="3") for i in range(260)],
        [make_pod(f"h{i}").req(cpu="3").spec(priorityClassName="high") for i in range(8)],
    ]
    for wave in waves:
        put(cluster, *wave)
        settle(host)


def test_nodes_never_looked_at_and_searches_for_victims(cluster: Cluster) -> None:
    crowded(cluster)
    rows = list(Attempt.objects.filter(cluster=cluster).order_by("seq"))
    kinds = {agrees(row) for row in rows[::20] + rows[-4:]}
    assert {"preempting", "unseen nodes"} <= kinds, kinds
    first = made_again(rows[0]).observation
    assert first is not None and (len(first.feasible), len(first.fitting), first.looked_at) == (100, 150, 101)
    assert first.scores is not None and first.all_scores is not None and first.all_scores.raw.shape[1] == 150
    rules = {each.rule: each for row in rows[39:60:10] if (seen := made_again(row).observation) for each in seen.counts}
    assert {"spread", "preferred"} <= set(rules)
    assert sum(rules["spread"].domains.values()) == 39 and rules["spread"].most is not None


def test_engine_that_is_kept_stays_as_it_was(cluster: Cluster) -> None:
    put(cluster, *(make_node(f"n{i}").capacity(cpu="4", pods="20") for i in range(5)))
    scheduled(cluster, *(make_pod(f"p{i}").req(cpu="1") for i in range(12)))
    row = Attempt.objects.filter(cluster=cluster).order_by("seq")[7]
    first = made_again(row)
    kept = moments._kept[cluster.pk].walker
    assert kept is not None and kept.engine is not None
    before = checkpoint.dump(kept.engine)
    second = made_again(row)
    assert moments._kept[cluster.pk].walker is kept and checkpoint.dump(kept.engine) == before
    assert first.attempt is not None and second.attempt is not None
    assert first.attempt.node_name == second.attempt.node_name == row.node_name


def test_what_was_changed_in_the_record_is_told(cluster: Cluster) -> None:
    put(cluster, *(make_node(f"n{i}").capacity(cpu="4", pods="20") for i in range(3)))
    scheduled(cluster, make_pod("p").req(cpu="1"))
    row = Attempt.objects.get(cluster=cluster)
    Attempt.objects.filter(pk=row.pk).update(node_name="elsewhere")
    answer = get(cluster, f"attempts/{row.seq}/again")
    assert answer["difference"]["field"] == "node_name"
    assert (answer["difference"]["recorded"], answer["difference"]["replayed"]) == ("elsewhere", row.node_name)
    assert answer["node_name"] == row.node_name and len(answer["nodes"]) == 3


def test_rest_tells_raw_scores_counts_trials_and_amounts(cluster: Cluster) -> None:
    crowded(cluster)

    def asked(row: Attempt, query: str = "") -> Any:
        return get(cluster, f"attempts/{row.seq}/again{query}")

    rows = Attempt.objects.filter(cluster=cluster)
    told = asked(rows.filter(name="w5").earliest("seq"))
    assert (told["difference"], told["nodes_total"], told["looked_at"], told["found"]) == (None, 150, 101, 150)
    assert len(told["nodes"]) == 50 and all(node["looked_at"] for node in told["nodes"])
    weights = {each["name"]: each["weight"] for each in told["plugins"]}
    for node in told["nodes"]:
        assert node["total"] == sum(score["weighted"] for score in node["scores"].values())
        assert all(each["weighted"] == each["normalized"] * weights[name] for name, each in node["scores"].items())
    (spread,) = (each for each in told["counts"] if each["rule"] == "spread")
    assert (sum(each["count"] for each in spread["domains"]), spread["found"]) == (5, 3)
    last = asked(rows.filter(name="w5").earliest("seq"), "?offset=149&limit=1")["nodes"]
    assert [(node["looked_at"], node["feasible"], node["total"]) for node in last] == [(False, False, None)]
    assert last[0]["scores_of_all"] and last[0]["total_of_all"] is not None
    chosen = rows.filter(preemption__isnull=False).exclude(nominated_node_name__in=["", None]).earliest("seq")
    there = asked(chosen, f"?nodes={chosen.nominated_node_name}")
    (node,) = there["nodes"]
    assert node["trial"]["outcome"] == "candidate" and node["trial"]["victims"] == (chosen.preemption or {})["victims"]
    assert node["status"]["plugin"] == "NodeResourcesFit"
    (cpu,) = node["amounts"]
    assert (cpu["kind"], cpu["asked"]) == ("resource", 3_000) and cpu["there"] < 3_000
    assert {each["plugin"]: each["status"] is None for each in node["filters"]}["NodeResourcesFit"] is False


def test_what_cannot_be_made_again_is_said(cluster: Cluster) -> None:
    put(cluster, *(make_node(f"n{i}").capacity(cpu="4", pods="20") for i in range(3)))
    scheduled(cluster, make_pod("p").req(cpu="1"))
    row = Attempt.objects.get(cluster=cluster)
    client, path = logged_in(), f"/api/clusters/{cluster.pk}/attempts/{row.seq}/again"

    def refused(query: str = "") -> tuple[int, str]:
        answer = client.get(path + query)
        return answer.status_code, answer.json()["message"]

    assert refused("?nodes=n9") == (422, "nodes: there was no node n9 at this attempt")
    assert refused("?nodes=,")[0] == refused("?limit=0")[0] == refused("?limit=501")[0] == 400
    assert client.get(path.replace(f"/{row.seq}/", "/999999/")).status_code == 404
    with all_places():
        assert refused()[0] == 429
    Cluster.objects.filter(pk=cluster.pk).update(is_mirror=True, lifecycle_mode="frozen")
    assert refused() == (409, "a mirror decides nothing: what its engine compares is not made again")
