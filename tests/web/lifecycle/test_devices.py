"""A pod with a claim template in the service: claimed, allocated, run, and nothing of it left at its end."""

from __future__ import annotations

import pytest

from kschedweb.cluster.choices import LifecycleMode
from kschedweb.cluster.models import ApiObject, Cluster, Pod
from kschedweb.cluster.services import pod_delete
from kschedweb.lifecycle.runner import ControllerHost
from kschedweb.scheduling.runner.host import EngineHost
from scheduler_core.controllers.device_annotation import DEVICES
from tests.builders import make_manifest, make_node, make_pod
from tests.web.scheduling.conftest import lead, put, settle

pytestmark = pytest.mark.django_db(transaction=True)

SECOND = 1_000_000
REQUEST = {"name": "r", "exactly": {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1}}


def run(cluster: Cluster, scheduler: EngineHost, controllers: ControllerHost, seconds: range) -> None:
    for second in seconds:
        settle(scheduler)
        controllers.step((2_000_000_000 + second) * SECOND)


@pytest.mark.parametrize("rebuilt", [False, True])
def test_pod_gets_its_device_and_gives_it_back(cluster: Cluster, rebuilt: bool) -> None:
    Cluster.objects.filter(pk=cluster.pk).update(lifecycle_mode=LifecycleMode.SIMULATE)
    offered = "{driver: gpu.example.com, devices: [{name: gpu}]}"
    pods = [
        make_pod(name).req(cpu="1").spec(resourceClaims=[{"name": "gpu", "resourceClaimTemplateName": "t"}])
        for name in ("a", "b")
    ]
    put(
        cluster,
        make_node("n1").annotation({DEVICES: offered}),
        make_node("n2"),
        make_manifest("DeviceClass", "gpu", spec={}),
        make_manifest("ResourceClaimTemplate", "t", spec={"spec": {"devices": {"requests": [REQUEST]}}}),
        pods[0],
    )
    scheduler, controllers = lead(cluster), ControllerHost.build(cluster.pk)
    for second in range(0, 8, 2):
        run(cluster, scheduler, controllers, range(second, second + 2))
        if rebuilt:  # whoever takes over finds all that was decided
            scheduler, controllers = lead(cluster), ControllerHost.build(cluster.pk)
    pod = Pod.objects.get(cluster=cluster, name="a")
    assert (pod.node_name, pod.phase) == ("n1", "Running")
    (claim,) = ApiObject.objects.filter(cluster=cluster, kind="ResourceClaim")
    (result,) = claim.manifest["status"]["allocation"]["devices"]["results"]
    assert (result["driver"], result["pool"], result["device"]) == ("gpu.example.com", "n1", "gpu-0")
    assert [each["name"] for each in claim.manifest["status"]["reservedFor"]] == ["a"]
    put(cluster, pods[1])
    run(cluster, scheduler, controllers, range(8, 12))
    assert Pod.objects.get(cluster=cluster, name="b").node_name == ""
    pod_delete(cluster_id=cluster.pk, namespace="default", name="a", actor="test", grace_seconds=0)
    run(cluster, scheduler, controllers, range(12, 24))
    assert Pod.objects.get(cluster=cluster, name="b").node_name == "n1"
    (claim,) = ApiObject.objects.filter(cluster=cluster, kind="ResourceClaim")
    assert [each["name"] for each in claim.manifest["status"]["reservedFor"]] == ["b"]
