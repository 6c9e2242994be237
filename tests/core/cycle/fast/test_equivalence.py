"""What is cached for equivalent pods is not asked again: only rows that changed, and plugins that look further."""

from __future__ import annotations

import numpy as np
import pytest

from scheduler_core.api.pod import Pod
from scheduler_core.framework.answers import Int64Array, RowIndex, RowVerdicts
from scheduler_core.framework.cycle_state import CycleState
from scheduler_core.framework.reuse import DependsOn
from scheduler_core.model.node_info import NodeInfo
from scheduler_core.model.status import SUCCESS, Status
from scheduler_core.table.node_table import NodeTable, Rows
from tests.builders import make_node, make_pod
from tests.cases import cases
from tests.core.scheduler.harness import Told, ToldPlugins, profile, start

NODES = 30  # more than few: new rows are judged all at once


class NodeFormPlugin(Told):
    """Refuses no node and gives all the same score; `depends_on` is among its answers."""

    def depends_on(self, pod: Pod) -> DependsOn:
        level: DependsOn = self.answers["depends_on"]()
        return level

    def filter(self, state: CycleState, pod: Pod, node_info: NodeInfo) -> Status:
        return self.ask("filter", SUCCESS)  # type: ignore[no-any-return]

    def score(self, state: CycleState, pod: Pod, node_info: NodeInfo) -> tuple[int, Status]:
        return self.ask("score", (0, SUCCESS))  # type: ignore[no-any-return]


class BothFormsPlugin(NodeFormPlugin):
    """The plugin above with table forms."""

    def filter_nodes(self, state: CycleState, pod: Pod, table: NodeTable, rows: RowIndex) -> RowVerdicts | None:
        return self.ask("filter_nodes", None)  # type: ignore[no-any-return]

    def score_nodes(self, state: CycleState, pod: Pod, table: NodeTable, rows: Rows) -> Int64Array:
        return self.ask("score_nodes", np.zeros(len(rows), dtype=np.int64))  # type: ignore[no-any-return]


def asked_for_the_third_pod(plugin: type[Told], level: DependsOn, labels: dict[str, str] | None = None) -> list[str]:
    plugins = ToldPlugins().add("R", plugin, depends_on=lambda: level)
    cluster = start(profile("R"), plugins=plugins)
    cluster.put(*[make_node(f"n{number:02}").build() for number in range(NODES)])
    for number in range(2):  # the second of its kind begins what is cached
        cluster.attempt(make_pod(f"p{number}").label(labels).build())
    plugins.log.clear()
    assert cluster.attempt(make_pod("p2").label(labels).build()).result == "scheduled"
    return plugins.log


@cases(
    "level, want",
    ("the node object: it is the same", DependsOn.NODE_OBJECT, []),
    ("the row: that of the pod before changed", DependsOn.NODE_INFO, ["filter R", "score R"]),
    ("the cluster: all rows", DependsOn.CLUSTER, ["filter_nodes R", "score_nodes R"]),
)
def test_third_equivalent_pod_makes_a_plugin_judge_what_it_depends_on(level: DependsOn, want: list[str]) -> None:
    assert asked_for_the_third_pod(BothFormsPlugin, level) == want


@cases(
    "level, want",
    ("the node object: it is the same", DependsOn.NODE_OBJECT, []),
    ("the node: that of the pod before changed", DependsOn.NODE_INFO, ["filter R", "score R"]),
    ("the cluster: all nodes", DependsOn.CLUSTER, ["filter R"] * NODES + ["score R"] * NODES),
)
def test_plugin_without_a_table_form_is_cached_as_well(level: DependsOn, want: list[str]) -> None:
    assert asked_for_the_third_pod(NodeFormPlugin, level) == want


def test_pods_with_very_long_signatures_share_nothing() -> None:
    labels = {f"key{number}": "x" * 60 for number in range(600)}
    assert asked_for_the_third_pod(BothFormsPlugin, DependsOn.NODE_OBJECT, labels) == [
        "filter_nodes R",
        "score_nodes R",
    ]


def test_walk_that_begins_at_another_node_is_made_anew() -> None:
    cluster = start()
    cluster.put(*[make_node(f"n{number}").build() for number in range(3)])

    def walk_of(name: str, **fields: str) -> list[int]:
        pod = make_pod(name).req(cpu="64").priority(0)
        if fields:
            terms = [{"key": "metadata.name", "operator": "In", "values": [fields["only"]]}]
            pod = pod.required_node_affinity({"matchFields": terms})
        rows = cluster.attempt(pod.build()).filter_rows
        assert rows is not None
        return [int(node) for node in rows.nodes]

    assert [walk_of(f"big{number}") for number in range(3)] == [[0, 1, 2]] * 3
    walk_of("chosen", only="n0")  # one node was looked at: the next walk begins after it
    assert walk_of("big3") == [1, 2, 0]


@pytest.mark.parametrize("plugin", [NodeFormPlugin, BothFormsPlugin])
def test_plugin_that_depends_on_the_cluster_is_asked_though_no_node_changed(plugin: type[Told]) -> None:
    refused = Status.unschedulable("not now")
    plugins = ToldPlugins().add(
        "R",
        plugin,
        depends_on=lambda: DependsOn.CLUSTER,
        filter=lambda: refused,
        filter_nodes=lambda: RowVerdicts(np.ones(2, dtype=np.uint16), [refused]),
    )
    cluster = start(profile("R"), plugins=plugins)
    cluster.put(make_node("n1").build(), make_node("n2").build())
    for number in range(4):
        plugins.log.clear()
        assert cluster.attempt(make_pod(f"p{number}").build()).result == "unschedulable"
        assert any(asked.startswith("filter") for asked in plugins.log)
