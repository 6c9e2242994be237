"""Claims of the older form: scheduler and drivers agree on a node by a PodSchedulingContext."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler_core.api.older_claims import current_form, older_allocation
from scheduler_core.apiserver.requests import Delete, ObjectKey, Patch, ReportStatus
from scheduler_core.config.feature_gates import CONTROL_PLANE_CLAIMS
from scheduler_core.controllers.controller import ClusterOptions
from scheduler_core.controllers.garbage import GarbageCollector
from scheduler_core.controllers.negotiating_driver import RESOURCE_CLASSES, SHAREABLE, NegotiatingDriver
from scheduler_core.controllers.resource_claims import ResourceClaimController
from scheduler_core.model.effects import Effects
from tests.builders import make_node, written
from tests.core.controllers.few import Few
from tests.core.controllers.simulation import Manifest

__all__ = ["older_allocation"]

OLDER = "resource.k8s.io/v1alpha2"
CLASS = "resource.example.com"


def resource_class(**fields: Any) -> Manifest:
    return {"apiVersion": OLDER, "kind": "ResourceClass",
            "metadata": {"name": CLASS, "annotations": fields.pop("annotations", {})},
            "driverName": "resource-driver.example.com", **fields}  # fmt: skip


def spec(mode: str = "") -> Manifest:
    reference = {"apiGroup": "cats.resource.example.com", "kind": "ClaimParameters", "name": "large-black-cat"}
    return {"resourceClassName": CLASS, "parametersRef": reference, **({"allocationMode": mode} if mode else {})}


def template() -> Manifest:
    made = written("ResourceClaimTemplate", "large-black-cat-claim-template", spec={"spec": spec()})
    return {**made, "apiVersion": OLDER}


def claim(name: str, mode: str = "") -> Manifest:
    return {**written("ResourceClaim", name, spec=spec(mode)), "apiVersion": OLDER}


def pod(name: str, *sources: str) -> Manifest:
    """`sources`: names of claims; none means two cats of the template."""
    made = {"resourceClaimTemplateName": "large-black-cat-claim-template"}
    given = [{"resourceClaimName": source} for source in sources] or [made, made]
    entries = [{"name": f"cat-{number}", "source": source} for number, source in enumerate(given)]
    return written("Pod", name, spec={"containers": [{"name": "container0", "image": "i"}], "resourceClaims": entries})


class Cluster(Few):
    """A cluster with the gate, simulated drivers and the claim controller."""

    def __init__(self, *, gate: bool = True, drivers: bool = True) -> None:
        options = ClusterOptions()
        controllers = [ResourceClaimController(options), GarbageCollector(options), NegotiatingDriver(options)]
        self.messages: list[str] = []
        acting = controllers if drivers else controllers[:2]
        super().__init__(*acting, gates={CONTROL_PLANE_CLAIMS: gate}, watch=self._watch)

    def _watch(self, effects: Effects) -> None:
        self.messages += [attempt.message for attempt in effects.attempts if attempt.message]

    def create(self, *given: Manifest) -> None:
        super().create(*map(current_form, given))

    def node(self, name: str, cats: int | None = None, **labels: str) -> None:
        built = make_node(name).label(labels)
        if cats is not None:
            built = built.annotation({RESOURCE_CLASSES: f"{CLASS}={cats}"})
        manifest = built.manifest()
        metadata = {
            key: manifest["metadata"][key] for key in ("name", "labels", "annotations") if key in manifest["metadata"]
        }
        self.create({**manifest, "metadata": metadata})

    def node_of(self, name: str) -> str:
        return str(self.stored("Pod", name)["spec"].get("nodeName", ""))


def test_pod_with_cats_gets_a_node_that_has_room_for_both() -> None:
    cluster = Cluster()
    cluster.node("full", 1)
    cluster.node("other-full", 0)
    cluster.node("roomy", 2)
    cluster.create(resource_class(), template(), pod("pod-with-cats"))
    cluster.settle(5)
    assert cluster.node_of("pod-with-cats") == "roomy"
    uid = cluster.stored("Pod", "pod-with-cats")["metadata"]["uid"]
    claims = cluster.claims()
    assert len(claims) == 2
    for each in claims:
        (term,) = each["status"]["allocation"]["nodeSelector"]["nodeSelectorTerms"]
        assert term["matchFields"] == [{"key": "metadata.name", "operator": "In", "values": ["roomy"]}]
        assert each["status"]["reservedFor"] == [{"resource": "pods", "name": "pod-with-cats", "uid": uid}]
    assert cluster.get("PodSchedulingContext", "pod-with-cats") is None
    cluster.request(Delete(ObjectKey("Pod", "default", "pod-with-cats"), 0))
    assert cluster.claims() == []


def test_negotiation_says_potential_nodes_then_selects_one() -> None:
    cluster = Cluster(drivers=False)
    for name in ("a", "b", "c"):
        cluster.node(name)
    cluster.create(resource_class(), template(), pod("user"))
    context = cluster.stored("PodSchedulingContext", "user")
    assert context["spec"] == {"potentialNodes": ["a", "b", "c"]}
    assert context["metadata"]["ownerReferences"][0]["name"] == "user"
    assert cluster.messages == ["0/1 nodes are available: 1 waiting for resource driver to provide information."]
    key = ObjectKey("PodSchedulingContext", "default", "user")
    # One driver has answered: the other is waited for.
    first = [{"name": "cat-0", "unsuitableNodes": ["a"]}]
    cluster.request(Patch(key, {"status": {"resourceClaims": first}}, subresource="status"))
    assert "selectedNode" not in cluster.stored("PodSchedulingContext", "user")["spec"]
    both = [*first, {"name": "cat-1", "unsuitableNodes": ["c"]}]
    cluster.request(Patch(key, {"status": {"resourceClaims": both}}, subresource="status"))
    assert cluster.stored("PodSchedulingContext", "user")["spec"]["selectedNode"] == "b"
    assert cluster.messages[-1] == "0/1 nodes are available: 1 waiting for resource driver to allocate resource."
    every = [{"name": f"cat-{number}", "unsuitableNodes": ["a", "b", "c"]} for number in (0, 1)]
    cluster.request(Patch(key, {"status": {"resourceClaims": every}}, subresource="status"))
    assert cluster.messages[-1].startswith(
        "0/3 nodes are available: 3 resourceclaim cannot be allocated for the node (unsuitable)."
    )
    assert cluster.node_of("user") == ""


def test_class_keeps_its_claims_to_its_nodes() -> None:
    term = {"matchExpressions": [{"key": "cats", "operator": "In", "values": ["yes"]}]}
    cluster = Cluster()
    cluster.node("a")
    cluster.create(resource_class(suitableNodes={"nodeSelectorTerms": [term]}), claim("cat"), pod("user", "cat"))
    assert cluster.messages[0].startswith("0/1 nodes are available: 1 excluded by resource class node filter.")
    cluster.node("b")
    cluster.request(Patch(ObjectKey("Node", "", "b"), {"metadata": {"labels": {"cats": "yes"}}}))
    cluster.settle(30)
    assert cluster.node_of("user") == "b"


def test_missing_class_and_immediate_claims_are_waited_for() -> None:
    cluster = Cluster()
    cluster.node("a", 1)
    cluster.create(claim("later"), claim("now", "Immediate"), pod("p", "later"), pod("q", "now"))
    assert any(f"resource class {CLASS} does not exist" in message for message in cluster.messages)
    assert any("unallocated immediate resourceclaim" in message for message in cluster.messages)
    cluster.create(resource_class())
    cluster.settle(30)
    allocated = [one["metadata"]["name"] for one in cluster.claims() if one.get("status", {}).get("allocation")]
    # One fits on the node; the one that waits for no pod comes first or the pod's, but never both.
    assert len(allocated) == 1
    assert sorted([cluster.node_of("p"), cluster.node_of("q")]) == ["", "a"]


@pytest.mark.parametrize(("shareable", "running"), [(True, 3), (False, 1)])
def test_claim_is_used_by_one_pod_or_shared(shareable: bool, running: int) -> None:
    cluster = Cluster()
    cluster.node("a")
    annotations = {SHAREABLE: "true"} if shareable else {}
    cluster.create(resource_class(annotations=annotations), claim("cat"), *(pod(name, "cat") for name in "pqr"))
    cluster.settle(30)
    placed = [name for name in "pqr" if cluster.node_of(name)]
    assert len(placed) == running
    assert shareable or any("resourceclaim in use" in message for message in cluster.messages)
    for name in placed:
        cluster.request(ReportStatus(ObjectKey("Pod", "default", name), {"phase": "Succeeded"}))
    cluster.settle(60)
    assert shareable or len([name for name in "pqr" if cluster.node_of(name)]) == 2


def test_without_the_gate_nobody_negotiates() -> None:
    cluster = Cluster(gate=False)
    cluster.node("a")
    cluster.create(resource_class(), claim("cat"), pod("user", "cat"))
    assert cluster.world.store.list("PodSchedulingContext") == []


def test_context_of_an_earlier_pod_is_not_taken_for_ones_own() -> None:
    cluster = Cluster(drivers=False)
    cluster.node("a")
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "user", "uid": "earlier"}
    metadata = {"name": "user", "namespace": "default", "ownerReferences": [owner]}
    cluster.create({"apiVersion": OLDER, "kind": "PodSchedulingContext", "metadata": metadata, "spec": {}},
                   resource_class(), claim("cat"), pod("user", "cat"))  # fmt: skip
    text = "PodSchedulingContext default/user of another pod is still there"
    assert text in cluster.messages[0]
    assert cluster.stored("PodSchedulingContext", "user")["spec"] == {}
