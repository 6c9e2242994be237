"""Claims of generic ephemeral volumes come and go with their pod."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from scheduler_core.api import manifests
from scheduler_core.api.meta import KubeObject
from scheduler_core.api.storage import PersistentVolumeClaim
from scheduler_core.apiserver.requests import Create, Delete, ObjectKey
from scheduler_core.controllers.controller import ClusterOptions
from scheduler_core.controllers.ephemeral_claims import EphemeralClaims
from scheduler_core.model.changes import Change, ObjectDeleted, ObjectPut
from tests.builders import make_pod
from tests.cases import cases
from tests.core.volumes import make_claim

CLUSTER = ClusterOptions()
NOW = 1_900_000_000 * 1_000_000


def puts(objects: Sequence[KubeObject]) -> list[Change]:
    return [ObjectPut(obj) for obj in objects]


TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": {"storageClassName": "late"}}
POD = make_pod("p").spec(volumes=[{"name": "e", "ephemeral": {"volumeClaimTemplate": TEMPLATE}}]).build()


def test_claim_is_made_for_an_ephemeral_volume_unless_there_is_one() -> None:
    (request,) = EphemeralClaims(CLUSTER).step(NOW, puts([POD]))
    assert isinstance(request, Create)
    claim = manifests.decode(request.manifest)
    assert isinstance(claim, PersistentVolumeClaim)
    (owner,) = claim.metadata.owner_references or ()
    assert (claim.key, claim.labels, claim.spec.storage_class_name) == ("default/p-e", {"a": "b"}, "late")
    assert (owner.kind, owner.uid, owner.controller) == ("Pod", POD.uid, True)
    assert EphemeralClaims(CLUSTER).step(NOW, puts([claim, POD])) == []


def test_no_claim_is_made_for_a_pod_that_is_over() -> None:
    over = replace(POD, status=replace(POD.status, phase="Succeeded"))
    assert EphemeralClaims(CLUSTER).step(NOW, puts([over])) == []


def test_claim_goes_with_its_pod_and_others_stay() -> None:
    controller = EphemeralClaims(CLUSTER)
    (request,) = controller.step(NOW, puts([POD]))
    assert isinstance(request, Create)
    controller.step(NOW, [ObjectPut(manifests.decode(request.manifest)), ObjectPut(make_claim("other"))])
    gone = ObjectDeleted(POD.kind, POD.namespace, POD.name, POD.uid)
    assert controller.step(NOW, [gone]) == [Delete(ObjectKey("PersistentVolumeClaim", "default", "p-e"))]
    assert controller.next_due() is None


def test_pod_that_comes_and_goes_in_one_step_gets_no_claim() -> None:
    gone = ObjectDeleted(POD.kind, POD.namespace, POD.name, POD.uid)
    assert EphemeralClaims(CLUSTER).step(NOW, [ObjectPut(POD), gone]) == []


def test_claim_that_is_gone_is_made_again_when_its_pod_changes() -> None:
    controller = EphemeralClaims(CLUSTER)
    (request,) = controller.step(NOW, puts([POD]))
    assert isinstance(request, Create)
    claim = manifests.decode(request.manifest)
    controller.step(NOW, [ObjectPut(claim)])
    assert controller.step(NOW, [ObjectDeleted(claim.kind, claim.namespace, claim.name, claim.uid)]) == []
    assert controller.step(NOW, puts([POD])) == [request]


@cases(
    "owner",
    ("another pod", {"kind": "Pod", "uid": "another"}),
    ("of another kind", {"kind": "StatefulSet", "uid": POD.uid}),
)
def test_claim_that_somebody_else_owns_stays(owner: dict[str, str]) -> None:
    reference = {"apiVersion": "v1", "name": "p", "controller": True, **owner}
    claim = make_claim("p-e", metadata={"ownerReferences": [reference]})
    controller = EphemeralClaims(CLUSTER)
    controller.step(NOW, puts([claim, POD]))
    assert controller.step(NOW, [ObjectDeleted(POD.kind, POD.namespace, POD.name, POD.uid)]) == []
