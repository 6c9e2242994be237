"""What new controllers are told of objects that went."""

from __future__ import annotations

from scheduler_core.controllers.controller import ClusterOptions, told_anew
from scheduler_core.controllers.garbage import GarbageCollector
from scheduler_core.controllers.volumes import VolumeController
from scheduler_core.model.changes import ObjectDeleted, ObjectPut
from tests.builders import make_pod
from tests.core.volumes import make_claim, make_volume

NOW = 1_893_456_000_000_000


def gone(name: str, kind: str = "Pod", uid: str = "earlier") -> ObjectDeleted:
    return ObjectDeleted(kind, "default", name, uid)


def test_names_that_are_used_again_were_given_up_before() -> None:
    stored = [ObjectPut(make_pod("web-0").build()), ObjectPut(make_pod("other").build())]
    missed = [gone("web-0"), gone("web-1"), gone("other", "Service")]
    assert told_anew(stored, missed) == [missed[0], *stored, missed[1], missed[2]]
    assert told_anew(stored, []) == stored


def test_dependents_go_with_an_owner_whose_name_is_used_again() -> None:
    owner, dependent = make_pod("owner").build(), make_pod("p").owner("Pod", "owner", uid="earlier").build()
    told = told_anew([ObjectPut(owner), ObjectPut(dependent)], [gone("owner")])
    (request,) = GarbageCollector(ClusterOptions()).step(NOW, told)
    assert request.key.name == "p"
    assert GarbageCollector(ClusterOptions()).step(NOW, told_anew([ObjectPut(owner)], [gone("owner")])) == []


def test_volume_is_given_back_although_nobody_saw_its_claim_go() -> None:
    claim = make_claim("c", volume="v", metadata={"uid": "earlier"})
    volume = ObjectPut(make_volume(claim=claim, phase="Bound", persistentVolumeReclaimPolicy="Retain"))
    deletion = gone("c", "PersistentVolumeClaim", claim.uid)
    anew = ObjectPut(make_claim("c", annotations={}))
    for stored in ([volume], [volume, anew]):
        (request,) = VolumeController(ClusterOptions()).step(NOW, told_anew(stored, [deletion]))
        assert request.key.name == "v" and request.body == {"status": {"phase": "Released"}}
