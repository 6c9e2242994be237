"""The suite of rules over the store in memory, and the log that its followers read."""

from __future__ import annotations

from scheduler_core.api.manifests import decode
from scheduler_core.apiserver.memory import MemoryStore
from scheduler_core.apiserver.requests import Bind, Delete, ObjectKey, Patch, PatchType, ReportUnschedulable
from scheduler_core.apiserver.server import ApiServer
from scheduler_core.model.changes import ObjectDeleted, ObjectPut
from tests.core.apiserver.admission_rules import *  # noqa: F403
from tests.core.apiserver.asking import NOW, POD, made, pod
from tests.core.apiserver.deletion_and_pod_rules import *  # noqa: F403  the suite, collected here
from tests.core.apiserver.object_rules import *  # noqa: F403


def test_the_log_tells_every_change_in_order(server: ApiServer) -> None:
    store = server.store
    assert isinstance(store, MemoryStore)
    uid = made(server, pod())["metadata"]["uid"]
    server.carry_out([Bind(POD, "n1"), Delete(POD, 0)], NOW)
    created, bound, deleted = store.changes_after(0)
    assert isinstance(created, ObjectPut) and created.rv == 1 and created.obj.metadata.resource_version == "1"
    assert isinstance(bound, ObjectPut) and bound.rv == 2
    assert deleted == ObjectDeleted("Pod", "default", "p", uid, 3)
    assert list(store.changes_after(2)) == [deleted]


def test_pods_in_the_log_are_what_their_manifests_say(server: ApiServer) -> None:
    store = server.store
    assert isinstance(store, MemoryStore)
    uid = made(server, pod())["metadata"]["uid"]
    status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    for request in (
        ReportUnschedulable(POD, ("False", "Unschedulable", "no room"), "n7"),
        Bind(POD, "n1"),
        Patch(POD, {"status": status}, PatchType.STRATEGIC, "status"),
        Patch(POD, {"metadata": {"labels": {"app": "otter"}}}),
        Patch(POD, {"spec": {"activeDeadlineSeconds": 9}}),
        Delete(POD),
    ):
        before = store.rv
        server.carry_out([request], NOW)
        (change,) = store.changes_after(before)
        stored = store.get(POD)
        assert isinstance(change, ObjectPut) and stored is not None
        assert change.obj == decode(stored)
    server.carry_out([Delete(POD, 0), pod()], NOW)
    *_, created = store.changes_after(0)
    assert isinstance(created, ObjectPut) and created.obj.uid != uid and created.obj == decode(store.get(POD) or {})


def test_objects_are_listed_by_namespace_and_name(server: ApiServer) -> None:
    for namespace, name in (("b", "x"), ("a", "z"), ("a", "y")):
        server.carry_out([pod(name, metadata={"namespace": namespace})], NOW)
    names = [(one["metadata"]["namespace"], one["metadata"]["name"]) for one in server.store.list("Pod")]
    assert names == [("a", "y"), ("a", "z"), ("b", "x")]
    assert [one["metadata"]["name"] for one in server.store.list("Pod", namespace="b")] == ["x"]
    assert server.store.get(ObjectKey("Pod", "c", "x")) is None
