"""The examples of the Kubernetes documentation on topology spread and inter-pod affinity, with the default profile.

Each cluster is the one drawn on the page, each pod as in its manifest.
"""

from __future__ import annotations

import pytest

from scheduler_core.api.node import Node
from scheduler_core.api.pod import Pod
from scheduler_core.model.effects import Attempt
from tests.builders import PodBuilder, make_node, make_pod
from tests.core.scheduler.harness import Cluster, start

HOSTNAME, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
FOO = {"foo": "bar"}
SKEW = "node(s) didn't match pod topology spread constraints"

both_forms = pytest.mark.parametrize("use_table", [pytest.param(True, id="table"), pytest.param(False, id="row")])


def cluster(use_table: bool, zones: dict[str, str], *pods: str) -> Cluster:
    """Nodes with their zones, and pods of foo=bar on the nodes named."""
    nodes: list[Node] = [make_node(name).zone(zone).build() for name, zone in zones.items()]
    bound: list[Pod] = [make_pod(f"p{i}").label(FOO).on(node).phase("Running").build() for i, node in enumerate(pods)]
    made = start(use_table=use_table)
    made.put(*nodes, *bound)
    return made


def mypod() -> PodBuilder:
    return make_pod("mypod").label(FOO).spread(ZONE, FOO)


def refusals(attempt: Attempt) -> dict[str, str]:
    """Reason by node, of the nodes refused."""
    rows, order = attempt.filter_rows, attempt.node_order
    assert rows is not None
    assert order is not None
    return {
        order.names[node]: rows.statuses[code - 1].message
        for node, code in zip(rows.nodes.tolist(), rows.codes.tolist(), strict=True)
        if code
    }


FOUR_NODES = {"node1": "zoneA", "node2": "zoneA", "node3": "zoneB", "node4": "zoneB"}


@both_forms
def test_one_constraint_keeps_the_pod_out_of_the_zone_it_would_make_three_to_one(use_table: bool) -> None:
    attempt = cluster(use_table, FOUR_NODES, "node1", "node2", "node3").attempt(mypod().build())
    assert attempt.node_name in ("node3", "node4")
    assert refusals(attempt) == {"node1": SKEW, "node2": SKEW}


@both_forms
def test_two_constraints_leave_only_the_empty_node_of_the_emptier_zone(use_table: bool) -> None:
    attempt = cluster(use_table, FOUR_NODES, "node1", "node2", "node3").attempt(mypod().spread(HOSTNAME, FOO).build())
    assert attempt.node_name == "node4"
    assert refusals(attempt) == {"node1": SKEW, "node2": SKEW, "node3": SKEW}


@both_forms
def test_constraints_that_conflict_leave_the_pod_pending(use_table: bool) -> None:
    """By zone only zone B will do, by node only node 2."""
    three_nodes = {"node1": "zoneA", "node2": "zoneA", "node3": "zoneB"}
    made = cluster(use_table, three_nodes, "node1", "node1", "node2", "node3", "node3")
    attempt = made.attempt(mypod().spread(HOSTNAME, FOO).build())
    assert attempt.result == "unschedulable"
    assert refusals(attempt) == dict.fromkeys(three_nodes, SKEW)
    assert f"0/3 nodes are available: 3 {SKEW}." in attempt.message


@both_forms
def test_conflict_is_gone_when_the_second_constraint_is_soft(use_table: bool) -> None:
    three_nodes = {"node1": "zoneA", "node2": "zoneA", "node3": "zoneB"}
    made = cluster(use_table, three_nodes, "node1", "node1", "node2", "node3", "node3")
    attempt = made.attempt(mypod().spread(HOSTNAME, FOO, when="ScheduleAnyway").build())
    assert attempt.node_name == "node3"


@both_forms
def test_a_zone_the_affinity_excludes_is_not_the_emptiest_domain(use_table: bool) -> None:
    """Zone C, empty, would keep everybody out of the others if it counted."""
    not_in_c = {"matchExpressions": [{"key": ZONE, "operator": "NotIn", "values": ["zoneC"]}]}
    made = cluster(use_table, FOUR_NODES | {"node5": "zoneC"}, "node1", "node2", "node3")
    attempt = made.attempt(mypod().required_node_affinity(not_in_c).build())
    assert attempt.node_name in ("node3", "node4")
    assert refusals(attempt) == {
        "node1": SKEW,
        "node2": SKEW,
        "node5": "node(s) didn't match Pod's node affinity/selector",
    }


@both_forms
def test_caches_and_web_servers_come_to_sit_one_of_each_on_a_node(use_table: bool) -> None:
    made = cluster(use_table, {"n1": "a", "n2": "b", "n3": "c"})
    store, web = {"app": "store"}, {"app": "web-store"}
    caches = [make_pod(f"redis-{i}").label(store).pod_affinity(HOSTNAME, store, anti=True) for i in range(3)]
    servers = [
        make_pod(f"web-{i}").label(web).pod_affinity(HOSTNAME, web, anti=True).pod_affinity(HOSTNAME, store)
        for i in range(3)
    ]
    placed: dict[str, list[str]] = {"redis": [], "web": []}
    for pod in (*caches, *servers):
        effects = made.step(pod.build())
        (attempt,) = effects.attempts
        placed[attempt.pod_key.split("/")[1].split("-")[0]].append(attempt.node_name)
        made.confirm(effects)
    assert sorted(placed["redis"]) == ["n1", "n2", "n3"]
    assert sorted(placed["web"]) == ["n1", "n2", "n3"]

    fourth = make_pod("web-3").label(web).pod_affinity(HOSTNAME, web, anti=True).pod_affinity(HOSTNAME, store)
    assert refusals(made.attempt(fourth.build())) == dict.fromkeys(
        ("n1", "n2", "n3"), "node(s) didn't match pod anti-affinity rules"
    )


@both_forms
def test_a_web_server_without_a_cache_anywhere_waits(use_table: bool) -> None:
    made = cluster(use_table, {"n1": "a", "n2": "b"})
    attempt = made.attempt(make_pod("web-0").label(app="web-store").pod_affinity(HOSTNAME, {"app": "store"}).build())
    assert attempt.result == "unschedulable"
    assert refusals(attempt) == dict.fromkeys(("n1", "n2"), "node(s) didn't match pod affinity rules")


@both_forms
def test_the_first_pod_of_a_group_that_wants_to_be_together_is_let_in(use_table: bool) -> None:
    made = cluster(use_table, {"n1": "a", "n2": "b"})
    effects = made.step(make_pod("g-0").label(app="g").pod_affinity(ZONE, {"app": "g"}).build())
    first = effects.attempts[0].node_name
    assert first
    made.confirm(effects)
    assert made.attempt(make_pod("g-1").label(app="g").pod_affinity(ZONE, {"app": "g"}).build()).node_name == first
