"""Objects of kinds that a cluster defines: pruned, defaulted, checked and shown as their definition says."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from scheduler_core.apiserver.bodies import Body
from scheduler_core.apiserver.calls import Call, answer
from scheduler_core.apiserver.requests import ObjectKey, Patch, PatchType
from scheduler_core.apiserver.server import ApiServer
from scheduler_core.apiserver.watch import Watch
from tests.cases import cases
from tests.core.apiserver.asking import NOW, done, problems
from tests.core.apiserver.custom_samples import DEN_SCHEMA, GROUP, RIVERS, definition, den, river, version
from tests.core.apiserver.customs import DEFINITIONS, DEN_PATH, RIVER_PATH, made, new_server, send

SECOND = f"/apis/{GROUP}/v2/namespaces/default/dens"
KEY, DEEP = ObjectKey(f"Den.{GROUP}", "default", "deep"), f"{DEN_PATH}/deep"


@pytest.fixture
def server() -> ApiServer:
    return new_server()


def test_an_object_is_made_read_changed_listed_and_deleted(server: ApiServer) -> None:
    first = made(server, DEN_PATH, den())
    assert first["spec"] == {"depth": 2, "mood": "glad"} and first["metadata"]["generation"] == 1
    assert send(server, "GET", DEEP).body == first
    assert send(server, "POST", DEN_PATH, den()).body["reason"] == "AlreadyExists"
    assert send(server, "PUT", DEEP, first).body == first
    changed = send(server, "PUT", DEEP, {**first, "spec": {"depth": 3}}).body
    assert changed["metadata"]["generation"] == 2 and changed["spec"] == {"depth": 3, "mood": "glad"}
    assert send(server, "PUT", DEEP, {**first, "spec": {"depth": 4}}).body["reason"] == "Conflict"
    assert send(server, "PUT", DEEP, den()).body["message"] == (
        f'dens.{GROUP} "deep" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update'
    )
    listed = send(server, "GET", f"/apis/{GROUP}/v1/dens").body
    assert listed["kind"] == "DenList" and listed["items"] == [changed]
    gone = send(server, "DELETE", DEEP).body
    assert gone["status"] == "Success" and gone["details"]["kind"] == "dens"
    assert send(server, "GET", DEEP).body["message"] == f'dens.{GROUP} "deep" not found'


def test_a_kind_without_namespaces(server: ApiServer) -> None:
    made(server, RIVER_PATH, river(water={"cold": [1, None]}))
    assert send(server, "GET", f"{RIVER_PATH}/long").body["water"] == {"cold": [1, None]}
    assert send(server, "GET", f"/apis/{GROUP}/v1/namespaces/default/rivers").code == 404
    assert send(server, "DELETE", RIVER_PATH).code == 200
    assert send(server, "GET", RIVER_PATH).body["items"] == []


@cases(
    "spec, told",
    ("what is required", {"depth": None}, ["spec.depth: Required value"]),
    ("a type", {"depth": "x"},
     ['spec.depth: Invalid value: "string": spec.depth in body must be of type integer: "string"']),
    ("a number of whole ones", {"depth": 2.5},
     ['spec.depth: Invalid value: "number": spec.depth in body must be of type integer: "number"']),
    ("a bound", {"depth": 0},
     ["spec.depth: Invalid value: 0: spec.depth in body should be greater than or equal to 1"]),
    ("the other bound", {"depth": 10},
     ["spec.depth: Invalid value: 10: spec.depth in body should be less than or equal to 9"]),
    ("a value", {"mood": "angry"}, ['spec.mood: Unsupported value: "angry": supported values: "glad", "sad"']),
    ("a pattern", {"call": "A1"}, ["spec.call: Invalid value: \"A1\": spec.call in body should match '^[a-z]+$'"]),
    ("a long text", {"call": "abcdef"}, ["spec.call: Too long: may not be more than 5 bytes"]),
    ("a short text", {"call": "a"},
     ['spec.call: Invalid value: "a": spec.call in body should be at least 2 chars long']),
    ("a long list", {"rooms": [{"name": x} for x in "abcd"]}, ["spec.rooms: Too many: 4: must have at most 3 items"]),
    ("what an item needs", {"rooms": [{}]}, ["spec.rooms[0].name: Required value"]),
    ("an item of a set again", {"tags": ["a", "b", "a"]}, ['spec.tags[2]: Duplicate value: "a"']),
    ("a key again", {"rooms": [{"name": "a"}, {"name": "a"}]}, ['spec.rooms[1]: Duplicate value: {"name":"a"}']),
    ("neither number nor text", {"port": True},
     ['<nil>: Invalid value: "": "spec.port" must validate at least one schema (anyOf)',
      'spec.port: Invalid value: "boolean": spec.port in body must be of type integer,string: "boolean"',
      'spec.port: Invalid value: "boolean": spec.port in body must be of type integer: "boolean"']),
    ("values of a map", {"labels": {"a": 1}},
     ['spec.labels.a: Invalid value: "integer": spec.labels.a in body must be of type string: "integer"']),
    ("a time", {"since": "noon"},
     ['spec.since: Invalid value: "noon": spec.since in body must be of type date-time: "noon"']),
    ("an object inside", {"template": {"kind": "Pod"}},
     ["spec.template.apiVersion: Required value: must not be empty"]),
)  # fmt: skip
def test_an_object_fits_its_schema(spec: dict[str, Any], told: list[str]) -> None:
    assert problems(send(new_server(), "POST", DEN_PATH, den(**spec))) == told


@cases(
    "spec, kept",
    ("what there is not", {"x": 1}, {}),
    ("inside of an item", {"rooms": [{"name": "a", "x": 1}]}, {"rooms": [{"name": "a", "size": 1}]}),
    ("but for what may have any", {"free": {"x": {"y": None}}}, {"free": {"x": {"y": None}}}),
    ("keys of a map stay", {"labels": {"x": "y"}}, {"labels": {"x": "y"}}),
    ("a null that may be one", {"nothing": None}, {"nothing": None}),
    ("a null that may not", {"call": None}, {}),
    ("a null in place of a default", {"mood": None}, {}),
    ("a number", {"port": 7}, {"port": 7}),
    ("a text in its place", {"port": "http"}, {"port": "http"}),
    ("an object's own metadata", {"template": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "x": 1}}},
     {"template": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}}),
)  # fmt: skip
def test_what_is_kept(spec: dict[str, Any], kept: dict[str, Any]) -> None:
    assert made(new_server(), DEN_PATH, den(**spec))["spec"] == {"depth": 2, "mood": "glad", **kept}


def test_fields_that_are_known_are_pruned_where_others_are_kept() -> None:
    known = {"type": "object", "properties": {"a": {"type": "integer"}}}
    spec = {"type": "object", "properties": {"known": known}, "x-kubernetes-preserve-unknown-fields": True}
    server = new_server(definition(versions=[version(schema={"type": "object", "properties": {"spec": spec}})]))
    found = made(server, DEN_PATH, den(known={"a": 1, "x": 2}, other={"x": 2}))
    assert found["spec"] == {"depth": 2, "known": {"a": 1}, "other": {"x": 2}}


def test_fields_that_there_are_not_are_told_or_refused() -> None:
    server, body = new_server(), den(x=1, rooms=[{"name": "a", "y": 2}])
    told = ('unknown field "spec.rooms[0].y"', 'unknown field "spec.x"')
    reply = send(server, "POST", DEN_PATH, body, fieldValidation="Strict")
    start = 'Den in version "v1" cannot be handled as a Den: strict decoding error: '
    assert reply.code == 400 and reply.body["message"] == start + ", ".join(told)
    assert send(server, "POST", DEN_PATH, body, fieldValidation="Warn").warnings == told
    patch = {"spec": {"x": 1}}
    assert send(server, "PATCH", DEEP, patch, fieldValidation="Strict").code == 422
    assert send(server, "PATCH", DEEP, patch).warnings == ('unknown field "spec.x"',)


@pytest.mark.parametrize("body", ({"spec": {"depth": 2}}, den() | {"kind": "Lair"}, den(api_version=f"{GROUP}/v7"), []))
def test_a_body_of_another_kind_is_refused(body: Any) -> None:
    assert send(new_server(), "POST", DEN_PATH, body).code == 400


def test_patches(server: ApiServer) -> None:
    made(server, DEN_PATH, den(tags=["a"]))
    assert send(server, "PATCH", DEEP, {"spec": {"depth": 5}}).body["spec"]["depth"] == 5
    body = [{"op": "add", "path": "/spec/tags/-", "value": "b"}]
    assert send(server, "PATCH", DEEP, body, PatchType.JSON).body["spec"]["tags"] == ["a", "b"]
    reply = send(server, "PATCH", DEEP, {"spec": {}}, PatchType.STRATEGIC)
    assert reply.code == 415 and "application/apply-patch+yaml" in reply.body["message"]
    assert problems(send(server, "PATCH", DEEP, {"kind": "Lair"})) == ['kind: Invalid value: "Lair": must be Den']


def test_the_status_is_a_part_of_its_own(server: ApiServer) -> None:
    assert "status" not in made(server, DEN_PATH, den() | {"status": {"replicas": 1}})
    assert "status" not in send(server, "PATCH", DEEP, {"status": {"replicas": 1}}).body
    others = {"spec": {"depth": 9}, "metadata": {"labels": {"a": "b"}}}
    reply = send(server, "PATCH", f"{DEEP}/status", {"status": {"replicas": 2}, **others})
    assert reply.body["status"] == {"replicas": 2} and reply.body["spec"]["depth"] == 2
    assert reply.body["metadata"]["generation"] == 1 and "labels" not in reply.body["metadata"]
    assert problems(send(server, "PATCH", f"{DEEP}/status", {"status": {"replicas": "x"}})) == [
        'status.replicas: Invalid value: "string": status.replicas in body must be of type integer: "string"',
        ".status.replicas: Invalid value: 0: .status.replicas accessor error: x is of the type string, expected int64",
    ]
    made(server, RIVER_PATH, river(status={"wet": True}))
    assert send(server, "GET", f"{RIVER_PATH}/long").body["status"] == {"wet": True}
    assert send(server, "PATCH", f"{RIVER_PATH}/long/status", {}).code == 404


def test_the_scale_is_where_the_definition_says(server: ApiServer) -> None:
    made(server, DEN_PATH, den(replicas=2))
    send(server, "PATCH", f"{DEEP}/status", {"status": {"replicas": 1, "selector": "app=den"}})
    scale = send(server, "GET", f"{DEEP}/scale").body
    assert (scale["spec"], scale["status"]) == ({"replicas": 2}, {"replicas": 1, "selector": "app=den"})
    scale = send(server, "PUT", f"{DEEP}/scale", {**scale, "spec": {"replicas": 5}}).body
    assert scale["spec"] == {"replicas": 5}
    assert send(server, "PATCH", f"{DEEP}/scale", {"spec": {"replicas": -1}}).code == 422
    patch = [{"op": "test", "path": "/kind", "value": "Scale"}, {"op": "replace", "path": "/spec/replicas", "value": 6}]
    assert send(server, "PATCH", f"{DEEP}/scale", patch, PatchType.JSON).body["spec"] == {"replicas": 6}
    assert send(server, "GET", DEEP).body["spec"]["replicas"] == 6


@cases(
    "replicas, told",
    ("fewer than none", -1, "Invalid value: -1: should be a non-negative integer"),
    ("too many", 2**31, "Invalid value: 2147483648: should be less than or equal to 2147483647"),
)
def test_replicas_of_an_object_with_a_scale_are_a_number_from_zero_on(replicas: int, told: str) -> None:
    assert problems(send(new_server(), "POST", DEN_PATH, den(replicas=replicas))) == [f".spec.replicas: {told}"]


def test_fields_are_owned_as_the_schema_says(server: ApiServer) -> None:
    for manager, room in (("ada", "a"), ("bob", "b")):
        body = den(rooms=[{"name": room}], tags=[room], free={room: {"x": 1}})
        reply = send(server, "PATCH", DEEP, body, PatchType.APPLY, fieldManager=manager)
        assert reply.code in (200, 201), reply.body
    spec = reply.body["spec"]
    assert [room["name"] for room in spec["rooms"]] == ["a", "b"] == spec["tags"] == list(spec["free"])
    reply = send(server, "PATCH", DEEP, den(depth=7), PatchType.APPLY, fieldManager="cleo")
    assert reply.code == 409 and reply.body["details"]["causes"][0]["field"] == ".spec.depth"
    reply = send(server, "PATCH", DEEP, den(x=1), PatchType.APPLY, fieldManager="cleo")
    assert reply.code == 500 and ".spec.x: field not declared in schema" in reply.body["message"]
    reply = send(server, "PATCH", DEEP, den(), PatchType.APPLY, fieldManager="ada")
    assert [room["name"] for room in reply.body["spec"]["rooms"]] == ["b"]


TWO = definition(
    versions=[
        version("v1", schema=DEN_SCHEMA, storage=False, deprecated=True),
        version("v2", schema={"type": "object", "properties": {"spec": {
            "type": "object",
            "properties": {"depth": {"type": "integer"}, "light": {"type": "string", "default": "on"}},
        }}}),
    ]
)  # fmt: skip


def test_versions_differ_in_their_schemas_alone() -> None:
    server = new_server(TWO)
    reply = send(server, "POST", DEN_PATH, den(tags=["a"]))
    assert reply.code == 201 and reply.warnings == (f"{GROUP}/v1 Den is deprecated; use {GROUP}/v2 Den",)
    found = send(server, "GET", f"{SECOND}/deep").body
    assert found["apiVersion"] == f"{GROUP}/v2" and found["spec"] == {"depth": 2, "light": "on"}
    assert server.store.get(KEY)["apiVersion"] == f"{GROUP}/v2"  # type: ignore[index]
    assert send(server, "PATCH", f"{SECOND}/deep", {"spec": {"depth": 3}}).code == 200
    assert send(server, "GET", DEEP).body["spec"]["depth"] == 3


def test_owners_of_another_version_keep_what_they_own() -> None:
    server = new_server(TWO)
    send(server, "PATCH", DEEP, den(), PatchType.APPLY, fieldManager="ada")
    body = den(api_version=f"{GROUP}/v2", depth=5)
    reply = send(server, "PATCH", f"{SECOND}/deep", body, PatchType.APPLY, fieldManager="bob")
    assert reply.code == 409 and 'conflict with "ada"' in reply.body["message"]


def test_it_is_selected_by_fields_of_its_definition(server: ApiServer) -> None:
    for name, mood in (("a", "glad"), ("b", "sad")):
        made(server, DEN_PATH, den(name, mood=mood))
    found = send(server, "GET", DEN_PATH, fieldSelector="spec.mood=sad").body["items"]
    assert [one["metadata"]["name"] for one in found] == ["b"]
    assert send(server, "GET", DEN_PATH, fieldSelector="spec.depth=2").code == 400


def test_it_is_watched_in_the_version_that_is_asked_for() -> None:
    server = new_server(TWO)
    made(server, DEN_PATH, den())
    started = answer(server, Call("GET", SECOND, {"watch": ["1"], "allowWatchBookmarks": ["1"]}, Body()), NOW)
    assert isinstance(started, Watch) and started.shown is not None
    assert started.shown.view(started.initial[0].manifest)["spec"] == {"depth": 2, "light": "on"}
    send(server, "DELETE", DEEP)
    (event,) = started.events(server.store.logged_after(KEY.kind, started.position))
    assert event.type == "DELETED"
    assert started.bookmark(7).manifest["apiVersion"] == f"{GROUP}/v2"


def test_what_was_wrong_before_may_stay(server: ApiServer) -> None:
    made(server, DEN_PATH, den(call="abc"))
    stricter = definition(versions=[version(schema=_with_longest(DEN_SCHEMA, 2))])
    found = send(server, "GET", f"{DEFINITIONS}/dens.{GROUP}").body
    send(server, "PUT", f"{DEFINITIONS}/dens.{GROUP}", {**found, "spec": stricter["spec"]})
    assert send(server, "PATCH", DEEP, {"spec": {"depth": 4}}).code == 200
    told = problems(send(server, "PATCH", DEEP, {"spec": {"call": "abcd"}}))
    assert told == ["spec.call: Too long: may not be more than 2 bytes"]


def test_what_was_wrong_may_stay_in_an_item_that_moves() -> None:
    server, path = new_server(), f"{DEN_PATH}/deep"
    low, high = {"name": "low", "size": 1}, {"name": "high", "size": 9}
    made(server, DEN_PATH, den(rooms=[low, high]))
    stricter = deepcopy(send(server, "GET", f"{DEFINITIONS}/dens.{GROUP}").body)
    spec = stricter["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    spec["properties"]["rooms"]["items"]["properties"]["size"]["maximum"] = 5
    assert send(server, "PUT", f"{DEFINITIONS}/dens.{GROUP}", stricter).code == 200
    assert send(server, "PATCH", path, {"spec": {"rooms": [high, low]}}).code == 200
    told = problems(send(server, "PATCH", path, {"spec": {"rooms": [high, {**low, "size": 9}]}}))
    assert told == [
        "spec.rooms[1].size: Invalid value: 9: spec.rooms[1].size in body should be less than or equal to 5"
    ]


def _with_longest(schema: dict[str, Any], most: int) -> dict[str, Any]:
    spec = schema["properties"]["spec"]
    call = {**spec["properties"]["call"], "maxLength": most}
    spec = {**spec, "properties": {**spec["properties"], "call": call}}
    return {**schema, "properties": {**schema["properties"], "spec": spec}}


def test_controllers_patch_its_metadata_as_that_of_other_kinds(server: ApiServer) -> None:
    owners = [{"apiVersion": "v1", "kind": "ConfigMap", "name": x, "uid": x} for x in "ab"]
    made(server, DEN_PATH, den() | {"metadata": {"name": "deep", "ownerReferences": owners}})
    body = {"metadata": {"ownerReferences": [{"$patch": "delete", "uid": "a"}]}}
    outcome = done(server, Patch(KEY, body, PatchType.STRATEGIC))
    assert outcome.answer["metadata"]["ownerReferences"] == owners[1:]  # type: ignore[index]


def test_a_kind_may_have_the_name_of_a_built_in_one() -> None:
    pods = definition("pods", "Pod", versions=RIVERS["spec"]["versions"])
    server = new_server(pods)
    body = {"apiVersion": f"{GROUP}/v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"otters": 3}}
    made(server, f"/apis/{GROUP}/v1/namespaces/default/pods", body)
    assert send(server, "GET", "/api/v1/pods").body["items"] == []
    assert len(send(server, "GET", f"/apis/{GROUP}/v1/pods").body["items"]) == 1


RULED = definition(versions=[version(schema={"type": "object", "properties": {"spec": {
    "type": "object",
    "properties": {"low": {"type": "integer"}, "high": {"type": "integer"}, "name": {"type": "string"}},
    "x-kubernetes-validations": [
        {"rule": "!has(self.low) || !has(self.high) || self.low <= self.high", "message": "low is above high"},
        {"rule": "self.name == oldSelf.name", "messageExpression": "'it was ' + oldSelf.name", "fieldPath": ".name"},
    ],
}}})])  # fmt: skip


def test_rules_hold_of_values_and_of_changes() -> None:
    server = new_server(RULED)
    ruled = {"low": 1, "high": 2, "name": "a"}
    assert problems(send(server, "POST", DEN_PATH, den() | {"spec": {**ruled, "low": 3}})) == [
        'spec: Invalid value: "object": low is above high'
    ]
    made(server, DEN_PATH, den() | {"spec": ruled})
    assert send(server, "PATCH", DEEP, {"spec": {"low": 2}}).code == 200
    assert problems(send(server, "PATCH", DEEP, {"spec": {"name": "b"}})) == [
        'spec.name: Invalid value: "object": it was a'
    ]


def test_words_of_schemas_that_ask_nothing() -> None:
    schema = {"type": "object", "properties": {"spec": {
        "type": "object", "properties": {"a": {"type": "array", "items": {"type": "integer"}, "uniqueItems": False,
        "default": [1, 1]}},
    }}}  # fmt: skip
    server = new_server(definition(versions=[version(schema=schema)]))
    assert made(server, DEN_PATH, den() | {"spec": {}})["spec"] == {"a": [1, 1]}


def nested(levels: int) -> dict[str, Any]:
    return {"a": nested(levels - 1)} if levels else {}


def test_objects_have_so_many_levels(server: ApiServer) -> None:
    made(server, RIVER_PATH, river(water=nested(190)))
    path = f"{RIVER_PATH}/long"
    found = send(server, "GET", path).body
    assert send(server, "PUT", path, found).body == found
    assert send(server, "PATCH", path, {"metadata": {"labels": {"a": "b"}}}).code == 200
    applied = river(water={**nested(190), "b": 1})
    assert send(server, "PATCH", path, applied, PatchType.APPLY, force="true").code == 200
    deeper = [{"op": "add", "path": f"/water{'/a' * 190}/a", "value": nested(190)}]
    refused = send(server, "PATCH", path, deeper, PatchType.JSON)
    assert (refused.code, refused.body["message"]) == (400, "exceeded max depth")


def test_definitions_have_so_many_levels() -> None:
    schema: dict[str, Any] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    for _ in range(45):
        schema = {"type": "object", "properties": {"a": schema}}
    schema = {"type": "object", "properties": {"water": schema}}
    server = new_server(definition("rivers", "River", scope="Cluster", versions=[version(schema=schema)]))
    made(server, RIVER_PATH, river(water=nested(120)))
    applied = river(water=nested(120))
    assert send(server, "PATCH", f"{RIVER_PATH}/long", applied, PatchType.APPLY, force="true").code == 200
    assert send(server, "GET", RIVER_PATH).code == 200
