"""Controllers of a simulated cluster: some work from outside, and none forgets what it was to answer."""

from typing import Any, get_args

import pytest
from django.db.models import F

from kschedweb.cluster import clock
from kschedweb.cluster.models import Change, Cluster, Pod
from kschedweb.cluster.services import cluster_change, cluster_create, object_delete, requests_carry_out
from kschedweb.lifecycle import runner
from kschedweb.scheduling.runner.sweep import sweep
from kschedweb.views.clusters import ControllerGroup
from scheduler_core.apiserver.answers import Outcome
from scheduler_core.apiserver.requests import Bind, Create, ObjectKey
from scheduler_core.controllers.registry import CONTROLLERS, GROUPS

pytestmark = pytest.mark.django_db(transaction=True)
POD = {"containers": [{"name": "c", "image": "i"}], "terminationGracePeriodSeconds": 0}
OWNER: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "ReplicaSet",
    "metadata": {"name": "web", "namespace": "shop"},
    "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}}, "spec": POD}},
}


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Cluster:
    monkeypatch.setattr("kschedweb.common.wake.send", lambda *_, **__: None)
    monkeypatch.setattr(runner, "_hosts", {})
    made = cluster_create(name="c", lifecycle_mode="simulate")
    Cluster.objects.filter(pk=made.pk).update(start_delay_ms=0)
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}
    put(made, namespace, OWNER)
    uid = Change.objects.get(cluster_id=made.pk, kind="ReplicaSet").uid
    reference = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": str(uid)}
    put(made, pod("web-1", ownerReferences=[reference]), pod("alone"))
    return made


def pod(name: str, **metadata: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "shop", **metadata}, "spec": POD}


def put(cluster: Cluster, *manifests: dict[str, Any]) -> None:
    requests = [Create(manifest) for manifest in manifests]
    answers = requests_carry_out(cluster_id=cluster.pk, requests=requests, actor="test", now=clock.now_of(cluster.pk))
    assert all(isinstance(answer, Outcome) for answer in answers), answers


def delete(cluster: Cluster, kind: str, name: str) -> None:
    namespace = "" if kind == "Namespace" else "shop"
    object_delete(cluster_id=cluster.pk, kind=kind, namespace=namespace, name=name, actor="test")


def names(cluster: Cluster) -> set[str]:
    return set(Pod.objects.filter(cluster_id=cluster.pk).values_list("name", flat=True))


def phases(cluster: Cluster) -> dict[str, str]:
    return dict(Pod.objects.filter(cluster_id=cluster.pk).values_list("name", "phase"))


def act(cluster: Cluster, times: int = 4) -> None:
    for _ in range(times):
        runner._act(cluster.pk)


def bind(cluster: Cluster, name: str) -> None:
    request = Bind(ObjectKey("Pod", "shop", name), "node-1")
    requests_carry_out(cluster_id=cluster.pk, requests=[request], actor="test", now=clock.now_of(cluster.pk))


def test_groups_of_the_contract_are_those_of_the_controllers() -> None:
    assert set(get_args(ControllerGroup)) == set(GROUPS) == {make.group for make in CONTROLLERS}


def test_dependents_go_with_their_owner(cluster: Cluster) -> None:
    act(cluster)
    delete(cluster, "ReplicaSet", "web")
    act(cluster)
    assert names(cluster) == {"alone"}


def test_namespace_is_emptied(cluster: Cluster) -> None:
    act(cluster)
    delete(cluster, "Namespace", "shop")
    act(cluster)
    assert names(cluster) == set()
    last = Change.objects.filter(cluster_id=cluster.pk, kind="Namespace", name="shop").latest("rv")
    assert last.operation == "deleted"


def test_deletion_that_nobody_answered_is_answered_after_a_restart(cluster: Cluster) -> None:
    act(cluster)
    delete(cluster, "ReplicaSet", "web")
    runner._hosts.clear()  # killed before it acted
    act(cluster)
    assert names(cluster) == {"alone"}


def test_position_is_stored_when_everything_is_answered(cluster: Cluster) -> None:
    act(cluster)
    cluster.refresh_from_db()
    assert 0 < cluster.controllers_rv <= cluster.rv


def test_cluster_is_swept_until_everything_is_answered(cluster: Cluster) -> None:
    assert ("lifecycle.tick", str(cluster.pk)) in sweep()
    act(cluster)
    Cluster.objects.filter(pk=cluster.pk).update(controllers_rv=F("rv"))
    assert ("lifecycle.tick", str(cluster.pk)) not in sweep()
    delete(cluster, "ReplicaSet", "web")
    assert ("lifecycle.tick", str(cluster.pk)) in sweep()


def test_group_that_works_from_outside_is_left_alone(cluster: Cluster) -> None:
    cluster_change(cluster_id=cluster.pk, external_controllers=["workloads"], actor="test")
    room = {"cpu": "4", "memory": "8Gi", "pods": "110"}
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-1"}}
    put(cluster, {**node, "status": {"capacity": room, "allocatable": room}})
    act(cluster)
    cluster_change(cluster_id=cluster.pk, external_controllers=["kubelet", "garbage", "workloads"], actor="test")
    bind(cluster, "alone")
    delete(cluster, "ReplicaSet", "web")
    act(cluster)
    assert phases(cluster) == {"alone": "Pending", "web-1": "Pending"}
    cluster_change(cluster_id=cluster.pk, external_controllers=["garbage", "workloads"], actor="test")
    act(cluster)
    assert phases(cluster) == {"alone": "Running", "web-1": "Pending"}


def test_pods_of_a_node_with_a_kubelet_are_left_to_it(cluster: Cluster) -> None:
    lease = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "node-1", "namespace": "kube-node-lease"},
        "spec": {"holderIdentity": "node-1"},
    }
    put(cluster, lease)
    act(cluster)
    bind(cluster, "alone")
    act(cluster)
    assert phases(cluster)["alone"] == "Pending"
