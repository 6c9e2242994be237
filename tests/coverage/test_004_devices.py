"""File 004, devices by claim: one test per row of its coverage."""

from __future__ import annotations

from tests.core.controllers.kubelet.test_claims import Placed
from tests.core.controllers.test_resource_claims import claim, pod, template


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
