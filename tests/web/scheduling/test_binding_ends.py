"""How a binding cycle can end between the decision and the bound pod, in the tables: each way once."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from kschedweb.cluster.models import Cluster, Event, Node, Pod
from kschedweb.cluster.services import object_delete, pod_delete
from kschedweb.scheduling import services
from kschedweb.scheduling.choices import WorkStatus
from kschedweb.scheduling.models import Binding
from kschedweb.scheduling.runner.host import EngineHost
from kschedweb.traces.models import QueueState
from scheduler_core import build
from scheduler_core.model.status import SUCCESS, Code, Status
from tests.builders import make_node, make_pod
from tests.cases import cases
from tests.web.scheduling.conftest import bind_untold, configure, lead, put, scheduled, settle

pytestmark = pytest.mark.django_db(transaction=True)

SECOND = 1_000_000
START = 2_000_000_000 * SECOND


class Told:
    """A plugin whose Permit or PreBind answers as it is told."""

    def __init__(self, name: str, methods: Mapping[str, Callable[..., Any]]) -> None:
        self.name = name
        self.undone: list[str] = []
        for method, answer in methods.items():
            setattr(self, method, answer)

    def reserve(self, state: Any, pod: Any, node_name: str) -> Status:
        return SUCCESS

    def unreserve(self, state: Any, pod: Any, node_name: str) -> None:
        self.undone.append(pod.name)


Install = Callable[..., Told]


@pytest.fixture
def install(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Have a plugin with these methods in the cluster's profile."""

    def put(**methods: Callable[..., Any]) -> Told:
        plugin = Told("Told", methods)
        monkeypatch.setattr(
            build, "build", functools.partial(build.build, registry={"Told": lambda args, handle: plugin})
        )
        configure(cluster, profiles=[{"plugins": {"multiPoint": {"enabled": [{"name": "Told"}]}}}])
        return plugin

    return put


@pytest.fixture
def two(cluster: Cluster) -> Cluster:
    """One node with room for one of two pods."""
    node = make_node("n1").capacity(cpu="3").manifest()
    put(cluster, node, *(make_pod(name).req(cpu="2") for name in ("first", "second")))
    return cluster


def at(host: EngineHost, seconds: float) -> None:
    """Set the host's clock."""
    host.clock_us = lambda: START + int(seconds * SECOND)


def why(cluster: Cluster, name: str) -> list[str]:
    """Notes of the pod's failures."""
    found = Event.objects.filter(cluster=cluster, reason="FailedScheduling", regarding_name=name).order_by("id")
    return list(found.values_list("note", flat=True))


def queue_of(cluster: Cluster) -> dict[str, str]:
    return {key.partition("/")[2]: queue for key, queue in QueueState.objects.values_list("pod_key", "queue")}


def test_pod_deleted_before_its_binding_gives_its_room_to_the_next(two: Cluster) -> None:
    host = lead(two)
    host.step()
    assert Binding.objects.get(cluster=two).name == "first"
    pod_delete(cluster_id=two.pk, namespace="default", name="first", actor="test")
    assert services.bindings_carry_out(cluster_id=two.pk) == 1
    assert Binding.objects.get(cluster=two, name="first").status == WorkStatus.REFUSED
    settle(host)
    assert list(Pod.objects.filter(cluster=two).values_list("name", "node_name")) == [("second", "n1")]
    assert queue_of(two) == {}


def test_pod_bound_by_somebody_else_meanwhile_stays_there(two: Cluster) -> None:
    put(two, make_node("n2").capacity(cpu="1"))
    host = lead(two)
    host.step()
    bind_untold(two, "first", "n2")
    settle(host)
    binding = Binding.objects.get(cluster=two, name="first")
    refusal = 'Operation cannot be fulfilled on pods/binding "first": pod first is already assigned to node "n2"'
    assert (binding.status, binding.message) == (WorkStatus.REFUSED, refusal)
    assert why(two, "first") == [f'running Bind plugin "DefaultBinder": {refusal}']
    assert not Binding.objects.filter(cluster=two, name="first", status=WorkStatus.DONE).exists()


def test_node_deleted_before_the_binding_does_not_refuse_it(two: Cluster) -> None:
    host = lead(two)
    host.step()
    object_delete(cluster_id=two.pk, kind="Node", namespace="", name="n1", actor="test")
    settle(host)
    # The store binds to a name; what is bound to nothing is for pod garbage collection.
    assert not Node.objects.filter(cluster=two).exists()
    assert Pod.objects.get(cluster=two, name="first").node_name == "n1"
    assert Pod.objects.get(cluster=two, name="second").node_name == ""
    assert why(two, "second")


def test_permit_that_is_not_given_in_time_undoes_the_decision(install: Install, two: Cluster) -> None:
    plugin = install(
        permit=lambda state, pod, node: (Status(Code.Wait), 5 * SECOND) if pod.name == "first" else (SUCCESS, 0)
    )
    host = lead(two)
    at(host, 0)
    settle(host)
    assert queue_of(two) == {"first": "waiting", "second": "unschedulable"}
    assert not Binding.objects.filter(cluster=two).exists()
    at(host, 4)
    assert host.step().due_in == pytest.approx(1, abs=0.01)  # nobody has to look before
    at(host, 6)
    settle(host)
    assert plugin.undone == ["first"]
    assert why(two, "first")[0] == (
        "0/1 nodes are available: 1 rejected due to timeout after waiting 5s at plugin Told."
    )
    assert Pod.objects.get(cluster=two, name="second").node_name == "n1"  # the room came free


def test_permit_that_is_refused_undoes_the_decision(install: Install, two: Cluster) -> None:
    plugin = install(
        permit=lambda state, pod, node: (Status.unschedulable("not now"), 0) if pod.name == "first" else (SUCCESS, 0)
    )
    settle(lead(two))
    assert plugin.undone == ["first"]
    assert why(two, "first")[0].startswith("0/1 nodes are available: 1 not now.")
    assert Pod.objects.get(cluster=two, name="second").node_name == "n1"


@cases(
    "status, reason, queue",
    ("an error", Status.failed("disk on fire"), "SchedulerError", "errorBackoff"),
    ("a rejection blames nobody", Status.unschedulable("too late"), "Unschedulable", "errorBackoff"),
)
def test_pre_bind_that_fails_undoes_the_decision(
    install: Install, two: Cluster, status: Status, reason: str, queue: str
) -> None:
    plugin = install(pre_bind=lambda state, pod, node: (status if pod.name == "first" else SUCCESS, None))
    host = lead(two)
    at(host, 0)
    settle(host)
    assert plugin.undone[0] == "first"
    first = Pod.objects.get(cluster=two, name="first")
    assert (first.node_name, first.condition_reason) == ("", reason)
    assert queue_of(two)["first"] == queue
    assert not Binding.objects.filter(cluster=two, name="first").exists()
    assert Pod.objects.get(cluster=two, name="second").node_name == "n1"


@pytest.mark.parametrize("is_deleted_first", [False, True], ids=["written over", "deleted first"])
def test_pod_put_in_anew_under_its_old_uid_is_bound_again(cluster: Cluster, is_deleted_first: bool) -> None:
    pods = [make_pod(name).req(cpu="1").manifest() for name in ("again", "other")]
    node = make_node("n1").capacity(cpu="4").manifest()
    host = scheduled(cluster, node, pods[0])
    uid = Pod.objects.get(cluster=cluster, name="again").uid
    if is_deleted_first:
        pod_delete(cluster_id=cluster.pk, namespace="default", name="again", actor="test")
        settle(host)
    put(cluster, *pods)
    settle(host)
    assert dict(Pod.objects.filter(cluster=cluster).values_list("name", "node_name")) == {"again": "n1", "other": "n1"}
    done = Binding.objects.filter(cluster=cluster, pod_uid=uid).order_by("id").values_list("status", flat=True)
    assert list(done) == [WorkStatus.SUPERSEDED, WorkStatus.DONE]
