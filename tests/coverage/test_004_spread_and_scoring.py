"""File 004, part one continued: topology spread, taints, how many nodes are scored, bin packing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kschedweb import environment
from tests.builders import PodBuilder, make, make_node, make_pod
from tests.cases import cases
from tests.core.admission.context import create
from tests.core.scheduler.harness import configure, profile, start
from tests.coverage.placement import configured, node_of, zones

SKEW = "node(s) didn't match pod topology spread constraints"


ZONE, HOSTNAME = "topology.kubernetes.io/zone", "kubernetes.io/hostname"

FOO = {"foo": "bar"}


FOUR = {"node1": "zoneA", "node2": "zoneA", "node3": "zoneB", "node4": "zoneB"}


@cases(
    "nodes, taken, pod, want",
    ("[3,1] refused", FOUR, ("node1", "node2", "node3"), make_pod("p").spread(ZONE, FOO), "zoneB"),
    ("two constraints", FOUR, ("node1", "node2", "node3"),
     make_pod("p").spread(ZONE, FOO).spread(HOSTNAME, FOO), "node4"),
    ("conflict", {"node1": "zoneA", "node2": "zoneA", "node3": "zoneB"},
     ("node1", "node1", "node2", "node3", "node3"),
     make_pod("p").spread(ZONE, FOO).spread(HOSTNAME, FOO), f"3 {SKEW}"),
    ("zone C excluded by affinity", FOUR | {"node5": "zoneC"}, ("node1", "node2", "node3"),
     make_pod("p").spread(ZONE, FOO).required_node_affinity(
         {"matchExpressions": [{"key": ZONE, "operator": "NotIn", "values": ["zoneC"]}]}),
     "zoneB"),
)  # fmt: skip
def test_004_topology_spread(nodes: dict[str, str], taken: tuple[str, ...], pod: PodBuilder, want: str) -> None:
    """topology spread: all fields, defaults, conflicts, implicit rules, cluster defaults, built-in defaults, List to
    disable
    """
    cluster = zones(**nodes)
    cluster.put(*(make_pod(f"t{i}").label(FOO).on(node).build() for i, node in enumerate(taken)))
    got = node_of(cluster, pod.label(FOO))
    assert nodes.get(got) == want if want.startswith("zone") else got == want


@cases(
    "args, plugin_scores",
    ("List without any disables", {"defaultingType": "List"}, False),
    ("built-in defaults", {}, True),
    ("cluster defaults", {"defaultingType": "List", "defaultConstraints": [
         {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "ScheduleAnyway"}]},
     True),
)  # fmt: skip
def test_004_topology_spread_defaults(args: dict[str, Any], plugin_scores: bool) -> None:
    """topology spread: all fields, defaults, conflicts, implicit rules, cluster defaults, built-in defaults, List to
    disable
    """
    cluster = configured(profiles=[{"pluginConfig": [{"name": "PodTopologySpread", "args": args}]}])
    zones(cluster, a="a", b="b")
    web = {"app": "web"}
    cluster.put(make("Service", "web", spec={"selector": web}), make_pod("old").label(web).on("a").build())
    attempt = cluster.attempt(make_pod("new").label(web).build())
    assert attempt.score_rows is not None
    assert ("PodTopologySpread" not in attempt.score_rows.skipped) is plugin_scores
    assert attempt.node_name == "b"


def test_004_limits_of_spread() -> None:
    """known limits of spread (no rebalancing, tainted nodes counted, zones unknown without nodes)"""
    cluster = zones(n1="a", n2="b")
    cluster.put(make_node("n3").zone("c").taint("k").build())
    cluster.put(make_pod("o1").label(FOO).on("n1").build(), make_pod("o2").label(FOO).on("n2").build())
    pod = make_pod("p").label(FOO).spread(ZONE, FOO)
    # The empty zone behind the taint counts, though the pod cannot go there.
    assert node_of(cluster, pod) == f"1 node(s) had untolerated taint {{k: }}, 2 {SKEW}"
    honours = make_pod("q").label(FOO).spread(ZONE, FOO, nodeTaintsPolicy="Honor")
    assert node_of(cluster, honours) in ("n1", "n2")
    # A zone without nodes is not known: its pods and its emptiness count for nothing.
    cluster.delete(make_node("n3").build())
    assert node_of(cluster, make_pod("r").label(FOO).spread(ZONE, FOO)) in ("n1", "n2")
    # And pods that have come to sit unevenly stay where they are.
    cluster.delete(make_pod("o1").on("n1").build())
    assert cluster.effects[-1].evictions == []
    guide = (environment.ROOT / "docs" / "known-limits.md").read_text()
    for told in ("Nothing is rebalanced", "Nodes with taints count", "A zone without nodes is not known"):
        assert told in guide


def test_004_taints_and_tolerations() -> None:
    """taints/tolerations: effects, matching, filter rule, key1/key2 example"""
    cluster = start()
    node = make_node("node1")
    tolerates = {"operator": "Equal", "value": "value1"}
    pod = make_pod("p").toleration("key1", effect="NoSchedule", **tolerates)
    pod.toleration("key1", effect="NoExecute", **tolerates)
    cluster.put(make_node("node1").build(), make_pod("there").on("node1").build())
    node.taint("key1", "value1").taint("key1", "value1", "NoExecute").taint("key2", "value2")
    cluster.put(node.build())
    assert node_of(cluster, pod) == "1 node(s) had untolerated taint {key2: value2}"
    assert cluster.scheduler.engine.cache.pod_count() == 1  # who is there stays
    assert node_of(cluster, make_pod("all").toleration(operator="Exists")) == "node1"
    soft = zones(start(), free="a")
    soft.put(make_node("soft").taint("k", effect="PreferNoSchedule").zone("a").build())
    assert node_of(soft, make_pod("a")) == "free"
    assert node_of(soft, make_pod("b").node_selector({HOSTNAME: "soft"})) == "soft"


def test_004_dedicated_nodes() -> None:
    """dedicated / special hardware use"""
    cluster = zones(common="a")
    cluster.put(make_node("gpu").taint("dedicated", "ml").label(dedicated="ml").build())
    assert node_of(cluster, make_pod("anyone")) == "common"
    ml = make_pod("ml").toleration("dedicated", value="ml", effect="NoSchedule").node_selector(dedicated="ml")
    assert node_of(cluster, ml) == "gpu"
    stranger = make_pod("stranger").node_selector(dedicated="ml")
    assert "1 node(s) had untolerated taint {dedicated: ml}" in node_of(cluster, stranger)


@pytest.mark.parametrize(
    ("condition", "status", "taint"),
    [
        ("Ready", "False", "not-ready"),
        ("Ready", "Unknown", "unreachable"),
        ("MemoryPressure", "True", "memory-pressure"),
        ("DiskPressure", "True", "disk-pressure"),
        ("PIDPressure", "True", "pid-pressure"),
        ("NetworkUnavailable", "True", "network-unavailable"),
    ],
)
def test_004_built_in_taints(condition: str, status: str, taint: str) -> None:
    """taint-based eviction, built-in taints"""
    admitted = create(make_node("n").condition(condition, status).manifest())
    cluster = start()
    cluster.put(make("Node", "n", spec=admitted["spec"], status=admitted["status"], metadata=admitted["metadata"]))
    assert node_of(cluster, make_pod()) == f"1 node(s) had untolerated taint {{node.kubernetes.io/{taint}: }}"


def test_004_default_tolerations() -> None:
    """default tolerations 300 s, DaemonSet tolerations"""
    admitted = create(make_pod("p", uid="").container(image="x").manifest())
    assert admitted["spec"]["tolerations"] == [
        {"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
        for key in ("not-ready", "unreachable")
    ]


def test_004_percentage_of_nodes_to_score() -> None:
    """performance tuning: percentageOfNodesToScore, formula, 5 % minimum"""
    cluster, nodes = configured(), 0
    for count, wanted in ((99, 99), (100, 100), (250, 120), (1000, 420), (5000, 500), (6000, 300)):
        cluster.put(*(make_node(f"n{number}").build() for number in range(nodes, count)))
        nodes = count
        attempt = cluster.attempt(make_pod(f"p{count}").build())
        assert attempt.feasible is not None
        assert (attempt.num_nodes_to_find, len(attempt.feasible)) == (wanted, wanted)


@pytest.mark.parametrize(("percentage", "wanted"), [(30, 150), (100, 500)])
def test_004_percentage_given(percentage: int, wanted: int) -> None:
    """performance tuning: percentageOfNodesToScore, formula, 5 % minimum"""
    cluster = configured(percentageOfNodesToScore=percentage)
    cluster.put(*(make_node(f"n{number}").build() for number in range(500)))
    assert cluster.attempt(make_pod().build()).num_nodes_to_find == wanted


def test_004_minimum_of_nodes_to_score() -> None:
    """hard-coded minimum (docs 50, now 100)"""
    cluster = configured(percentageOfNodesToScore=1)
    cluster.put(*(make_node(f"n{number}").build() for number in range(300)))
    assert cluster.attempt(make_pod().build()).num_nodes_to_find == 100


def test_004_round_robin() -> None:
    """round robin over nodes and zones"""
    cluster = zones(**{"1": "x", "2": "x", "3": "x", "4": "x", "5": "y", "6": "y"})
    attempt = cluster.attempt(make_pod().build())
    assert attempt.node_order is not None
    assert " ".join(attempt.node_order.names) == "1 5 2 6 3 4"

    cluster = start()
    cluster.put(*(make_node(f"n{number}").zone(f"z{number % 3}").build() for number in range(300)))
    starts = [cluster.attempt(make_pod(f"p{number}").build()).start_index for number in range(4)]
    assert starts == [0, 144, 288, 132]


def test_004_bin_packing() -> None:
    """bin packing MostAllocated, RequestedToCapacityRatio, shape, worked example"""
    weighted = [{"name": "intel.com/foo", "weight": 5}, {"name": "memory", "weight": 1}, {"name": "cpu", "weight": 3}]
    shape = [{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}]

    def scores(strategy: dict[str, Any]) -> dict[str, int]:
        args = [{"name": "NodeResourcesFit", "args": {"scoringStrategy": {"resources": weighted, **strategy}}}]
        cluster = configured(profiles=[{"pluginConfig": args}])
        for name, foo, used in (("node1", "4", ("1", "256Mi", "1")), ("node2", "8", ("2", "512Mi", "6"))):
            cluster.put(make_node(name).capacity({"intel.com/foo": foo}, cpu="8", memory="1Gi").build())
            busy = {"intel.com/foo": used[0], "memory": used[1], "cpu": used[2]}
            cluster.put(make_pod(f"busy-{name}").req(busy).on(name).build())
        attempt = cluster.attempt(make_pod().req({"intel.com/foo": "2", "memory": "256Mi", "cpu": "2"}).build())
        assert attempt.score_rows is not None
        row = [name for name, _ in attempt.score_rows.plugins].index("NodeResourcesFit")
        return dict(zip(("node1", "node2"), np.asarray(attempt.score_rows.raw[row]).tolist(), strict=True))

    # Node 1 is used to 75, 50 and 37 percent with the pod, node 2 to 50, 75 and 100.
    ratio = {"type": "RequestedToCapacityRatio", "requestedToCapacityRatio": {"shape": shape}}
    assert scores(ratio) == {"node1": 60, "node2": 69}
    assert scores({"type": "MostAllocated"}) == {"node1": 59, "node2": 69}
    assert scores({"type": "LeastAllocated"}) == {"node1": 40, "node2": 30}


def test_004_unknown_scheduler() -> None:
    """custom scheduler replacing the default one"""
    cluster = zones(n="a")
    effects = cluster.step(make_pod("theirs").scheduler("my-scheduler").build(), make_pod("ours").build())
    assert [attempt.pod_key for attempt in effects.attempts] == ["default/ours"]
    assert [patch.name for patch in effects.status_patches] == []
    assert cluster.scheduler.next_due(cluster.now) is None
    replaced = start(profile(default=True, name="my-scheduler"))
    zones(replaced, n="a")
    assert node_of(replaced, make_pod("theirs").scheduler("my-scheduler")) == "n"
    assert configure(profile(default=True)).profiles[0].scheduler_name == "default-scheduler"


def test_004_node_name_bypasses_the_scheduler() -> None:
    """nodeName direct assignment and limits"""
    cluster = start()
    cluster.put(make_node("small").capacity(cpu="1").build())
    effects = cluster.step(make_pod("direct").req(cpu="4").on("small").build())
    assert effects.attempts == [] and effects.bindings == []
    assert cluster.scheduler.engine.cache.items["small"].info.requested.milli_cpu == 4000  # counted, never asked
    assert node_of(cluster, make_pod("next").req(cpu="1")) == "1 Insufficient cpu"
