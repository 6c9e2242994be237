"""The volume controller: volumes become available, are bound, made, given back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from scheduler_core.api import manifests
from scheduler_core.api.meta import KubeObject
from scheduler_core.api.storage import PersistentVolumeClaim
from scheduler_core.lifecycle.effects import LifecycleEffect, ObjectCreation, ObjectPatch, ObjectRemoval
from scheduler_core.lifecycle.ephemeral_claims import EphemeralClaims
from scheduler_core.lifecycle.volumes import PROVISION_DELAY_US, VolumeController
from scheduler_core.model.changes import Change, ObjectDeleted, ObjectPut
from tests.builders import make_node, make_pod
from tests.core.volumes import DRIVER, make_claim, make_class, make_volume

NOW = 1_900_000_000 * 1_000_000
SELECTED = {"volume.kubernetes.io/selected-node": "n1"}
CLAIM = make_claim("c", annotations=SELECTED)
NO_PROVISIONER = make_class(provisioner="kubernetes.io/no-provisioner")


def puts(objects: Sequence[KubeObject]) -> list[Change]:
    return [ObjectPut(obj) for obj in objects]


def gone(obj: KubeObject) -> ObjectDeleted:
    return ObjectDeleted(obj.kind, obj.namespace, obj.name, obj.uid)


def settled(*objects: KubeObject) -> list[LifecycleEffect]:
    """Everything that follows from the objects, new volumes included."""
    controller = VolumeController()
    effects = controller.step(NOW, puts(objects))
    while (due := controller.next_due()) is not None:
        effects += controller.step(due, [])
    return effects


def told(effects: list[LifecycleEffect]) -> list[tuple[str, Any]]:
    """(name, what is said of it) of each effect."""
    found: list[tuple[str, Any]] = []
    for effect in effects:
        match effect:
            case ObjectPatch():
                spec = effect.patch.get("spec", {})
                whom = spec.get("volumeName") or spec.get("claimRef", {}).get("name")
                found.append((effect.name, (effect.patch["status"]["phase"], whom)))
            case ObjectCreation():
                found.append((effect.manifest["metadata"]["name"], "made"))
            case ObjectRemoval():
                found.append((effect.name, "removed"))
    return found


@pytest.mark.parametrize(
    ("objects", "want"),
    [
        pytest.param([make_volume(phase="Pending")], [("v", ("Available", None))], id="a new volume is available"),
        pytest.param([make_volume()], [], id="an available one stays"),
        pytest.param(
            [make_claim("c"), make_class(), make_volume()], [], id="a claim that waits is left to the scheduler"
        ),
        pytest.param(
            [make_claim("c"), NO_PROVISIONER, make_volume(claim=make_claim("c"))],
            [("v", ("Bound", "c")), ("c", ("Bound", "v"))],
            id="what the scheduler set aside is bound",
        ),
        pytest.param(
            [make_claim("c"), NO_PROVISIONER, make_volume(claim=make_claim("c", metadata={"uid": "earlier"}))],
            [],
            id="a volume of an earlier claim of the name is not",
        ),
        pytest.param(
            [CLAIM, make_class()],
            [(f"pvc-{CLAIM.uid}", "made"), ("c", ("Bound", f"pvc-{CLAIM.uid}"))],
            id="a volume is made for a claim that was placed",
        ),
        pytest.param(
            [make_claim("c"), make_class(late=False), make_volume("big"), make_volume("small", size="2Gi")],
            [("small", ("Bound", "c")), ("c", ("Bound", "small"))],
            id="a claim that binds at once takes the smallest volume",
        ),
        pytest.param(
            [make_claim("c", size="20Gi"), make_class(late=False), make_volume("big")],
            [(f"pvc-{CLAIM.uid}", "made"), ("c", ("Bound", f"pvc-{CLAIM.uid}"))],
            id="a claim that binds at once has one made when none suits",
        ),
        pytest.param(
            [make_claim("c", volume="v", annotations={}), make_volume()],
            [("v", ("Bound", "c")), ("c", ("Bound", "v"))],
            id="a claim that names its volume gets it",
        ),
        pytest.param(
            [make_claim("c", volume="v", annotations={}), make_volume(claim=make_claim("d")), make_claim("d")],
            [("v", ("Bound", "d")), ("d", ("Bound", "v"))],
            id="unless it is somebody else's",
        ),
        pytest.param([make_claim("c", volume="v"), make_volume()], [], id="a bound claim stays as it is"),
        pytest.param([make_claim("c", annotations=SELECTED), NO_PROVISIONER], [], id="no provisioner, no volume"),
    ],
)
def test_claims_and_volumes_find_each_other(objects: list[KubeObject], want: list[tuple[str, Any]]) -> None:
    assert told(settled(*objects)) == want


def test_two_claims_never_get_one_volume() -> None:
    effects = settled(make_claim("a"), make_claim("b"), make_class(late=False, provisioner=""), make_volume())
    assert told(effects) == [("v", ("Bound", "a")), ("a", ("Bound", "v"))]


def test_volume_is_made_after_a_while_in_the_zone_of_the_node() -> None:
    controller = VolumeController()
    assert controller.step(NOW, puts([CLAIM, make_class(), make_node("n1").zone("a").build()])) == []
    assert controller.next_due() == NOW + PROVISION_DELAY_US
    created, bound = controller.step(NOW + PROVISION_DELAY_US, [])
    assert isinstance(created, ObjectCreation) and isinstance(bound, ObjectPatch)
    manifests.decode(created.manifest)
    spec = created.manifest["spec"]
    assert (spec["csi"]["driver"], spec["capacity"], spec["claimRef"]["uid"]) == (DRIVER, {"storage": "1Gi"}, CLAIM.uid)
    (term,) = spec["nodeAffinity"]["required"]["nodeSelectorTerms"]
    assert term["matchExpressions"] == [{"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["a"]}]
    assert bound.patch["metadata"]["annotations"] == {
        "pv.kubernetes.io/bind-completed": "yes",
        "pv.kubernetes.io/bound-by-controller": "yes",
    }
    assert controller.next_due() is None


def test_nothing_is_made_when_the_claim_goes_or_loses_its_node_meanwhile() -> None:
    for change in (gone(CLAIM), ObjectPut(make_claim("c"))):
        controller = VolumeController()
        controller.step(NOW, puts([CLAIM, make_class()]))
        controller.step(NOW, [change])
        assert controller.next_due() is None


@pytest.mark.parametrize(
    ("policy", "want"),
    [
        pytest.param("Delete", [("v", "removed")], id="it is removed"),
        pytest.param("Retain", [("v", ("Released", None))], id="or kept for its administrator"),
    ],
)
def test_volume_is_given_back_when_its_claim_goes(policy: str, want: list[tuple[str, Any]]) -> None:
    claim = make_claim("c", volume="v")
    controller = VolumeController()
    volume = make_volume(claim=claim, phase="Bound", persistentVolumeReclaimPolicy=policy)
    assert controller.step(NOW, puts([claim, volume])) == []
    assert told(controller.step(NOW, [gone(claim)])) == want


def test_claim_is_lost_when_its_volume_goes() -> None:
    claim = make_claim("c", volume="v")
    controller = VolumeController()
    controller.step(NOW, puts([claim, make_volume(claim=claim, phase="Bound")]))
    assert told(controller.step(NOW, [gone(make_volume())])) == [("c", ("Lost", None))]


# Claims of ephemeral volumes

TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": {"storageClassName": "late"}}
POD = make_pod("p").spec(volumes=[{"name": "e", "ephemeral": {"volumeClaimTemplate": TEMPLATE}}]).build()


def test_claim_is_made_for_an_ephemeral_volume_unless_there_is_one() -> None:
    (effect,) = EphemeralClaims().step(NOW, puts([POD]))
    assert isinstance(effect, ObjectCreation)
    claim = manifests.decode(effect.manifest)
    assert isinstance(claim, PersistentVolumeClaim)
    (owner,) = claim.metadata.owner_references or ()
    assert (claim.key, claim.labels, claim.spec.storage_class_name) == ("default/p-e", {"a": "b"}, "late")
    assert (owner.kind, owner.uid, owner.controller) == ("Pod", POD.uid, True)
    assert EphemeralClaims().step(NOW, puts([claim, POD])) == []


def test_no_claim_is_made_for_a_pod_that_is_over() -> None:
    over = replace(POD, status=replace(POD.status, phase="Succeeded"))
    assert EphemeralClaims().step(NOW, puts([over])) == []


def test_claim_goes_with_its_pod_and_others_stay() -> None:
    controller = EphemeralClaims()
    (effect,) = controller.step(NOW, puts([POD]))
    assert isinstance(effect, ObjectCreation)
    controller.step(NOW, [ObjectPut(manifests.decode(effect.manifest)), ObjectPut(make_claim("other"))])
    assert told(controller.step(NOW, [gone(POD)])) == [("p-e", "removed")]
