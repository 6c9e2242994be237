"""File 004, what kubelets do of themselves: admission, static pods, pods whose devices are not there yet."""

from __future__ import annotations

from scheduler_core.apiserver.requests import Create, Delete, ObjectKey
from tests.core.controllers.kubelet.nodes import Nodes
from tests.core.controllers.simulation import Simulation


def test_004_node_name_and_room() -> None:
    """nodeName direct assignment and limits"""
    nodes = Nodes(room={"cpu": "4", "memory": "10Gi", "pods": "10"})
    nodes.pod("first", requests={"cpu": "3500m"})
    nodes.pod(requests={"cpu": "1"})
    nodes.pod("lost", on="nowhere")
    nodes.run_for(60)
    status = nodes.status()
    assert (status["phase"], status["reason"]) == ("Failed", "OutOfcpu")
    assert status["message"] == (
        "Pod was rejected: Node didn't have enough resource: cpu, requested: 1000, used: 3500, capacity: 4000"
    )
    assert (nodes.phase("first"), nodes.phase("lost")) == ("Running", "Pending")


def test_004_self_healing() -> None:
    """static pod self-healing, workload replacement of evicted pods"""
    nodes = Nodes()
    static = "{kind: Pod, metadata: {name: own}, spec: {containers: [{name: c, image: i}]}}"
    nodes.patch_node({"metadata": {"annotations": {"kschedweb.io/static-pods": static}}})
    nodes.run_for(5)
    before = nodes.get("own-n1")
    nodes.ask(Delete(ObjectKey("Pod", "default", "own-n1")))
    nodes.run_for(2)
    after = nodes.get("own-n1")
    assert after["metadata"]["uid"] != before["metadata"]["uid"] and after["status"]["phase"] == "Running"

    cluster = Simulation(2)
    template = {
        "metadata": {"labels": {"app": "a"}, "annotations": {"kschedweb.io/usage-memory": "ramp(0, 1Ti, 100s)"}},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
    spec = {"replicas": 1, "selector": {"matchLabels": {"app": "a"}}, "template": template}
    meta = {"name": "set", "namespace": "default"}
    cluster.request(Create({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": meta, "spec": spec}))
    cluster.run(200)
    pods = cluster.world.store.list("Pod")
    evicted = [pod for pod in pods if pod["status"].get("reason") == "Evicted"]
    alive = [pod for pod in pods if pod["status"]["phase"] in ("Pending", "Running")]
    assert evicted and len(alive) == 1
