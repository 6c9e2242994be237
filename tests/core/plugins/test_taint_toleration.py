"""Taints keep pods away; tolerations let them back in."""

from __future__ import annotations

import numpy as np
import pytest

from scheduler_core.framework.answers import QueueingHint
from scheduler_core.framework.cycle_state import CycleState
from scheduler_core.model.events import NODE_ADD, ActionType, ClusterEvent, EventResource
from scheduler_core.model.status import SUCCESS, Status
from tests.builders import NodeBuilder, PodBuilder, make_node, make_pod
from tests.core.plugins.support import ask_hint, make_info, make_plugin, make_table, run_filter, run_score

SOFT = "PreferNoSchedule"
TAINT_UPDATE = ClusterEvent(EventResource.NODE, ActionType.UPDATE_NODE_TAINT)
TOLERATION_UPDATE = ClusterEvent(EventResource.UNSCHEDULABLE_POD, ActionType.UPDATE_POD_TOLERATION)
QUEUE, SKIP = QueueingHint.QUEUE, QueueingHint.SKIP


def refused(key: str, value: str) -> Status:
    return Status.unresolvable(f"node(s) had untolerated taint {{{key}: {value}}}")


@pytest.mark.parametrize(
    ("pod", "node", "want"),
    [
        pytest.param(make_pod(), make_node(), SUCCESS, id="no taints"),
        pytest.param(make_pod(), make_node().taint("k", "v"), refused("k", "v"), id="untolerated"),
        pytest.param(make_pod(), make_node().taint("k"), refused("k", ""), id="an empty value keeps its space"),
        pytest.param(
            make_pod(), make_node().taint("k", "v", "NoExecute"), refused("k", "v"), id="NoExecute counts too"
        ),
        pytest.param(make_pod(), make_node().taint("k", "v", SOFT), SUCCESS, id="PreferNoSchedule does not"),
        pytest.param(
            make_pod(),
            make_node().taint("soft", "", SOFT).taint("a", "1").taint("b", "2"),
            refused("a", "1"),
            id="only the first untolerated taint is named",
        ),
        pytest.param(
            make_pod().toleration("a", operator="Exists"),
            make_node().taint("a", "1").taint("b", "2"),
            refused("b", "2"),
            id="tolerated taints are passed over",
        ),
        pytest.param(
            make_pod().toleration("k", value="v", effect="NoSchedule"),
            make_node().taint("k", "v"),
            SUCCESS,
            id="tolerated",
        ),
        pytest.param(
            make_pod().toleration("k", operator="Exists", effect="NoExecute", seconds=0),
            make_node().taint("k", "v", "NoExecute"),
            SUCCESS,
            id="how long it is tolerated does not matter",
        ),
    ],
)
def test_filter_names_the_first_untolerated_taint(pod: PodBuilder, node: NodeBuilder, want: Status) -> None:
    assert run_filter(make_plugin("TaintToleration"), pod.build(), make_info(node)) == [want]


def test_filter_tells_nodes_with_different_taints_apart() -> None:
    infos = [make_info(make_node(f"n{i}").taint("node", str(i))) for i in range(300)]
    statuses = run_filter(make_plugin("TaintToleration"), make_pod().build(), *infos)
    assert statuses == [refused("node", str(i)) for i in range(300)]


def _soft(count: int) -> NodeBuilder:
    node = make_node(f"soft{count}").taint("hard", "x")
    for number in range(count):
        node.taint(f"k{number}", "v", SOFT)
    return node


@pytest.mark.parametrize(
    ("pod", "raw", "normalized"),
    [
        pytest.param(make_pod(), [0, 1, 3], [100, 67, 0], id="fewer soft taints are better"),
        pytest.param(
            make_pod().toleration("k0", operator="Exists"), [0, 0, 2], [100, 100, 0], id="tolerated ones do not count"
        ),
        pytest.param(
            make_pod().toleration(operator="Exists", effect="NoSchedule"),
            [0, 1, 3],
            [100, 67, 0],
            id="a toleration of another effect excuses nothing",
        ),
        pytest.param(make_pod().toleration(operator="Exists"), [0, 0, 0], [100] * 3, id="nothing left: all are best"),
    ],
)
def test_score_counts_untolerated_soft_taints(pod: PodBuilder, raw: list[int], normalized: list[int]) -> None:
    infos = [make_info(_soft(count)) for count in (0, 1, 3)]
    plugin = make_plugin("TaintToleration")
    assert run_score(plugin, pod.build(), *infos) == raw
    assert run_score(plugin, pod.build(), *infos, normalize=True) == normalized


def test_score_fails_when_pre_score_did_not_run() -> None:
    plugin, info, pod = make_plugin("TaintToleration"), make_info(make_node()), make_pod().build()
    _, status = plugin.score(CycleState(), pod, info)
    assert status == Status.failed('failed to read "PreScoreTaintToleration" from cycleState: not found')
    assert plugin.score_nodes(CycleState(), pod, make_table([info]), np.zeros(1, dtype=np.int32)) is None


@pytest.mark.parametrize(
    ("old", "new", "want"),
    [
        pytest.param(None, make_node(), QUEUE, id="a new node without taints"),
        pytest.param(None, make_node().taint("k"), SKIP, id="a new node the pod does not tolerate"),
        pytest.param(None, make_node().taint("ok"), QUEUE, id="a new node the pod tolerates"),
        pytest.param(make_node().taint("k"), make_node(), QUEUE, id="the taint is gone"),
        pytest.param(make_node().taint("ok"), make_node(), SKIP, id="the node did not refuse before"),
        pytest.param(make_node().taint("k"), make_node().taint("x"), SKIP, id="another taint in its place"),
        pytest.param(make_node().taint("k"), make_node().taint("k", "", SOFT), QUEUE, id="the taint became soft"),
    ],
)
def test_node_hint_asks_whether_the_node_stopped_refusing(
    old: NodeBuilder | None, new: NodeBuilder, want: QueueingHint
) -> None:
    pod = make_pod().toleration("ok", operator="Exists").build()
    event = NODE_ADD if old is None else TAINT_UPDATE
    assert ask_hint(make_plugin("TaintToleration"), event, pod, old.build() if old else None, new.build()) is want


def test_pod_hint_asks_only_whether_it_is_the_pod() -> None:
    plugin, pod = make_plugin("TaintToleration"), make_pod("a").build()
    assert ask_hint(plugin, TOLERATION_UPDATE, pod, pod, make_pod("a").toleration("x").build()) is QUEUE
    assert ask_hint(plugin, TOLERATION_UPDATE, pod, pod, make_pod("b").toleration("x").build()) is SKIP
