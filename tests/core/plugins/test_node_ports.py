"""Host ports a pod wants must be free on its node."""

from __future__ import annotations

import pytest

from scheduler_core.framework.answers import ALL_ROWS, QueueingHint
from scheduler_core.framework.cycle_state import CycleState
from scheduler_core.model.events import ASSIGNED_POD_DELETE, NODE_ADD
from scheduler_core.model.status import SKIP, SUCCESS, Status
from tests.builders import PodBuilder, make_node, make_pod
from tests.core.plugins.support import ask_hint, make_info, make_plugin, make_table, run_filter

TAKEN = Status.unschedulable("node(s) didn't have free ports for the requested pod ports")


def test_pre_filter_skips_a_pod_without_host_ports() -> None:
    pod = make_pod().container(ports=[{"containerPort": 80}]).build()
    assert make_plugin("NodePorts").pre_filter(CycleState(), pod, []) == (None, SKIP)


@pytest.mark.parametrize(
    ("pod", "want"),
    [
        pytest.param(make_pod().host_port(80), TAKEN, id="the same port on any address"),
        pytest.param(make_pod().host_port(80, ip="10.0.0.1"), TAKEN, id="the same port on the same address"),
        pytest.param(make_pod().host_port(80, ip="10.0.0.2"), SUCCESS, id="the same port on another address"),
        pytest.param(make_pod().host_port(80, protocol="UDP"), SUCCESS, id="another protocol"),
        pytest.param(make_pod().host_port(8080), SUCCESS, id="another port"),
        pytest.param(
            make_pod().host_port(8080).host_port(53, protocol="UDP", ip="1.1.1.1"), TAKEN, id="one of two is taken"
        ),
        pytest.param(
            make_pod().init_container(sidecar=True, ports=[{"containerPort": 1, "hostPort": 80}]),
            TAKEN,
            id="ports of a sidecar count",
        ),
        pytest.param(make_pod().host_port(8080).host_port(8080), SUCCESS, id="a pod does not conflict with itself"),
    ],
)
def test_filter_refuses_nodes_with_a_conflicting_port(pod: PodBuilder, want: Status) -> None:
    holder = make_pod("holder").host_port(80, ip="10.0.0.1").host_port(53, protocol="UDP")
    infos = [make_info(make_node("taken"), holder), make_info(make_node("free"))]
    assert run_filter(make_plugin("NodePorts"), pod.build(), *infos) == [want, SUCCESS]


def test_filter_fails_when_pre_filter_did_not_run() -> None:
    plugin, info, pod = make_plugin("NodePorts"), make_info(make_node()), make_pod().host_port(80).build()
    want = Status.failed('reading "PreFilterNodePorts" from cycleState: not found')
    assert plugin.filter(CycleState(), pod, info) == want
    verdicts = plugin.filter_nodes(CycleState(), pod, make_table([info]), ALL_ROWS)
    assert (verdicts.codes.tolist(), list(verdicts.statuses)) == ([1], [want])


@pytest.mark.parametrize(
    ("deleted", "want"),
    [
        pytest.param(make_pod("x").host_port(80).on("n"), QueueingHint.QUEUE, id="a bound pod held the port"),
        pytest.param(
            make_pod("x").host_port(80).nominated("n"), QueueingHint.QUEUE, id="a nominated pod meant to hold it"
        ),
        pytest.param(make_pod("x").host_port(80), QueueingHint.SKIP, id="a pod without a place held nothing"),
        pytest.param(make_pod("x").on("n"), QueueingHint.SKIP, id="a pod without host ports"),
        pytest.param(make_pod("x").host_port(81).on("n"), QueueingHint.SKIP, id="a pod with another port"),
    ],
)
def test_pod_hint_asks_whether_a_wanted_port_was_freed(deleted: PodBuilder, want: QueueingHint) -> None:
    pod = make_pod().host_port(80).build()
    assert ask_hint(make_plugin("NodePorts"), ASSIGNED_POD_DELETE, pod, deleted.build(), None) is want


def test_any_new_node_queues_the_pod() -> None:
    pod = make_pod().host_port(80).build()
    assert ask_hint(make_plugin("NodePorts"), NODE_ADD, pod, None, make_node().build()) is QueueingHint.QUEUE
