"""Definitions and objects at random: nothing is an error of the server, and what it stored it takes again as it is."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scheduler_core.apiserver.requests import PatchType
from scheduler_core.apiserver.server import ApiServer
from tests.core.apiserver.asking import empty_server
from tests.core.apiserver.custom_samples import GROUP, definition, version
from tests.core.apiserver.customs import DEFINITIONS, DEN_PATH, send

NAMES = ("a", "b", "status", "spec", "x-y", "if")
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 3), st.sampled_from((1.5, 2.0, 2**40)),
    st.sampled_from(("", "a", "abc", "2030-01-01T00:00:00Z", "1h", "é", "10.0.0.0/8")),
)  # fmt: skip
VALUES = st.recursive(
    SCALARS,
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.sampled_from(NAMES), below, max_size=3),
    max_leaves=6,
)
RULES = st.sampled_from(
    ("self == oldSelf", "self > 1", "size(self) < 2", "self.a == 'a'", "has(self.a)", "self.all(x, x == x)", "self.")
)


def _scalar() -> st.SearchStrategy[dict[str, Any]]:
    texts = st.fixed_dictionaries(
        {"type": st.just("string")},
        optional={
            "enum": st.lists(st.sampled_from(("a", "abc")), min_size=1, max_size=2, unique=True),
            "format": st.sampled_from(("date-time", "duration", "cidr", "byte", "unheard-of")),
            "pattern": st.sampled_from(("^a", "b$", "(", "a{2}")),
            "maxLength": st.integers(-1, 3),
            "default": SCALARS,
        },
    )
    numbers = st.fixed_dictionaries(
        {"type": st.sampled_from(("integer", "number"))},
        optional={
            "minimum": st.integers(-2, 2), "maximum": st.integers(-2, 2), "exclusiveMinimum": st.booleans(),
            "multipleOf": st.sampled_from((0, 1, 2)), "format": st.just("int32"), "default": SCALARS,
        },
    )  # fmt: skip
    either = st.just({"x-kubernetes-int-or-string": True})
    return texts | numbers | either | st.just({"type": "boolean"})


def _below(below: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    more = {
        "nullable": st.booleans(), "x-kubernetes-preserve-unknown-fields": st.just(True),
        "x-kubernetes-validations": st.lists(st.fixed_dictionaries({"rule": RULES}), max_size=2),
        "default": VALUES,
    }  # fmt: skip
    objects = st.fixed_dictionaries(
        {"type": st.just("object")},
        optional={
            "properties": st.dictionaries(st.sampled_from(NAMES), below, max_size=3),
            "additionalProperties": below, "required": st.lists(st.sampled_from(NAMES), max_size=2),
            "minProperties": st.integers(0, 2), "x-kubernetes-embedded-resource": st.just(True),
            "x-kubernetes-map-type": st.sampled_from(("atomic", "granular")), **more,
        },
    )  # fmt: skip
    lists = st.fixed_dictionaries(
        {"type": st.just("array"), "items": below},
        optional={
            "maxItems": st.integers(0, 2), "uniqueItems": st.booleans(),
            "x-kubernetes-list-type": st.sampled_from(("set", "atomic", "map")),
            "x-kubernetes-list-map-keys": st.just(["a"]), **more,
        },
    )  # fmt: skip
    return objects | lists


SCHEMAS = st.recursive(_scalar(), _below, max_leaves=5)
WHOLE = st.fixed_dictionaries(
    {"type": st.just("object"), "properties": st.dictionaries(st.sampled_from(("spec", "status", "a")), SCHEMAS)},
    optional={"x-kubernetes-preserve-unknown-fields": st.just(True), "required": st.just(["spec"])},
)
PARTS = st.fixed_dictionaries(
    {},
    optional={
        "subresources": st.sampled_from(
            ({"status": {}}, {"scale": {"specReplicasPath": ".spec.a", "statusReplicasPath": ".status.a"}})
        ),
        "additionalPrinterColumns": st.lists(
            st.fixed_dictionaries(
                {
                    "name": st.just("C"), "type": st.sampled_from(("string", "integer", "date", "boolean", "number")),
                    "jsonPath": st.sampled_from((".spec.a", ".spec..a", ".spec[0]", ".spec[?(@.a=='a')].b", ".[")),
                }
            ),
            max_size=2,
        ),
    },
)  # fmt: skip
OBJECTS = st.dictionaries(st.sampled_from(("spec", "status", "a", "unknown")), VALUES, max_size=3)
CHANGES = st.lists(
    st.tuples(st.sampled_from(("PUT", "MERGE", "JSON", "APPLY", "STATUS", "SCALE")), OBJECTS), max_size=4
)


def whole(given: dict[str, Any], name: str = "deep") -> dict[str, Any]:
    return {"apiVersion": f"{GROUP}/v1", "kind": "Den", "metadata": {"name": name}, **given}


def ask(server: ApiServer, method: str, path: str, body: Any = None, **more: Any) -> Any:
    """What is answered; 500 says what was wrong with the request, if anything."""
    reply = send(server, method, path, body, **more)
    assert reply.code < 500 or reply.body["message"], reply.body
    return reply


def change(server: ApiServer, how: str, given: dict[str, Any]) -> None:
    path, there = f"{DEN_PATH}/deep", send(server, "GET", f"{DEN_PATH}/deep")
    if there.code != 200:
        return
    match how:
        case "PUT":
            ask(server, "PUT", path, {**whole(given), "metadata": there.body["metadata"]})
        case "MERGE":
            ask(server, "PATCH", path, given)
        case "JSON":
            operations = [{"op": "add", "path": f"/{name}", "value": each} for name, each in given.items()]
            ask(server, "PATCH", path, operations, patch_type=PatchType.JSON)
        case "APPLY":
            ask(server, "PATCH", path, whole(given), patch_type=PatchType.APPLY, force="true")
        case "STATUS":
            ask(server, "PATCH", f"{path}/status", given)
        case _:
            ask(server, "PATCH", f"{path}/scale", {"spec": {"replicas": 3}})


def check(schema: dict[str, Any], parts: dict[str, Any], given: dict[str, Any], changes: Any) -> None:
    server = empty_server(keeps_history=True)
    reply = ask(server, "POST", DEFINITIONS, definition(versions=[version(schema=schema, **parts)]))
    if reply.code != 201:
        assert reply.code == 422, reply.body
        return
    ask(server, "POST", DEN_PATH, whole(given))
    for how, more in changes:
        change(server, how, more)
    found = send(server, "GET", DEN_PATH)
    assert found.code == 200
    assert found.shown is not None and found.shown.table(found.body["items"], 0) is not None
    for each in found.body["items"]:
        first = ask(server, "PUT", f"{DEN_PATH}/deep", each)
        assert first.code == 200, (first.body, each)
        again = ask(server, "PUT", f"{DEN_PATH}/deep", first.body)
        assert again.body == first.body, "what clients see is taken as it is, and nothing changes"


@given(schema=WHOLE, parts=PARTS, given_=OBJECTS, changes=CHANGES)
@settings(max_examples=60, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
def test_definitions_and_objects(schema: Any, parts: Any, given_: Any, changes: Any) -> None:
    check(schema, parts, given_, changes)


@pytest.mark.slow
@given(schema=WHOLE, parts=PARTS, given_=OBJECTS, changes=CHANGES)
@settings(max_examples=5000, deadline=None, suppress_health_check=list(HealthCheck))
def test_definitions_and_objects_of_all_kinds(schema: Any, parts: Any, given_: Any, changes: Any) -> None:
    check(schema, parts, given_, changes)
