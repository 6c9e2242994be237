"""Required and preferred nodes by label and name, the pod's own and those the configuration adds."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler_core.api.affinity import NodeAffinity, NodeSelector, NodeSelectorTerm, PreferredSchedulingTerm
from scheduler_core.api.affinity import NodeSelectorRequirement as Requirement
from scheduler_core.config.types import NodeAffinityArgs
from scheduler_core.errors import ConfigError
from scheduler_core.framework.answers import QueueingHint
from scheduler_core.framework.cycle_state import CycleState
from scheduler_core.model.events import NODE_ADD, ActionType, ClusterEvent, EventResource
from scheduler_core.model.status import SKIP, SUCCESS, Code, Status
from tests.builders import NodeBuilder, PodBuilder, make_node, make_pod
from tests.cases import cases
from tests.core.plugins.support import ask_hint, make_info, make_plugin, run_filter, run_score

NOT_BY_POD = Status.unresolvable("node(s) didn't match Pod's node affinity/selector")
NOT_BY_SCHEDULER = Status.unresolvable("node(s) didn't match scheduler-enforced node affinity")
LABEL_UPDATE = ClusterEvent(EventResource.NODE, ActionType.UPDATE_NODE_LABEL)
QUEUE, HINT_SKIP = QueueingHint.QUEUE, QueueingHint.SKIP

POOL_TERM = NodeSelectorTerm((Requirement("pool", "In", ("web",)),))
ADDED_REQUIRED = NodeAffinityArgs(NodeAffinity(NodeSelector((POOL_TERM,))))
ADDED_PREFERRED = NodeAffinityArgs(
    NodeAffinity(preferred_during_scheduling_ignored_during_execution=(PreferredSchedulingTerm(50, POOL_TERM),))
)


def in_zone(*zones: str) -> dict[str, Any]:
    return {"matchExpressions": [{"key": "zone", "operator": "In", "values": list(zones)}]}


def named(*names: str) -> dict[str, Any]:
    return {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [name]} for name in names]}


@cases(
    "pod, args, want",
    ("skips a pod that requires nothing", make_pod(), None, SKIP),
    ("preferences require nothing", make_pod().preferred_node_affinity(1, in_zone("a")), None, SKIP),
    ("a node selector", make_pod().node_selector(zone="a"), None, SUCCESS),
    ("required terms", make_pod().required_node_affinity(in_zone("a")), None, SUCCESS),
    ("added requirements", make_pod(), ADDED_REQUIRED, SUCCESS),
    ("added preferences require nothing", make_pod(), ADDED_PREFERRED, SKIP),
)
def test_pre_filter_skips_when_nothing_is_required(pod: PodBuilder, args: object, want: Status) -> None:
    assert make_plugin("NodeAffinity", args).pre_filter(CycleState(), pod.build(), []) == (None, want)


@cases(
    "terms, names",
    ("one name", [named("n1")], {"n1"}),
    ("names of all terms", [named("n1"), named("n2") | in_zone("a")], {"n1", "n2"}),
    ("a term without names allows any", [named("n1"), in_zone("a")], None),
    ("contradicting names in a term leave none of it", [named("n1", "n2"), named("n3")], {"n3"}),
    ("NotIn", [{"matchFields": [{"key": "metadata.name", "operator": "NotIn", "values": ["n1"]}]}], None),
    ("no terms", [], None),
)
def test_pre_filter_narrows_to_named_nodes(terms: list[dict[str, Any]], names: set[str] | None) -> None:
    pod = make_pod().required_node_affinity(*terms).build()
    result, status = make_plugin("NodeAffinity").pre_filter(CycleState(), pod, [])
    assert status == SUCCESS
    assert (None if result is None else result.node_names) == names


def test_pre_filter_refuses_names_that_contradict() -> None:
    pod = make_pod().required_node_affinity(named("n1", "n2")).build()
    _, status = make_plugin("NodeAffinity").pre_filter(CycleState(), pod, [])
    assert status == Status.unresolvable("pod affinity terms conflict")


@cases(
    "pod, args, want",
    ("the selector matches", make_pod().node_selector(zone="a"), None, SUCCESS),
    ("the selector does not", make_pod().node_selector(zone="b"), None, NOT_BY_POD),
    ("all pairs must match", make_pod().node_selector(zone="a", pool="x"), None, NOT_BY_POD),
    ("one term is enough", make_pod().required_node_affinity(in_zone("b"), in_zone("a")), None, SUCCESS),
    ("selector and terms must both match", make_pod().node_selector(zone="a").required_node_affinity(in_zone("b")),
     None, NOT_BY_POD),
    ("no terms match nothing", make_pod().required_node_affinity(), None, NOT_BY_POD),
    ("a malformed term is passed over when another matches",
     make_pod().required_node_affinity({"matchExpressions": [{"key": "zone", "operator": "Near", "values": ["a"]}]},
                                       in_zone("a")), None, SUCCESS),
    ("the added affinity does not match", make_pod(), ADDED_REQUIRED, NOT_BY_SCHEDULER),
    ("the added affinity is asked first", make_pod().node_selector(zone="b"), ADDED_REQUIRED, NOT_BY_SCHEDULER),
)  # fmt: skip
def test_filter_asks_selector_and_terms(pod: PodBuilder, args: object, want: Status) -> None:
    node = make_info(make_node("n1").label(zone="a"))
    assert run_filter(make_plugin("NodeAffinity", args), pod.build(), node) == [want]


def test_filter_works_without_pre_filter() -> None:
    plugin, pod = make_plugin("NodeAffinity"), make_pod().node_selector(zone="b").build()
    assert plugin.filter(CycleState(), pod, make_info(make_node("n1").label(zone="a"))) == NOT_BY_POD


@cases(
    "pod, args, raw, normalized",
    ("weights of matching terms are added up",
     make_pod().preferred_node_affinity(50, in_zone("a")).preferred_node_affinity(30, in_zone("a", "b")), None,
     [80, 30, 0], [100, 37, 0]),
    ("added terms count", make_pod(), ADDED_PREFERRED, [0, 50, 0], [0, 100, 0]),
    ("added and own", make_pod().preferred_node_affinity(25, in_zone("a")), ADDED_PREFERRED, [25, 50, 0], [50, 100, 0]),
    ("an empty term never matches", make_pod().preferred_node_affinity(5, {}).preferred_node_affinity(1, in_zone("c")),
     None, [0, 0, 1], [0, 0, 100]),
)  # fmt: skip
def test_score_adds_up_matching_weights(pod: PodBuilder, args: object, raw: list[int], normalized: list[int]) -> None:
    infos = [
        make_info(make_node("n1").label(zone="a")),
        make_info(make_node("n2").label(zone="b", pool="web")),
        make_info(make_node("n3").label(zone="c")),
    ]
    plugin = make_plugin("NodeAffinity", args)
    assert run_score(plugin, pod.build(), *infos) == raw
    assert run_score(plugin, pod.build(), *infos, normalize=True) == normalized


def test_pre_score_skips_without_preferred_terms() -> None:
    assert make_plugin("NodeAffinity").pre_score(CycleState(), make_pod().build(), []) == SKIP


def test_pre_score_fails_on_a_malformed_preferred_term() -> None:
    bad = {"matchExpressions": [{"key": "zone", "operator": "Near", "values": ["a"]}]}
    status = make_plugin("NodeAffinity").pre_score(CycleState(), make_pod().preferred_node_affinity(1, bad).build(), [])
    assert status.code is Code.Error
    assert "Near" in status.message


@cases(
    "args, old, new, want",
    ("a new node the pod wants", None, None, make_node().label(zone="a"), QUEUE),
    ("a new node it does not want", None, None, make_node().label(zone="b"), HINT_SKIP),
    ("the label came", None, make_node(), make_node().label(zone="a"), QUEUE),
    ("it matched before", None, make_node().label(zone="a"), make_node().label(zone="a", x="y"), HINT_SKIP),
    ("the label went", None, make_node().label(zone="a"), make_node(), HINT_SKIP),
    ("the added affinity does not match", ADDED_REQUIRED, None, make_node().label(zone="a"), HINT_SKIP),
    ("the added affinity matches", ADDED_REQUIRED, None, make_node().label(zone="a", pool="web"), QUEUE),
)
def test_node_hint_asks_whether_the_node_began_to_match(
    args: object, old: NodeBuilder | None, new: NodeBuilder, want: QueueingHint
) -> None:
    pod = make_pod().node_selector(zone="a").build()
    event = NODE_ADD if old is None else LABEL_UPDATE
    assert ask_hint(make_plugin("NodeAffinity", args), event, pod, old, new) is want


def test_a_malformed_added_affinity_is_refused() -> None:
    bad = NodeAffinity(NodeSelector((NodeSelectorTerm((Requirement("zone", "Near", ("a",)),)),)))
    with pytest.raises(ConfigError, match="addedAffinity.requiredDuringSchedulingIgnoredDuringExecution"):
        make_plugin("NodeAffinity", NodeAffinityArgs(bad))
