"""Cordoned nodes take only pods that tolerate it."""

from __future__ import annotations

import pytest

from scheduler_core.framework.answers import QueueingHint
from scheduler_core.model.events import NODE_ADD, ActionType, ClusterEvent, EventResource
from scheduler_core.model.status import SUCCESS, Status
from tests.builders import NodeBuilder, PodBuilder, make_node, make_pod
from tests.core.plugins.support import ask_hint, make_info, make_plugin, run_filter

CORDONED = Status.unresolvable("node(s) were unschedulable")
KEY = "node.kubernetes.io/unschedulable"
TAINT_UPDATE = ClusterEvent(EventResource.NODE, ActionType.UPDATE_NODE_TAINT)
TOLERATION_UPDATE = ClusterEvent(EventResource.UNSCHEDULABLE_POD, ActionType.UPDATE_POD_TOLERATION)
QUEUE, SKIP = QueueingHint.QUEUE, QueueingHint.SKIP


@pytest.mark.parametrize(
    ("pod", "want"),
    [
        pytest.param(make_pod(), CORDONED, id="refused without a toleration"),
        pytest.param(make_pod().toleration(KEY, operator="Exists"), SUCCESS, id="tolerated by key"),
        pytest.param(make_pod().toleration(operator="Exists"), SUCCESS, id="tolerated by a toleration of everything"),
        pytest.param(make_pod().toleration(KEY, effect="NoSchedule"), SUCCESS, id="tolerated by an empty value"),
        pytest.param(make_pod().toleration(KEY, value="true"), CORDONED, id="refused when the toleration has a value"),
        pytest.param(
            make_pod().toleration(KEY, operator="Exists", effect="NoExecute"), CORDONED, id="refused for another effect"
        ),
    ],
)
def test_filter_asks_tolerations_on_a_cordoned_node(pod: PodBuilder, want: Status) -> None:
    infos = [make_info(make_node("open")), make_info(make_node("cordoned").unschedulable())]
    assert run_filter(make_plugin("NodeUnschedulable"), pod.build(), *infos) == [SUCCESS, want]


@pytest.mark.parametrize(
    ("old", "new", "want"),
    [
        pytest.param(None, make_node(), QUEUE, id="a new open node"),
        pytest.param(None, make_node().unschedulable(), SKIP, id="a new cordoned node"),
        pytest.param(make_node().unschedulable(), make_node(), QUEUE, id="uncordoned"),
        pytest.param(make_node(), make_node().taint("x"), SKIP, id="was open before"),
        pytest.param(make_node().unschedulable(), make_node().unschedulable(), SKIP, id="still cordoned"),
    ],
)
def test_node_hint_asks_whether_the_node_opened(old: NodeBuilder | None, new: NodeBuilder, want: QueueingHint) -> None:
    event = NODE_ADD if old is None else TAINT_UPDATE
    plugin = make_plugin("NodeUnschedulable")
    assert ask_hint(plugin, event, make_pod().build(), old.build() if old else None, new.build()) is want


@pytest.mark.parametrize(
    ("new", "want"),
    [
        pytest.param(make_pod("a").toleration(KEY, operator="Exists"), QUEUE, id="the pod tolerates it now"),
        pytest.param(make_pod("a").toleration("x", operator="Exists"), SKIP, id="the pod tolerates something else"),
        pytest.param(make_pod("b").toleration(KEY, operator="Exists"), SKIP, id="another pod tolerates it"),
    ],
)
def test_pod_hint_asks_the_new_tolerations(new: PodBuilder, want: QueueingHint) -> None:
    pod = make_pod("a").build()
    assert ask_hint(make_plugin("NodeUnschedulable"), TOLERATION_UPDATE, pod, pod, new.build()) is want
