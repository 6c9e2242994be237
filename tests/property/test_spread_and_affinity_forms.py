"""Spreading and inter-pod affinity say the same of nodes and of rows, on random clusters whose pods know each other.

Compared are PreFilter, Filter, what-if changes, PreScore, Score and Normalize; a state made in one form is also asked
in the other, as happens where nominated pods are put on a node.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler_core.api.meta import KubeObject
from scheduler_core.api.pod import Pod
from scheduler_core.config.types import InterPodAffinityArgs, PodTopologySpreadArgs
from scheduler_core.framework.answers import ALL_ROWS
from scheduler_core.framework.cycle_state import CycleState
from scheduler_core.model.node_info import NodeInfo
from scheduler_core.model.status import SUCCESS, Status
from scheduler_core.model.types import PodInfo
from scheduler_core.plugins.pod_topology_spread.constraints import SYSTEM_DEFAULTS
from scheduler_core.table.node_table import NodeTable
from tests.builders import NodeBuilder, PodBuilder, make, make_node, make_pod
from tests.core.plugins.support import make_plugin

HOSTNAME, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
PLUGINS: list[tuple[str, Any]] = [
    ("PodTopologySpread", None),
    ("PodTopologySpread", PodTopologySpreadArgs(SYSTEM_DEFAULTS, "List")),
    ("InterPodAffinity", None),
    ("InterPodAffinity", InterPodAffinityArgs(hard_pod_affinity_weight=0)),
    ("InterPodAffinity", InterPodAffinityArgs(50, ignore_preferred_terms_of_existing_pods=True)),
]
OBJECTS: list[KubeObject] = [
    make("Namespace", "default", metadata={"labels": {"team": "a"}}),
    make("Namespace", "other", metadata={"labels": {"team": "b"}}),
    make("Service", "s", spec={"selector": {"app": "web"}}),
]

KEYS, APPS, NAMESPACES = (HOSTNAME, ZONE, ZONE, "rack"), ("web", "web", "db"), ("default", "default", "other")


def _selector(random: Random) -> dict[str, Any] | None:
    """Absent, empty, by exclusion, and mostly by app."""
    kind = random.randrange(7)
    if kind == 0:
        return None
    if kind == 1:
        return {}
    if kind == 2:
        return {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": [random.choice(APPS)]}]}
    return {"matchLabels": {"app": random.choice(APPS)}}


def _affinity(random: Random) -> dict[str, Any]:
    affinity: dict[str, Any] = {}
    for _ in range(random.choice((0, 1, 1, 2, 3))):
        term: dict[str, Any] = {"topologyKey": random.choice(KEYS)}
        selector, of_namespaces = _selector(random), random.randrange(6)
        if selector is not None:
            term["labelSelector"] = selector
        if of_namespaces in (0, 1):
            term["namespaces"] = [random.choice(NAMESPACES)]
        if of_namespaces in (1, 2):
            team = {"key": "team", "operator": random.choice(("In", "NotIn")), "values": ["a"]}
            term["namespaceSelector"] = random.choice(({}, {"matchExpressions": [team]}))
        rules = affinity.setdefault(random.choice(("podAffinity", "podAntiAffinity")), {})
        if random.random() < 0.5:
            rules.setdefault("requiredDuringSchedulingIgnoredDuringExecution", []).append(term)
        else:
            weighted = {"weight": random.randint(1, 100), "podAffinityTerm": term}
            rules.setdefault("preferredDuringSchedulingIgnoredDuringExecution", []).append(weighted)
    return affinity


def random_pod(random: Random, name: str) -> PodBuilder:
    pod = make_pod(name, namespace=random.choice(NAMESPACES))
    if random.random() < 0.9:
        pod.label(app=random.choice(APPS))
    if random.random() < 0.1:
        pod.deleted()
    if random.random() < 0.4:
        pod.spec(affinity=_affinity(random))
    return pod


def incoming_pod(random: Random) -> Pod:
    pod = make_pod("incoming", namespace=random.choice(NAMESPACES)).label(app=random.choice(APPS))
    if random.random() < 0.7:
        pod.spec(affinity=_affinity(random))
    for _ in range(random.choice((0, 1, 1, 2, 3))):
        fields: dict[str, Any] = {}
        selector = _selector(random)
        if selector is not None:
            fields["labelSelector"] = selector
        for field in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
            if random.random() < 0.5:
                fields[field] = random.choice(("Honor", "Ignore"))
        if random.random() < 0.3:
            fields["minDomains"] = random.randint(1, 3)
        if random.random() < 0.3:
            fields["matchLabelKeys"] = ["app"]
        when = random.choice(("DoNotSchedule", "ScheduleAnyway"))
        pod.spread(random.choice(KEYS), None, max_skew=random.randint(1, 3), when=when, **fields)
    if random.random() < 0.3:
        pod.node_selector({ZONE: random.choice(("a", "b"))})
    if random.random() < 0.3:
        pod.toleration("k", operator="Exists")
    return pod.build()


def random_node(random: Random, name: str) -> NodeInfo:
    node: NodeBuilder = make_node(name)
    if random.random() < 0.9:
        node.zone(random.choice(("a", "a", "b", "c", "")))
    if random.random() < 0.5:
        node.label(rack=random.choice(("r", "s")))
    if random.random() < 0.3:
        node.taint("k")
    info = NodeInfo(next_generation=lambda: 0)
    info.set_node(node.build())
    for number in range(random.randrange(4)):
        info.add_pod(PodInfo.of(random_pod(random, f"{name}-{number}").build()))
    return info


@dataclass
class Cluster:
    table: NodeTable
    infos: list[NodeInfo]


def _cluster(random: Random) -> Cluster:
    """Nodes written, changed and removed in any order: rows and slots are reused."""
    table, current = NodeTable(), dict[str, NodeInfo]()
    for _ in range(random.randint(1, 12)):
        name = f"n{random.randrange(7)}"
        if name in current and random.random() < 0.4:
            table.remove(name)
            del current[name]
        else:
            current[name] = random_node(random, name)
            table.upsert(current[name])
        table.label(ZONE)
    return Cluster(table, list(current.values()))


def _by_rows(plugin: Any, state: CycleState, pod: Pod, cluster: Cluster) -> list[Status]:
    verdicts = plugin.filter_nodes(state, pod, cluster.table, ALL_ROWS)
    if verdicts is None:
        return [SUCCESS] * len(cluster.infos)
    codes = [int(verdicts.codes[cluster.table.row_of[info.name]]) for info in cluster.infos]
    return [verdicts.statuses[code - 1] if code else SUCCESS for code in codes]


def _by_nodes(plugin: Any, state: CycleState, pod: Pod, cluster: Cluster) -> list[Status]:
    return [plugin.filter(state, pod, info) for info in cluster.infos]


def _check_filter(plugin: Any, cluster: Cluster, pod: Pod, changes: list[tuple[int, PodInfo, bool]]) -> None:
    nodes, rows = CycleState(), CycleState()
    answer = plugin.pre_filter(nodes, pod, cluster.infos)
    assert answer == plugin.pre_filter_table(rows, pod, cluster.table)
    if not answer[1].is_success:
        return
    want = _by_nodes(plugin, nodes, pod, cluster)
    assert _by_nodes(plugin, rows, pod, cluster) == want
    assert _by_rows(plugin, rows, pod, cluster) == want
    assert _by_rows(plugin, nodes, pod, cluster) == want

    changed_nodes, changed_rows = nodes.clone(), rows.clone()
    for index, other, comes in changes:
        info = cluster.infos[index % len(cluster.infos)]
        for state in (changed_nodes, changed_rows):
            if comes:
                plugin.add_pod(state, pod, other, info)
            elif info.pods:
                plugin.remove_pod(state, pod, info.pods[0], info)
    after = _by_nodes(plugin, changed_nodes, pod, cluster)
    assert _by_nodes(plugin, changed_rows, pod, cluster) == after
    assert _by_rows(plugin, changed_rows, pod, cluster) == after
    assert _by_rows(plugin, rows, pod, cluster) == want, "a clone is a state of its own"


def _check_score(plugin: Any, cluster: Cluster, pod: Pod, feasible: list[NodeInfo]) -> None:
    nodes, rows = CycleState(), CycleState()
    places = np.array([cluster.table.row_of[info.name] for info in feasible], dtype=np.int32)
    status = plugin.pre_score(nodes, pod, feasible)
    assert plugin.pre_score_table(rows, pod, cluster.table, places) == status
    if not status.is_success:
        return
    want = [plugin.score(nodes, pod, info) for info in feasible]
    assert [plugin.score(rows, pod, info) for info in feasible] == want
    normalized = []
    for state in (nodes, rows):
        scores = plugin.score_nodes(state, pod, cluster.table, places)
        assert scores.dtype == np.int64
        assert [(score, SUCCESS) for score in scores.tolist()] == want
        assert plugin.normalize_scores(state, pod, scores).is_success
        normalized.append(scores.tolist())
    assert normalized[0] == normalized[1]
    assert all(0 <= score <= 100 for score in normalized[0])


@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_both_forms_agree(seed: int) -> None:
    random = Random(seed)
    cluster, pod = _cluster(random), incoming_pod(random)
    if not cluster.infos:
        return
    changes = [
        (random.randrange(7), PodInfo.of(random_pod(random, f"come-{index}").build()), random.random() < 0.5)
        for index in range(random.randrange(4))
    ]
    feasible = random.sample(cluster.infos, random.randint(1, len(cluster.infos)))
    for name, args in PLUGINS:
        plugin = make_plugin(name, args, cluster.infos, OBJECTS)
        _check_filter(plugin, cluster, pod, changes)
        _check_score(plugin, cluster, pod, feasible)
