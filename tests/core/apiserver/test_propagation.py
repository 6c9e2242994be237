"""What a deletion says of owned objects, and how long a pod has left."""

from __future__ import annotations

from collections.abc import Sequence

from scheduler_core.apiserver.requests import Create, Delete, ObjectKey, Propagation
from scheduler_core.apiserver.server import ApiServer
from scheduler_core.apiserver.store import ObjectChange, Operation
from tests.cases import cases
from tests.core.apiserver.asking import CLASS, NOW, POD, done, made, pod, priority_class, stored

RC_SPEC = {
    "replicas": 1,
    "selector": {"app": "old"},
    "template": {"metadata": {"labels": {"app": "old"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
}
OTHER, ORPHAN, FOREGROUND = "example.com/f", "orphan", "foregroundDeletion"


@cases(
    "there, asked, left",
    ("orphaning said before holds", [OTHER, ORPHAN], None, [OTHER, ORPHAN]),
    ("foreground said before holds", [FOREGROUND, OTHER], None, [FOREGROUND, OTHER]),
    ("the request wins over orphaning", [OTHER, ORPHAN], Propagation.FOREGROUND, [OTHER, FOREGROUND]),
    ("the request wins over foreground", [FOREGROUND, OTHER], Propagation.ORPHAN, [OTHER, ORPHAN]),
    ("said twice", [ORPHAN, OTHER], Propagation.ORPHAN, [ORPHAN, OTHER]),
    ("background takes both away", [ORPHAN, OTHER, FOREGROUND], Propagation.BACKGROUND, [OTHER]),
    ("nothing said", [OTHER], None, [OTHER]),
)
def test_finalizers_after_a_deletion(
    server: ApiServer, there: Sequence[str], asked: Propagation | None, left: Sequence[str]
) -> None:
    made(server, priority_class())
    manifest = stored(server, CLASS)
    kept = {**manifest, "metadata": {**manifest["metadata"], "finalizers": list(there)}}
    server.store.commit([ObjectChange(Operation.UPDATED, kept)], NOW)
    done(server, Delete(CLASS, propagation=asked))
    assert stored(server, CLASS)["metadata"]["finalizers"] == left


def test_pods_of_some_controllers_are_orphaned_unless_said_otherwise(server: ApiServer) -> None:
    key = ObjectKey("ReplicationController", "default", "old")
    manifest = {"apiVersion": "v1", "kind": key.kind, "metadata": {"name": "old"}, "spec": RC_SPEC}
    done(server, Create(manifest))
    done(server, Delete(key))
    assert stored(server, key)["metadata"]["finalizers"] == [ORPHAN]


@cases(
    "spec, asked, left",
    ("asked for less than none", 7, -3, 1),
    ("the pod's own is less than none", -7, None, 1),
)
def test_grace_below_zero_is_a_second(server: ApiServer, spec: int, asked: int | None, left: int) -> None:
    done(server, pod(nodeName="n1", terminationGracePeriodSeconds=spec))
    done(server, Delete(POD, asked))
    assert stored(server)["metadata"]["deletionGracePeriodSeconds"] == left


def test_grace_shortened_below_zero_is_a_second(server: ApiServer) -> None:
    done(server, pod(nodeName="n1"))
    done(server, Delete(POD))
    done(server, Delete(POD, -3))
    metadata = stored(server)["metadata"]
    assert (metadata["deletionGracePeriodSeconds"], metadata["deletionTimestamp"]) == (1, "2030-01-01T00:00:01Z")
