"""What a deletion says of owned objects, and how long a pod has left."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from scheduler_core.apiserver.requests import Create, Delete, ObjectKey, Propagation
from scheduler_core.apiserver.server import ApiServer
from scheduler_core.apiserver.store import ObjectChange, Operation
from tests.core.apiserver.asking import CLASS, NOW, POD, done, made, pod, priority_class, stored

RC_SPEC = {
    "replicas": 1,
    "selector": {"app": "old"},
    "template": {"metadata": {"labels": {"app": "old"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
}
OTHER, ORPHAN, FOREGROUND = "example.com/f", "orphan", "foregroundDeletion"


@pytest.mark.parametrize(
    ("there", "asked", "left"),
    [
        pytest.param([OTHER, ORPHAN], None, [OTHER, ORPHAN], id="orphaning said before holds"),
        pytest.param([FOREGROUND, OTHER], None, [FOREGROUND, OTHER], id="foreground said before holds"),
        pytest.param(
            [OTHER, ORPHAN], Propagation.FOREGROUND, [OTHER, FOREGROUND], id="the request wins over orphaning"
        ),
        pytest.param([FOREGROUND, OTHER], Propagation.ORPHAN, [OTHER, ORPHAN], id="the request wins over foreground"),
        pytest.param([ORPHAN, OTHER], Propagation.ORPHAN, [ORPHAN, OTHER], id="said twice"),
        pytest.param([ORPHAN, OTHER, FOREGROUND], Propagation.BACKGROUND, [OTHER], id="background takes both away"),
        pytest.param([OTHER], None, [OTHER], id="nothing said"),
    ],
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


@pytest.mark.parametrize(
    ("spec", "asked", "left"),
    [
        pytest.param(7, -3, 1, id="asked for less than none"),
        pytest.param(-7, None, 1, id="the pod's own is less than none"),
    ],
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
