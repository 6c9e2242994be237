"""Taints keep pods away; tolerations let them back in."""

from __future__ import annotations

from scheduler_core.framework.answers import QueueingHint
from scheduler_core.model.events import NODE_ADD, ActionType, ClusterEvent, EventResource
from scheduler_core.model.status import SUCCESS, Status
from tests.builders import NodeBuilder, PodBuilder, make_node, make_pod
from tests.cases import cases
from tests.core.plugins.support import ask_hint, make_info, make_plugin, run_filter, run_score

SOFT = "PreferNoSchedule"
TAINT_UPDATE = ClusterEvent(EventResource.NODE, ActionType.UPDATE_NODE_TAINT)
TOLERATION_UPDATE = ClusterEvent(EventResource.UNSCHEDULABLE_POD, ActionType.UPDATE_POD_TOLERATION)
QUEUE, SKIP = QueueingHint.QUEUE, QueueingHint.SKIP


def refused(key: str, value: str) -> Status:
    return Status.unresolvable(f"node(s) had untolerated taint {{{key}: {value}}}")


@cases(
    "pod, node, want",
    ("no taints", make_pod(), make_node(), SUCCESS),
    ("untolerated", make_pod(), make_node().taint("k", "v"), refused("k", "v")),
    ("an empty value keeps its space", make_pod(), make_node().taint("k"), refused("k", "")),
    ("NoExecute counts too", make_pod(), make_node().taint("k", "v", "NoExecute"), refused("k", "v")),
    ("PreferNoSchedule does not", make_pod(), make_node().taint("k", "v", SOFT), SUCCESS),
    ("only the first untolerated taint is named", make_pod(),
     make_node().taint("soft", "", SOFT).taint("a", "1").taint("b", "2"), refused("a", "1")),
    ("tolerated taints are passed over", make_pod().toleration("a", operator="Exists"),
     make_node().taint("a", "1").taint("b", "2"), refused("b", "2")),
    ("tolerated", make_pod().toleration("k", value="v", effect="NoSchedule"), make_node().taint("k", "v"), SUCCESS),
    ("how long it is tolerated does not matter",
     make_pod().toleration("k", operator="Exists", effect="NoExecute", seconds=0),
     make_node().taint("k", "v", "NoExecute"), SUCCESS),
)  # fmt: skip
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


@cases(
    "pod, raw, normalized",
    ("fewer soft taints are better", make_pod(), [0, 1, 3], [100, 67, 0]),
    ("tolerated ones do not count", make_pod().toleration("k0", operator="Exists"), [0, 0, 2], [100, 100, 0]),
    ("a toleration of another effect excuses nothing", make_pod().toleration(operator="Exists", effect="NoSchedule"),
     [0, 1, 3], [100, 67, 0]),
    ("nothing left: all are best", make_pod().toleration(operator="Exists"), [0, 0, 0], [100] * 3),
)  # fmt: skip
def test_score_counts_untolerated_soft_taints(pod: PodBuilder, raw: list[int], normalized: list[int]) -> None:
    infos = [make_info(_soft(count)) for count in (0, 1, 3)]
    plugin = make_plugin("TaintToleration")
    assert run_score(plugin, pod.build(), *infos) == raw
    assert run_score(plugin, pod.build(), *infos, normalize=True) == normalized


@cases(
    "old, new, want",
    ("a new node without taints", None, make_node(), QUEUE),
    ("a new node the pod does not tolerate", None, make_node().taint("k"), SKIP),
    ("a new node the pod tolerates", None, make_node().taint("ok"), QUEUE),
    ("the taint is gone", make_node().taint("k"), make_node(), QUEUE),
    ("the node did not refuse before", make_node().taint("ok"), make_node(), SKIP),
    ("another taint in its place", make_node().taint("k"), make_node().taint("x"), SKIP),
    ("the taint became soft", make_node().taint("k"), make_node().taint("k", "", SOFT), QUEUE),
)
def test_node_hint_asks_whether_the_node_stopped_refusing(
    old: NodeBuilder | None, new: NodeBuilder, want: QueueingHint
) -> None:
    pod = make_pod().toleration("ok", operator="Exists").build()
    event = NODE_ADD if old is None else TAINT_UPDATE
    assert ask_hint(make_plugin("TaintToleration"), event, pod, old, new) is want


def test_pod_hint_asks_only_whether_it_is_the_pod() -> None:
    plugin, pod = make_plugin("TaintToleration"), make_pod("a").build()
    assert ask_hint(plugin, TOLERATION_UPDATE, pod, pod, make_pod("a").toleration("x")) is QUEUE
    assert ask_hint(plugin, TOLERATION_UPDATE, pod, pod, make_pod("b").toleration("x")) is SKIP
