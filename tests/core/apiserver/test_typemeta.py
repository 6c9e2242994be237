"""Bodies that say another kind, version, namespace or name than their address, and bodies that are no objects."""

from __future__ import annotations

import json
from typing import Any

import pytest

from scheduler_core.apiserver.bodies import Body, read_json
from scheduler_core.apiserver.bootstrap import bootstrap_requests
from scheduler_core.apiserver.calls import Call, answer
from scheduler_core.apiserver.replies import Reply
from scheduler_core.apiserver.requests import PatchType
from scheduler_core.apiserver.server import ApiServer
from tests.cases import cases
from tests.core.apiserver.asking import NOW

PODS = "/api/v1/namespaces/default/pods"
POD = f"{PODS}/p"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
SCALE = f"{DEPLOYMENTS}/d/scale"
LEGACY = 'in scheme "pkg/api/legacyscheme/scheme.go:30"'
META = 'in scheme "pkg/apis/meta/internalversion/scheme/register.go:27"'
STRUCT = 'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
GO = "couldn't get version/kind; json parse error: json: cannot unmarshal"
NO_MAP = "json: cannot unmarshal {} into Go value of type map[string]interface {{}}"
WHERE = "the namespace of the provided object does not match the namespace sent on the request"
NAMELESS = "the name of the object (p based on URL) was undeterminable: name must be provided"
SPEC = {"containers": [{"name": "c", "image": "i"}]}
LABELS = {"a": "b"}
MERGE, STRATEGIC, JSON = PatchType.MERGE, PatchType.STRATEGIC, PatchType.JSON


def unregistered(kind: str, version: str, scheme: str = LEGACY) -> str:
    return f'no kind "{kind}" is registered for version "{version}" {scheme}'


@pytest.fixture
def asked(server: ApiServer) -> Any:
    """A function that asks a server with a pod `p`, a deployment `d` and a node `n`."""
    server.carry_out(bootstrap_requests(NOW), NOW)

    def ask(method: str, path: str, body: Any = None, patch_type: PatchType = MERGE, **query: str) -> Reply:
        read = Body() if method == "GET" else read_json(json.dumps(body))
        call = Call(method, path, {name: [value] for name, value in query.items()}, read, patch_type)
        reply = answer(server, call, NOW)
        assert isinstance(reply, Reply)
        return reply

    template = {"metadata": {"labels": LABELS}, "spec": SPEC}
    for path, manifest in (
        (PODS, {"metadata": {"name": "p"}, "spec": SPEC}),
        (DEPLOYMENTS, {"metadata": {"name": "d"}, "spec": {"selector": {"matchLabels": LABELS}, "template": template}}),
        ("/api/v1/nodes", {"metadata": {"name": "n"}}),
    ):
        assert ask("POST", path, manifest).code == 201
    return ask


def said(reply: Reply) -> tuple[int, str]:
    return reply.code, reply.body.get("message", "")


def read_as_pod(found: str, version: str, detail: str) -> str:
    return f'{found} in version "{version}" cannot be handled as a Pod: {detail}'


OBJECTS = [
    ("no such kind", {"kind": "Nope"}, read_as_pod("Nope", "v1", unregistered("Nope", "v1"))),
    ("kind in lower case", {"kind": "pod"}, read_as_pod("pod", "v1", unregistered("pod", "v1"))),
    ("no such version", {"apiVersion": "v2"}, read_as_pod("Pod", "v2", unregistered("Pod", "v2"))),
    ("kind of another group", {"apiVersion": "apps/v1"}, read_as_pod("Pod", "v1", unregistered("Pod", "apps/v1"))),
    ("another kind", {"kind": "Service"},
        read_as_pod("Service", "v1", "converting (v1.Service) to (core.Pod): unknown conversion")),
    ("another kind of an old version", {"apiVersion": "apps/v1beta1", "kind": "Deployment"},
        read_as_pod("Deployment", "v1beta1", "converting (v1beta1.Deployment) to (core.Pod): unknown conversion")),
    ("a kind of every version", {"apiVersion": "v9", "kind": "Status"},
        read_as_pod("Status", "v9", "converting (v1.Status) to (core.Pod): unknown conversion")),
    ("a group alone", {"apiVersion": "apps/"},
        read_as_pod("Pod", "", "Object 'apiVersion' is missing in '{\"apiVersion\": \"apps/\"}'")),
    ("no version at all", {"apiVersion": "a/b/c"},
        'the object provided is unrecognized (must be of type Pod): unexpected GroupVersion string: a/b/c'
        ' ({"apiVersion": "a/b/c"})'),
    ("kind that is a number", {"kind": 5},
        f"the object provided is unrecognized (must be of type Pod): {GO} number into Go struct field .kind of type"
        ' string ({"kind": 5})'),
    ("a list", [],
        f"the object provided is unrecognized (must be of type Pod): {GO} array into Go value of type {STRUCT} (5b5d)"),
    ("a text", "x",
        f"the object provided is unrecognized (must be of type Pod): {GO} string into Go value of type {STRUCT}"
        " (227822)"),
]  # fmt: skip


@pytest.mark.parametrize(("method", "path"), [("POST", PODS), ("PUT", POD), ("PUT", f"{POD}/status")])
@cases("body, message", *OBJECTS)
def test_what_is_no_pod_is_no_pod(asked: Any, method: str, path: str, body: Any, message: str) -> None:
    assert said(asked(method, path, body)) == (400, message)


@cases(
    "path, body, message",
    ("eviction of the core", f"{POD}/eviction", {"apiVersion": "v1", "kind": "Eviction"},
     f'Eviction in version "v1" cannot be handled as a Eviction: {unregistered("Eviction", "v1")}'),
    ("binding that calls itself a pod", f"{POD}/binding", {"kind": "Pod"},
     'Pod in version "v1" cannot be handled as a Binding: converting (v1.Pod) to (core.Binding): unknown'
     " conversion"),
    ("deployment of a former group", DEPLOYMENTS, {"apiVersion": "extensions/v1beta1", "kind": "Deployment"},
     "the API version in the data (extensions/v1beta1) does not match the expected API version (apps/v1)"),
    ("deployment of a version to come", DEPLOYMENTS, {"apiVersion": "apps/v3"},
     f'Deployment in version "v3" cannot be handled as a Deployment: {unregistered("Deployment", "apps/v3")}'),
    ("scale of a former version", SCALE, {"apiVersion": "apps/v1beta1", "kind": "Scale"},
     "the API version in the data (apps/v1beta1) does not match the expected API version (autoscaling/v1)"),
    ("scale of apps", SCALE, {"apiVersion": "apps/v1", "kind": "Scale"},
     f'Scale in version "v1" cannot be handled as a Scale: {unregistered("Scale", "apps/v1")}'),
)  # fmt: skip
def test_parts_of_objects_have_kinds_of_their_own(asked: Any, path: str, body: Any, message: str) -> None:
    assert said(asked("PUT" if path == SCALE else "POST", path, body)) == (400, message)


@cases(
    "body, code, message",
    ("list", ["x"], 500, f"{GO} array into Go value of type {STRUCT}"),
    ("empty list", [], 500, f"{GO} array into Go value of type {STRUCT}"),
    ("another kind", {"kind": "Pod", "apiVersion": "v1"}, 500, unregistered("Pod", "v1", META)),
    ("kind in lower case", {"kind": "deleteOptions"}, 500, unregistered("deleteOptions", "v1", META)),
    ("other options", {"kind": "CreateOptions"}, 500,
     "converting (v1.CreateOptions) to (v1.DeleteOptions): unknown conversion"),
    ("no version", {"apiVersion": "a/b/c"}, 500, "unexpected GroupVersion string: a/b/c"),
    ("any version", {"apiVersion": "any/v9", "kind": "DeleteOptions"}, 200, ""),
    ("no body", None, 200, ""),
    ("empty body", {}, 200, ""),
)  # fmt: skip
@pytest.mark.parametrize("path", [POD, PODS])
def test_how_to_delete_is_of_no_version(asked: Any, path: str, body: Any, code: int, message: str) -> None:
    reply = asked("DELETE", path, body, propagationPolicy="Sideways")  # a body counts even if it is empty
    assert said(reply) == (code, message)


@cases(
    "patch_type, body, detail",
    ("no such kind", MERGE, {"kind": "Nope"}, unregistered("Nope", "v1")),
    ("another kind", MERGE, {"kind": "Service"}, "converting (v1.Service) to (core.Pod): unknown conversion"),
    ("no such version", MERGE, {"apiVersion": "v2"}, unregistered("Pod", "v2")),
    ("no version at all", MERGE, {"apiVersion": "a/b/c"}, "unexpected GroupVersion string: a/b/c"),
    ("a number", MERGE, {"kind": 5}, f"{GO} number into Go struct field .kind of type string"),
    ("kind in lower case", JSON, [{"op": "replace", "path": "/kind", "value": "pod"}], unregistered("pod", "v1")),
)
@pytest.mark.parametrize("part", ["", "/status"])
def test_patch_does_not_change_what_an_object_is(
    asked: Any, part: str, patch_type: PatchType, body: Any, detail: str
) -> None:
    before = asked("GET", POD).body
    reply = asked("PATCH", POD + part, body, patch_type)
    code, message = said(reply)
    assert code == 422 and message.startswith(' "" is invalid: patch: Invalid value: "{') and message.endswith(detail)
    assert asked("GET", POD).body == before


@cases(
    "patch_type, body",
    ("merged kind removed", MERGE, {"kind": None}),
    ("other kind and version", STRATEGIC, {"kind": "Service", "apiVersion": "v2"}),
    ("kind and version removed", STRATEGIC, {"kind": None, "apiVersion": None}),
    ("strategic null", STRATEGIC, None),
    ("JSON null", JSON, None),
)
def test_patches_that_change_nothing(asked: Any, patch_type: PatchType, body: Any) -> None:
    before = asked("GET", POD).body
    reply = asked("PATCH", POD, body, patch_type)
    assert (reply.code, reply.body) == (200, before)


def test_patch_to_another_version_of_the_kind_is_taken(asked: Any) -> None:
    path = f"{DEPLOYMENTS}/d"
    reply = asked("PATCH", path, {"apiVersion": "apps/v1beta1"})
    assert (reply.code, reply.body["apiVersion"]) == (200, "apps/v1")


def test_patch_that_takes_the_version_away_leaves_nothing_known(asked: Any) -> None:
    unknown = [f'unknown field "{name}"' for name in ("metadata", "spec", "status")]
    reply = asked("PATCH", POD, {"apiVersion": None})
    assert (said(reply), reply.warnings) == ((400, NAMELESS), tuple(unknown))
    strict = asked("PATCH", POD, {"apiVersion": None}, fieldValidation="Strict")
    assert strict.code == 422 and strict.body["message"].endswith(f"strict decoding error: {', '.join(unknown)}")


@cases(
    "patch_type, body, message",
    ("merged list", MERGE, [], f"error decoding patch: {NO_MAP.format('array')}"),
    ("merged text", MERGE, "x", f"error decoding patch: {NO_MAP.format('string')}"),
    ("merged null", MERGE, None, "Invalid JSON Patch"),
    ("strategic list", STRATEGIC, [], NO_MAP.format("array")),
)  # fmt: skip
def test_patch_that_is_no_patch(asked: Any, patch_type: PatchType, body: Any, message: str) -> None:
    assert said(asked("PATCH", POD, body, patch_type)) == (400, message)


@cases(
    "method, path, body",
    ("create", "POST", PODS, {"metadata": {"name": "q"}, "spec": SPEC}),
    ("replace", "PUT", POD, {"metadata": {"name": "q"}, "spec": SPEC}),
    ("replace status", "PUT", f"{POD}/status", {"metadata": {"name": "p"}, "spec": SPEC}),
    ("replace scale", "PUT", SCALE, {"metadata": {"name": "d"}}),
    ("patch", "PATCH", POD, {}),
    ("patch scale", "PATCH", SCALE, {}),
    ("bind", "POST", f"{POD}/binding", {"metadata": {"name": "p"}, "target": {"name": "n"}}),
    ("bind by the old address", "POST", "/api/v1/namespaces/default/bindings",
     {"metadata": {"name": "p"}, "target": {"name": "n"}}),
    ("evict", "POST", f"{POD}/eviction", {"metadata": {"name": "p"}}),
)  # fmt: skip
def test_another_namespace_than_that_of_the_address(asked: Any, method: str, path: str, body: dict[str, Any]) -> None:
    elsewhere = {**body, "metadata": {**body.get("metadata", {}), "namespace": "other"}}
    assert said(asked(method, path, elsewhere)) == (400, WHERE)


@pytest.mark.parametrize("method", ["PUT", "PATCH"])
def test_kinds_without_namespaces_pass_one_over(asked: Any, method: str) -> None:
    reply = asked(method, "/api/v1/nodes/n", {"metadata": {"name": "n", "namespace": "other", "labels": LABELS}})
    assert (reply.code, reply.body["metadata"]["labels"]) == (200, LABELS)
    assert "namespace" not in reply.body["metadata"]
