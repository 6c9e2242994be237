"""What is allocatable follows the configuration of a node, or of all; one that cannot be read is told of."""

from __future__ import annotations

from scheduler_core.apiserver.requests import Create
from tests.builders import written
from tests.core.controllers.kubelet.nodes import SMALL_ROOM, Nodes


def test_allocatable_follows_the_configuration() -> None:
    nodes = Nodes(room={**SMALL_ROOM, "memory": "10Gi", "cpu": "4"})
    nodes.configure(
        "evictionHard: {memory.available: 500Mi, nodefs.available: 10%}\n"
        "systemReserved: {memory: 1.5Gi, cpu: 500m}\nkubeReserved: {cpu: 250m}"
    )
    allocatable = nodes.get("n1", "Node")["status"]["allocatable"]
    assert (allocatable["memory"], allocatable["cpu"], allocatable["pods"]) == ("8204Mi", "3250m", "20")
    before = nodes.store.rv
    nodes.run_for(600)
    assert nodes.store.rv == before


def test_configuration_of_all_nodes_and_one_that_cannot_be_read() -> None:
    nodes = Nodes("n1", "n2", room={**SMALL_ROOM, "memory": "10Gi"})
    data = {"kubelet": "kind: KubeletConfiguration\nevictionHard: {memory.available: 1Gi}"}
    nodes.ask(Create(written("ConfigMap", "kubelet-config", namespace="kube-system", data=data)))
    nodes.turn()
    assert {nodes.get(name, "Node")["status"]["allocatable"]["memory"] for name in ("n1", "n2")} == {"9Gi"}
    nodes.configure("evictionHard: {memory: 1Gi}", "n2")
    (event,) = nodes.events()
    assert event[0] == "InvalidKubeletConfiguration" and "unsupported eviction signal memory" in event[1]
