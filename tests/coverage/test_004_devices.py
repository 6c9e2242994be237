"""File 004, devices by claim: one test per row of its coverage."""

from __future__ import annotations

from scheduler_core.apiserver.requests import Create, ObjectKey, Patch
from scheduler_core.build import build
from scheduler_core.controllers.controller import ClusterOptions
from scheduler_core.controllers.device_annotation import DEVICES
from scheduler_core.controllers.registry import controllers_of
from scheduler_core.ports import SeededDraws
from scheduler_core.sim.world import World
from tests.builders import make_node
from tests.core.controllers import test_negotiating_driver as older
from tests.core.controllers.kubelet.test_claims import Placed
from tests.core.controllers.test_resource_claims import START, claim, pod, template


def test_004_pre_scheduled_pods_with_claims() -> None:
    """pre-scheduled pods with claims"""
    cluster = Placed()
    # The scheduler is passed by: nobody allocates, and the kubelet keeps the pods Pending.
    cluster.create(template(), claim("mine"), pod("a", nodeName="n1"), pod("b", {"gpu": "mine"}, nodeName="n1"))
    cluster.settle(3600)
    assert (cluster.phase("a"), cluster.phase("b")) == ("Pending", "Pending")
    assert len(cluster.told()) >= 2
    # Once somebody allocates, the claim controller reserves, and the kubelet goes on.
    for name, entry in (("a", cluster.claim_of("a")), ("b", "mine")):
        cluster.allocate(entry)
        cluster.settle(2)
        (reserved,) = cluster.claim(entry)["status"]["reservedFor"]
        assert (reserved["name"], cluster.phase(name)) == (name, "Running")


def test_004_claims_negotiated_with_drivers() -> None:
    """dynamic resource allocation (ResourceClass, Claim, Template, PodSchedulingContext)"""
    # The current flow, by default: slices, claims from a template, allocation by the scheduler.
    world = World(build(draws=SeededDraws(1)), controllers_of(ClusterOptions()), now=START)
    offered = "{driver: gpu.example.com, devices: [{count: 1, name: gpu}]}"
    device_class = {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "gpu"}, "spec": {}}
    node = {**make_node("n1").manifest(), "metadata": {"name": "n1", "annotations": {DEVICES: offered}}}
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}}
    world.request(*map(Create, (namespace, node, device_class, template(), pod("first"), pod("second"))))
    world.run_until(START + 30_000_000)
    found = {each["metadata"]["name"]: each for each in world.store.list("Pod")}
    assert sorted(each["spec"].get("nodeName", "") for each in found.values()) == ["", "n1"]
    given = [each.get("status", {}).get("allocation") for each in world.store.list("ResourceClaim")]
    assert [one["devices"]["results"][0]["device"] for one in given if one] == ["gpu-0"]
    # The older flow, step by step: filters, potentialNodes, unsuitableNodes, selectedNode, allocation, binding.
    cluster = older.Cluster(drivers=False)
    for name in ("a", "b", "c"):
        cluster.node(name)
    cluster.create(older.resource_class(), older.template(), older.pod("pod-with-cats"))
    assert cluster.get("PodSchedulingContext", "pod-with-cats")["spec"] == {"potentialNodes": ["a", "b", "c"]}
    key = ObjectKey("PodSchedulingContext", "default", "pod-with-cats")
    answers = [{"name": "cat-0", "unsuitableNodes": ["a"]}, {"name": "cat-1", "unsuitableNodes": ["b"]}]
    cluster.request(Patch(key, {"status": {"resourceClaims": answers}}, subresource="status"))
    assert cluster.get("PodSchedulingContext", "pod-with-cats")["spec"]["selectedNode"] == "c"
    claims = [one["metadata"]["name"] for one in cluster.claims()]
    assert sorted(name.rpartition("-")[0] for name in claims) == ["pod-with-cats-cat-0", "pod-with-cats-cat-1"]
    reserved = [
        {"resource": "pods", "name": "pod-with-cats", "uid": cluster.get("Pod", "pod-with-cats")["metadata"]["uid"]}
    ]
    field = {"key": "metadata.name", "operator": "In", "values": ["c"]}
    on_c = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    for number, name in enumerate(claims):
        assert cluster.node_of("pod-with-cats") == "", number  # only when all are allocated
        status = {"allocation": older.older_allocation(on_c), "reservedFor": reserved}
        cluster.request(Patch(ObjectKey("ResourceClaim", "default", name), {"status": status}, subresource="status"))
    cluster.settle(5)
    assert cluster.node_of("pod-with-cats") == "c"
