"""Claims and volumes that are in use stay until that is over."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler_core.apiserver.requests import Delete, ObjectKey, Patch, PatchType
from tests.builders import written
from tests.cases import cases
from tests.core.controllers.simulation import Simulation

CLAIM_FINALIZER = "kubernetes.io/pvc-protection"
VOLUME_FINALIZER = "kubernetes.io/pv-protection"


def volume(name: str = "v", policy: str = "Retain") -> dict[str, Any]:
    spec = {
        "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "persistentVolumeReclaimPolicy": policy,
        "hostPath": {"path": "/v"}, "storageClassName": "manual",
    }  # fmt: skip
    return written("PersistentVolume", name, spec=spec)


def claim(name: str = "c", **metadata: Any) -> dict[str, Any]:
    spec = {
        "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "storageClassName": "manual",
    }  # fmt: skip
    return written("PersistentVolumeClaim", name, metadata=metadata, spec=spec)


def pod(name: str = "p", **spec: Any) -> dict[str, Any]:
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "c"}}]
    whole = {"containers": [{"name": "c", "image": "i"}], "volumes": volumes, **spec}
    return written("Pod", name, metadata={"annotations": {"kschedweb.io/stop-seconds": "10"}}, spec=whole)


def gone(cluster: Simulation, kind: str, name: str) -> bool:
    namespace = "" if kind == "PersistentVolume" else "default"
    return cluster.world.store.get(ObjectKey(kind, namespace, name)) is None


@pytest.fixture
def cluster() -> Simulation:
    """A claim `c` that is bound to the volume `v`."""
    cluster = Simulation(1)
    cluster.create(volume())
    cluster.begin(claim(), 1)
    return cluster


def delete(cluster: Simulation, kind: str, name: str) -> None:
    cluster.request(Delete(ObjectKey(kind, "" if kind == "PersistentVolume" else "default", name)))
    cluster.run(1)


def test_finalizers_are_given(cluster: Simulation) -> None:
    assert cluster.get("PersistentVolumeClaim", "c")["metadata"]["finalizers"] == [CLAIM_FINALIZER]
    assert cluster.all("PersistentVolume")[0]["metadata"]["finalizers"] == [VOLUME_FINALIZER]
    cluster.run(60)
    before = cluster.version
    cluster.restart()
    cluster.run(60)
    assert cluster.version == before


@pytest.mark.parametrize("is_new", [False, True], ids=["same controllers", "new controllers"])
def test_claim_goes_after_the_pod_that_uses_it(cluster: Simulation, is_new: bool) -> None:
    cluster.begin(pod(), 5)
    delete(cluster, "PersistentVolumeClaim", "c")
    cluster.run(600)
    assert "deletionTimestamp" in cluster.get("PersistentVolumeClaim", "c")["metadata"]
    if is_new:
        cluster.restart()
    cluster.delete("Pod", "p")
    cluster.run(9)
    assert not gone(cluster, "PersistentVolumeClaim", "c")
    cluster.run(2)
    assert gone(cluster, "PersistentVolumeClaim", "c")
    assert cluster.all("PersistentVolume")[0]["status"]["phase"] == "Released"


@cases(
    "spec, is_kept",
    ("unassigned", {"nodeSelector": {"no": "node"}}, False),
    ("without the claim", {"volumes": []}, False),
    ("ended", {"restartPolicy": "Never", "activeDeadlineSeconds": 1}, True),
)
def test_who_keeps_a_claim(cluster: Simulation, spec: dict[str, Any], is_kept: bool) -> None:
    cluster.begin(pod(**spec), 10)
    delete(cluster, "PersistentVolumeClaim", "c")
    cluster.run(10)
    assert gone(cluster, "PersistentVolumeClaim", "c") is not is_kept


def test_bound_volume_goes_after_its_claim(cluster: Simulation) -> None:
    delete(cluster, "PersistentVolume", "v")
    cluster.run(60)
    assert not gone(cluster, "PersistentVolume", "v")
    assert cluster.get("PersistentVolumeClaim", "c")["status"]["phase"] == "Bound"
    delete(cluster, "PersistentVolumeClaim", "c")
    assert gone(cluster, "PersistentVolume", "v") and gone(cluster, "PersistentVolumeClaim", "c")


def test_volume_that_is_to_be_deleted_with_its_claim_goes() -> None:
    cluster = Simulation(1)
    cluster.create(volume(policy="Delete"))
    cluster.begin(claim(), 1)
    delete(cluster, "PersistentVolumeClaim", "c")
    assert gone(cluster, "PersistentVolume", "v")


def test_claim_of_a_client_goes(cluster: Simulation) -> None:
    """Another finalizer keeps it longer, whoever wrote it."""
    key = ObjectKey("PersistentVolumeClaim", "default", "other")
    cluster.create(claim("other", finalizers=[CLAIM_FINALIZER, "example.com/held"]))
    delete(cluster, "PersistentVolumeClaim", "other")
    assert cluster.get("PersistentVolumeClaim", "other")["metadata"]["finalizers"] == ["example.com/held"]
    cluster.request(Patch(key, {"metadata": {"finalizers": None}}, PatchType.MERGE))
    assert gone(cluster, "PersistentVolumeClaim", "other")
