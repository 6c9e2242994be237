"""A rule says the same of a node and of a row: filters and scores of every plugin, on random clusters and pods."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from scheduler_core.api.affinity import NodeAffinity, NodeSelector, NodeSelectorTerm, PreferredSchedulingTerm
from scheduler_core.api.affinity import NodeSelectorRequirement as Requirement
from scheduler_core.api.pod import Pod
from scheduler_core.config.types import (
    NodeAffinityArgs,
    NodeResourcesBalancedAllocationArgs,
    NodeResourcesFitArgs,
    RequestedToCapacityRatioParam,
    ResourceSpec,
    ScoringStrategy,
    UtilizationShapePoint,
)
from scheduler_core.framework.answers import ALL_ROWS
from scheduler_core.framework.cycle_state import CycleState
from scheduler_core.framework.points import PreFilterPlugin, PreScorePlugin, ScoreExtensions
from scheduler_core.framework.table_forms import TableFilterPlugin, TableScorePlugin
from scheduler_core.model.node_info import ImageStateSummary, NodeInfo
from scheduler_core.model.status import SUCCESS, Code, Status
from scheduler_core.model.types import PodInfo
from scheduler_core.plugins.registry import IN_TREE
from scheduler_core.table.node_table import NodeTable
from tests.builders import NodeBuilder, PodBuilder, make_node, make_pod
from tests.examples import examples

GPU, DISK = "example.com/gpu", "example.org/disk"
IMAGES = ("app:1", "web:latest", "reg:5000/db:latest")
KEYS, VALUES = ("zone", "tier", "rank"), ("a", "b", "1", "7", "-3")
EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")

SCORED = (ResourceSpec("cpu", 3), ResourceSpec(GPU, 2), ResourceSpec("memory", 1), ResourceSpec("ephemeral-storage", 1))
SHAPE = RequestedToCapacityRatioParam(
    tuple(UtilizationShapePoint(*point) for point in ((0, 10), (40, 5), (70, 0), (100, 7)))
)
ADDED = NodeAffinity(
    NodeSelector((NodeSelectorTerm((Requirement("tier", "In", ("a", "b")),)),)),
    (PreferredSchedulingTerm(7, NodeSelectorTerm((Requirement("rank", "Gt", ("0",)),))),),
)


@dataclass
class FakeSnapshot:
    nodes: int

    def num_nodes(self) -> int:
        return self.nodes


@dataclass
class FakeHandle:
    snapshot: FakeSnapshot
    lister: object = None


@dataclass
class Cluster:
    table: NodeTable
    infos: list[NodeInfo]


# Every plugin with a table form, by what makes its arguments special.
PLUGINS: list[tuple[str, Any]] = [
    ("NodeUnschedulable", None),
    ("NodeName", None),
    ("TaintToleration", None),
    ("NodeAffinity", None),
    ("NodeAffinity", NodeAffinityArgs(ADDED)),
    ("NodePorts", None),
    ("NodeResourcesFit", None),
    (
        "NodeResourcesFit",
        NodeResourcesFitArgs((DISK,), ("example.com",), ScoringStrategy("MostAllocated", SCORED)),
    ),
    ("NodeResourcesFit", NodeResourcesFitArgs(scoring_strategy=ScoringStrategy("LeastAllocated", SCORED))),
    (
        "NodeResourcesFit",
        NodeResourcesFitArgs(scoring_strategy=ScoringStrategy("RequestedToCapacityRatio", SCORED, SHAPE)),
    ),
    ("NodeResourcesBalancedAllocation", None),
    (
        "NodeResourcesBalancedAllocation",
        NodeResourcesBalancedAllocationArgs(tuple(ResourceSpec(spec.name, 1) for spec in SCORED)),
    ),
    ("ImageLocality", None),
]

# They ask which pods are where: test_spread_and_affinity_forms.py has clusters for that.
COMPARED_ELSEWHERE = {
    *("PodTopologySpread", "InterPodAffinity"),  # test_spread_and_affinity_forms.py
    # tests/core/plugins asks each of their cases in both forms, and the recorded volumes are run in both.
    *("VolumeRestrictions", "NodeVolumeLimits", "VolumeBinding", "VolumeZone"),
    "DynamicResources",  # tests/core/plugins/dynamic_resources/test_forms.py
}

amounts = st.sampled_from(["0", "1", "100m", "1500m", "3", "7"])
sizes = st.sampled_from(["0", "1", "200Mi", "333333333", "1Gi", "900Ti", "8Gi"])


@st.composite
def requests(draw: st.DrawFn) -> dict[str, str]:
    found = {}
    for name, values in {
        "cpu": amounts,
        "memory": sizes,
        "ephemeral-storage": sizes,
        GPU: amounts,
        DISK: amounts,
    }.items():
        if draw(st.booleans()):
            value = draw(values)
            found[name] = value if name == "cpu" or not value.endswith("m") else "2"
    return found


@st.composite
def pods(draw: st.DrawFn, name: str) -> Pod:
    pod: PodBuilder = make_pod(name)
    for _ in range(draw(st.integers(1, 2))):
        pod.container(draw(requests()), image=draw(st.sampled_from([*IMAGES, "reg:5000/db", "web", "other"])))
    if draw(st.booleans()):
        pod.init_container(draw(requests()), sidecar=draw(st.booleans()), image=draw(st.sampled_from(IMAGES)))
    for port in draw(st.lists(st.sampled_from([80, 443, 53]), max_size=2, unique=True)):
        pod.host_port(
            port, protocol=draw(st.sampled_from(["TCP", "UDP"])), ip=draw(st.sampled_from(["", "10.0.0.1", "10.0.0.2"]))
        )
    if draw(st.booleans()):
        pod.pod_level(cpu=draw(amounts))
    if draw(st.booleans()):
        pod.overhead(memory="10Mi")
    for _ in range(draw(st.integers(0, 2))):
        pod.toleration(
            draw(st.sampled_from(["", "zone", "node.kubernetes.io/unschedulable"])),
            operator=draw(st.sampled_from(["Exists", "Equal", ""])),
            value=draw(st.sampled_from(["", "a"])),
            effect=draw(st.sampled_from(["", *EFFECTS])),
        )
    if draw(st.booleans()):
        pod.node_selector({draw(st.sampled_from(KEYS)): draw(st.sampled_from(VALUES))})
    for _ in range(draw(st.integers(0, 2))):
        pod.required_node_affinity(draw(terms()))
    for _ in range(draw(st.integers(0, 2))):
        pod.preferred_node_affinity(draw(st.integers(1, 100)), draw(terms()))
    if draw(st.integers(0, 4)) == 0:
        pod.on(draw(st.sampled_from(["n0", "n1", "gone"])))
    return pod.build()


@st.composite
def terms(draw: st.DrawFn) -> dict[str, Any]:
    term: dict[str, Any] = {}
    for _ in range(draw(st.integers(0, 2))):
        operator = draw(st.sampled_from(["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"]))
        values: list[str] = []
        if operator in ("In", "NotIn"):
            values = draw(st.lists(st.sampled_from(VALUES), min_size=1, max_size=3))
        elif operator in ("Gt", "Lt"):
            values = [draw(st.sampled_from(["0", "5", "-7"]))]
        expression = {"key": draw(st.sampled_from([*KEYS, "kubernetes.io/hostname"])), "operator": operator}
        term.setdefault("matchExpressions", []).append(expression | ({"values": values} if values else {}))
    if draw(st.integers(0, 3)) == 0:
        field = {
            "key": draw(st.sampled_from(["metadata.name", "metadata.namespace"])),
            "operator": draw(st.sampled_from(["In", "NotIn"])),
            "values": [draw(st.sampled_from(["n0", "n2", "gone", ""]))],
        }
        term["matchFields"] = [field]
    return term


@st.composite
def nodes(draw: st.DrawFn, name: str) -> NodeBuilder:
    node = make_node(name)
    node.capacity(draw(requests()) | {"pods": draw(st.sampled_from(["0", "1", "2", "9"]))})
    for missing in draw(st.lists(st.sampled_from(["cpu", "memory", "pods"]), max_size=1)):
        node.without(missing)
    for key in KEYS:
        if draw(st.booleans()):
            node.label({key: draw(st.sampled_from(VALUES))})
    for _ in range(draw(st.integers(0, 2))):
        node.taint(
            draw(st.sampled_from(["zone", "x"])), draw(st.sampled_from(["", "a"])), draw(st.sampled_from(EFFECTS))
        )
    if draw(st.integers(0, 3)) == 0:
        node.unschedulable()
    return node


@st.composite
def node_infos(draw: st.DrawFn, name: str) -> NodeInfo:
    info = NodeInfo(next_generation=lambda: 0)
    info.set_node(draw(nodes(name)).build())
    for number in range(draw(st.integers(0, 2))):
        info.add_pod(PodInfo.of(draw(pods(f"{name}-{number}"))))
    info.image_states = {
        image: ImageStateSummary(
            draw(st.sampled_from([1, 30_000_000, 314_572_800, 2**53 + 1])), draw(st.integers(1, 6))
        )
        for image in draw(st.lists(st.sampled_from(IMAGES), unique=True))
    }
    return info


@st.composite
def clusters(draw: st.DrawFn) -> Cluster:
    """Nodes written, changed and removed in any order: rows are reused, columns made before and after."""
    table = NodeTable()
    current: dict[str, NodeInfo] = {}
    if draw(st.booleans()):
        table.label("zone")
    for _ in range(draw(st.integers(1, 8))):
        name = f"n{draw(st.integers(0, 4))}"
        if name in current and draw(st.booleans()):
            table.remove(name)
            del current[name]
        else:
            current[name] = draw(node_infos(name))
            table.upsert(current[name])
        table.label("tier")
        table.image("app:1")
    return Cluster(table, list(current.values()))


def _told(status: Status) -> tuple[Code, tuple[str, ...]]:
    return status.code, status.reasons


def _check_filter(plugin: Any, cluster: Cluster, pod: Pod) -> None:
    state = CycleState()
    if isinstance(plugin, PreFilterPlugin):
        _, status = plugin.pre_filter(state, pod, cluster.infos)
        if status.is_skip:
            return
    verdicts = plugin.filter_nodes(state, pod, cluster.table, ALL_ROWS)
    for info in cluster.infos:
        row = cluster.table.row_of[info.name]
        code = int(verdicts.codes[row]) if verdicts is not None else 0
        by_row = verdicts.statuses[code - 1] if code else SUCCESS
        assert _told(by_row) == _told(plugin.filter(state, pod, info)), (plugin.name, info.name)
    every_other = np.arange(len(cluster.table), dtype=np.int32)[::2]
    some = plugin.filter_nodes(state, pod, cluster.table, every_other)
    for position, row in enumerate(every_other.tolist()):
        node_info = cluster.table.node_infos[row]
        code = int(some.codes[position]) if some is not None else 0
        by_row = some.statuses[code - 1] if code else SUCCESS
        assert node_info is None or _told(by_row) == _told(plugin.filter(state, pod, node_info)), plugin.name


def _check_score(plugin: Any, cluster: Cluster, pod: Pod, chosen: list[NodeInfo], with_pre_score: bool) -> None:
    state = CycleState()
    if with_pre_score and isinstance(plugin, PreScorePlugin) and not plugin.pre_score(state, pod, chosen).is_success:
        return
    rows = np.array([cluster.table.row_of[info.name] for info in chosen], dtype=np.int32)
    by_nodes = [plugin.score(state, pod, info) for info in chosen]
    by_rows = plugin.score_nodes(state, pod, cluster.table, rows)
    if by_rows is None:
        assert not any(status.is_success for _, status in by_nodes), plugin.name
        return
    assert all(status.is_success for _, status in by_nodes), plugin.name
    assert by_rows.dtype == np.int64
    assert by_rows.tolist() == [score for score, _ in by_nodes], plugin.name
    if isinstance(plugin, ScoreExtensions):
        assert plugin.normalize_scores(state, pod, by_rows).is_success
    assert all(0 <= score <= 100 for score in by_rows.tolist()), plugin.name


@examples(40)
@given(cluster=clusters(), pod=pods("pending"), random=st.randoms(use_true_random=False), with_pre_score=st.booleans())
def test_the_table_form_of_every_rule_equals_its_row_form(
    cluster: Cluster, pod: Pod, random: Random, with_pre_score: bool
) -> None:
    """`with_pre_score` off stands for a configuration that disables PreScore."""
    chosen = random.sample(cluster.infos, len(cluster.infos))
    before = (cluster.table.resources.allocatable.copy(), cluster.table.resources.requested.copy())
    for name, args in PLUGINS:
        plugin = IN_TREE[name](args, FakeHandle(FakeSnapshot(len(cluster.infos))))  # type: ignore[arg-type]
        if isinstance(plugin, TableFilterPlugin):
            _check_filter(plugin, cluster, pod)
        if isinstance(plugin, TableScorePlugin):
            _check_score(plugin, cluster, pod, chosen, with_pre_score)
    assert (cluster.table.resources.allocatable == before[0]).all(), "rules do not write into the table"
    assert (cluster.table.resources.requested == before[1]).all(), "rules do not write into the table"


def test_every_plugin_with_a_table_form_is_compared() -> None:
    forms = {
        name for name, plugin in IN_TREE.items() if hasattr(plugin, "filter_nodes") or hasattr(plugin, "score_nodes")
    }
    assert forms == {name for name, _ in PLUGINS} | COMPARED_ELSEWHERE
