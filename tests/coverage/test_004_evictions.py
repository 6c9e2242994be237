"""File 004, evictions by the API and what disrupts pods: one test per row of its coverage."""

from __future__ import annotations

from typing import Any

from scheduler_core.apiserver.answers import Outcome, Refused
from scheduler_core.apiserver.pods import EVICTED
from scheduler_core.apiserver.requests import Create, Evict, ObjectKey, Patch
from tests.core.controllers.nodes import Nodes

SHOP = {"app": "shop"}


def shop(nodes: Nodes, *names: str, **spec: Any) -> None:
    for name in names:
        nodes.pod(name, "a", labels=SHOP)
    for budget, least in spec.items():
        body = {"minAvailable": least, "selector": {"matchLabels": SHOP}}
        metadata = {"name": budget, "namespace": "default"}
        manifest = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": metadata, "spec": body}
        nodes.ask(Create(manifest))
    nodes.run(nodes.now + 3)


def evict(nodes: Nodes, name: str, **options: Any) -> tuple[int, str]:
    """The code of the answer and the reason a budget gives."""
    request = Evict(ObjectKey("Pod", "default", name), *EVICTED, asks_budgets=True, **options)
    (answer,) = nodes.world.request(request)
    if isinstance(answer, Outcome):
        return 200, ""
    return answer.status.code, answer.status.causes[0].message if answer.status.causes else ""


def test_004_api_initiated_eviction() -> None:
    """API-initiated eviction, 200/429/500, steps, stuck cases"""
    nodes = Nodes("a")
    shop(nodes, "p0", "p1", "p2", guard=2)
    assert evict(nodes, "p0") == (200, "")
    pod = nodes.get("Pod", "p0")
    assert pod is not None and "deletionTimestamp" in pod["metadata"]
    assert evict(nodes, "p1") == (429, "The disruption budget guard needs 2 healthy pods and has 3 currently")
    nodes.run(nodes.now + 0.1)
    assert evict(nodes, "p1") == (429, "The disruption budget guard needs 2 healthy pods and has 2 currently")
    nodes.run(nodes.now + 1000)
    assert evict(nodes, "p1")[0] == 429  # stuck: a third pod never comes back
    shop(nodes, "p3", second=1)
    assert evict(nodes, "p1")[0] == 500
    assert evict(nodes, "nobody")[0] == 404
    nodes.pod("free", "a")
    nodes.run(nodes.now + 3)
    assert evict(nodes, "free") == (200, "")
    nodes.delete("Pod", "p1")  # the way out: a deletion asks no budget
    nodes.run(nodes.now + 100)
    assert nodes.get("Pod", "p1") is None


def test_004_budget_and_grace_are_respected() -> None:
    """PDB and terminationGracePeriod respected"""
    nodes = Nodes("a")
    shop(nodes, "p0", "p1", guard=2)
    assert evict(nodes, "p0")[0] == 429
    body = {"spec": {"minAvailable": 1}}
    nodes.ask(Patch(ObjectKey("PodDisruptionBudget", "default", "guard"), body))
    assert evict(nodes, "p0")[0] == 429  # the budget has not been computed since
    nodes.run(nodes.now + 0.1)
    assert evict(nodes, "p0")[0] == 200
    pod = nodes.get("Pod", "p0")
    assert pod is not None and pod["metadata"]["deletionGracePeriodSeconds"] == 30
    assert pod["status"]["phase"] == "Running"  # until its kubelet has stopped it
    assert evict(nodes, "p0", grace_seconds=5)[0] == 200
    pod = nodes.get("Pod", "p0")
    assert pod is not None and pod["metadata"]["deletionGracePeriodSeconds"] == 5


def test_004_disruptions() -> None:
    """disruptions: voluntary / involuntary"""
    nodes = Nodes("a", "b", "c")
    kept = {"finalizers": ["example.com/kept"]}
    for name, node in (("evicted", "b"), ("tainted", "a"), ("orphan", "nowhere")):
        nodes.pod(name, node, **kept)
    nodes.run(5)
    assert evict(nodes, "evicted")[0] == 200
    nodes.stop("a", "off")
    nodes.run(500)

    def reason(name: str) -> str:
        return nodes.conditions("Pod", name)["DisruptionTarget"][1]

    # Somebody asked for it; a node was lost; a node never came.
    assert reason("evicted") == "EvictionByEvictionAPI"
    assert reason("tainted") == "DeletionByTaintManager"
    assert reason("orphan") == "DeletionByPodGC"


def test_004_involuntary_disruptions_ask_no_budget() -> None:
    """disruptions: voluntary / involuntary"""
    nodes = Nodes("a", "b")
    shop(nodes, "p0", guard=1)
    assert evict(nodes, "p0")[0] == 429
    nodes.taint("a", {"key": "t", "effect": "NoExecute"})
    nodes.run(nodes.now + 1)
    assert nodes.deleted_at("p0") is not None
    refused = nodes.world.request(Evict(ObjectKey("Pod", "default", "p9"), *EVICTED, asks_budgets=True))
    assert isinstance(refused[0], Refused)
