"""What the tests of plugins share: a plugin made ready, asked in both forms, and its hints asked by event."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from scheduler_core.api.meta import KubeObject
from scheduler_core.api.pod import Pod
from scheduler_core.framework.answers import ALL_ROWS, QueueingHint
from scheduler_core.framework.cycle_state import CycleState
from scheduler_core.framework.points import PreFilterPlugin, PreScorePlugin, ScoreExtensions
from scheduler_core.framework.table_forms import TablePreFilterPlugin, TablePreScorePlugin
from scheduler_core.model.events import ClusterEvent
from scheduler_core.model.node_info import ImageStateSummary, NodeInfo
from scheduler_core.model.status import SUCCESS, Status
from scheduler_core.model.types import PodInfo
from scheduler_core.plugins.registry import IN_TREE
from scheduler_core.table.node_table import NodeTable
from tests.builders import NodeBuilder, PodBuilder


@dataclass
class FakeSnapshot:
    infos: Sequence[NodeInfo] = ()

    def num_nodes(self) -> int:
        return len(self.infos)

    def list(self) -> Sequence[NodeInfo]:
        return self.infos

    def is_pvc_used_by_pods(self, key: str) -> bool:
        return any(key in info.pvc_ref_counts for info in self.infos)

    def have_pods_with_affinity_list(self) -> Sequence[NodeInfo]:
        return [info for info in self.infos if info.pods_with_affinity]

    def have_pods_with_required_anti_affinity_list(self) -> Sequence[NodeInfo]:
        return [info for info in self.infos if info.pods_with_required_anti_affinity]


@dataclass
class FakeLister:
    objects: Sequence[KubeObject] = ()

    def get(self, kind: str, key: str) -> KubeObject | None:
        return next((obj for obj in self.list(kind) if obj.key == key), None)

    def list(self, kind: str) -> Sequence[KubeObject]:
        return [obj for obj in self.objects if obj.kind == kind]

    def version(self, kind: str) -> int:
        return len(self.objects)


@dataclass
class FakeHandle:
    snapshot: FakeSnapshot = field(default_factory=FakeSnapshot)
    lister: FakeLister = field(default_factory=FakeLister)


def make_plugin(
    name: str, args: object = None, infos: Sequence[NodeInfo] = (), objects: Sequence[KubeObject] = ()
) -> Any:
    """The plugin over a cluster of these nodes and other objects."""
    return IN_TREE[name](args, FakeHandle(FakeSnapshot(infos), FakeLister(objects)))  # type: ignore[arg-type]


def make_info(node: NodeBuilder, *pods: PodBuilder, images: dict[str, tuple[int, int]] | None = None) -> NodeInfo:
    """The node with its pods; `images` are name -> (size, number of nodes having it)."""
    info = NodeInfo(next_generation=lambda: 0)
    info.set_node(node.build())
    for pod in pods:
        info.add_pod(PodInfo.of(pod.build()))
    info.image_states = {name: ImageStateSummary(*state) for name, state in (images or {}).items()}
    return info


def make_table(infos: Sequence[NodeInfo]) -> NodeTable:
    table = NodeTable()
    for info in infos:
        table.upsert(info)
    return table


def run_filter(plugin: Any, pod: Pod, *infos: NodeInfo) -> list[Status]:
    """The status of each node, after PreFilter, the same by node and by row."""
    state, table = CycleState(), make_table(infos)
    if isinstance(plugin, PreFilterPlugin):
        _, status = plugin.pre_filter(state, pod, infos)
        assert status.is_success, status
    by_nodes = [plugin.filter(state, pod, info) for info in infos]
    if isinstance(plugin, TablePreFilterPlugin):
        state = CycleState()
        _, status = plugin.pre_filter_table(state, pod, table)
        assert status.is_success, status
        assert by_nodes == [plugin.filter(state, pod, info) for info in infos]
    verdicts = plugin.filter_nodes(state, pod, table, ALL_ROWS)
    codes = [0] * len(infos) if verdicts is None else verdicts.codes.tolist()
    assert by_nodes == [verdicts.statuses[code - 1] if code else SUCCESS for code in codes]
    return by_nodes


def states_of(plugin: Any, pod: Pod, infos: Sequence[NodeInfo]) -> list[CycleState]:
    """The state that PreFilter leaves: by nodes, and by rows."""
    by_nodes, by_rows = CycleState(), CycleState()
    plugin.pre_filter(by_nodes, pod, infos)
    plugin.pre_filter_table(by_rows, pod, make_table(infos))
    return [by_nodes, by_rows]


def run_score(plugin: Any, pod: Pod, *infos: NodeInfo, normalize: bool = False) -> list[int]:
    """The score of each node, after PreScore, the same by node and by row."""
    state = CycleState()
    if isinstance(plugin, PreScorePlugin):
        assert plugin.pre_score(state, pod, infos).is_success
    by_nodes = []
    for info in infos:
        score, status = plugin.score(state, pod, info)
        assert status.is_success
        by_nodes.append(score)
    table, rows = make_table(infos), np.arange(len(infos), dtype=np.int32)
    if isinstance(plugin, TablePreScorePlugin):
        state = CycleState()
        assert plugin.pre_score_table(state, pod, table, rows).is_success
    by_rows = plugin.score_nodes(state, pod, table, rows)
    assert by_rows.tolist() == by_nodes
    if not normalize:
        return by_nodes
    assert isinstance(plugin, ScoreExtensions)
    assert plugin.normalize_scores(state, pod, by_rows).is_success
    scores: list[int] = by_rows.tolist()
    return scores


Given = KubeObject | NodeBuilder | PodBuilder | None


def ask_hint(plugin: Any, event: ClusterEvent, pod: Given, old: Given, new: Given) -> QueueingHint | None:
    """What the plugin says to the event; None when it did not register for it."""
    built = [each.build() if isinstance(each, NodeBuilder | PodBuilder) else each for each in (pod, old, new)]
    for registration in plugin.events_to_register():
        if registration.event.matches(event):
            if registration.hint is None:
                return QueueingHint.QUEUE
            hint: QueueingHint = registration.hint(*built)
            return hint
    return None
