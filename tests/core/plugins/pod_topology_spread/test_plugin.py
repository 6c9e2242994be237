"""Spread: its arguments, and which events are worth another try."""

from __future__ import annotations

import pytest

from scheduler_core.api.derived import HOSTNAME, ZONE
from scheduler_core.api.selectors import SelectorError
from scheduler_core.config.types import PodTopologySpreadArgs
from scheduler_core.errors import ConfigError
from scheduler_core.framework.answers import QueueingHint
from scheduler_core.model.events import (
    ASSIGNED_POD_ADD,
    ASSIGNED_POD_DELETE,
    NODE_ADD,
    NODE_DELETE,
    ActionType,
    ClusterEvent,
    EventResource,
)
from scheduler_core.plugins.pod_topology_spread.constraints import SYSTEM_DEFAULTS
from tests.builders import NodeBuilder, PodBuilder, make_node, make_pod
from tests.cases import cases
from tests.core.plugins.support import ask_hint, make_plugin

WEB = {"app": "web"}
QUEUE, SKIP = QueueingHint.QUEUE, QueueingHint.SKIP
LABELS = ClusterEvent(EventResource.ASSIGNED_POD, ActionType.UPDATE_POD_LABEL)
TOLERATIONS = ClusterEvent(EventResource.UNSCHEDULABLE_POD, ActionType.UPDATE_POD_TOLERATION)
NODE_LABELS = ClusterEvent(EventResource.NODE, ActionType.UPDATE_NODE_LABEL)
NODE_TAINTS = ClusterEvent(EventResource.NODE, ActionType.UPDATE_NODE_TAINT)


def test_arguments_that_contradict_each_other_are_refused() -> None:
    with pytest.raises(ConfigError, match="when .defaultConstraints are not empty"):
        make_plugin("PodTopologySpread", PodTopologySpreadArgs(SYSTEM_DEFAULTS, "System"))


@cases(
    "event, want",
    ("smaller pods", ClusterEvent(EventResource.ASSIGNED_POD, ActionType.UPDATE_POD_SCALE_DOWN), None),
    ("larger nodes", ClusterEvent(EventResource.NODE, ActionType.UPDATE_NODE_ALLOCATABLE), None),
    ("node labels", NODE_LABELS, SKIP),
    ("node taints", NODE_TAINTS, SKIP),
    ("deleted nodes", NODE_DELETE, SKIP),
)
def test_events_registered(event: ClusterEvent, want: QueueingHint | None) -> None:
    pod = make_pod().label(WEB).spread(ZONE, WEB).build()
    node = make_node().build()
    assert ask_hint(make_plugin("PodTopologySpread"), event, pod, node, None if event is NODE_DELETE else node) is want


def near(name: str = "near") -> PodBuilder:
    return make_pod(name).on("n1")


@cases(
    "event, old, new, want",
    ("a pod that matches came", ASSIGNED_POD_ADD, None, near().label(WEB), QUEUE),
    ("one that does not match came", ASSIGNED_POD_ADD, None, near(), SKIP),
    ("one of another namespace", ASSIGNED_POD_ADD, None, make_pod("x", namespace="o").on("n1").label(WEB), SKIP),
    ("one that is not assigned", ASSIGNED_POD_ADD, None, make_pod("x").label(WEB), SKIP),
    ("a pod that matches left", ASSIGNED_POD_DELETE, near().label(WEB), None, QUEUE),
    ("one that does not match left", ASSIGNED_POD_DELETE, near(), None, SKIP),
    ("a pod began to match", LABELS, near(), near().label(WEB), QUEUE),
    ("a pod ceased to match", LABELS, near().label(WEB), near(), QUEUE),
    ("a pod still matches", LABELS, near().label(WEB), near().label(WEB).label(b="c"), SKIP),
    ("a pod that was not assigned before", LABELS, make_pod("x"), near().label(WEB), SKIP),
)
def test_pod_hint_asks_whether_a_pod_that_counts_has_changed(
    event: ClusterEvent, old: PodBuilder | None, new: PodBuilder | None, want: QueueingHint
) -> None:
    assert ask_hint(make_plugin("PodTopologySpread"), event, make_pod().label(WEB).spread(ZONE, WEB), old, new) is want


@cases(
    "pod, want",
    ("taints are honoured", make_pod().spread(ZONE, WEB, nodeTaintsPolicy="Honor"), QUEUE),
    ("taints do not matter", make_pod().spread(ZONE, WEB), SKIP),
)
def test_pod_hint_hears_of_the_pods_own_tolerations_where_taints_matter(pod: PodBuilder, want: QueueingHint) -> None:
    before = pod.build()
    after = pod.toleration("k", operator="Exists").build()
    assert ask_hint(make_plugin("PodTopologySpread"), TOLERATIONS, before, before, after) is want


def test_pod_hint_fails_when_the_constraints_cannot_be_read() -> None:
    wrong = {"matchExpressions": [{"key": "a", "operator": "Near"}]}
    pod = make_pod().spread(ZONE, None, labelSelector=wrong).build()
    with pytest.raises(SelectorError):
        ask_hint(make_plugin("PodTopologySpread"), ASSIGNED_POD_ADD, pod, None, near())


def in_zone(zone: str = "a") -> NodeBuilder:
    return make_node().zone(zone)


@cases(
    "event, old, new, want",
    ("a node with all keys came", NODE_ADD, None, in_zone(), QUEUE),
    ("one without a key came", NODE_ADD, None, make_node(), SKIP),
    ("a node with all keys left", NODE_DELETE, in_zone(), None, QUEUE),
    ("one without a key left", NODE_DELETE, make_node(), None, SKIP),
    ("a node got the key", NODE_LABELS, make_node(), in_zone(), QUEUE),
    ("a node lost the key", NODE_LABELS, in_zone(), make_node(), QUEUE),
    ("a node moved to another domain", NODE_LABELS, in_zone(), in_zone("b"), QUEUE),
    ("other labels changed", NODE_LABELS, in_zone(), in_zone().label(other="x"), SKIP),
    ("taints changed", NODE_TAINTS, in_zone(), in_zone().taint("k"), QUEUE),
    ("taints of a node without the key", NODE_TAINTS, make_node(), make_node().taint("k"), SKIP),
)
def test_node_hint_asks_whether_domains_have_changed(
    event: ClusterEvent, old: NodeBuilder | None, new: NodeBuilder | None, want: QueueingHint
) -> None:
    pod = make_pod().label(WEB).spread(ZONE, WEB).spread(HOSTNAME, WEB)
    assert ask_hint(make_plugin("PodTopologySpread"), event, pod, old, new) is want
