"""What is allocatable follows the configuration of a node, or of all; one that cannot be read is told of."""

from __future__ import annotations

from typing import Any

from scheduler_core.apiserver.requests import Create
from tests.core.controllers.kubelet.nodes import Nodes

ROOM = {"cpu": "8", "memory": "1Gi", "ephemeral-storage": "100Gi", "pods": "20"}


def config(text: str) -> dict[str, Any]:
    return {"metadata": {"annotations": {"kschedweb.io/kubelet-config": text}}}


def test_allocatable_follows_the_configuration() -> None:
    nodes = Nodes(room={**ROOM, "memory": "10Gi", "cpu": "4"})
    nodes.patch_node(
        config(
            "evictionHard: {memory.available: 500Mi, nodefs.available: 10%}\n"
            "systemReserved: {memory: 1.5Gi, cpu: 500m}\nkubeReserved: {cpu: 250m}"
        )
    )
    allocatable = nodes.get("n1", "Node")["status"]["allocatable"]
    assert (allocatable["memory"], allocatable["cpu"], allocatable["pods"]) == ("8204Mi", "3250m", "20")
    before = nodes.store.rv
    nodes.run_for(600)
    assert nodes.store.rv == before


def test_configuration_of_all_nodes_and_one_that_cannot_be_read() -> None:
    nodes = Nodes("n1", "n2", room={**ROOM, "memory": "10Gi"})
    config_map = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "kubelet-config", "namespace": "kube-system"},
        "data": {"kubelet": "kind: KubeletConfiguration\nevictionHard: {memory.available: 1Gi}"},
    }
    nodes.ask(Create(config_map))
    nodes.turn()
    assert {nodes.get(name, "Node")["status"]["allocatable"]["memory"] for name in ("n1", "n2")} == {"9Gi"}
    nodes.patch_node(config("evictionHard: {memory: 1Gi}"), "n2")
    (event,) = nodes.events()
    assert event[0] == "InvalidKubeletConfiguration" and "unsupported eviction signal memory" in event[1]
