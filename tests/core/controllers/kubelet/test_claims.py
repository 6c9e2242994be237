"""A pod that was created with its node waits in Pending until its claims are reserved for it."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler_core.apiserver.requests import ObjectKey, Patch
from scheduler_core.controllers.controller import ClusterOptions
from scheduler_core.controllers.kubelet.kubelet import Kubelet
from tests.builders import make_node
from tests.core.controllers.test_resource_claims import ALLOCATION, Cluster, claim, pod, template


class Placed(Cluster):
    """A cluster with a node, its kubelet and the claim controller."""

    def __init__(self) -> None:
        super().__init__(Kubelet(ClusterOptions()))
        self.create({**make_node("n1").manifest(), "metadata": {"name": "n1"}})

    def allocate(self, claim: str, *pods: str) -> None:
        self.report(claim, allocation=ALLOCATION)

    def phase(self, name: str) -> str:
        return str(self.pod(name)["status"]["phase"])

    def told(self) -> list[str]:
        return [message for reason, message, _ in self.events() if reason == "FailedPrepareDynamicResources"]


@pytest.mark.parametrize("source", ["t:t", "mine"])
def test_pod_with_a_node_starts_when_its_claim_is_allocated(source: str) -> None:
    cluster = Placed()
    cluster.create(template(), claim("mine"), pod("user", {"gpu": source}, nodeName="n1"))
    cluster.settle(600)
    assert cluster.phase("user") == "Pending"
    name = cluster.claim_of("user") or "mine"
    uids = [cluster.pod("user")["metadata"]["uid"], cluster.claim(name)["metadata"]["uid"]]
    problem = f"pod user ({uids[0]}) is not allowed to use ResourceClaim {name} ({uids[1]})"
    assert cluster.told()[-1] == f"Failed to prepare dynamic resources: prepare dynamic resources: {problem}"
    cluster.allocate(name)
    cluster.settle(2)
    assert cluster.phase("user") == "Running"
    (reserved,) = cluster.claim(name)["status"]["reservedFor"]
    assert reserved["uid"] == uids[0]


def test_missing_claim_is_waited_for() -> None:
    cluster = Placed()
    cluster.create(pod("user", {"gpu": "mine"}, nodeName="n1"))
    cluster.settle(60)
    text = 'fetch ResourceClaim mine: resourceclaims.resource.k8s.io "mine" not found'
    assert cluster.told() == [f"Failed to prepare dynamic resources: prepare dynamic resources: {text}"]
    cluster.create(claim("mine"))
    cluster.allocate("mine")
    cluster.settle(2)
    assert cluster.phase("user") == "Running"


def test_kubelet_made_anew_starts_nothing_early() -> None:
    cluster = Placed()
    cluster.create(claim("mine"), pod("user", {"gpu": "mine"}, nodeName="n1"))
    cluster.world.controllers = [Kubelet(ClusterOptions()), cluster.controller]
    objects: list[Any] = list(cluster.world.store.list("Pod", "Node", "ResourceClaim"))
    cluster.request(*(Patch(_key(each), {"metadata": {"labels": {"again": "1"}}}) for each in objects))
    cluster.settle(60)
    assert cluster.phase("user") == "Pending"


def _key(manifest: Any) -> ObjectKey:
    metadata = manifest["metadata"]
    return ObjectKey(manifest["kind"], metadata.get("namespace", ""), metadata["name"])
