"""Kinds that scheduling does not read go in, change, are shown and go, by the schema alone."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler_core.api.custom import DEFINITION
from scheduler_core.api.kept import KEPT
from scheduler_core.api.schema.types import kept_types
from scheduler_core.apiserver.kinds import KINDS
from scheduler_core.apiserver.requests import PatchType
from scheduler_core.apiserver.server import ApiServer
from scheduler_core.apiserver.tables import table
from tests.cases import cases
from tests.core.apiserver.asking import NOW, ask, problems, send
from tests.core.apiserver.kept_samples import BACKEND, HOOK, OBJECTS
from tests.core.apiserver.samples import path_of

Manifest = dict[str, Any]


def make(server: ApiServer, kind: str) -> Manifest:
    reply = ask(server, "POST", kind, {"metadata": {"name": "x"}, **OBJECTS[kind][0]})
    assert reply.code == 201, reply.body
    return dict(reply.body)


def test_every_kept_kind_has_a_sample_and_a_type() -> None:
    assert set(OBJECTS) == set(KEPT) - {DEFINITION}  # its name follows from what it says: see test_definitions
    assert set(KEPT) <= {name.partition(".")[2] for name in kept_types()}


@pytest.mark.parametrize("kind", OBJECTS)
def test_an_object_is_kept_changed_shown_and_deleted(server: ApiServer, kind: str) -> None:
    made = make(server, kind)
    assert ask(server, "GET", kind, None, "x").body == made
    (row,) = table(kind, [made], NOW)["rows"]
    assert row["cells"] == ["x", *OBJECTS[kind][1]]
    # What was answered can be sent again, and changes nothing.
    assert ask(server, "PUT", kind, made, "x").body == made
    body = {"metadata": {"labels": {"a": "b"}}}
    for patch_type in (PatchType.MERGE, PatchType.STRATEGIC):
        reply = send(server, "PATCH", path_of(kind, "x"), body, patch_type)
        assert reply.code == 200, reply.body
        assert reply.body["metadata"]["labels"] == {"a": "b"}
    config = {"apiVersion": made["apiVersion"], "kind": kind, "metadata": {"name": "x"}, **OBJECTS[kind][0]}
    reply = send(server, "PATCH", path_of(kind, "x"), config, PatchType.APPLY, fieldManager="tests", force="true")
    assert reply.code == 200, reply.body
    if KINDS[kind].has_status:
        assert ask(server, "PUT", kind, reply.body, "x", "status").code == 200
    assert ask(server, "DELETE", kind, None, "x").code == 200
    assert ask(server, "GET", kind, None, "x").code == 404


@pytest.mark.parametrize("kind", OBJECTS)
def test_a_field_that_there_is_not_is_refused_where_strictness_is_asked(server: ApiServer, kind: str) -> None:
    body = {"metadata": {"name": "x"}, **OBJECTS[kind][0], "otter": 1}
    for validation, code in (("Strict", 400), ("Warn", 201)):
        reply = send(server, "POST", path_of(kind), body, fieldValidation=validation)
        assert reply.code == code
    assert 'unknown field "otter"' in reply.warnings


@cases(
    "kind, parts, told",
    ("a list", "Role", {"rules": [{"apiGroups": [""]}]}, ["rules[0].verbs: Required value"]),
    ("a text of a part", "RoleBinding", {"roleRef": {"kind": "Role"}}, ["roleRef.name: Required value"]),
    ("a pointer", "Ingress", {"spec": {"rules": [{"http": {"paths": [{"backend": BACKEND}]}}]}},
     ["spec.rules[0].http.paths[0].pathType: Required value"]),
    ("a value that there is not", "NetworkPolicy", {"spec": {"policyTypes": ["Sideways"]}},
     ['spec.policyTypes[0]: Unsupported value: "Sideways": supported values: "Egress", "Ingress"']),
    ("a number", "HorizontalPodAutoscaler", {"spec": {"scaleTargetRef": {"kind": "Deployment", "name": "w"}}},
     ["spec.maxReplicas: Invalid value: 0: must be greater than 0"]),
    ("an item", "ValidatingWebhookConfiguration", {"webhooks": [{**HOOK, "failurePolicy": "Laugh"}]},
     ['webhooks[0].failurePolicy: Unsupported value: "Laugh": supported values: "Fail", "Ignore"']),
)  # fmt: skip
def test_what_the_schema_asks_for_is_asked_for(server: ApiServer, kind: str, parts: Manifest, told: list[str]) -> None:
    assert problems(ask(server, "POST", kind, {"metadata": {"name": "x"}, **parts})) == told


def test_a_type_that_does_not_fit_is_refused(server: ApiServer) -> None:
    reply = ask(server, "POST", "HorizontalPodAutoscaler", {"metadata": {"name": "x"}, "spec": {"metrics": 7}})
    assert reply.code == 400
    wanted = "json: cannot unmarshal number into Go struct field HorizontalPodAutoscalerSpec.spec.metrics of type"
    assert f"{wanted} []v2.MetricSpec" in reply.body["message"]


@cases(
    "kind, path, value",
    ("a role's group", "RoleBinding", "roleRef.apiGroup", "rbac.authorization.k8s.io"),
    ("types of a policy", "NetworkPolicy", "spec.policyTypes", ["Ingress"]),
    ("a protocol", "NetworkPolicy", "spec.ingress.0.ports.0.protocol", "TCP"),
    ("a hook's time", "MutatingWebhookConfiguration", "webhooks.0.timeoutSeconds", 10),
    ("a hook's selector", "ValidatingWebhookConfiguration", "webhooks.0.objectSelector", {}),
    ("a hook's port", "ValidatingWebhookConfiguration", "webhooks.0.clientConfig.service.port", 443),
    ("how fast to scale down", "HorizontalPodAutoscaler", "spec.behavior.scaleDown.policies.0.value", 100),
    ("a generation", "Ingress", "metadata.generation", 1),
)  # fmt: skip
def test_what_nobody_says_has_the_default(server: ApiServer, kind: str, path: str, value: Any) -> None:
    found: Any = make(server, kind)
    for step in path.split("."):
        found = found[int(step) if step.isdigit() else step]
    assert found == value


def test_the_role_of_a_binding_stays(server: ApiServer) -> None:
    made = make(server, "RoleBinding")
    reply = ask(server, "PUT", "RoleBinding", {**made, "roleRef": {**made["roleRef"], "name": "writer"}}, "x")
    assert reply.code == 422 and "cannot change roleRef" in reply.body["message"]


def test_items_are_merged_by_their_keys(server: ApiServer) -> None:
    make(server, "ValidatingWebhookConfiguration")
    body = {"webhooks": [{**HOOK, "name": "second.otters.example"}]}
    path = path_of("ValidatingWebhookConfiguration", "x")
    reply = send(server, "PATCH", path, body, PatchType.STRATEGIC)
    assert {one["name"] for one in reply.body["webhooks"]} == {"check.otters.example", "second.otters.example"}
    assert reply.body["metadata"]["generation"] == 2


def test_what_grants_nothing_says_so(server: ApiServer) -> None:
    for kind in ("ClusterRole", "MutatingWebhookConfiguration", "ValidatingAdmissionPolicy", "Ingress"):
        body = {"metadata": {"name": "system:x" if kind == "ClusterRole" else "x"}, **OBJECTS[kind][0]}
        reply = send(server, "POST", path_of(kind), body, fieldManager="tests")
        assert reply.code == 201, reply.body
        assert [each.startswith(f"{kind} ") for each in reply.warnings] == [True] * (kind != "Ingress")
