"""File 004, what taints of nodes do to running pods, and who may label nodes: one test per row of its coverage."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler_core.admission.optional import LIMIT_ANTI_AFFINITY
from scheduler_core.apiserver.answers import Outcome, Refused
from scheduler_core.apiserver.memory import MemoryStore
from scheduler_core.apiserver.requests import Create, ObjectKey, Patch
from scheduler_core.apiserver.server import ApiServer
from tests.builders import make_node, make_pod
from tests.core.controllers.nodes import START, Nodes

PREFIX = "node.kubernetes.io/"
NOT_READY, UNREACHABLE = f"{PREFIX}not-ready", f"{PREFIX}unreachable"
DAEMON = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "uid": "d", "controller": True}


def exists(key: str, seconds: int | None = None) -> dict[str, Any]:
    toleration = {"key": key, "operator": "Exists", "effect": "NoExecute"}
    return toleration if seconds is None else {**toleration, "tolerationSeconds": seconds}


def lost(nodes: Nodes) -> float:
    """Lose node a, and say when its NoExecute taint was added."""
    nodes.run(10)
    nodes.stop("a")
    nodes.run(66)
    return 65.0


def test_004_taint_based_eviction() -> None:
    """taint-based eviction, built-in taints"""
    nodes = Nodes("a", "b", "c")
    nodes.pod("default", "a")
    nodes.pod("patient", "a", [exists(UNREACHABLE, 6000)])
    nodes.pod("daemon", "a", [exists(NOT_READY), exists(UNREACHABLE)])
    since = lost(nodes)
    assert nodes.taints("a") == {"unreachable:NoSchedule", "unreachable:NoExecute"}
    nodes.run(since + 299.9)
    assert nodes.deleted_at("default") is None
    nodes.run(since + 7000)
    assert nodes.deleted_at("default") == since + 300
    assert nodes.deleted_at("patient") == since + 6000
    assert nodes.deleted_at("daemon") is None


def test_004_eviction_is_cancelled() -> None:
    """taint-based eviction, built-in taints"""
    nodes = Nodes("a", "b", "c")
    nodes.pod("p", "a")
    since = lost(nodes)
    nodes.run(since + 294)  # the pass that takes the taint away is the last before 300 s
    nodes.annotate("a", kubelet="running")
    nodes.run(since + 1000)
    assert nodes.deleted_at("p") is None
    assert nodes.events("TaintManagerEviction")[-1].endswith("Cancelling deletion of Pod default/p")


def test_004_no_execute_for_an_hour() -> None:
    """NoExecute, tolerationSeconds 3600"""
    nodes = Nodes("a", "b")
    tolerated = {"key": "key1", "operator": "Equal", "value": "value1", "effect": "NoExecute"}
    nodes.pod("hour", "a", [{**tolerated, "tolerationSeconds": 3600}])
    nodes.pod("ever", "a", [tolerated])
    nodes.pod("none", "a")
    nodes.run(10)
    nodes.taint("a", {"key": "key1", "value": "value1", "effect": "NoExecute"})
    nodes.run(5000)
    assert [nodes.deleted_at(name) for name in ("none", "hour", "ever")] == [10, 3610, None]


def test_004_default_tolerations() -> None:
    """default tolerations 300 s, DaemonSet tolerations"""
    nodes = Nodes("a")
    nodes.pod("p", "a")
    nodes.pod("own", "a", [exists(NOT_READY, 7)])
    given = {name: (nodes.get("Pod", name) or {})["spec"]["tolerations"] for name in ("p", "own")}
    assert given == {
        "p": [exists(NOT_READY, 300), exists(UNREACHABLE, 300)],
        "own": [exists(NOT_READY, 7), exists(UNREACHABLE, 300)],
    }
    template = {"metadata": {"labels": {"app": "d"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"selector": {"matchLabels": {"app": "d"}}, "template": template}
    metadata = {"name": "d", "namespace": "default"}
    nodes.ask(Create({"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": metadata, "spec": spec}))
    nodes.run(5)
    (daemon,) = (pod for pod in nodes.world.store.list("Pod") if pod["metadata"]["name"].startswith("d-"))
    tolerations = daemon["spec"]["tolerations"]
    assert tolerations[:2] == [exists(NOT_READY), exists(UNREACHABLE)]
    assert {one["key"].removeprefix(PREFIX) for one in tolerations[2:] if one["effect"] == "NoSchedule"} == {
        "disk-pressure",
        "memory-pressure",
        "pid-pressure",
        "unschedulable",
    }


@pytest.mark.parametrize(
    ("condition", "status", "key"),
    [
        ("Ready", "False", "not-ready"),
        ("Ready", "Unknown", "unreachable"),
        ("MemoryPressure", "True", "memory-pressure"),
        ("DiskPressure", "True", "disk-pressure"),
        ("PIDPressure", "True", "pid-pressure"),
        ("NetworkUnavailable", "True", "network-unavailable"),
    ],
)
def test_004_conditions_taint_nodes(condition: str, status: str, key: str) -> None:
    """taint nodes by condition, memory-pressure toleration"""
    nodes = Nodes("a", "b")
    nodes.run(1)
    nodes.condition("a", condition, status)
    nodes.run(1.1)
    assert nodes.taints("a") == {f"{key}:NoSchedule"}
    nodes.condition("a", condition, "True" if condition == "Ready" else "False")
    nodes.run(1.2)
    assert not nodes.taints("a")


def test_004_memory_pressure_toleration() -> None:
    """taint nodes by condition, memory-pressure toleration"""
    nodes = Nodes("a")
    nodes.condition("a", "MemoryPressure", "True")
    nodes.run(1)
    for name, requests in (("best-effort", {}), ("burstable", {"cpu": "1"})):
        manifest = make_pod(name).container(requests, image="i").manifest()
        nodes.ask(Create({**manifest, "metadata": {"name": name, "namespace": "default"}, "status": {}}))
    nodes.run(10)
    placed = {name: (nodes.get("Pod", name) or {})["spec"].get("nodeName") for name in ("best-effort", "burstable")}
    assert placed == {"best-effort": None, "burstable": "a"}


def test_004_node_restriction() -> None:
    """node labels, standard labels, NodeRestriction prefix"""
    store = MemoryStore()
    (made,) = ApiServer(store, lambda: "u").carry_out([Create(make_node("n1").manifest())], START)
    assert isinstance(made, Outcome)

    def labelled(label: str, node: str) -> bool:
        body = {"metadata": {"labels": {label: "x"}}}
        (answer,) = ApiServer(store, lambda: "v", node=node).carry_out(
            [Patch(ObjectKey("Node", "", "n1"), body)], START
        )
        return isinstance(answer, Outcome)

    restricted = "example.com.node-restriction.kubernetes.io/fips"
    assert not labelled(restricted, "n1")  # by its kubelet
    assert labelled(restricted, "")  # by an administrator
    for label in ("kubernetes.io/hostname", "topology.kubernetes.io/zone", "node.kubernetes.io/instance-type", "mine"):
        assert labelled(label, "n1")
        assert not labelled(label, "n2")


def test_004_limit_pod_hard_anti_affinity_topology() -> None:
    """LimitPodHardAntiAffinityTopology"""

    def answer(key: str, *plugins: str) -> Outcome | Refused:
        pod = make_pod("p").container(image="i").pod_affinity(key, {"a": "b"}, anti=True).manifest()
        (found,) = ApiServer(MemoryStore(), lambda: "u", plugins=frozenset(plugins)).carry_out([Create(pod)], START)
        return found

    refused = answer("topology.kubernetes.io/zone", LIMIT_ANTI_AFFINITY)
    assert isinstance(refused, Refused) and refused.status.code == 403
    assert "TopologyKey topology.kubernetes.io/zone but only key kubernetes.io/hostname" in refused.status.message
    assert isinstance(answer("kubernetes.io/hostname", LIMIT_ANTI_AFFINITY), Outcome)
    assert isinstance(answer("topology.kubernetes.io/zone"), Outcome)  # off by default
