"""The volume controller: volumes become available, are bound, made, given back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import pytest

from scheduler_core.api import manifests
from scheduler_core.api.meta import KubeObject
from scheduler_core.apiserver.answers import Refused
from scheduler_core.apiserver.memory import MemoryStore
from scheduler_core.apiserver.requests import Create, Delete, ObjectKey, Patch, Request
from scheduler_core.apiserver.server import ApiServer
from scheduler_core.controllers.controller import ClusterOptions
from scheduler_core.controllers.volumes import PROVISION_DELAY_US, VolumeController
from scheduler_core.model.changes import Change, ObjectDeleted, ObjectPut
from tests.builders import make_node
from tests.cases import cases
from tests.core.volumes import DRIVER, make_claim, make_class, make_volume

CLUSTER = ClusterOptions()
NOW = 1_900_000_000 * 1_000_000
SELECTED = {"volume.kubernetes.io/selected-node": "n1"}
CLAIM = make_claim("c", annotations=SELECTED)
AT_ONCE, NOBODY_MAKES = make_class(late=False), make_class(late=False, provisioner="")
BOUND = [("v", ("Bound", "c")), ("c", ("Bound", "v"))]
MADE = [(f"pvc-{CLAIM.uid}", "made"), ("c", ("Bound", f"pvc-{CLAIM.uid}"))]
NO_PROVISIONER = make_class(provisioner="kubernetes.io/no-provisioner")


def puts(objects: Sequence[KubeObject]) -> list[Change]:
    return [ObjectPut(obj) for obj in objects]


def gone(obj: KubeObject) -> ObjectDeleted:
    return ObjectDeleted(obj.kind, obj.namespace, obj.name, obj.uid)


def settled(*objects: KubeObject) -> list[Request]:
    """Everything that follows from the objects, new volumes included."""
    controller = VolumeController(CLUSTER)
    requests = controller.step(NOW, puts(objects))
    while (due := controller.next_due()) is not None:
        requests += controller.step(due, [])
    return requests


def body(patch: Request) -> dict[str, Any]:
    assert isinstance(patch, Patch)
    return cast(dict[str, Any], patch.body)


def told(requests: list[Request]) -> list[tuple[str, Any]]:
    """Return (name, what is said of it) of each request."""
    found: list[tuple[str, Any]] = []
    whom: dict[ObjectKey, str] = {}  # what the patch before that of the status says
    for request in requests:
        match request:
            case Patch(subresource="status"):
                found.append((request.key.name, (body(request)["status"]["phase"], whom.pop(request.key, None))))
            case Patch():
                spec = body(request)["spec"]
                whom[request.key] = spec.get("volumeName") or spec["claimRef"]["name"]
            case Create():
                found.append((request.manifest["metadata"]["name"], "made"))
            case Delete():
                found.append((request.key.name, "removed"))
    return found


@pytest.fixture
def controller() -> VolumeController:
    return VolumeController(CLUSTER)


@cases(
    "objects, want",
    ("a new volume is available", [make_volume(phase="Pending")], [("v", ("Available", None))]),
    ("an available one stays", [make_volume()], []),
    ("a claim that waits is left to the scheduler", [make_claim("c"), make_class(), make_volume()], []),
    ("what the scheduler set aside is bound", [make_claim("c"), NO_PROVISIONER, make_volume(claim=make_claim("c"))],
     BOUND),
    ("a volume of an earlier claim of the name is not",
     [make_claim("c"), NO_PROVISIONER, make_volume(claim=make_claim("c", metadata={"uid": "earlier"}))], []),
    ("a volume is made for a claim that was placed", [CLAIM, make_class()], MADE),
    ("a claim that binds at once takes the smallest volume",
     [make_claim("c"), AT_ONCE, make_volume("big"), make_volume("small", size="2Gi")],
     [("small", ("Bound", "c")), ("c", ("Bound", "small"))]),
    ("a claim that binds at once has one made when none suits",
     [make_claim("c", size="20Gi"), AT_ONCE, make_volume("big")], MADE),
    ("a claim that names its volume gets it", [make_claim("c", volume="v", annotations={}), make_volume()], BOUND),
    ("unless it is somebody else's",
     [make_claim("c", volume="v", annotations={}), make_volume(claim=make_claim("d")), make_claim("d")],
     [("v", ("Bound", "d")), ("d", ("Bound", "v"))]),
    ("a bound claim stays as it is", [make_claim("c", volume="v"), make_volume()], []),
    ("no provisioner, no volume", [make_claim("c", annotations=SELECTED), NO_PROVISIONER], []),
    ("of equal volumes the first by name", [make_claim("c"), NOBODY_MAKES, make_volume("b"), make_volume("a")],
     [("a", ("Bound", "c")), ("c", ("Bound", "a"))]),
    ("not one of another class", [make_claim("c"), NOBODY_MAKES, make_volume(class_name="other")], []),
    ("none by a selector that cannot be read",
     [make_claim("c", selector={"matchExpressions": [{"key": "a", "operator": "Odd"}]}), NOBODY_MAKES, make_volume()],
     []),
    ("nothing for a lost claim", [make_claim("c", annotations=SELECTED, phase="Lost"), make_class()], []),
    ("nothing for a claim that is being deleted",
     [make_claim("c", metadata={"annotations": SELECTED, "deletionTimestamp": "2030-01-01T00:00:00Z"}), make_class()],
     []),
    ("a new volume set aside for a claim that has another is not bound",
     [make_claim("c", volume="w"), make_volume(phase="Pending", claim=make_claim("c"))], []),
)  # fmt: skip
def test_claims_and_volumes_find_each_other(objects: list[KubeObject], want: list[tuple[str, Any]]) -> None:
    assert told(settled(*objects)) == want


def test_two_claims_never_get_one_volume() -> None:
    requests = settled(make_claim("a"), make_claim("b"), NOBODY_MAKES, make_volume())
    assert told(requests) == [("v", ("Bound", "a")), ("a", ("Bound", "v"))]


def test_volume_is_made_after_a_while_in_the_zone_of_the_node(controller: VolumeController) -> None:
    assert controller.step(NOW, puts([CLAIM, make_class(), make_node("n1").zone("a").build()])) == []
    assert controller.next_due() == NOW + PROVISION_DELAY_US
    created, bound, status = controller.step(NOW + PROVISION_DELAY_US, [])
    assert isinstance(created, Create)
    manifests.decode(created.manifest)
    spec = created.manifest["spec"]
    assert (spec["csi"]["driver"], spec["capacity"], spec["claimRef"]["uid"]) == (DRIVER, {"storage": "1Gi"}, CLAIM.uid)
    (term,) = spec["nodeAffinity"]["required"]["nodeSelectorTerms"]
    assert term["matchExpressions"] == [{"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["a"]}]
    assert body(bound)["metadata"]["annotations"] == {
        "pv.kubernetes.io/bind-completed": "yes",
        "pv.kubernetes.io/bound-by-controller": "yes",
    }
    assert body(status)["status"]["phase"] == "Bound"
    assert controller.next_due() is None
    (phase,) = controller.step(NOW + PROVISION_DELAY_US, [ObjectPut(manifests.decode(created.manifest))])
    assert body(phase)["status"] == {"phase": "Bound"}


@pytest.mark.parametrize("provisioner", [DRIVER, "rancher.io/local-path", "kubernetes.io/aws-ebs", "d" * 64])
def test_made_volume_is_one_the_api_server_takes(provisioner: str) -> None:
    controller, server = VolumeController(CLUSTER), ApiServer(MemoryStore(), lambda: "uid")
    controller.step(NOW, puts([CLAIM, make_class(provisioner=provisioner)]))
    (created, *_) = controller.step(NOW + PROVISION_DELAY_US, [])
    (answer,) = server.carry_out([created], NOW)
    assert not isinstance(answer, Refused)


def test_nothing_is_made_when_the_claim_goes_or_loses_its_node_meanwhile() -> None:
    for change in (gone(CLAIM), ObjectPut(make_claim("c"))):
        controller = VolumeController(CLUSTER)
        controller.step(NOW, puts([CLAIM, make_class()]))
        controller.step(NOW, [change])
        assert controller.next_due() is None


@cases(
    "policy, want",
    ("it is removed", "Delete", [("v", ("Released", None)), ("v", "removed")]),
    ("or kept for its administrator", "Retain", [("v", ("Released", None))]),
)
def test_volume_is_given_back_when_its_claim_goes(policy: str, want: list[tuple[str, Any]]) -> None:
    claim = make_claim("c", volume="v")
    controller = VolumeController(CLUSTER)
    volume = make_volume(claim=claim, phase="Bound", persistentVolumeReclaimPolicy=policy)
    assert controller.step(NOW, puts([claim, volume])) == []
    assert told(controller.step(NOW, [gone(claim)])) == want


def test_claim_is_lost_when_its_volume_goes(controller: VolumeController) -> None:
    claim = make_claim("c", volume="v")
    controller.step(NOW, puts([claim, make_volume(claim=claim, phase="Bound")]))
    assert told(controller.step(NOW, [gone(make_volume())])) == [("c", ("Lost", None))]


def test_claim_that_named_its_volume_is_not_called_bound_by_the_controller() -> None:
    requests = settled(make_claim("c", volume="v", annotations={}), make_volume())
    assert body(requests[2])["metadata"]["annotations"] == {"pv.kubernetes.io/bind-completed": "yes"}


def test_claim_that_names_its_volume_waits_until_that_is_free() -> None:
    earlier = make_claim("d", volume="v")
    assert (
        settled(earlier, make_volume(claim=earlier, phase="Bound"), make_claim("c", volume="v", annotations={})) == []
    )


def test_volume_that_is_released_or_another_claims_is_not_given_back() -> None:
    claim = make_claim("c", volume="v")
    for volume in (
        make_volume(claim=claim, phase="Released", persistentVolumeReclaimPolicy="Retain"),
        make_volume(claim=make_claim("c", metadata={"uid": "later"}), phase="Bound"),
    ):
        controller = VolumeController(CLUSTER)
        controller.step(NOW, puts([claim, volume]))
        assert controller.step(NOW, [gone(claim)]) == []


def test_claim_is_lost_once_and_only_when_it_was_bound(controller: VolumeController) -> None:
    lost, unbound = (
        make_claim("c", volume="v", phase="Lost"),
        make_claim("d", volume="v", annotations={}, phase="Pending"),
    )
    controller.step(NOW, puts([lost, unbound, make_volume(claim=make_claim("x"), phase="Bound")]))
    assert controller.step(NOW, [gone(make_volume())]) == []


def test_volume_is_made_where_the_class_allows_and_with_the_claims_attributes() -> None:
    topology = [{"matchLabelExpressions": [{"key": "zone", "values": ["a", "b"]}]}]
    claim = make_claim("c", volumeAttributesClassName="gold")
    created, *_ = settled(claim, make_class(late=False, allowedTopologies=topology))
    assert isinstance(created, Create)
    spec = created.manifest["spec"]
    assert spec["volumeAttributesClassName"] == "gold"
    (term,) = spec["nodeAffinity"]["required"]["nodeSelectorTerms"]
    assert term["matchExpressions"] == [{"key": "zone", "operator": "In", "values": ["a"]}]


def test_volume_is_due_when_it_was_first_asked_for(controller: VolumeController) -> None:
    controller.step(NOW, puts([CLAIM, make_class()]))
    controller.step(NOW + 100, puts([make_claim("other")]))
    assert controller.next_due() == NOW + PROVISION_DELAY_US


def test_nothing_is_made_when_a_volume_is_found_meanwhile(controller: VolumeController) -> None:
    controller.step(NOW, puts([make_claim("c"), AT_ONCE]))
    assert told(controller.step(NOW, puts([make_volume()])))[-1] == ("c", ("Bound", "v"))
    assert controller.next_due() is None
