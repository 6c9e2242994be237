"""Which constraints hold for a pod, whom they count, and which nodes count."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler_core.api.affinity import TopologySpreadConstraint
from scheduler_core.api.derived import HOSTNAME, ZONE
from scheduler_core.api.meta import KubeObject
from scheduler_core.api.selectors import LabelSelectorMatcher, Requirement, SelectorError, selector_from_map
from scheduler_core.api.selectors import Operator as Op
from scheduler_core.model.types import PodInfo
from scheduler_core.plugins.pod_topology_spread.constraints import (
    HARD,
    SOFT,
    SYSTEM_DEFAULTS,
    Constraint,
    CountedRows,
    Inclusion,
    MatchingPods,
    count_matching,
    parse_constraints,
)
from scheduler_core.plugins.pod_topology_spread.default_selectors import DefaultSelectors
from tests.builders import NodeBuilder, PodBuilder, make, make_node, make_pod
from tests.cases import cases
from tests.core.plugins.support import FakeLister, make_info, make_table

WEB = {"app": "web"}


def parsed(pod: PodBuilder, action: str = HARD) -> tuple[Constraint, ...]:
    built = pod.build()
    return parse_constraints(built.spec.topology_spread_constraints or (), built.labels, action)


def test_constraints_of_the_action_keep_their_order_and_take_upstreams_defaults() -> None:
    pod = make_pod().spread(ZONE, WEB, max_skew=2).spread("rack", WEB, when=SOFT).spread(HOSTNAME, None)
    zone, host = parsed(pod)
    assert zone == Constraint(ZONE, 2, selector_from_map(WEB), 1, honors_affinity=True, honors_taints=False)
    assert (host.topology_key, host.selector.nothing) == (HOSTNAME, True)
    assert [constraint.topology_key for constraint in parsed(pod, SOFT)] == ["rack"]


def test_policies_and_min_domains_are_read() -> None:
    pod = make_pod().spread(ZONE, WEB, minDomains=3, nodeAffinityPolicy="Ignore", nodeTaintsPolicy="Honor")
    (constraint,) = parsed(pod)
    assert (constraint.min_domains, constraint.honors_affinity, constraint.honors_taints) == (3, False, True)


@cases(
    "selector, labels, want",
    ("the pod's own value is asked as well", WEB, {"hash": "1"}, {"app": "web", "hash": "1"}),
    ("a key the pod does not have is left out", WEB, {}, WEB),
    ("an empty selector is empty no more", {}, {"hash": "1"}, {"hash": "1"}),
)
def test_match_label_keys_extend_the_selector(
    selector: dict[str, str], labels: dict[str, str], want: dict[str, str]
) -> None:
    (constraint,) = parsed(make_pod().label(labels).spread(ZONE, selector, matchLabelKeys=["hash"]))
    assert set(constraint.selector.requirements) == set(selector_from_map(want).requirements)


def test_match_label_keys_leave_a_selector_that_is_absent_alone() -> None:
    (constraint,) = parsed(make_pod().label(hash="1").spread(ZONE, None, matchLabelKeys=["hash"]))
    assert constraint.selector.nothing


def test_a_selector_that_cannot_be_read_raises() -> None:
    wrong = {"matchExpressions": [{"key": "a", "operator": "Near"}]}
    with pytest.raises(SelectorError, match='^"Near" is not a valid label selector operator$'):
        parsed(make_pod().spread(ZONE, None, labelSelector=wrong))


def _service(name: str, selector: dict[str, str] | None, *, namespace: str = "default") -> KubeObject:
    spec = {} if selector is None else {"selector": selector}
    service: KubeObject = make("Service", name, namespace=namespace, spec=spec)
    return service


def _replicas(kind: str, selector: Any) -> KubeObject:
    owner: KubeObject = make(kind, "owner", spec={"selector": selector})
    return owner


IN_TEAM = {"matchExpressions": [{"key": "team", "operator": "In", "values": ["a", "b"]}]}
TEAM = Requirement("team", Op.IN, ("a", "b"))
APP = Requirement("app", Op.IN, ("web",))
TIER = Requirement("tier", Op.IN, ("front",))


@cases(
    "pod, objects, want",
    ("nothing to go by", make_pod(), [], []),
    ("a service that selects the pod", make_pod(), [_service("s", WEB)], [APP]),
    ("services are merged", make_pod(), [_service("s", WEB), _service("t", {"tier": "front"})], [APP, TIER]),
    ("a service of other pods", make_pod(), [_service("s", {"app": "db"})], []),
    ("a service of another namespace", make_pod(), [_service("s", WEB, namespace="other")], []),
    ("services without a selector", make_pod(), [_service("s", None), _service("t", {})], []),
    ("the replica set's requirements come on top", make_pod().owner("ReplicaSet", "owner"),
     [_replicas("ReplicaSet", IN_TEAM), _service("s", WEB)], [APP, TEAM]),
    ("stateful sets count", make_pod().owner("StatefulSet", "owner"), [_replicas("StatefulSet", IN_TEAM)], [TEAM]),
    ("a replication controller's map is merged", make_pod().owner("ReplicationController", "owner", api="v1"),
     [_replicas("ReplicationController", {"tier": "front"}), _service("s", WEB)], [APP, TIER]),
    ("an owner that is not there", make_pod().owner("ReplicaSet", "gone"), [], []),
    ("an owner of another version", make_pod().owner("ReplicaSet", "owner", api="apps/v2"),
     [_replicas("ReplicaSet", IN_TEAM)], []),
    ("an owner that is not the controller", make_pod().owner("ReplicaSet", "owner", controller=False),
     [_replicas("ReplicaSet", IN_TEAM)], []),
    ("an owner whose selector cannot be read", make_pod().owner("ReplicaSet", "owner"),
     [_replicas("ReplicaSet", {"matchExpressions": [{"key": "a", "operator": "Near"}]})], []),
)  # fmt: skip
def test_default_selector_comes_from_services_and_controller(
    pod: PodBuilder, objects: list[KubeObject], want: list[Requirement]
) -> None:
    selector = DefaultSelectors().of(pod.label(app="web", tier="front").build(), FakeLister(objects))
    assert selector == LabelSelectorMatcher(tuple(want))


def test_default_selectors_follow_services_and_controllers() -> None:
    selectors, pod = DefaultSelectors(), make_pod().label(app="web").owner("ReplicaSet", "owner").build()
    seen = []
    for objects in ([], [_service("s", WEB)], [_service("s", WEB), _replicas("ReplicaSet", IN_TEAM)]):
        lister = FakeLister(objects)
        assert selectors.sources(pod, lister) == selectors.sources(pod, lister)
        seen.append((selectors.sources(pod, lister), selectors.of(pod, lister).requirements))
    assert [found for _, found in seen] == [(), (APP,), (APP, TEAM)]
    assert seen[0][0] != seen[1][0] != seen[2][0]


def test_built_in_defaults_are_soft() -> None:
    found = list(SYSTEM_DEFAULTS)
    assert found == [TopologySpreadConstraint(3, HOSTNAME, SOFT), TopologySpreadConstraint(5, ZONE, SOFT)]


DEFAULT, TAINTS = (
    Constraint(ZONE, 1, selector_from_map(WEB)),
    Constraint(ZONE, 1, selector_from_map(WEB), 1, False, True),
)


@cases(
    "constraint, pod, node, want",
    ("taints do not matter by default", DEFAULT, make_pod(), make_node().taint("k"), True),
    ("the node selector does", DEFAULT, make_pod().node_selector(a="b"), make_node(), False),
    ("unless it is to be ignored", TAINTS, make_pod().node_selector(a="b"), make_node(), True),
    ("taints count when they are honoured", TAINTS, make_pod(), make_node().taint("k"), False),
    ("soft ones do not", TAINTS, make_pod(), make_node().taint("k", "", "PreferNoSchedule"), True),
    ("nor tolerated ones", TAINTS, make_pod().toleration("k", operator="Exists"), make_node().taint("k"), True),
)
def test_nodes_are_included_by_the_policies(
    constraint: Constraint, pod: PodBuilder, node: NodeBuilder, want: bool
) -> None:
    info = make_info(node)
    assert info.node is not None
    assert Inclusion(pod.build()).includes(constraint, info.node) is want
    counted = CountedRows.of(constraint, Inclusion(pod.build()), ())
    assert counted.rows(make_table([info])).tolist() == [want]


@cases(
    "selector, want",
    ("those that match, of the namespace, not being deleted", selector_from_map(WEB), 2),
    ("an empty selector counts nobody", LabelSelectorMatcher(), 0),
    ("nor does an absent one", LabelSelectorMatcher(nothing=True), 0),
)
def test_whom_a_selector_counts(selector: LabelSelectorMatcher, want: int) -> None:
    pods = [
        make_pod("a").label(WEB),
        make_pod("b").label(WEB).label(more="x"),
        make_pod("c").label(app="db"),
        make_pod("d").label(WEB).deleted(),
        make_pod("e", namespace="other").label(WEB),
    ]
    assert count_matching([PodInfo.of(pod.build()) for pod in pods], selector, "default") == want
    table = make_table([make_info(make_node(), *pods)])
    assert table.pods.tally_of_kinds(MatchingPods("default", selector)).counts[0] == want
