"""Objects are found by name and by what controls them; each change says what the object was before."""

from __future__ import annotations

from scheduler_core.api.pod import Pod
from scheduler_core.controllers.object_index import ORPHANS, ObjectIndex, Update
from scheduler_core.model.changes import ObjectDeleted
from tests.builders import make_pod

ORPHAN = ORPHANS + "default"


def test_objects_move_with_their_controller() -> None:
    index = ObjectIndex(Pod)
    orphan, other = make_pod("p").build(), make_pod("q").owner("ReplicaSet", "rs", uid="r").build()
    assert index.put(orphan) == (Update(None, orphan, (ORPHAN,)),)
    assert index.put(other) == (Update(None, other, ("r",)),)
    adopted = make_pod("p").owner("ReplicaSet", "rs", uid="r").build()
    assert index.put(adopted) == (Update(orphan, adopted, (ORPHAN, "r")),)
    assert list(index.controlled_by("r")) == [other, adopted] and not index.orphans("default")
    running = make_pod("q").owner("ReplicaSet", "rs", uid="r").phase("Running").build()
    assert index.put(running) == (Update(other, running, ("r",)),)
    assert list(index.controlled_by("r")) == [running, adopted]
    assert index.put(orphan) == (Update(adopted, orphan, ("r", ORPHAN)),)
    assert list(index.orphans("default")) == [orphan] and list(index.in_namespace("default")) == [orphan, running]


def test_owner_that_does_not_control_leaves_an_orphan() -> None:
    index = ObjectIndex(Pod)
    owned = make_pod("p").owner("Node", "n", uid="n", controller=False).build()
    assert index.put(owned) == (Update(None, owned, (ORPHAN,)),)
    assert not index.controlled_by("n")


def test_object_that_is_gone_is_forgotten() -> None:
    index = ObjectIndex(Pod)
    pod = make_pod("p").build()
    index.put(pod)
    assert index.remove(ObjectDeleted("Pod", "default", "p")) == (Update(pod, pod, (ORPHAN,), True),)
    assert index.remove(ObjectDeleted("Pod", "default", "p")) == ()
    assert index.get("default/p") is None and not index.orphans("default") and not index.in_namespace("default")


def test_namesakes_are_kept_apart() -> None:
    index = ObjectIndex(Pod)
    first, second = make_pod("p", uid="first").build(), make_pod("p", uid="second").build()
    index.put(first)
    assert index.put(second) == (Update(first, first, (ORPHAN,), True), Update(None, second, (ORPHAN,)))
    assert index.remove(ObjectDeleted("Pod", "default", "p", "first")) == ()
    assert index.get("default/p") is second and list(index.orphans("default")) == [second]
