"""Pods that wait in Permit or in PreBind while the cluster changes."""

from __future__ import annotations

from typing import Any

from scheduler_core.api.pod import Pod
from scheduler_core.framework.answers import PreBindWork
from scheduler_core.model.changes import BindingVerdict, PermitVerdict, PreBindVerdict
from scheduler_core.model.status import SUCCESS, WAIT, Status
from tests.builders import make_node, make_pod
from tests.core.scheduler.harness import (
    NO_CYCLES,
    SECOND,
    BindingPlugin,
    EveryPointPlugin,
    PostFilteringPlugin,
    ToldPlugins,
)
from tests.core.scheduler.shell import UID, _assert_nothing_left, _cluster, _pods_on


def _gang(plugins: ToldPlugins, handles: list[Any], **answers: Any) -> None:
    """A plugin that holds the pods labelled so, and knows the waiting pods."""

    def factory(args: Any, handle: Any) -> Any:
        handles.append(handle)
        hold = lambda pod, node: (WAIT, 60 * SECOND) if "hold" in pod.labels else (SUCCESS, 0)  # noqa: E731
        return BindingPlugin("Gang", plugins.log, {"permit": hold, **answers})

    plugins.factories["Gang"] = factory


def _held(name: str) -> Pod:
    return make_pod(name).label(hold="yes").build()


def test_rejecting_one_of_a_gang_rejects_all_in_the_same_step() -> None:
    """Unreserve of the last one rejects those that began to wait before it."""
    handles: list[Any] = []
    plugins = ToldPlugins()

    def unreserve(pod: Pod, node: str) -> None:
        for waiting in handles[0].waiting_pods:
            waiting.reject("Gang", "the gang is broken")

    _gang(plugins, handles, unreserve=unreserve)
    cluster = _cluster("Gang", plugins=plugins)
    cluster.step(_held("a"), _held("b"), _held("c"))
    verdict = PermitVerdict("pod-default/c", "Gang", allowed=False, message="no")
    effects = cluster.step(verdict, budget=NO_CYCLES)
    assert sorted(event.regarding_key for event in effects.events) == ["default/a", "default/b", "default/c"]
    assert len(cluster.scheduler.engine.waiting_pods) == 0 and cluster.scheduler.engine.bindings == {}
    assert _pods_on(cluster) == []


def test_failed_cycle_may_reject_a_waiting_pod() -> None:
    """Like preemption of a pod that is not bound yet: its room is there at once."""
    handles: list[Any] = []
    plugins = ToldPlugins()
    _gang(plugins, handles)

    def post_filter(pod: Pod, statuses: Any) -> Any:
        for waiting in handles[0].waiting_pods:
            waiting.reject("Evictor", "preempted")
        return None, Status.unschedulable()

    plugins.add("Evictor", PostFilteringPlugin, post_filter=post_filter)
    cluster = _cluster("Gang", "Evictor", plugins=plugins)
    cluster.step(_held("a"))
    effects = cluster.step(make_pod("big").req(cpu="9").build())
    assert [event.note for event in effects.events if event.regarding_key == "default/a"] == [
        "0/1 nodes are available: 1 preempted."
    ]
    assert _pods_on(cluster) == []


def test_pod_bound_elsewhere_while_it_waits_gives_up_its_place() -> None:
    plugins = ToldPlugins()
    _gang(plugins, [])
    cluster = _cluster("Gang", plugins=plugins)
    cluster.put(make_node("n1").build())
    cluster.step(_held("a"))
    (assumed_on,) = [node for node in ("n0", "n1") if _pods_on(cluster, node)]
    elsewhere = "n1" if assumed_on == "n0" else "n0"
    cluster.step(_held("a").on_node(elsewhere))
    assert _pods_on(cluster, assumed_on) == [] and _pods_on(cluster, elsewhere) == ["pod-default/a"]
    _assert_nothing_left(cluster)


def test_deleting_a_pod_that_waits_for_its_volume_lets_the_work_end_first() -> None:
    plugins = ToldPlugins().add(
        "Volumes", EveryPointPlugin, pre_bind=lambda pod, node: (SUCCESS, PreBindWork([], awaits=True))
    )
    cluster = _cluster("Volumes", plugins=plugins)
    pod = make_pod().build()
    cluster.step(pod)
    assert cluster.delete(pod).bindings == []
    (binding,) = cluster.step(PreBindVerdict(UID, "Volumes", done=True)).bindings
    cluster.step(BindingVerdict(binding.pod_uid, binding.node_name, bound=False, message="not found"))
    assert _pods_on(cluster) == []
    _assert_nothing_left(cluster)
