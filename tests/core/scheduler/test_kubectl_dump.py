"""What real clusters print can be read, admitted as it is, and scheduled with."""

from __future__ import annotations

from typing import Any, cast

import msgspec
import pytest

from scheduler_core.admission.admit import accept_existing, is_from_cluster
from scheduler_core.api import manifests
from scheduler_core.api.node import Node
from scheduler_core.api.pod import Pod
from scheduler_core.model.changes import Change, ObjectPut
from scheduler_core.model.types import PodInfo
from scheduler_core.scheduler import checkpoint
from tests.builders import make
from tests.core.scheduler.dumps import cluster_dump
from tests.core.scheduler.harness import Cluster, profile, start

EKS = "ip-10-0-37-12.eu-central-1.compute.internal"
GKE = "gke-prod-pool-1-9f1c2c56-zk1w"
MI = 1024 * 1024


def _read() -> dict[str, Any]:
    """The objects by name, each taken over as an import does it."""
    items = cluster_dump()["items"]
    assert all(is_from_cluster(item) for item in items)
    objects = [manifests.decode(accept_existing(item, item["kind"])) for item in items]
    return {obj.name: obj for obj in objects}


@pytest.fixture(scope="module")
def objects() -> dict[str, Any]:
    return _read()


def _changes(objects: dict[str, Any]) -> list[Change]:
    return [ObjectPut(obj) for obj in objects.values()]


def test_quantities_are_what_the_kubelet_meant(objects: dict[str, Any]) -> None:
    allocatable = {name: cast(Node, objects[name]).status.allocatable or {} for name in (EKS, GKE)}
    assert allocatable[EKS]["cpu"].milli_value() == 1930
    assert allocatable[EKS]["memory"].value() == 7220184 * 1024
    assert allocatable[EKS]["attachable-volumes-aws-ebs"].value() == 25
    assert allocatable[GKE]["cpu"].milli_value() == 3920
    assert allocatable[GKE]["nvidia.com/gpu"].value() == 1


def test_requests_count_sidecars_and_the_largest_init_container(objects: dict[str, Any]) -> None:
    request = PodInfo.of(cast(Pod, objects["web-6c9b8f7d5-2x4qv"])).request
    assert request.milli_cpu == max(500 + 100, 700 + 100)
    assert request.memory == max(1500 + 128, 512 + 128) * MI
    assert request.ephemeral_storage == 2000
    assert PodInfo.of(cast(Pod, objects["train-0"])).request.scalar == {"nvidia.com/gpu": 1}


def test_null_counts_as_absent(objects: dict[str, Any]) -> None:
    assert cast(Node, objects[EKS]).spec.unschedulable is False
    assert cast(Pod, objects["web-6c9b8f7d5-2x4qv"]).metadata.deletion_timestamp is None
    spread = cast(Pod, objects["web-6c9b8f7d5-2x4qv"]).spec.topology_spread_constraints
    assert spread is not None and spread[0].min_domains is None


@pytest.mark.parametrize("use_table", [True, False], ids=["table", "row"])
def test_pods_of_the_dump_find_their_nodes(objects: dict[str, Any], use_table: bool) -> None:
    cluster = start(profile(default=True), use_table=use_table)
    web = cast(Pod, objects["web-6c9b8f7d5-2x4qv"])
    # A dump of nodes and pods alone does not hold them; without their claims these two would wait.
    cluster.put(*_bound_claim("ml", "data-train-0"), *_bound_claim("shop", f"{web.name}-scratch", owner=web))
    effects = cluster.step(*_changes(objects))
    assert {attempt.pod_key: attempt.node_name for attempt in effects.attempts} == {
        "kube-system/aws-node-7xk2p": EKS,
        "shop/web-6c9b8f7d5-2x4qv": EKS,
        "ml/train-0": GKE,
        "shop/report-28991520-l9hzk": "",
    }
    (failed,) = [attempt for attempt in effects.attempts if not attempt.node_name]
    assert failed.message.startswith(
        "0/3 nodes are available: 1 Insufficient cpu, 1 Insufficient memory,"
        " 1 node(s) had untolerated taint {node-role.kubernetes.io/control-plane: },"
        " 1 node(s) had untolerated taint {nvidia.com/gpu: present}."
    )
    cluster.confirm(effects)
    assert [info.pod.name for info in _on(cluster, EKS)] == ["aws-node-7xk2p", "web-6c9b8f7d5-2x4qv"]


def test_finished_pods_of_the_dump_take_no_room(objects: dict[str, Any]) -> None:
    cluster = start(profile(default=True))
    cluster.put(*objects.values())
    assert [info.pod.name for info in _on(cluster, EKS)] == []
    assert [info.pod.name for info in _on(cluster, "kind-control-plane")] == ["etcd-kind-control-plane"]


def test_the_dump_read_again_changes_nothing(objects: dict[str, Any]) -> None:
    """Equal objects decoded anew, under a later resourceVersion: nobody is tried again for it."""
    cluster = start(profile(default=True))
    cluster.step(*_changes(objects))
    later = [
        ObjectPut(msgspec.structs.replace(obj, metadata=msgspec.structs.replace(obj.metadata, resource_version="9")))
        for obj in _read().values()
    ]
    again = cluster.step(*later)
    assert again.attempts == [] and again.bindings == []


def test_an_engine_of_the_dump_survives_its_checkpoint(objects: dict[str, Any]) -> None:
    cluster = start(profile(default=True))
    cluster.step(*_changes(objects))
    data = checkpoint.dump(cluster.scheduler)
    twin = start(profile(default=True))
    checkpoint.load(twin.scheduler, data)
    assert checkpoint.dump(twin.scheduler) == data


def _on(cluster: Cluster, node: str) -> list[PodInfo]:
    return cluster.scheduler.engine.cache.items[node].info.pods


def _bound_claim(namespace: str, name: str, owner: Pod | None = None) -> tuple[Any, Any]:
    """A volume that every node reaches, and the claim it is bound to."""
    metadata: dict[str, Any] = {"annotations": {"pv.kubernetes.io/bind-completed": "yes"}}
    if owner is not None:
        metadata["ownerReferences"] = [
            {"apiVersion": "v1", "kind": "Pod", "name": owner.name, "uid": owner.uid, "controller": True}
        ]
    volume = make("PersistentVolume", f"pv-{name}", spec={"capacity": {"storage": "1Gi"}})
    spec = {"volumeName": volume.name, "accessModes": ["ReadWriteOnce"]}
    return volume, make("PersistentVolumeClaim", name, namespace=namespace, metadata=metadata, spec=spec)
