"""From an unbound claim to a running pod: the engine places the claim, the controller makes the volume."""

from typing import Any

import pytest

from kschedweb.cluster import clock
from kschedweb.cluster.choices import LifecycleMode
from kschedweb.cluster.models import ApiObject, Cluster, Pod
from kschedweb.cluster.services import requests_carry_out
from kschedweb.cluster.versions import version_text
from kschedweb.lifecycle.runner import ControllerHost
from kschedweb.scheduling.runner.sweep import sweep
from scheduler_core.apiserver.answers import Outcome, Refused
from scheduler_core.apiserver.effects import write_requests
from scheduler_core.apiserver.requests import ObjectKey, Patch
from tests.builders import make, make_manifest, make_node, make_pod
from tests.web.scheduling.conftest import lead, put, settle

pytestmark = pytest.mark.django_db(transaction=True)

SECOND = 1_000_000


def storage_class() -> dict[str, Any]:
    fields = {"provisioner": "csi.example.com", "volumeBindingMode": "WaitForFirstConsumer"}
    return make_manifest("StorageClass", "late", **fields)


def claim(name: str, **spec: Any) -> dict[str, Any]:
    wanted = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    return make_manifest("PersistentVolumeClaim", name, spec={**wanted, "storageClassName": "late", **spec})


def local_volume(name: str, node: str) -> dict[str, Any]:
    term = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}]}
    spec = {
        "capacity": {"storage": "2Gi"},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "late",
        "local": {"path": "/disk", "fsType": "xfs"},
        "nodeAffinity": {"required": {"nodeSelectorTerms": [term]}},
    }
    return make_manifest("PersistentVolume", name, spec=spec)


def stored(cluster: Cluster, kind: str, name: str) -> dict[str, Any]:
    manifest: dict[str, Any] = ApiObject.objects.get(cluster=cluster, kind=kind, name=name).manifest
    return manifest


def live(cluster: Cluster, *, steps: int = 6) -> None:
    """Engine, bindings and controllers in turn, half a second of the controllers' time apart."""
    scheduler, controllers = lead(cluster), ControllerHost.build(cluster.pk)
    for turn in range(steps):
        settle(scheduler)
        controllers.step((2_000_000_000 + turn) * SECOND)


@pytest.fixture
def simulated(cluster: Cluster) -> Cluster:
    Cluster.objects.filter(pk=cluster.pk).update(lifecycle_mode=LifecycleMode.SIMULATE)
    put(cluster, storage_class(), make_node("n1").zone("a"))
    return cluster


def test_volume_is_made_for_a_claim_when_its_pod_has_a_node(simulated: Cluster) -> None:
    put(simulated, claim("data"), make_pod("p").req(cpu="1").claim_volume("data"))
    live(simulated)
    assert Pod.objects.get(cluster=simulated, name="p").node_name == "n1"
    bound = stored(simulated, "PersistentVolumeClaim", "data")
    assert bound["metadata"]["annotations"]["volume.kubernetes.io/selected-node"] == "n1"
    assert bound["status"]["phase"] == "Bound"
    volume = stored(simulated, "PersistentVolume", bound["spec"]["volumeName"])
    (term,) = volume["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
    assert term["matchExpressions"] == [{"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["a"]}]


def test_free_volume_is_taken_and_keeps_what_the_core_does_not_know(simulated: Cluster) -> None:
    put(simulated, local_volume("disk", "n1"), claim("data"))
    ControllerHost.build(simulated.pk).step(SECOND)  # the volume becomes available
    put(simulated, make_pod("p").req(cpu="1").claim_volume("data"))
    live(simulated)
    assert Pod.objects.get(cluster=simulated, name="p").node_name == "n1"
    volume = stored(simulated, "PersistentVolume", "disk")
    assert volume["spec"]["claimRef"]["uid"] == stored(simulated, "PersistentVolumeClaim", "data")["metadata"]["uid"]
    assert volume["spec"]["local"] == {"path": "/disk", "fsType": "xfs"}
    assert volume["status"]["phase"] == "Bound"


def test_claim_of_an_ephemeral_volume_is_made_with_its_pod_and_goes_with_it(simulated: Cluster) -> None:
    template = {"spec": claim("unused")["spec"]}
    pod = make_pod("p").req(cpu="1").spec(volumes=[{"name": "scratch", "ephemeral": {"volumeClaimTemplate": template}}])
    put(simulated, pod)
    assert ("lifecycle.tick", str(simulated.pk)) in sweep()
    live(simulated)
    assert stored(simulated, "PersistentVolumeClaim", "p-scratch")["status"]["phase"] == "Bound"
    assert Pod.objects.get(cluster=simulated, name="p").node_name == "n1"


def test_patch_is_passed_over_when_the_object_is_another_version(simulated: Cluster) -> None:
    put(simulated, claim("data"))
    row = ApiObject.objects.get(cluster=simulated, name="data")
    key = ObjectKey(row.kind, row.namespace, row.name)
    now = version_text(row.rv)
    patches = [
        Patch(key, {"spec": {"volumeName": name}}, uid=row.uid, resource_version=version)
        for name, version in (("old", version_text(row.rv - 1)), ("now", now), ("later", now))
    ]
    answers = requests_carry_out(
        cluster_id=simulated.pk, requests=patches, actor="test", now=clock.now_of(simulated.pk)
    )
    assert [type(answer) for answer in answers] == [Refused, Outcome, Refused]
    assert stored(simulated, "PersistentVolumeClaim", "data")["spec"]["volumeName"] == "now"


def test_custom_plugins_may_write_other_kinds() -> None:
    capacity = make(
        "CSIStorageCapacity", "room", storageClassName="late", capacity="5Gi", metadata={"labels": {"a": "b"}}
    )
    assert write_requests(capacity)[0].body == {
        "metadata": {"labels": {"a": "b"}},
        "storageClassName": "late",
        "capacity": "5Gi",
    }
