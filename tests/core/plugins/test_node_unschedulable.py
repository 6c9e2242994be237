"""Cordoned nodes take only pods that tolerate it."""

from __future__ import annotations

from scheduler_core.framework.answers import QueueingHint
from scheduler_core.model.events import NODE_ADD, ActionType, ClusterEvent, EventResource
from scheduler_core.model.status import SUCCESS, Status
from tests.builders import NodeBuilder, PodBuilder, make_node, make_pod
from tests.cases import cases
from tests.core.plugins.support import ask_hint, make_info, make_plugin, run_filter

CORDONED = Status.unresolvable("node(s) were unschedulable")
KEY = "node.kubernetes.io/unschedulable"
TAINT_UPDATE = ClusterEvent(EventResource.NODE, ActionType.UPDATE_NODE_TAINT)
TOLERATION_UPDATE = ClusterEvent(EventResource.UNSCHEDULABLE_POD, ActionType.UPDATE_POD_TOLERATION)
QUEUE, SKIP = QueueingHint.QUEUE, QueueingHint.SKIP


@cases(
    "pod, want",
    ("refused without a toleration", make_pod(), CORDONED),
    ("tolerated by key", make_pod().toleration(KEY, operator="Exists"), SUCCESS),
    ("tolerated by a toleration of everything", make_pod().toleration(operator="Exists"), SUCCESS),
    ("tolerated by an empty value", make_pod().toleration(KEY, effect="NoSchedule"), SUCCESS),
    ("refused when the toleration has a value", make_pod().toleration(KEY, value="true"), CORDONED),
    ("refused for another effect", make_pod().toleration(KEY, operator="Exists", effect="NoExecute"), CORDONED),
)
def test_filter_asks_tolerations_on_a_cordoned_node(pod: PodBuilder, want: Status) -> None:
    infos = [make_info(make_node("open")), make_info(make_node("cordoned").unschedulable())]
    assert run_filter(make_plugin("NodeUnschedulable"), pod.build(), *infos) == [SUCCESS, want]


@cases(
    "old, new, want",
    ("a new open node", None, make_node(), QUEUE),
    ("a new cordoned node", None, make_node().unschedulable(), SKIP),
    ("uncordoned", make_node().unschedulable(), make_node(), QUEUE),
    ("was open before", make_node(), make_node().taint("x"), SKIP),
    ("still cordoned", make_node().unschedulable(), make_node().unschedulable(), SKIP),
)
def test_node_hint_asks_whether_the_node_opened(old: NodeBuilder | None, new: NodeBuilder, want: QueueingHint) -> None:
    event = NODE_ADD if old is None else TAINT_UPDATE
    assert ask_hint(make_plugin("NodeUnschedulable"), event, make_pod(), old, new) is want


@cases(
    "new, want",
    ("the pod tolerates it now", make_pod("a").toleration(KEY, operator="Exists"), QUEUE),
    ("the pod tolerates something else", make_pod("a").toleration("x", operator="Exists"), SKIP),
    ("another pod tolerates it", make_pod("b").toleration(KEY, operator="Exists"), SKIP),
)
def test_pod_hint_asks_the_new_tolerations(new: PodBuilder, want: QueueingHint) -> None:
    pod = make_pod("a")
    assert ask_hint(make_plugin("NodeUnschedulable"), TOLERATION_UPDATE, pod, pod, new) is want
