"""Evenly used resources score higher."""

from __future__ import annotations

import pytest

from scheduler_core.config.types import NodeResourcesBalancedAllocationArgs, ResourceSpec
from scheduler_core.errors import ConfigError
from scheduler_core.framework.cycle_state import CycleState
from scheduler_core.model.status import SKIP
from tests.builders import NodeBuilder, PodBuilder, make_node, make_pod
from tests.core.plugins.support import make_info, make_plugin, run_score

GPU = "example.com/gpu"


def of(*names: str) -> NodeResourcesBalancedAllocationArgs:
    return NodeResourcesBalancedAllocationArgs(tuple(ResourceSpec(name, 1) for name in names))


def node_of(cpu: str, memory: str) -> NodeBuilder:
    return make_node("n1").capacity(cpu=cpu, memory=memory)


@pytest.mark.parametrize(
    ("pod", "want"),
    [
        pytest.param(make_pod(), SKIP, id="a pod without requests"),
        pytest.param(make_pod().req({GPU: "1"}), SKIP, id="a pod without requests for the configured resources"),
        pytest.param(make_pod().req(cpu="0"), SKIP, id="an explicit zero"),
    ],
)
def test_pre_score_skips_best_effort_pods(pod: PodBuilder, want: object) -> None:
    assert make_plugin("NodeResourcesBalancedAllocation").pre_score(CycleState(), pod.build(), []) == want


def test_score_is_zero_for_best_effort_pods_when_pre_score_did_not_run() -> None:
    score, status = make_plugin("NodeResourcesBalancedAllocation").score(
        CycleState(), make_pod().build(), make_info(make_node())
    )
    assert (score, status.is_success) == (0, True)


@pytest.mark.parametrize(
    ("node", "pod", "want"),
    [
        pytest.param(node_of("8", "8"), make_pod().req(cpu="3", memory="3"), 100, id="equal fractions"),
        pytest.param(
            node_of("4", "4"), make_pod().req(cpu="3", memory="1"), 75, id="half the distance of two fractions"
        ),
        pytest.param(
            node_of("40", "40"),
            make_pod().req(cpu="3", memory="31"),
            64,
            id="64.99999999999999 is truncated as upstream",
        ),
        pytest.param(node_of("1", "4"), make_pod().req(cpu="9", memory="4"), 100, id="fractions end at 1"),
        pytest.param(node_of("4", "0"), make_pod().req(cpu="3", memory="1"), 100, id="a single fraction is even"),
        pytest.param(node_of("4", "4").zone("z"), make_pod().req(memory="2"), 75, id="a resource not asked for counts"),
        pytest.param(node_of("4", "4"), make_pod().req(cpu="1").pod_level(cpu="3"), 62, id="the pod level is seen"),
    ],
)
def test_score_falls_with_the_distance_of_fractions(node: NodeBuilder, pod: PodBuilder, want: int) -> None:
    assert run_score(make_plugin("NodeResourcesBalancedAllocation"), pod.build(), make_info(node)) == [want]


def test_score_counts_what_pods_really_request() -> None:
    node = make_info(node_of("4", "4Gi"), make_pod("held").req(cpu="1"), make_pod("empty"))
    pod = make_pod().req(cpu="1", memory="2Gi").build()
    assert run_score(make_plugin("NodeResourcesBalancedAllocation"), pod, node) == [100]


@pytest.mark.parametrize(
    ("gpus", "want"),
    [
        pytest.param("4", 79, id="three fractions: 0.75, 0.25, 0.5"),
        pytest.param("0", 75, id="a node without the third has two"),
    ],
)
def test_score_is_the_deviation_of_three_or_more(gpus: str, want: int) -> None:
    infos = [
        make_info(make_node("n1").capacity({"cpu": "4", "memory": "4", GPU: gpus})),
        make_info(make_node("n2").capacity({"cpu": "4", "memory": "4", GPU: "2"})),
    ]
    plugin = make_plugin("NodeResourcesBalancedAllocation", of("cpu", "memory", GPU))
    pod = make_pod().req({"cpu": "3", "memory": "1", GPU: "2"}).build()
    assert run_score(plugin, pod, *infos) == [want, 68]


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        pytest.param(of("cpu", "cpu"), "Duplicate value", id="a resource named twice"),
        pytest.param(NodeResourcesBalancedAllocationArgs((ResourceSpec("cpu", 2),)), "must be 1", id="a weight"),
    ],
)
def test_unusable_arguments_are_refused(args: NodeResourcesBalancedAllocationArgs, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        make_plugin("NodeResourcesBalancedAllocation", args)
