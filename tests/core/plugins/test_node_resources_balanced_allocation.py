"""Evenly used resources score higher."""

from __future__ import annotations

import pytest

from scheduler_core.config.types import NodeResourcesBalancedAllocationArgs, ResourceSpec
from scheduler_core.errors import ConfigError
from scheduler_core.framework.cycle_state import CycleState
from scheduler_core.model.status import SKIP
from tests.builders import NodeBuilder, PodBuilder, make_node, make_pod
from tests.cases import cases
from tests.core.plugins.support import make_info, make_plugin, run_score

GPU = "example.com/gpu"


def of(*names: str) -> NodeResourcesBalancedAllocationArgs:
    return NodeResourcesBalancedAllocationArgs(tuple(ResourceSpec(name, 1) for name in names))


def node_of(cpu: str, memory: str) -> NodeBuilder:
    return make_node("n1").capacity(cpu=cpu, memory=memory)


@cases(
    "pod, want",
    ("a pod without requests", make_pod(), SKIP),
    ("a pod without requests for the configured resources", make_pod().req({GPU: "1"}), SKIP),
    ("an explicit zero", make_pod().req(cpu="0"), SKIP),
)
def test_pre_score_skips_best_effort_pods(pod: PodBuilder, want: object) -> None:
    assert make_plugin("NodeResourcesBalancedAllocation").pre_score(CycleState(), pod.build(), []) == want


def test_score_is_zero_for_best_effort_pods_when_pre_score_did_not_run() -> None:
    score, status = make_plugin("NodeResourcesBalancedAllocation").score(
        CycleState(), make_pod().build(), make_info(make_node())
    )
    assert (score, status.is_success) == (0, True)


@cases(
    "node, pod, want",
    ("equal fractions", node_of("8", "8"), make_pod().req(cpu="3", memory="3"), 100),
    ("half the distance of two fractions", node_of("4", "4"), make_pod().req(cpu="3", memory="1"), 75),
    ("64.99999999999999 is truncated as upstream", node_of("40", "40"), make_pod().req(cpu="3", memory="31"), 64),
    ("fractions end at 1", node_of("1", "4"), make_pod().req(cpu="9", memory="4"), 100),
    ("a single fraction is even", node_of("4", "0"), make_pod().req(cpu="3", memory="1"), 100),
    ("a resource not asked for counts", node_of("4", "4").zone("z"), make_pod().req(memory="2"), 75),
    ("the pod level is seen", node_of("4", "4"), make_pod().req(cpu="1").pod_level(cpu="3"), 62),
)
def test_score_falls_with_the_distance_of_fractions(node: NodeBuilder, pod: PodBuilder, want: int) -> None:
    assert run_score(make_plugin("NodeResourcesBalancedAllocation"), pod.build(), make_info(node)) == [want]


def test_score_counts_what_pods_really_request() -> None:
    node = make_info(node_of("4", "4Gi"), make_pod("held").req(cpu="1"), make_pod("empty"))
    pod = make_pod().req(cpu="1", memory="2Gi").build()
    assert run_score(make_plugin("NodeResourcesBalancedAllocation"), pod, node) == [100]


@cases(
    "gpus, want",
    ("three fractions: 0.75, 0.25, 0.5", "4", 79),
    ("a node without the third has two", "0", 75),
)
def test_score_is_the_deviation_of_three_or_more(gpus: str, want: int) -> None:
    infos = [
        make_info(make_node("n1").capacity({"cpu": "4", "memory": "4", GPU: gpus})),
        make_info(make_node("n2").capacity({"cpu": "4", "memory": "4", GPU: "2"})),
    ]
    plugin = make_plugin("NodeResourcesBalancedAllocation", of("cpu", "memory", GPU))
    pod = make_pod().req({"cpu": "3", "memory": "1", GPU: "2"}).build()
    assert run_score(plugin, pod, *infos) == [want, 68]


@cases(
    "args, problem",
    ("a resource named twice", of("cpu", "cpu"), "Duplicate value"),
    ("a weight", NodeResourcesBalancedAllocationArgs((ResourceSpec("cpu", 2),)), "must be 1"),
)
def test_unusable_arguments_are_refused(args: NodeResourcesBalancedAllocationArgs, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        make_plugin("NodeResourcesBalancedAllocation", args)
