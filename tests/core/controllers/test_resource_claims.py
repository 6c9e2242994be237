"""Claims are made from templates, reserved for pods that have a node, taken back from those that ended, and deleted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from scheduler_core.api import manifests
from scheduler_core.api.pod import Pod
from scheduler_core.api.resource_claims import DELETE_PROTECTION, ResourceClaim
from scheduler_core.apiserver.requests import Bind, Create, Delete, ObjectKey, Patch, ReportStatus
from scheduler_core.controllers.controller import ClusterOptions, Controller
from scheduler_core.controllers.garbage import GarbageCollector
from scheduler_core.controllers.pod_claims import generate_name
from scheduler_core.controllers.resource_claims import ResourceClaimController
from scheduler_core.model.changes import ObjectDeleted, ObjectPut
from tests.builders import make_manifest, make_pod, written
from tests.cases import cases
from tests.core.controllers.few import Few
from tests.core.controllers.simulation import START, Manifest

REQUEST = {"name": "r", "exactly": {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1}}
SPEC = {"devices": {"requests": [REQUEST]}}
ALLOCATION = {
    "devices": {"results": [{"request": "r", "driver": "gpu.example.com", "pool": "n1", "device": "gpu-0"}]},
    "nodeSelector": {
        "nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}]
    },
}


def template(name: str = "t", **metadata: Any) -> Manifest:
    return written("ResourceClaimTemplate", name, spec={"metadata": metadata, "spec": SPEC})


def claim(name: str, **metadata: Any) -> Manifest:
    return written("ResourceClaim", name, metadata=metadata, spec=SPEC)


def pod(name: str, entries: Mapping[str, str] | None = None, **spec: Any) -> Manifest:
    """`entries`: what each is made from: `t:template`, or the name of a claim."""
    claims = [
        {"name": entry, "resourceClaimTemplateName": source[2:]}
        if source.startswith("t:")
        else {"name": entry, "resourceClaimName": source}
        for entry, source in (entries or {"gpu": "t:t"}).items()
    ]
    whole = {"containers": [{"name": "c", "image": "i"}], "resourceClaims": claims, **spec}
    return written("Pod", name, spec=whole)


class Cluster(Few):
    """A cluster whose scheduler allocates nothing: the test does it."""

    def __init__(self, *before: Controller) -> None:
        options = ClusterOptions()
        self.controller = ResourceClaimController(options)
        super().__init__(*before, self.controller, GarbageCollector(options))

    def pod(self, name: str) -> Manifest:
        return self.stored("Pod", name)

    def claim(self, name: str) -> Manifest:
        return self.stored("ResourceClaim", name)

    def claim_of(self, pod: str, entry: str = "gpu") -> str:
        statuses = self.pod(pod)["status"].get("resourceClaimStatuses", [])
        return next((str(each["resourceClaimName"]) for each in statuses if each["name"] == entry), "")

    def allocate(self, claim: str, *pods: str) -> None:
        """Do what the scheduler does in PreBind."""
        key = ObjectKey("ResourceClaim", "default", claim)
        reserved = [{"resource": "pods", "name": pod, "uid": self.pod(pod)["metadata"]["uid"]} for pod in pods]
        status = {"allocation": ALLOCATION, "reservedFor": reserved}
        self.request(
            Patch(key, {"metadata": {"finalizers": [DELETE_PROTECTION]}}),
            Patch(key, {"status": status}, subresource="status"),
        )

    def report(self, claim: str, **status: Any) -> None:
        """Write the status of a claim."""
        self.request(Patch(ObjectKey("ResourceClaim", "default", claim), {"status": status}, subresource="status"))

    def bind(self, pod: str, node: str = "n1") -> None:
        self.request(Bind(ObjectKey("Pod", "default", pod), node))

    def finish(self, pod: str, phase: str = "Succeeded") -> None:
        self.request(ReportStatus(ObjectKey("Pod", "default", pod), {"phase": phase}))

    def delete(self, kind: str, name: str, grace: int | None = None) -> None:
        self.request(Delete(ObjectKey(kind, "default", name), grace))

    def events(self) -> list[tuple[str, str, int]]:
        found = self.world.store.list("Event")
        return [(event["reason"], event["message"], event.get("count", 1)) for event in found]


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


def test_claim_is_made_from_the_template_and_named_in_the_status(cluster: Cluster) -> None:
    cluster.create(template(labels={"team": "a"}, annotations={"why": "x"}), pod("user"))
    (made,) = cluster.claims()
    metadata = made["metadata"]
    assert (metadata["generateName"], metadata["name"][:9], len(metadata["name"])) == ("user-gpu-", "user-gpu-", 14)
    assert metadata["labels"] == {"team": "a"}
    assert metadata["annotations"] == {"why": "x", "resource.kubernetes.io/pod-claim-name": "gpu"}
    assert metadata["ownerReferences"] == [
        {"apiVersion": "v1", "kind": "Pod", "name": "user", "uid": cluster.pod("user")["metadata"]["uid"],
         "controller": True, "blockOwnerDeletion": True},
    ]  # fmt: skip
    assert made["spec"] == SPEC
    statuses = cluster.pod("user")["status"]["resourceClaimStatuses"]
    assert statuses == [{"name": "gpu", "resourceClaimName": metadata["name"]}]


def test_each_entry_has_its_own_claim_and_given_claims_are_left_alone(cluster: Cluster) -> None:
    cluster.create(template(), claim("mine"), pod("user", {"b": "t:t", "own": "mine", "a": "t:t"}))
    statuses = cluster.pod("user")["status"]["resourceClaimStatuses"]
    assert [each["name"] for each in statuses] == ["b", "a"]
    assert len(cluster.claims()) == 3


def test_missing_template_is_told_and_tried_again_ever_more_slowly(cluster: Cluster) -> None:
    cluster.create(pod("user"))
    text = 'PodResourceClaim gpu: resource claim template "t": resourceclaimtemplate.resource.k8s.io "t" not found'
    assert cluster.events() == [("FailedResourceClaimCreation", text, 1)]
    cluster.settle(3600)
    ((_, _, count),) = cluster.events()
    assert 15 <= count <= 22  # 5 ms, doubled up to 1000 s
    cluster.create(template())
    cluster.settle(1001)
    assert cluster.claim_of("user")
    assert cluster.controller.next_due() is None


def test_all_entries_get_their_claims_before_the_status_names_any(cluster: Cluster) -> None:
    cluster.create(template(), pod("user", {"a": "t:t", "b": "t:other"}))
    assert (len(cluster.claims()), cluster.claim_of("user", "a")) == (1, "")
    cluster.create(template("other"))
    cluster.settle(10)
    assert len(cluster.claims()) == 2
    assert cluster.claim_of("user", "a")
    assert cluster.claim_of("user", "b")


def test_refused_claim_is_asked_for_again(cluster: Cluster) -> None:
    none = {"count/resourceclaims.resource.k8s.io": "0"}
    cluster.world.load([make_manifest("ResourceQuota", "q", spec={"hard": none}, status={"hard": none, "used": none})])
    cluster.create(template(), pod("user"))
    assert cluster.claims() == []
    cluster.delete("ResourceQuota", "q")
    cluster.settle(10)
    assert cluster.claim_of("user")


def test_entry_that_needs_no_claim_stays_without(cluster: Cluster) -> None:
    cluster.create(pod("user"))
    status = {"resourceClaimStatuses": [{"name": "gpu"}]}
    cluster.request(ReportStatus(ObjectKey("Pod", "default", "user"), status))
    cluster.create(template())
    cluster.settle(3000)
    assert cluster.claims() == []


def test_claim_that_is_deleted_under_a_waiting_pod_is_made_anew_after_an_hour(cluster: Cluster) -> None:
    cluster.create(template(), pod("user"))
    first = cluster.claim_of("user")
    cluster.delete("ResourceClaim", first)
    cluster.settle(3599)
    cluster.request(Patch(ObjectKey("Pod", "default", "user"), {"metadata": {"labels": {"a": "b"}}}))
    assert (cluster.claims(), cluster.claim_of("user")) == ([], first)
    cluster.settle(2)
    cluster.request(Patch(ObjectKey("Pod", "default", "user"), {"metadata": {"labels": {"a": "c"}}}))
    assert cluster.claim_of("user") not in ("", first)
    assert len(cluster.claims()) == 1


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_ended_pod_gives_back_what_it_had_and_its_claim_goes(cluster: Cluster, phase: str) -> None:
    cluster.create(template(), pod("user"))
    name = cluster.claim_of("user")
    cluster.allocate(name, "user")
    cluster.bind("user")
    assert cluster.claim(name)["status"]["allocation"] == ALLOCATION
    cluster.finish("user", phase)
    assert cluster.get("ResourceClaim", name) is None
    assert cluster.pod("user")["status"]["phase"] == phase


def test_deleted_pod_keeps_its_claim_until_it_is_gone(cluster: Cluster) -> None:
    cluster.create(template(), pod("user"))
    name = cluster.claim_of("user")
    cluster.allocate(name, "user")
    cluster.bind("user")
    cluster.delete("Pod", "user")
    assert cluster.claim(name)["status"]["allocation"] == ALLOCATION
    cluster.delete("Pod", "user", 0)
    assert (cluster.get("Pod", "user"), cluster.get("ResourceClaim", name)) == (None, None)


def test_pod_deleted_before_it_had_a_node_leaves_nothing_behind(cluster: Cluster) -> None:
    cluster.create(template(), pod("user"))
    cluster.delete("Pod", "user")
    assert cluster.claims() == []


def test_pod_that_goes_while_its_claim_is_made_leaves_nothing_behind() -> None:
    controller = ResourceClaimController(ClusterOptions())
    user = manifests.decode({**pod("user"), "metadata": {"name": "user", "namespace": "default", "uid": "u"}})
    (create,) = controller.step(START, [ObjectPut(manifests.decode(template())), ObjectPut(user)])
    assert isinstance(create, Create)
    metadata = {**create.manifest["metadata"], "name": "user-gpu-x", "uid": "c"}
    made = manifests.decode({**create.manifest, "metadata": metadata})
    gone = ObjectDeleted("Pod", "default", "user", "u")
    want = [Delete(ObjectKey("ResourceClaim", "default", "user-gpu-x"), uid="c")]
    assert controller.step(START, [gone, ObjectPut(made)]) == want
    assert controller.next_due() is None


def test_shared_claim_is_kept_for_the_others_and_for_the_user(cluster: Cluster) -> None:
    cluster.create(claim("shared"), *(pod(name, {"gpu": "shared"}) for name in ("a", "b")))
    cluster.allocate("shared", "a", "b")
    cluster.bind("a")
    cluster.bind("b")
    cluster.finish("a")
    status = cluster.claim("shared")["status"]
    assert ([each["name"] for each in status["reservedFor"]], status["allocation"]) == (["b"], ALLOCATION)
    cluster.delete("Pod", "b", 0)
    left = cluster.claim("shared")
    assert not left.get("status")
    assert not left["metadata"].get("finalizers")


def test_reservation_of_a_namesake_is_taken_back(cluster: Cluster) -> None:
    cluster.create(claim("mine"), pod("user", {"gpu": "mine"}))
    cluster.allocate("mine", "user")
    cluster.delete("Pod", "user")
    cluster.create(pod("user", {"gpu": "mine"}))
    assert "reservedFor" not in cluster.claim("mine").get("status", {})
    # The controller comes when the namesake is there already.
    earlier = {"resource": "pods", "name": "user", "uid": "earlier"}
    cluster.report("mine", allocation=ALLOCATION, reservedFor=[earlier])
    assert "reservedFor" not in cluster.claim("mine").get("status", {})


def test_finalizer_stays_where_the_scheduler_gave_the_allocation_back(cluster: Cluster) -> None:
    cluster.create(claim("mine"), pod("user", {"gpu": "mine"}))
    cluster.allocate("mine", "user")
    cluster.report("mine", allocation=None, reservedFor=None)
    assert cluster.claim("mine")["metadata"]["finalizers"] == [DELETE_PROTECTION]
    cluster.delete("ResourceClaim", "mine")
    assert cluster.get("ResourceClaim", "mine") is None


def test_deleted_claim_waits_for_its_users_then_goes(cluster: Cluster) -> None:
    cluster.create(claim("mine"), pod("user", {"gpu": "mine"}))
    cluster.allocate("mine", "user")
    cluster.bind("user")
    cluster.delete("ResourceClaim", "mine")
    assert cluster.claim("mine")["status"]["allocation"] == ALLOCATION
    cluster.finish("user")
    assert cluster.get("ResourceClaim", "mine") is None


def test_deleted_claim_that_is_allocated_to_nobody_goes_at_once(cluster: Cluster) -> None:
    cluster.create(claim("mine"))
    cluster.allocate("mine")
    cluster.delete("ResourceClaim", "mine")
    assert cluster.get("ResourceClaim", "mine") is None


def test_pod_placed_by_hand_has_its_claim_reserved_once_it_is_allocated(cluster: Cluster) -> None:
    cluster.create(template(), pod("user", nodeName="n1"))
    name = cluster.claim_of("user")
    assert "reservedFor" not in cluster.claim(name).get("status", {})
    cluster.report(name, allocation=ALLOCATION)
    uid = cluster.pod("user")["metadata"]["uid"]
    assert cluster.claim(name)["status"]["reservedFor"] == [{"resource": "pods", "name": "user", "uid": uid}]


def test_controller_made_anew_does_nothing_twice(cluster: Cluster) -> None:
    cluster.create(template(), claim("mine"), pod("user"), pod("other", {"gpu": "mine"}))
    cluster.allocate(cluster.claim_of("user"), "user")
    cluster.allocate("mine", "other")
    objects = cluster.world.store.list("Pod", "ResourceClaim", "ResourceClaimTemplate")
    for order in (objects, list(reversed(objects))):
        anew = ResourceClaimController(ClusterOptions())
        assert anew.step(START, [ObjectPut(manifests.decode(each)) for each in order]) == []
        assert anew.next_due() is None


def test_write_based_on_an_older_version_is_left_to_the_next_change(cluster: Cluster) -> None:
    controller = ResourceClaimController(ClusterOptions())
    reserved = [{"resource": "pods", "name": "gone", "uid": "g"}]
    mine = claim("mine", uid="c", resourceVersion="7", finalizers=[DELETE_PROTECTION])
    taken = manifests.decode({**mine, "status": {"allocation": ALLOCATION, "reservedFor": reserved}})
    (request,) = controller.step(START, [ObjectPut(taken)])
    assert isinstance(request, Patch)
    assert (request.uid, request.resource_version, request.subresource) == ("c", "7", "status")
    # Meanwhile the scheduler gave the claim to another pod: nothing of it is taken back any more.
    user = make_pod("user", uid="u").build()
    mine = claim("mine", uid="c", resourceVersion="8", finalizers=[DELETE_PROTECTION])
    again = {"allocation": ALLOCATION, "reservedFor": [{"resource": "pods", "name": "user", "uid": "u"}]}
    assert controller.step(START, [ObjectPut(user), ObjectPut(manifests.decode({**mine, "status": again}))]) == []
    mine = claim("mine", uid="c", resourceVersion="9", finalizers=[DELETE_PROTECTION])
    assert controller.step(START, [ObjectPut(manifests.decode({**mine, "status": {}}))]) == []


@cases(
    "pod_name, entry, want",
    ("short", "user", "gpu", "user-gpu-"),
    ("the longest that is not cut", "p" * 40, "e" * 15, "p" * 40 + "-" + "e" * 15 + "-"),
    ("both are cut", "p" * 60, "e" * 30, "p" * 37 + "-" + "e" * 18),
)
def test_names_of_claims_fit(pod_name: str, entry: str, want: str) -> None:
    assert generate_name(pod_name, entry) == want


def test_pods_without_claims_are_no_work() -> None:
    controller = ResourceClaimController(ClusterOptions())
    plain = make_pod("p").build()
    assert isinstance(plain, Pod)
    assert controller.step(START, [ObjectPut(plain)]) == []
    assert ResourceClaim.kind == "ResourceClaim"
