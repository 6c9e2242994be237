"""Host ports a pod wants must be free on its node."""

from __future__ import annotations

from scheduler_core.framework.answers import QueueingHint
from scheduler_core.framework.cycle_state import CycleState
from scheduler_core.model.events import ASSIGNED_POD_DELETE
from scheduler_core.model.status import SKIP, SUCCESS, Status
from tests.builders import PodBuilder, make_node, make_pod
from tests.cases import cases
from tests.core.plugins.support import ask_hint, make_info, make_plugin, run_filter

QUEUE, HINT_SKIP = QueueingHint.QUEUE, QueueingHint.SKIP
TAKEN = Status.unschedulable("node(s) didn't have free ports for the requested pod ports")


def test_pre_filter_skips_a_pod_without_host_ports() -> None:
    pod = make_pod().container(ports=[{"containerPort": 80}]).build()
    assert make_plugin("NodePorts").pre_filter(CycleState(), pod, []) == (None, SKIP)


@cases(
    "pod, want",
    ("the same port on any address", make_pod().host_port(80), TAKEN),
    ("the same port on the same address", make_pod().host_port(80, ip="10.0.0.1"), TAKEN),
    ("the same port on another address", make_pod().host_port(80, ip="10.0.0.2"), SUCCESS),
    ("another protocol", make_pod().host_port(80, protocol="UDP"), SUCCESS),
    ("another port", make_pod().host_port(8080), SUCCESS),
    ("one of two is taken", make_pod().host_port(8080).host_port(53, protocol="UDP", ip="1.1.1.1"), TAKEN),
    ("ports of a sidecar count", make_pod().init_container(sidecar=True, ports=[{"containerPort": 1, "hostPort": 80}]),
     TAKEN),
    ("a pod does not conflict with itself", make_pod().host_port(8080).host_port(8080), SUCCESS),
)  # fmt: skip
def test_filter_refuses_nodes_with_a_conflicting_port(pod: PodBuilder, want: Status) -> None:
    holder = make_pod("holder").host_port(80, ip="10.0.0.1").host_port(53, protocol="UDP")
    infos = [make_info(make_node("taken"), holder), make_info(make_node("free"))]
    assert run_filter(make_plugin("NodePorts"), pod.build(), *infos) == [want, SUCCESS]


@cases(
    "deleted, want",
    ("a bound pod held the port", make_pod("x").host_port(80).on("n"), QUEUE),
    ("a nominated pod meant to hold it", make_pod("x").host_port(80).nominated("n"), QUEUE),
    ("a pod without a place held nothing", make_pod("x").host_port(80), HINT_SKIP),
    ("a pod without host ports", make_pod("x").on("n"), HINT_SKIP),
    ("a pod with another port", make_pod("x").host_port(81).on("n"), HINT_SKIP),
)
def test_pod_hint_asks_whether_a_wanted_port_was_freed(deleted: PodBuilder, want: QueueingHint) -> None:
    assert ask_hint(make_plugin("NodePorts"), ASSIGNED_POD_DELETE, make_pod().host_port(80), deleted, None) is want
