"""Small workloads of our own in the form of the benchmarks': 120 nodes and pods, each from a few templates."""

from __future__ import annotations

from typing import Any

from tests.builders import PodBuilder, make_manifest, make_node, make_pod

Json = dict[str, Any]
ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
NODES, PODS = 120, 60


def workloads() -> dict[str, Json]:
    """By stem."""
    made = {
        "W1": [_pod(), _pod("1")],
        "W2": [_pod().label(app="web").spread(ZONE, {"app": "web"}), _pod().label(app="web")],
        "W3": [
            _pod().label(app="db").pod_affinity(HOST, {"app": "db"}, anti=True),
            _pod().label(app="near").pod_affinity(ZONE, {"app": "db"}, weight=50),
            _pod().label(app="soft").spread(HOST, {"app": "soft"}, when="ScheduleAnyway"),
        ],
        "W4": [_pod("6").priority(100), _pod("3").priority(10)],
        "W5": [
            _pod(),
            _pod("2").node_selector(disk="ssd"),
            _pod().toleration("team", operator="Exists"),
            _pod().preferred_node_affinity(
                30, {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["hdd"]}]}
            ),
            _pod().label(app="web").spread(ZONE, {"app": "web"}, max_skew=2),
            _pod("64"),
        ],
    }
    existing = {"W3": [(0, node) for node in range(0, NODES, 3)], "W4": [(1, node) for node in range(NODES)]}
    return {f"{name}_n{NODES}_p{PODS}": _file(name, pods, existing.get(name, [])) for name, pods in made.items()}


def _pod(cpu: str = "500m") -> PodBuilder:
    return make_pod("template").req(cpu=cpu, memory="256Mi").priority(0)


def _file(name: str, pods: list[PodBuilder], existing: list[tuple[int, int]]) -> Json:
    nodes = [
        make_node("template").capacity(cpu="8", memory="16Gi", pods="20").zone("a").label(disk="ssd"),
        make_node("template").capacity(cpu="4", memory="16Gi", pods="20").zone("b").label(disk="hdd"),
        make_node("template").capacity(cpu="8", memory="8Gi", pods="20").zone("c").taint("team"),
        make_node("template")
        .capacity(cpu="8", memory="32Gi", pods="20")
        .zone("a")
        .taint("slow", "", "PreferNoSchedule"),
    ]
    there = [
        make_pod("template").req(cpu="1").label(app="db").phase("Running"),
        make_pod("template").req(cpu="3").priority(1).phase("Running").started("2030-01-01T00:00:00Z"),
    ]
    return {
        "format": "schedbench/1",
        "workload": name,
        "namespaces": [make_manifest("Namespace", "default")],
        "nodeTemplates": [each.manifest() for each in nodes],
        "nodeTemplateOf": [number % len(nodes) for number in range(NODES)],
        "existingTemplates": [each.manifest() for each in there],
        "existing": existing,
        "podTemplates": [each.manifest() for each in pods],
        "podTemplateOf": [number % len(pods) for number in range(PODS)],
    }
