"""Inter-pod affinity: its arguments, and which events are worth another try."""

from __future__ import annotations

import pytest

from scheduler_core.api.derived import HOSTNAME, ZONE
from scheduler_core.api.selectors import SelectorError
from scheduler_core.config.types import InterPodAffinityArgs
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
from tests.builders import NodeBuilder, PodBuilder, make_node, make_pod
from tests.cases import cases
from tests.core.plugins.support import ask_hint, make_plugin

WEB, FRONT = {"app": "web"}, {"tier": "front"}
QUEUE, SKIP = QueueingHint.QUEUE, QueueingHint.SKIP
LABELS = ClusterEvent(EventResource.ASSIGNED_POD, ActionType.UPDATE_POD_LABEL)
NODE_LABELS = ClusterEvent(EventResource.NODE, ActionType.UPDATE_NODE_LABEL)

NEAR = make_pod().pod_affinity(ZONE, WEB).pod_affinity(ZONE, FRONT)
APART = make_pod().pod_affinity(ZONE, WEB, anti=True).pod_affinity(ZONE, FRONT, anti=True)


def test_weights_out_of_range_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"not in valid range \[0, 100\]"):
        make_plugin("InterPodAffinity", InterPodAffinityArgs(hard_pod_affinity_weight=101))


@cases(
    "event",
    ("deleted nodes", NODE_DELETE),
    ("node taints", ClusterEvent(EventResource.NODE, ActionType.UPDATE_NODE_TAINT)),
    ("tolerations", ClusterEvent(EventResource.UNSCHEDULABLE_POD, ActionType.UPDATE_POD_TOLERATION)),
)
def test_events_it_does_not_hear_of(event: ClusterEvent) -> None:
    assert ask_hint(make_plugin("InterPodAffinity"), event, NEAR, None, None) is None


def web(name: str = "w") -> PodBuilder:
    return make_pod(name).on("n1").label(WEB)


def both() -> PodBuilder:
    return web().label(FRONT)


@cases(
    "pod, event, old, new, want",
    ("a pod to be near came", NEAR, ASSIGNED_POD_ADD, None, both(), QUEUE),
    ("one that matches only one term came", NEAR, ASSIGNED_POD_ADD, None, web(), SKIP),
    ("one not assigned", NEAR, ASSIGNED_POD_ADD, None, make_pod("x").label(WEB).label(FRONT), SKIP),
    ("a pod began to match all of the affinity", NEAR, LABELS, web(), both(), QUEUE),
    ("a pod still matches it", NEAR, LABELS, both(), both().label(a="b"), SKIP),
    ("a pod to be near left", NEAR, ASSIGNED_POD_DELETE, both(), None, SKIP),
    ("a pod to be apart from left", APART, ASSIGNED_POD_DELETE, both(), None, QUEUE),
    ("one that offends only one term left, a quirk", APART, ASSIGNED_POD_DELETE, web(), None, SKIP),
    ("a pod ceased to match all of the anti-affinity", APART, LABELS, both(), web(), QUEUE),
    ("a pod began to match it", APART, LABELS, web(), both(), SKIP),
    ("one more to be apart from", APART, ASSIGNED_POD_ADD, None, both(), SKIP),
    ("a pod that minded left, a quirk", make_pod().label(WEB), ASSIGNED_POD_DELETE,
     make_pod("e").on("n1").pod_affinity(ZONE, WEB, anti=True), None, SKIP),
)  # fmt: skip
def test_pod_hint_asks_whether_all_terms_match_one_pod(
    pod: PodBuilder, event: ClusterEvent, old: PodBuilder | None, new: PodBuilder | None, want: QueueingHint
) -> None:
    assert ask_hint(make_plugin("InterPodAffinity"), event, pod, old, new) is want


BY_ZONE, BY_HOST_APART = make_pod().pod_affinity(ZONE, WEB), make_pod().pod_affinity(HOSTNAME, WEB, anti=True)
BY_ZONE_APART = make_pod().pod_affinity(ZONE, WEB, anti=True)


def in_zone(zone: str = "a") -> NodeBuilder:
    return make_node().zone(zone)


@cases(
    "pod, event, old, new, want",
    ("a node with the key came", BY_ZONE, NODE_ADD, None, in_zone(), QUEUE),
    ("one without it came", BY_ZONE, NODE_ADD, None, make_node(), SKIP),
    ("a node got the key", BY_ZONE, NODE_LABELS, make_node(), in_zone(), QUEUE),
    ("a node moved", BY_ZONE, NODE_LABELS, in_zone(), in_zone("b"), QUEUE),
    ("a node lost the key", BY_ZONE, NODE_LABELS, in_zone(), make_node(), SKIP),
    ("another label changed", BY_ZONE, NODE_LABELS, in_zone(), in_zone().label(a="b"), SKIP),
    ("any new node is apart", BY_ZONE_APART, NODE_ADD, None, make_node(), QUEUE),
    ("a node left its domain", BY_ZONE_APART, NODE_LABELS, in_zone(), make_node(), QUEUE),
    ("a node changed its domain", BY_ZONE_APART, NODE_LABELS, in_zone(), in_zone("b"), QUEUE),
    ("a node joined a domain", BY_ZONE_APART, NODE_LABELS, make_node(), in_zone(), SKIP),
    ("another key changed", BY_HOST_APART, NODE_LABELS, in_zone(), in_zone("b"), SKIP),
    ("a pod whom others mind waits, a quirk", make_pod().label(WEB), NODE_ADD, None, in_zone(), SKIP),
)
def test_node_hint_asks_whether_domains_have_changed(
    pod: PodBuilder, event: ClusterEvent, old: NodeBuilder | None, new: NodeBuilder, want: QueueingHint
) -> None:
    assert ask_hint(make_plugin("InterPodAffinity"), event, pod, old, new) is want


def _unreadable(strength: str, **weight: int) -> PodBuilder:
    term = {"topologyKey": ZONE, "labelSelector": {"matchExpressions": [{"key": "a", "operator": "Near"}]}}
    listed = [{**weight, "podAffinityTerm": term}] if weight else [term]
    rules = {f"{strength}DuringSchedulingIgnoredDuringExecution": listed}
    return make_pod().spec(affinity={"podAffinity": rules})


def test_hints_fail_when_required_terms_cannot_be_read() -> None:
    plugin = make_plugin("InterPodAffinity")
    with pytest.raises(SelectorError, match='^"Near" is not a valid label selector operator$'):
        ask_hint(plugin, ASSIGNED_POD_ADD, _unreadable("required"), None, web())
    pod = _unreadable("preferred", weight=1)
    assert ask_hint(plugin, ASSIGNED_POD_ADD, pod, None, web()) is SKIP, "preferred ones do not matter"
