"""Claims that wait say for what, once."""

from __future__ import annotations

from typing import Any

from scheduler_core.apiserver.requests import Delete, ObjectKey, Patch
from tests.builders import written
from tests.cases import cases
from tests.core.controllers.simulation import Simulation
from tests.core.controllers.test_volume_protection import claim, pod, volume

NO_CLASS = "no persistent volumes available for this claim and no storage class is set"
NOT_FOUND = 'storageclass.storage.k8s.io "manual" not found'
NO_PLUGIN = "no volume plugin matched name: kubernetes.io/no-provisioner"
FIRST = "waiting for first consumer to be created before binding"
TOO_SMALL = 'Cannot bind to requested volume "v": requested PV is too small'
TAKEN = 'volume "v" already bound to a different claim.'
LOST = "Bound claim has lost its PersistentVolume. Data on the volume is lost!"


def storage_class(mode: str = "Immediate", provisioner: str = "csi.example.com") -> dict[str, Any]:
    return written("StorageClass", "manual", provisioner=provisioner, volumeBindingMode=mode)


def claiming(name: str = "c", **spec: Any) -> dict[str, Any]:
    manifest = claim(name)
    return {**manifest, "spec": {**manifest["spec"], **spec}}


def told(cluster: Simulation, name: str = "c") -> list[tuple[str, str, str]]:
    found = [one for one in cluster.all("Event") if one["involvedObject"]["name"] == name]
    assert all(one["source"] == {"component": "persistentvolume-controller"} for one in found)
    return [(one["type"], one["reason"], one["message"]) for one in found]


@cases(
    "objects, want",
    ("no class", [claiming(storageClassName="")], ("Normal", "FailedBinding", NO_CLASS)),
    ("a class that is missing", [claim()], ("Warning", "ProvisioningFailed", NOT_FOUND)),
    ("nobody makes volumes", [claim(), storage_class(provisioner="kubernetes.io/no-provisioner")],
     ("Warning", "ProvisioningFailed", NO_PLUGIN)),
    ("no pod", [claim(), storage_class("WaitForFirstConsumer")], ("Normal", "WaitForFirstConsumer", FIRST)),
    ("a volume that does not suit", [volume(), claiming(volumeName="v", resources={"requests": {"storage": "2Gi"}})],
     ("Warning", "VolumeMismatch", TOO_SMALL)),
    ("a volume of another claim", [volume(), claim("other"), claiming(volumeName="v")],
     ("Warning", "FailedBinding", TAKEN)),
)  # fmt: skip
def test_claim_says_once_what_it_waits_for(objects: list[dict[str, Any]], want: tuple[str, str, str]) -> None:
    cluster = Simulation(1)
    for one in objects:
        cluster.begin(one, 0.1)
    cluster.run(600)
    said = told(cluster)
    assert said[-1] == want and len(said) <= 2
    assert cluster.get("PersistentVolumeClaim", "c")["status"]["phase"] == "Pending"
    assert all(one["count"] == 1 for one in cluster.all("Event"))


def test_claim_that_is_bound_at_once_says_nothing() -> None:
    cluster = Simulation(1)
    cluster.create(volume())
    cluster.begin(claim(), 60)
    assert told(cluster) == []


def test_who_makes_the_volume_is_said_and_annotated() -> None:
    cluster = Simulation(1)
    cluster.create(storage_class())
    cluster.begin(claim(), 60)
    ((kind, reason, message),) = told(cluster)
    assert (kind, reason) == ("Normal", "ExternalProvisioning")
    assert message.startswith("Waiting for a volume to be created either by the external provisioner 'csi.example.com'")
    found = cluster.get("PersistentVolumeClaim", "c")
    assert found["status"]["phase"] == "Bound"
    assert found["metadata"]["annotations"] == {
        "pv.kubernetes.io/bind-completed": "yes",
        "pv.kubernetes.io/bound-by-controller": "yes",
        "volume.beta.kubernetes.io/storage-provisioner": "csi.example.com",
        "volume.kubernetes.io/storage-provisioner": "csi.example.com",
    }


def test_pod_that_is_not_scheduled_is_named() -> None:
    cluster = Simulation(1)
    cluster.create(storage_class("WaitForFirstConsumer"))
    cluster.create(claim())
    for name in ("q", "p"):
        cluster.create(pod(name, nodeSelector={"no": "node"}))
    cluster.run(10)
    waits = ("Normal", "WaitForPodScheduled", "waiting for pods p,q to be scheduled")
    assert told(cluster) == [waits]
    cluster.delete("Pod", "q")
    cluster.delete("Pod", "p")
    cluster.begin(pod("last", nodeSelector={"no": "node"}), 20)
    assert told(cluster)[-1] == ("Normal", "WaitForPodScheduled", "waiting for pod last to be scheduled")


def test_lost_claim_says_so_when_it_happens() -> None:
    cluster = Simulation(1)
    cluster.create(volume())
    cluster.begin(claim(), 1)
    key = ObjectKey("PersistentVolume", "", "v")
    cluster.request(Delete(key))
    cluster.request(Patch(key, {"metadata": {"finalizers": None}}))
    cluster.run(60)
    assert told(cluster) == [("Warning", "ClaimLost", LOST)]
    cluster.restart()
    cluster.run(60)
    assert len(cluster.events("ClaimLost")) == 1
