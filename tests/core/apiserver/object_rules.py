"""What requests do to objects, whatever store is below.

Each module that imports these tests gives a fixture `server`, an ApiServer on an empty store.
"""

from __future__ import annotations

from typing import Any

from scheduler_core.apiserver.answers import Outcome, Refused
from scheduler_core.apiserver.requests import Create, Delete, ObjectKey, Patch, PatchType, ReportUnschedulable, Update
from scheduler_core.apiserver.server import ApiServer
from tests.builders import written
from tests.cases import cases
from tests.core.apiserver.asking import (
    CLASS,
    NOW,
    POD,
    Manifest,
    claim,
    done,
    made,
    pod,
    priority_class,
    refused,
    stored,
)


def test_create_stores_what_admission_makes_of_the_manifest(server: ApiServer) -> None:
    answer = made(server, pod(metadata={"labels": {"app": "web"}}))
    assert answer == stored(server)
    metadata = answer["metadata"]
    assert metadata["namespace"] == "default"
    assert metadata["generation"] == 1
    assert metadata["creationTimestamp"] == "2030-01-01T00:00:00Z"
    assert metadata["resourceVersion"] == server.store.version_of(1) and metadata["uid"]
    assert answer["spec"]["schedulerName"] == "default-scheduler"
    assert answer["status"] == {"phase": "Pending", "qosClass": "Burstable"}


def test_create_is_refused_when_the_name_is_taken(server: ApiServer) -> None:
    done(server, pod())
    status = refused(server, pod())
    assert (status.code, status.reason, status.message) == (409, "AlreadyExists", 'pods "p" already exists')
    done(server, Delete(POD))
    done(server, pod(metadata={"finalizers": ["example.com/f"]}))
    done(server, Delete(POD))
    assert refused(server, pod()).message == 'object is being deleted: pods "p" already exists'


def test_create_names_the_field_that_is_wrong(server: ApiServer) -> None:
    status = refused(server, pod(restartPolicy="Sometimes"))
    assert (status.code, status.reason, status.kind) == (422, "Invalid", "Pod")
    (cause,) = status.causes
    assert (cause.field, cause.reason) == ("spec.restartPolicy", "FieldValueNotSupported")
    assert server.store.list("Pod") == []


def test_created_names_end_at_random_when_only_their_beginning_is_given(server: ApiServer) -> None:
    request = Create({"apiVersion": "v1", "kind": "Pod", "metadata": {"generateName": "web-"},
                      "spec": {"containers": [{"name": "c"}]}})  # fmt: skip
    names = {made(server, request)["metadata"]["name"] for _ in range(3)}
    assert len(names) == 3 and all(name.startswith("web-") and len(name) == 9 for name in names)


def test_a_pod_is_admitted_by_the_class_created_before_it_in_the_same_batch(server: ApiServer) -> None:
    answers = server.carry_out([priority_class(), pod(priorityClassName="high")], NOW)
    assert isinstance(answers[1], Outcome)
    assert stored(server)["spec"]["priority"] == 1000
    done(server, Delete(CLASS))
    assert refused(server, pod("q", priorityClassName="high")).code == 403


def test_only_kinds_with_a_generation_have_one(server: ApiServer) -> None:
    assert "generation" not in made(server, claim())["metadata"]
    assert made(server, priority_class())["metadata"]["generation"] == 1


def test_update_replaces_the_object_but_not_its_status(server: ApiServer) -> None:
    created = made(server, pod(nodeName="n1"))
    manifest = {**created, "metadata": {"name": "p", "labels": {"a": "1"}}, "status": {"phase": "Failed"}}
    answer = made(server, Update(POD, manifest))
    assert answer["metadata"] == {
        **created["metadata"],
        "labels": {"a": "1"},
        "resourceVersion": server.store.version_of(2),
    }
    assert answer["spec"] == created["spec"] and answer["status"] == created["status"]


def test_update_of_the_status_leaves_the_rest_alone(server: ApiServer) -> None:
    created = made(server, pod())
    manifest = {"metadata": {"name": "p"}, "spec": {"containers": []}, "status": {"phase": "Running"}}
    answer = made(server, Update(POD, manifest, subresource="status"))
    assert answer == {
        **created,
        "metadata": {**created["metadata"], "resourceVersion": server.store.version_of(2)},
        "status": {"phase": "Running", "qosClass": "Burstable"},
    }


def test_update_is_refused_when_it_is_based_on_an_older_version(server: ApiServer) -> None:
    created = made(server, pod())
    done(server, Patch(POD, {"metadata": {"labels": {"a": "1"}}}))
    status = refused(server, Update(POD, created))
    assert (status.code, status.reason) == (409, "Conflict")
    assert status.message.endswith("please apply your changes to the latest version and try again")


def test_update_of_what_is_not_there_is_not_found(server: ApiServer) -> None:
    assert refused(server, Update(POD, {"metadata": {"name": "p"}})).message == 'pods "p" not found'


def test_generation_counts_changes_of_the_spec(server: ApiServer) -> None:
    done(server, pod())
    assert made(server, Patch(POD, {"metadata": {"labels": {"a": "1"}}}))["metadata"]["generation"] == 1
    body = [{"op": "replace", "path": "/spec/containers/0/image", "value": "img:2"}]
    add = [{"op": "add", "path": "/spec/containers/0/image", "value": "img:1"}]
    assert made(server, Patch(POD, add, PatchType.JSON))["metadata"]["generation"] == 2
    assert made(server, Patch(POD, body, PatchType.JSON))["metadata"]["generation"] == 3
    done(server, priority_class())
    assert made(server, Patch(CLASS, {"globalDefault": True}))["metadata"]["generation"] == 1


def test_what_changes_nothing_leaves_no_trace(server: ApiServer) -> None:
    created = made(server, pod(metadata={"labels": {"a": "1"}}))
    outcome = done(server, Patch(POD, {"metadata": {"labels": {"a": "1"}}}))
    assert outcome == Outcome((), created)
    assert done(server, ReportUnschedulable(POD)).changes == ()


@cases(
    "patch_type, body, want",
    ("merge", PatchType.MERGE, {"metadata": {"labels": {"a": None, "c": "3"}}}, {"b": "2", "c": "3"}),
    ("JSON", PatchType.JSON,
     [{"op": "add", "path": "/metadata/labels/x~1y", "value": "3"}, {"op": "remove", "path": "/metadata/labels/a"}],
     {"b": "2", "x/y": "3"}),
    ("strategic", PatchType.STRATEGIC, {"metadata": {"labels": {"$patch": "replace", "c": "3"}}}, {"c": "3"}),
)  # fmt: skip
def test_patch_changes_a_part(server: ApiServer, patch_type: PatchType, body: Any, want: Manifest) -> None:
    done(server, pod(metadata={"labels": {"a": "1", "b": "2"}}))
    assert made(server, Patch(POD, body, patch_type))["metadata"]["labels"] == want


def test_strategic_merge_finds_items_of_lists_by_their_keys(server: ApiServer) -> None:
    done(server, pod(containers=[{"name": "c", "image": "c:1"}, {"name": "d", "image": "d:1"}]))
    body = {"spec": {"containers": [{"name": "d", "image": "d:2"}]}}
    containers = made(server, Patch(POD, body, PatchType.STRATEGIC))["spec"]["containers"]
    assert [(one["name"], one["image"]) for one in containers] == [("c", "c:1"), ("d", "d:2")]
    body = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}
    for _ in range(2):
        answer = made(server, Patch(POD, body, PatchType.STRATEGIC, subresource="status"))
    times = {"lastProbeTime": None, "lastTransitionTime": None}
    assert answer["status"]["conditions"] == [{"type": "Ready", "status": "True", **times}]


@cases(
    "patch_type, body, code",
    ("JSON patch that is no list", PatchType.JSON, {"op": "add"}, 400),
    ("nothing to remove", PatchType.JSON, [{"op": "remove", "path": "/metadata/labels/x"}], 422),
    ("no merge key", PatchType.STRATEGIC, {"spec": {"containers": [{"image": "x"}]}}, 500),
    ("unknown directive", PatchType.STRATEGIC, {"spec": {"$patch": "bend"}}, 500),
    ("immutable field", PatchType.MERGE, {"metadata": {"uid": "other"}}, 422),
    ("another version", PatchType.MERGE, {"metadata": {"resourceVersion": "77"}}, 409),
    ("what only a binding may change", PatchType.MERGE, {"spec": {"nodeName": "n1"}}, 422),
)
def test_patch_is_refused(server: ApiServer, patch_type: PatchType, body: Any, code: int) -> None:
    before = made(server, pod())
    assert refused(server, Patch(POD, body, patch_type)).code == code
    assert stored(server) == before


def test_patch_is_refused_when_the_object_is_another_or_has_changed(server: ApiServer) -> None:
    uid = made(server, pod())["metadata"]["uid"]
    body = {"metadata": {"labels": {"a": "1"}}}
    assert refused(server, Patch(POD, body, uid="other")).code == 409
    version = server.store.version_of(1)
    done(server, Patch(POD, body, uid=uid, resource_version=version))
    assert refused(server, Patch(POD, {"metadata": {"labels": {"a": "2"}}}, resource_version=version)).code == 409


def test_of_two_changes_of_one_batch_the_second_cannot_be_based_on_the_version_before(server: ApiServer) -> None:
    done(server, pod())
    version = server.store.version_of(1)
    patches = [Patch(POD, {"metadata": {"labels": {"a": text}}}, resource_version=version) for text in ("1", "2")]
    first, second = server.carry_out(patches, NOW)
    assert isinstance(first, Outcome) and isinstance(second, Refused)
    assert stored(server)["metadata"]["labels"] == {"a": "1"}


def replica_set(replicas: int) -> Create:
    tier = {"key": "tier", "operator": "In", "values": ["b", "a"]}
    labels = {"matchLabels": {"app": "web"}, "matchExpressions": [tier]}
    template = {"metadata": {"labels": {"app": "web", "tier": "a"}}, "spec": {"containers": [{"name": "c"}]}}
    spec = {"replicas": replicas, "selector": labels, "template": template}
    return Create(written("ReplicaSet", "web", spec=spec))


def test_scale_changes_the_replicas_only(server: ApiServer) -> None:
    key = ObjectKey("ReplicaSet", "default", "web")
    created = made(server, replica_set(2))
    scale = made(server, Patch(key, {"spec": {"replicas": 5}}, subresource="scale"))
    version = server.store.version_of(2)
    assert (scale["kind"], scale["spec"], scale["metadata"]["resourceVersion"]) == ("Scale", {"replicas": 5}, version)
    assert scale["status"] == {"replicas": 0, "selector": "app=web,tier in (a,b)"}
    assert stored(server, key)["spec"] == {**created["spec"], "replicas": 5}
    assert stored(server, key)["metadata"]["generation"] == 2
    empty = made(server, Update(key, {"metadata": {"name": "web"}, "spec": {}}, subresource="scale"))
    assert (empty["spec"], stored(server, key)["spec"]["replicas"]) == ({}, 0)


def test_scale_is_refused(server: ApiServer) -> None:
    key = ObjectKey("ReplicaSet", "default", "web")
    done(server, replica_set(2))
    status = refused(server, Patch(key, {"spec": {"replicas": -1}}, subresource="scale"))
    assert (status.group, status.kind, status.causes[0].field) == ("autoscaling", "Scale", "spec.replicas")
    want = 'Scale.autoscaling "web" is invalid: spec.replicas: Invalid value: -1: must be greater than or equal to 0'
    assert status.message == want
    old = {"metadata": {"name": "web", "resourceVersion": "77"}, "spec": {"replicas": 1}}
    assert refused(server, Update(key, old, subresource="scale")).code == 409
    done(server, pod())
    assert refused(server, Patch(POD, {"spec": {"replicas": 1}}, subresource="scale")).code == 404
