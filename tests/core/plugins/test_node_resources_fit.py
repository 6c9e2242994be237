"""Room for what a pod requests, and which room is better."""

from __future__ import annotations

import numpy as np
import pytest

from scheduler_core.config.types import (
    NodeResourcesFitArgs,
    RequestedToCapacityRatioParam,
    ResourceSpec,
    ScoringStrategy,
    UtilizationShapePoint,
)
from scheduler_core.errors import ConfigError
from scheduler_core.framework.answers import ALL_ROWS, QueueingHint
from scheduler_core.framework.cycle_state import CycleState
from scheduler_core.model.events import ASSIGNED_POD_DELETE, NODE_ADD, ActionType, ClusterEvent, EventResource
from scheduler_core.model.status import SUCCESS, Status
from tests.builders import NodeBuilder, PodBuilder, make_node, make_pod
from tests.cases import cases
from tests.core.plugins.support import ask_hint, make_info, make_plugin, make_table, run_filter, run_score

GPU, NIC = "example.com/gpu", "example.com/nic"
SCALE_DOWN = ClusterEvent(EventResource.ASSIGNED_POD, ActionType.UPDATE_POD_SCALE_DOWN)
ALLOCATABLE_UPDATE = ClusterEvent(EventResource.NODE, ActionType.UPDATE_NODE_ALLOCATABLE)
QUEUE, SKIP = QueueingHint.QUEUE, QueueingHint.SKIP


def node_of(**resources: str) -> NodeBuilder:
    return make_node("n1").capacity(resources)


def strategy(
    type_: str, *weights: tuple[str, int], shape: tuple[tuple[int, int], ...] | None = None
) -> NodeResourcesFitArgs:
    resources = tuple(ResourceSpec(*weight) for weight in weights or (("cpu", 1), ("memory", 1)))
    ratio = None
    if shape is not None:
        ratio = RequestedToCapacityRatioParam(tuple(UtilizationShapePoint(*point) for point in shape))
    return NodeResourcesFitArgs(scoring_strategy=ScoringStrategy(type_, resources, ratio))


@cases(
    "pod, want",
    ("exactly what is left", make_pod().req(cpu="1", memory="1Gi"), SUCCESS),
    ("asking for nothing", make_pod(), SUCCESS),
    ("a little too much cpu", make_pod().req(cpu="1001m"), Status.unschedulable("Insufficient cpu")),
    ("more cpu than the node has", make_pod().req(cpu="4001m"), Status.unresolvable("Insufficient cpu")),
    ("every shortage is a reason, scalars by name, and one without remedy decides the code",
     make_pod().req({"cpu": "2", "memory": "2Gi", "ephemeral-storage": "5", GPU: "2", NIC: "1"}),
     Status.unresolvable("Insufficient cpu", "Insufficient memory", "Insufficient ephemeral-storage",
                         "Insufficient example.com/gpu", "Insufficient example.com/nic")),
    ("two shortages that eviction could remedy", make_pod().req({"cpu": "2", GPU: "2"}),
     Status.unschedulable("Insufficient cpu", "Insufficient example.com/gpu")),
    ("an explicit zero asks for nothing", make_pod().req({GPU: "0", NIC: "0"}), SUCCESS),
    ("the largest init container decides", make_pod().req(cpu="1").init_container({"cpu": "2"}),
     Status.unschedulable("Insufficient cpu")),
    ("requests at pod level replace the sum", make_pod().req(cpu="100m").pod_level(cpu="1500m"),
     Status.unschedulable("Insufficient cpu")),
    ("overhead counts", make_pod().req(cpu="1").overhead(cpu="1m"), Status.unschedulable("Insufficient cpu")),
)  # fmt: skip
def test_filter_compares_requests_with_what_is_left(pod: PodBuilder, want: Status) -> None:
    node = make_node("n1").capacity({"cpu": "4", "memory": "4Gi", "ephemeral-storage": "4", GPU: "2", "pods": "9"})
    held = make_pod("held").req({"cpu": "3", "memory": "3Gi", GPU: "1"})
    assert run_filter(make_plugin("NodeResourcesFit"), pod.build(), make_info(node, held)) == [want]


def test_filter_counts_pods_first() -> None:
    full = make_info(node_of(cpu="4", pods="1"), make_pod("held").req(cpu="3"))
    none = make_info(make_node("n2").without("pods"))
    want = [Status.unschedulable("Too many pods", "Insufficient cpu"), Status.unschedulable("Too many pods")]
    assert run_filter(make_plugin("NodeResourcesFit"), make_pod().req(cpu="2").build(), full, none) == want


def test_filter_goes_on_after_a_resource_that_no_node_has() -> None:
    pod, info = make_pod().req({GPU: "1", NIC: "3"}).build(), make_info(make_node().capacity({NIC: "2"}))
    want = Status.unresolvable(f"Insufficient {GPU}", f"Insufficient {NIC}")
    assert run_filter(make_plugin("NodeResourcesFit"), pod, info) == [want]


def test_filter_tells_many_combinations_apart() -> None:
    names = [f"example.com/r{number}" for number in range(8)]
    infos = [
        make_info(make_node(f"n{bits}").capacity({name: str((bits >> place) & 1) for place, name in enumerate(names)}))
        for bits in range(200)
    ]
    pod = make_pod().req(dict.fromkeys(names, "1")).build()
    want = [
        Status.unresolvable(*(f"Insufficient {name}" for place, name in enumerate(names) if not (bits >> place) & 1))
        for bits in range(200)
    ]
    assert run_filter(make_plugin("NodeResourcesFit"), pod, *infos) == want


@cases(
    "args, want",
    ("by name", NodeResourcesFitArgs((GPU,)), SUCCESS),
    ("by group", NodeResourcesFitArgs((), ("example.com",)), SUCCESS),
    ("others are not", NodeResourcesFitArgs((NIC,), ("example.org",)), Status.unresolvable(f"Insufficient {GPU}")),
)
def test_filter_leaves_out_ignored_resources(args: NodeResourcesFitArgs, want: Status) -> None:
    pod = make_pod().req({GPU: "1"}).build()
    assert run_filter(make_plugin("NodeResourcesFit", args), pod, make_info(make_node())) == [want]


def test_filter_ignores_extended_resources_only() -> None:
    pod = make_pod().req({"hugepages-2Mi": "2Mi"}).build()
    plugin = make_plugin("NodeResourcesFit", NodeResourcesFitArgs(("hugepages-2Mi",)))
    assert run_filter(plugin, pod, make_info(make_node())) == [Status.unresolvable("Insufficient hugepages-2Mi")]


def test_filter_does_not_see_free_rows() -> None:
    plugin, state, pod = make_plugin("NodeResourcesFit"), CycleState(), make_pod().req(cpu="1").build()
    table = make_table([make_info(make_node("a")), make_info(make_node("b"))])
    table.remove("a")
    plugin.pre_filter(state, pod, [])
    assert plugin.filter_nodes(state, pod, table, ALL_ROWS) is None


def test_headroom_is_that_of_the_table_asked_about() -> None:
    """Tables number resources as they meet them: the same state finds its own in either."""
    plugin, state, pod = make_plugin("NodeResourcesFit"), CycleState(), make_pod().req({GPU: "1"}).build()
    plugin.pre_filter(state, pod, [])
    for offers, want in (({GPU: "3"}, 2), ({NIC: "9", GPU: "5"}, 4)):
        table = make_table([make_info(make_node().capacity({"pods": "1", **offers}))])
        assert plugin.headroom(state, pod, table, np.array([0])).left.tolist() == [[0], [want]]


RISING, FALLING = ((0, 0), (100, 10)), ((0, 10), (50, 5), (100, 0))


@cases(
    "args, want",
    ("least allocated: (50 + 62) / 2", None, 56),
    ("weights: (150 + 62) / 4", strategy("LeastAllocated", ("cpu", 3), ("memory", 1)), 53),
    ("most allocated: (50 + 37) / 2", strategy("MostAllocated"), 43),
    ("a rising shape: 43.5 rounds up", strategy("RequestedToCapacityRatio", shape=RISING), 44),
    ("a falling shape: 56.5 rounds up", strategy("RequestedToCapacityRatio", shape=FALLING), 57),
    ("a scalar the pod does not ask for is left out", strategy("LeastAllocated", ("cpu", 1), (GPU, 9)), 50),
    ("the node lacks a resource", strategy("LeastAllocated", ("cpu", 1), ("ephemeral-storage", 9)), 50),
    ("nothing to weigh", strategy("LeastAllocated", (GPU, 1)), 0),
    ("shaped: a resource that scores zero does not count",
     strategy("RequestedToCapacityRatio", ("cpu", 1), ("memory", 3), shape=((0, 0), (40, 0), (50, 7), (100, 7))), 70),
)  # fmt: skip
def test_score_follows_the_strategy(args: NodeResourcesFitArgs | None, want: int) -> None:
    node = make_info(
        make_node("n1").capacity({"cpu": "4", "memory": "8Gi", GPU: "4"}),
        make_pod("held").req(cpu="1500m", memory="2Gi"),
    )
    pod = make_pod().req(cpu="500m", memory="1Gi").build()
    assert run_score(make_plugin("NodeResourcesFit", args), pod, node) == [want]


@cases(
    "pod, want",
    ("a container without requests counts 100m and 200Mi", make_pod(), (75 + 75) // 2),
    ("an explicit zero stays zero", make_pod().req(cpu="0", memory="0"), 100),
    ("each container counts", make_pod().container().container(), (50 + 50) // 2),
    ("the pod level is not seen", make_pod().pod_level(cpu="400m", memory="800Mi"), (75 + 75) // 2),
    ("more than there is scores zero", make_pod().req(cpu="1", memory="1Gi"), 0),
)
def test_score_counts_defaults_for_missing_requests(pod: PodBuilder, want: int) -> None:
    node = make_info(make_node("n1").capacity(cpu="400m", memory="800Mi"))
    assert run_score(make_plugin("NodeResourcesFit"), pod.build(), node) == [want]


def test_score_stays_exact_for_large_amounts() -> None:
    # (a - q) * 100 / a lies just below 77; in floats it would be 77.
    offered = 2**55 - 1
    asked = offered - (offered * 77 // 100)
    node = make_info(make_node("n1").capacity(memory=str(offered)))
    plugin = make_plugin("NodeResourcesFit", strategy("LeastAllocated", ("memory", 1)))
    assert (
        run_score(plugin, make_pod().req(memory=str(asked)).build(), node)
        == [(offered - asked) * 100 // offered]
        == [76]
    )


@cases(
    "args, problem",
    ("no strategy", strategy(""), "scoringStrategy.type"),
    ("a weight out of range", strategy("LeastAllocated", ("cpu", 101)), "not in valid range"),
    ("a shape is missing", strategy("RequestedToCapacityRatio"), "at least one point"),
    ("a group with a slash", NodeResourcesFitArgs((), ("a/b",)), "can't contain '/'"),
)
def test_unusable_arguments_are_refused(args: NodeResourcesFitArgs, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        make_plugin("NodeResourcesFit", args)


@cases(
    "old, new, want",
    ("a bound pod is gone, whatever its size", make_pod("x").on("n"), None, QUEUE),
    ("a nominated pod is gone", make_pod("x").nominated("n"), None, QUEUE),
    ("a pod without a place is gone", make_pod("x"), None, SKIP),
    ("a bound pod asks for less cpu", make_pod("x").on("n").req(cpu="2"), make_pod("x").on("n").req(cpu="1"), QUEUE),
    ("less of what the pod does not ask for", make_pod("x").on("n").req({GPU: "2"}), make_pod("x").on("n"), SKIP),
    ("an unbound pod asks for less", make_pod("x").req(cpu="2"), make_pod("x").req(cpu="1"), SKIP),
    ("the pod itself asks for less", make_pod("me").req(cpu="2"), make_pod("me").req(cpu="1"), QUEUE),
)
def test_pod_hint_asks_whether_something_wanted_was_freed(
    old: PodBuilder, new: PodBuilder | None, want: QueueingHint
) -> None:
    pod = make_pod("me").req(cpu="1", memory="1Gi").build()
    event = ASSIGNED_POD_DELETE if new is None else SCALE_DOWN
    hint = ask_hint(make_plugin("NodeResourcesFit"), event, pod, old, new)
    assert hint is want


@cases(
    "old, new, want",
    ("a new node with room", None, node_of(cpu="1"), QUEUE),
    ("a new node that is too small", None, node_of(cpu="500m"), SKIP),
    ("a new node that takes no pods", None, make_node().without("pods"), SKIP),
    ("more of what the pod asks for", node_of(cpu="1"), node_of(cpu="2"), QUEUE),
    ("less of it", node_of(cpu="4"), node_of(cpu="2"), SKIP),
    ("more pods allowed", node_of(cpu="1", pods="5"), node_of(cpu="1", pods="6"), QUEUE),
    ("more of what it does not ask for", node_of(cpu="1"), node_of(cpu="1", memory="99Gi"), SKIP),
    ("more, but still too small", node_of(cpu="100m"), node_of(cpu="500m"), SKIP),
)
def test_node_hint_asks_whether_the_pod_would_fit(
    old: NodeBuilder | None, new: NodeBuilder, want: QueueingHint
) -> None:
    pod = make_pod("me").req(cpu="1").build()
    event = NODE_ADD if old is None else ALLOCATABLE_UPDATE
    assert ask_hint(make_plugin("NodeResourcesFit"), event, pod, old, new) is want


def test_node_hint_asks_for_ignored_resources_too() -> None:
    plugin = make_plugin("NodeResourcesFit", NodeResourcesFitArgs((GPU,)))
    assert ask_hint(plugin, NODE_ADD, make_pod("me").req({GPU: "1"}), None, make_node()) is SKIP
