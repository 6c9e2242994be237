"""Several requests at once, and requests that name nothing the server knows."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler_core.api.pod import Pod
from scheduler_core.apiserver.answers import Outcome, Refused
from scheduler_core.apiserver.memory import MemoryStore
from scheduler_core.apiserver.requests import Create, Delete, Patch, ReportUnschedulable, Update
from scheduler_core.apiserver.server import ApiServer
from scheduler_core.apiserver.store import ObjectChange, Operation
from scheduler_core.model.changes import ObjectPut
from tests.core.apiserver.asking import CLASS, NOW, POD, UNSCHEDULABLE, done, made, pod, priority_class, refused, stored


def test_what_cannot_be_understood_is_refused_and_the_rest_carried_out(server: ApiServer) -> None:
    odd = Create({"apiVersion": "v1", "kind": "Gadget", "metadata": {"name": "g"}})
    first, second, third = server.carry_out([odd, pod(), Delete(POD, 0)], NOW)
    assert isinstance(first, Refused) and (first.status.code, "Gadget is not understood" in first.status.message) == (
        400,
        True,
    )
    assert isinstance(second, Outcome) and isinstance(third, Outcome)
    assert server.store.get(POD) is None


def test_object_without_metadata_is_refused(server: ApiServer) -> None:
    status = refused(server, Create({"apiVersion": "v1", "kind": "Pod", "spec": {}}))
    assert (status.code, "metadata" in status.message) == (400, True)


def test_classes_in_the_store_count_when_not_all_requests_create(server: ApiServer) -> None:
    done(server, priority_class())
    done(server, pod("other"))
    _, outcome = server.carry_out([Delete(POD), pod(priorityClassName="high")], NOW)
    assert isinstance(outcome, Outcome) and isinstance(outcome.answer, dict)
    assert outcome.answer["spec"]["priority"] == 1000


def test_update_without_a_kind_keeps_the_one_there_is(server: ApiServer) -> None:
    manifest = made(server, pod())
    changed = {**manifest, "metadata": {**manifest["metadata"], "labels": {"a": "b"}}}
    del changed["kind"], changed["apiVersion"]
    done(server, Update(POD, changed))
    assert (stored(server)["kind"], stored(server)["metadata"]["labels"]) == ("Pod", {"a": "b"})


@pytest.mark.parametrize("subresource", ["status", ""])
def test_fields_that_cannot_be_read_are_refused(server: ApiServer, subresource: str) -> None:
    body: dict[str, Any] = {"status": {"phase": 5}} if subresource else {"spec": {"priority": "high"}}
    done(server, pod())
    assert refused(server, Patch(POD, body, subresource=subresource)).code == 422


def test_status_of_a_kind_without_one_is_no_resource(server: ApiServer) -> None:
    made(server, priority_class())
    assert refused(server, Patch(CLASS, {"status": {}}, subresource="status")).code == 404


def test_generation_begins_at_one_for_an_object_that_was_stored_without(server: ApiServer) -> None:
    manifest = made(server, pod(schedulingGates=[{"name": "g"}]))
    manifest["metadata"].pop("generation")
    server.store.commit([ObjectChange(Operation.UPDATED, manifest)], NOW)
    done(server, Patch(POD, {"spec": {"schedulingGates": None}}))
    assert stored(server)["metadata"]["generation"] == 2


def test_same_nomination_again_is_no_change(server: ApiServer) -> None:
    done(server, pod())
    done(server, ReportUnschedulable(POD, UNSCHEDULABLE, "n1"))
    assert done(server, ReportUnschedulable(POD, UNSCHEDULABLE, "n1")).changes == ()


def test_class_deleted_before_it_in_the_same_batch_is_not_there(server: ApiServer) -> None:
    done(server, priority_class())
    _, answer = server.carry_out([Delete(CLASS), pod(priorityClassName="high")], NOW)
    assert isinstance(answer, Refused)


def test_pod_in_the_log_has_the_fields_of_its_spec_that_changed(server: ApiServer) -> None:
    done(server, pod(schedulingGates=[{"name": "g"}]))
    done(server, Patch(POD, {"spec": {"schedulingGates": None}}))
    assert isinstance(server.store, MemoryStore)
    before, after = server.store.changes_after(0)
    assert isinstance(before, ObjectPut) and isinstance(before.obj, Pod) and before.obj.spec.scheduling_gates
    assert isinstance(after, ObjectPut) and isinstance(after.obj, Pod) and not after.obj.spec.scheduling_gates
