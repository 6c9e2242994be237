"""File 004, where pods may go and where they go best: one test per row of its coverage."""

# Longer than 400 lines because it has a test for each row of one document.

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from scheduler_core import config
from scheduler_core.errors import ConfigError
from scheduler_core.ports import SeededDraws
from tests.builders import PodBuilder, make, make_node, make_pod
from tests.core.admission.context import create
from tests.core.scheduler.harness import Cluster, configure, profile, start

ZONE, HOSTNAME = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
HEAD = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
SKEW = "node(s) didn't match pod topology spread constraints"
NO_AFFINITY = "node(s) didn't match Pod's node affinity/selector"


def zones(cluster: Cluster | None = None, **zone_of: str) -> Cluster:
    """A cluster with these nodes in their zones."""
    cluster = cluster or start()
    cluster.put(*(make_node(name).zone(zone).build() for name, zone in zone_of.items()))
    return cluster


def configured(*, use_table: bool = True, **fields: Any) -> Cluster:
    """A cluster whose scheduler runs a configuration as it is written in a file."""
    loaded = config.load({**HEAD, **fields})
    percentage = loaded.percentage_of_nodes_to_score
    return start(*loaded.profiles, percentage_of_nodes_to_score=percentage, use_table=use_table)


def node_of(cluster: Cluster, pod: PodBuilder) -> str:
    """Where the pod goes; the reasons when it goes nowhere."""
    built = pod.build()
    (attempt,) = [one for one in cluster.step(built).attempts if one.pod_uid == built.uid]
    return attempt.node_name or attempt.message.split(". ")[0].removesuffix(".").partition(": ")[2]


def test_004_scheduler_overview() -> None:
    """scheduler overview, feasible nodes, binding, random among best"""
    cluster = start(draws=SeededDraws(3))
    zones(cluster, n0="a", n1="a", n2="a")
    cluster.put(make_node("full").capacity(pods="0").build())
    effects = cluster.step(*(make_pod(f"p{number}", namespace=f"ns{number}").build() for number in range(9)))
    assert {one.node_name for one in effects.attempts} == {"n0", "n1", "n2"}
    assert [binding.node_name for binding in effects.bindings] == [one.node_name for one in effects.attempts]
    tied = effects.attempts[0].tied
    assert tied is not None and len(tied) == 3
    first = {node_of(zones(start(draws=SeededDraws(seed)), n0="a", n1="a", n2="a"), make_pod()) for seed in range(12)}
    assert first == {"n0", "n1", "n2"}


def test_004_policy_is_refused() -> None:
    """policy vs profiles (predicates/priorities names)"""
    policy = {"apiVersion": "v1", "kind": "Policy", "predicates": [{"name": "PodFitsResources"}]}
    with pytest.raises(ConfigError, match="couldn't decode as KubeSchedulerConfiguration, got"):
        config.load(policy)
    with pytest.raises(ConfigError, match="PodFitsResources"):
        start(
            *config.load(
                {**HEAD, "profiles": [{"plugins": {"filter": {"enabled": [{"name": "PodFitsResources"}]}}}]}
            ).profiles
        )


LABELLED = {"tier": "gold", "size": "7"}


@pytest.mark.parametrize(
    ("operator", "key", "values", "matches"),
    [
        ("In", "tier", ["gold", "silver"], True),
        ("In", "tier", ["silver"], False),
        ("In", "none", ["gold"], False),
        ("NotIn", "tier", ["silver"], True),
        ("NotIn", "tier", ["gold"], False),
        ("NotIn", "none", ["gold"], True),
        ("Exists", "tier", None, True),
        ("Exists", "none", None, False),
        ("DoesNotExist", "none", None, True),
        ("DoesNotExist", "tier", None, False),
        ("Gt", "size", ["6"], True),
        ("Gt", "size", ["7"], False),
        ("Gt", "tier", ["1"], False),
        ("Lt", "size", ["8"], True),
        ("Lt", "size", ["7"], False),
    ],
)
def test_004_node_affinity_operators(operator: str, key: str, values: list[str] | None, matches: bool) -> None:
    """nodeSelector, node affinity required/preferred, operators In…Lt, weights"""
    cluster = start()
    cluster.put(make_node("n").label(LABELLED).build())
    requirement = {"key": key, "operator": operator} | ({"values": values} if values else {})
    pod = make_pod().required_node_affinity({"matchExpressions": [requirement]})
    assert node_of(cluster, pod) == ("n" if matches else f"1 {NO_AFFINITY}")


def test_004_node_selector_and_preferred_weights() -> None:
    """nodeSelector, node affinity required/preferred, operators In…Lt, weights"""
    cluster = start()
    for name, labels in (("plain", {}), ("ssd", {"disk": "ssd"}), ("near", {"disk": "ssd", "near": "yes"})):
        cluster.put(make_node(name).label(labels).build())
    assert node_of(cluster, make_pod("a").node_selector(disk="tape")) == f"3 {NO_AFFINITY}"

    def prefers(key: str) -> dict[str, Any]:
        return {"matchExpressions": [{"key": key, "operator": "Exists"}]}

    pod = make_pod("b").preferred_node_affinity(1, prefers("disk")).preferred_node_affinity(50, prefers("near"))
    attempt = cluster.attempt(pod.build())
    assert attempt.score_rows is not None and attempt.node_order is not None and attempt.feasible is not None
    row = [name for name, _ in attempt.score_rows.plugins].index("NodeAffinity")
    order = [attempt.node_order.names[node] for node in attempt.feasible]
    assert dict(zip(order, attempt.score_rows.raw[row].tolist(), strict=True)) == {"plain": 0, "ssd": 1, "near": 51}
    assert attempt.node_name == "near"


@pytest.mark.parametrize("use_table", [True, False], ids=["table form", "node form"])
def test_004_added_affinity(use_table: bool) -> None:
    """addedAffinity per profile"""
    added = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
        {"matchExpressions": [{"key": "scheduler-profile", "operator": "In", "values": ["foo"]}]}
    ]}}  # fmt: skip
    args = [{"name": "NodeAffinity", "args": {"addedAffinity": added}}]
    cluster = configured(
        profiles=[{"schedulerName": "default-scheduler"}, {"schedulerName": "foo-scheduler", "pluginConfig": args}],
        use_table=use_table,
    )
    # Of a single node the node form is asked whatever was said.
    cluster.put(make_node("any").build(), make_node("other").build())
    assert node_of(cluster, make_pod("a")) in ("any", "other")
    want = "2 node(s) didn't match scheduler-enforced node affinity"
    assert node_of(cluster, make_pod("b").scheduler("foo-scheduler")) == want
    cluster.put(make_node("foo").label({"scheduler-profile": "foo"}).build())
    assert node_of(cluster, make_pod("c").scheduler("foo-scheduler")) == "foo"


def test_004_pod_affinity() -> None:
    """inter-pod affinity/anti-affinity, topologyKey rules, namespaces, namespaceSelector, self-affinity of first pod"""
    cluster = zones(a1="a", a2="a", b1="b")
    db = {"app": "db"}
    assert node_of(cluster, make_pod("first").label(db).pod_affinity("none", db)).startswith("3 ")  # no such key
    assert node_of(cluster, make_pod("stranger").pod_affinity(ZONE, db)) == "3 node(s) didn't match pod affinity rules"
    first = cluster.step(make_pod("group").label(db).node_selector({HOSTNAME: "b1"}).pod_affinity(ZONE, db).build())
    assert first.attempts[0].node_name == "b1"  # the first of its own group
    cluster.confirm(first)
    assert node_of(cluster, make_pod("near").pod_affinity(ZONE, db)) == "b1"
    assert node_of(
        cluster, make_pod("far").node_selector({HOSTNAME: "b1"}).pod_affinity(ZONE, db, anti=True)
    ).startswith("1 node(s) didn't match pod anti-affinity rules")


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        pytest.param({}, False, id="own namespace only"),
        pytest.param({"namespaces": ["data"]}, True, id="by name"),
        pytest.param({"namespaceSelector": {"matchLabels": {"team": "x"}}}, True, id="by labels"),
        pytest.param({"namespaceSelector": {"matchLabels": {"team": "y"}}}, False, id="other labels"),
        pytest.param({"namespaceSelector": {}}, True, id="all"),
    ],
)
def test_004_pod_affinity_namespaces(fields: dict[str, Any], found: bool) -> None:
    """inter-pod affinity/anti-affinity, topologyKey rules, namespaces, namespaceSelector, self-affinity of first pod"""
    cluster = zones(n="a")
    cluster.put(
        make("Namespace", "data", metadata={"labels": {"team": "x"}}),
        make("Namespace", "default"),
        make_pod("db", namespace="data").label(app="db").on("n").build(),
    )
    pod = make_pod("web").pod_affinity(HOSTNAME, {"app": "db"})
    term = pod._spec["affinity"]["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][0]
    term.update(fields)
    assert (node_of(cluster, pod) == "n") is found


def test_004_redis_and_web() -> None:
    """redis/web co-location example"""
    cluster = zones(n1="a", n2="b", n3="c", n4="d")
    cache, web = {"app": "store"}, {"app": "web-store"}
    placed: dict[str, set[str]] = {"redis": set(), "web": set()}
    for number in range(3):
        pod = make_pod(f"redis-{number}").label(cache).pod_affinity(HOSTNAME, cache, anti=True)
        placed["redis"].add(node_of(cluster, pod))
    for number in range(3):
        pod = make_pod(f"web-{number}").label(web).pod_affinity(HOSTNAME, web, anti=True).pod_affinity(HOSTNAME, cache)
        placed["web"].add(node_of(cluster, pod))
    # Three nodes hold a cache each, and the web servers go to these, though another node is empty.
    assert len(placed["redis"]) == 3 and placed["web"] == placed["redis"]
    (empty,) = {"n1", "n2", "n3", "n4"} - placed["redis"]
    another = make_pod("web-3").label(web).pod_affinity(HOSTNAME, web, anti=True).pod_affinity(HOSTNAME, cache)
    assert node_of(cluster, another) == (
        "1 node(s) didn't match pod affinity rules, 3 node(s) didn't match pod anti-affinity rules"
    )
    assert node_of(cluster, make_pod("redis-3").label(cache).pod_affinity(HOSTNAME, cache, anti=True)) == empty
    full = make_pod("redis-4").label(cache).pod_affinity(HOSTNAME, cache, anti=True)
    assert node_of(cluster, full) == "4 node(s) didn't match pod anti-affinity rules"


def test_004_pod_overhead() -> None:
    """pod overhead, RuntimeClass admission"""
    fixed = {"podFixed": {"cpu": "250m", "memory": "120Mi"}}
    kata = make("RuntimeClass", "kata-fc", handler="kata-fc", overhead=fixed)
    sizes = [({"cpu": "500m", "memory": "100Mi"}), ({"cpu": "1500m", "memory": "100Mi"})]
    pod = make_pod("test-pod", uid="").spec(runtimeClassName="kata-fc")
    for requests in sizes:
        pod.container(limits=requests, image="busybox")
    admitted = create(pod.manifest(), runtime_classes={"kata-fc": kata})
    assert admitted["spec"]["overhead"] == fixed["podFixed"]
    cluster = start()
    cluster.put(make_node("n").capacity(cpu="2250m", memory="320Mi").build())
    stored = make("Pod", "test-pod", spec=admitted["spec"], metadata=admitted["metadata"])
    assert cluster.attempt(stored).node_name == "n"
    requested = cluster.scheduler.engine.cache.items["n"].info.requested
    assert (requested.milli_cpu, requested.memory) == (2250, 335_544_320)
    assert node_of(cluster, make_pod("more").req(cpu="1m", memory="1")) == "1 Insufficient cpu, 1 Insufficient memory"


FOO = {"foo": "bar"}
FOUR = {"node1": "zoneA", "node2": "zoneA", "node3": "zoneB", "node4": "zoneB"}


@pytest.mark.parametrize(
    ("nodes", "taken", "pod", "want"),
    [
        pytest.param(FOUR, ("node1", "node2", "node3"), make_pod("p").spread(ZONE, FOO), "zoneB", id="[3,1] refused"),
        pytest.param(FOUR, ("node1", "node2", "node3"), make_pod("p").spread(ZONE, FOO).spread(HOSTNAME, FOO), "node4",
                     id="two constraints"),
        pytest.param({"node1": "zoneA", "node2": "zoneA", "node3": "zoneB"},
                     ("node1", "node1", "node2", "node3", "node3"),
                     make_pod("p").spread(ZONE, FOO).spread(HOSTNAME, FOO), f"3 {SKEW}", id="conflict"),
        pytest.param(FOUR | {"node5": "zoneC"}, ("node1", "node2", "node3"),
                     make_pod("p").spread(ZONE, FOO).required_node_affinity(
                         {"matchExpressions": [{"key": ZONE, "operator": "NotIn", "values": ["zoneC"]}]}),
                     "zoneB", id="zone C excluded by affinity"),
    ],
)  # fmt: skip
def test_004_topology_spread(nodes: dict[str, str], taken: tuple[str, ...], pod: PodBuilder, want: str) -> None:
    """topology spread: all fields, defaults, conflicts, implicit rules, cluster defaults, built-in defaults, List to
    disable
    """
    cluster = zones(**nodes)
    cluster.put(*(make_pod(f"t{i}").label(FOO).on(node).build() for i, node in enumerate(taken)))
    got = node_of(cluster, pod.label(FOO))
    assert nodes.get(got) == want if want.startswith("zone") else got == want


@pytest.mark.parametrize(
    ("args", "plugin_scores"),
    [
        pytest.param({"defaultingType": "List"}, False, id="List without any disables"),
        pytest.param({}, True, id="built-in defaults"),
        pytest.param(
            {"defaultingType": "List", "defaultConstraints": [
                {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "ScheduleAnyway"}]},
            True, id="cluster defaults",
        ),
    ],
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
