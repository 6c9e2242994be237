"""File 004, where pods may go and where they go best: one test per row of its coverage."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler_core import config
from scheduler_core.errors import ConfigError
from scheduler_core.ports import SeededDraws
from tests.builders import make, make_node, make_pod
from tests.cases import cases
from tests.core.admission.context import create
from tests.core.scheduler.harness import start
from tests.coverage.placement import HEAD, configured, node_of, zones

ZONE, HOSTNAME = "topology.kubernetes.io/zone", "kubernetes.io/hostname"


NO_AFFINITY = "node(s) didn't match Pod's node affinity/selector"


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
    with pytest.raises(ConfigError, match='no kind "Policy" is registered for version'):
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


@cases(
    "fields, found",
    ("own namespace only", {}, False),
    ("by name", {"namespaces": ["data"]}, True),
    ("by labels", {"namespaceSelector": {"matchLabels": {"team": "x"}}}, True),
    ("other labels", {"namespaceSelector": {"matchLabels": {"team": "y"}}}, False),
    ("all", {"namespaceSelector": {}}, True),
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
