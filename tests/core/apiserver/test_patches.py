"""Bodies of patches: directives and merge keys of strategic merge patches, and what cannot be read."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler_core.api.schema import type_of
from scheduler_core.apiserver.patches import MOST_COPIED_BYTES, MOST_OPERATIONS, patched
from scheduler_core.apiserver.requests import PatchType
from scheduler_core.apiserver.strategic import PatchError, misfit
from tests.cases import cases

A, B, C = ({"name": name, "image": f"{name}:1"} for name in "abc")
Body = dict[str, Any]


def strategic(target: Body, body: Any, kind: str = "Pod") -> Body:
    return patched({"apiVersion": "v1", "kind": kind, **target}, body, PatchType.STRATEGIC)


@cases(
    "body, want",
    ("replaced", {"a": {"$patch": "replace", "z": 3}}, {"z": 3}),
    ("emptied", {"a": {"$patch": "delete"}}, {}),
    ("only these keys stay", {"a": {"$retainKeys": ["x", "z"], "z": 3}}, {"x": 1, "z": 3}),
    ("null takes away", {"a": {"x": None}}, {"y": 2}),
    ("merged", {"a": {"y": 5}}, {"x": 1, "y": 5}),
)
def test_map_is_changed_as_the_directive_says(body: Body, want: Body) -> None:
    assert strategic({"a": {"x": 1, "y": 2}}, body)["a"] == want


@cases(
    "items, want",
    ("found by its key", [{"name": "b", "image": "b:2"}], [A, {"name": "b", "image": "b:2"}]),
    ("what is new comes first", [C], [C, A, B]),
    ("taken out", [{"name": "a", "$patch": "delete"}], [B]),
    ("the whole list replaced", [C, {"$patch": "replace"}], [C]),
    ("nothing to take out", [{"name": "x", "$patch": "delete"}], [A, B]),
)
def test_list_of_maps_is_merged_by_its_key(items: list[Body], want: list[Body]) -> None:
    spec = {"spec": {"containers": [A, B]}}
    assert strategic(spec, {"spec": {"containers": items}})["spec"]["containers"] == want


@pytest.mark.parametrize(
    ("path", "key", "kind"),
    [
        ("status.conditions", "type", "Pod"),
        ("spec.initContainers", "name", "Pod"),
        ("spec.ephemeralContainers", "name", "Pod"),
        ("spec.volumes", "name", "Pod"),
        ("spec.imagePullSecrets", "name", "Pod"),
        ("spec.hostAliases", "ip", "Pod"),
        ("spec.topologySpreadConstraints", "topologyKey", "Pod"),
        ("spec.schedulingGates", "name", "Pod"),
        ("metadata.ownerReferences", "uid", "Pod"),
        ("status.podIPs", "ip", "Pod"),
        ("status.addresses", "type", "Node"),
        ("spec.ports", "port", "Service"),
    ],
)
def test_items_are_told_apart_by_the_key_of_their_field(path: str, key: str, kind: str) -> None:
    section, field = path.split(".")
    changed = strategic({section: {field: [{key: "a", "v": 1}]}}, {section: {field: [{key: "a", "w": 2}]}}, kind)
    assert changed[section][field] == [{key: "a", "v": 1, "w": 2}]


def test_lists_inside_items_are_merged_too() -> None:
    before = {"name": "a", "env": [{"name": "X", "value": "1"}], "ports": [{"containerPort": 80}], "args": ["x", "y"]}
    body = {
        "name": "a",
        "env": [{"name": "X", "value": "2"}],
        "ports": [{"containerPort": 80, "name": "p"}],
        "args": ["z"],
    }
    changed = strategic({"spec": {"containers": [before]}}, {"spec": {"containers": [body]}})
    assert changed["spec"]["containers"] == [body]


def test_finalizers_are_added_once_and_taken_away_by_name() -> None:
    def finalizers(body: Body) -> list[str]:
        found: list[str] = strategic({"metadata": {"finalizers": ["a", "b"]}}, {"metadata": body})["metadata"][
            "finalizers"
        ]
        return found

    assert finalizers({"finalizers": ["b", "c"]}) == ["a", "b", "c"]
    assert finalizers({"finalizers": ["c"]}) == ["c", "a", "b"]
    assert finalizers({"$deleteFromPrimitiveList/finalizers": ["a"], "$setElementOrder/finalizers": ["b"]}) == ["b"]


def test_key_that_is_no_plain_value_is_taken_as_it_is() -> None:
    ports = [{"port": [1]}, {"port": {"a": 1}}]
    assert strategic({"spec": {"ports": [{"port": 80}]}}, {"spec": {"ports": ports}}, "Service")["spec"]["ports"] == [
        *ports,
        {"port": 80},
    ]


def test_order_is_as_prescribed() -> None:
    body = {"$setElementOrder/containers": [{"name": "b"}, {"name": "a"}], "containers": [{"name": "a", "image": "n"}]}
    changed = strategic({"spec": {"containers": [A, B]}}, {"spec": body})["spec"]
    assert changed == {"containers": [B, {"name": "a", "image": "n"}]}


@cases(
    "manifest, want",
    ("no list", {"spec": {"containers": "x"}}, "cannot restore slice from string"),
    ("no map", {"spec": 1}, "cannot restore struct from: int64"),
    ("no labels", {"metadata": {"labels": ["x"]}}, "cannot restore map from slice"),
    ("number as a label", {"metadata": {"labels": {"a": 1}}}, "cannot convert int64 to string"),
    ("truth as text", {"spec": {"nodeName": True}}, "unrecognized type: string"),
    ("half a number", {"spec": {"priority": 1.5}}, "cannot convert float64 to int32"),
    ("named type", {"spec": {"restartPolicy": 3}}, "cannot convert int64 to v1.RestartPolicy"),
    ("fits", {"spec": {"priority": 2.0, "containers": [{"name": "a"}]}}, ""),
)
def test_what_a_patch_makes_has_to_fit_its_kind(manifest: Body, want: str) -> None:
    assert misfit(manifest, type_of("v1", "Pod")) == want


def test_selector_of_a_budget_is_replaced() -> None:
    budget = {
        "kind": "PodDisruptionBudget",
        "apiVersion": "policy/v1",
        "spec": {"selector": {"matchLabels": {"a": "1"}}},
    }
    body = {"spec": {"selector": {"matchLabels": {"b": "1"}}}}
    assert patched(budget, body, PatchType.STRATEGIC)["spec"] == body["spec"]


@cases(
    "patch_type, body, code, message",
    ("merge patch that is a list", PatchType.MERGE, [], 400, "cannot unmarshal array"),
    ("strategic patch that is a list", PatchType.STRATEGIC, [], 400, "cannot unmarshal array"),
    ("one item no map", PatchType.STRATEGIC, {"spec": {"containers": [A, "c"]}}, 500, "types are not identical"),
    ("no merge key", PatchType.STRATEGIC, {"spec": {"containers": [{"z": 1, "b": {"y": 2}}]}}, 500,
     "map: map[b:map[y:2] z:1] does not contain declared merge key: name"),
)  # fmt: skip
def test_body_that_cannot_be_read_is_refused(patch_type: PatchType, body: Any, code: int, message: str) -> None:
    with pytest.raises(PatchError, match=r".*") as refused:
        patched({"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [A]}}, body, patch_type)
    assert refused.value.code == code and message in refused.value.message


def operation(op: str, path: str, **members: Any) -> Body:
    return {"op": op, "path": path, **members}


def nested(levels: int) -> Body:
    return {"a": nested(levels - 1)} if levels else {}


INTO_ITSELF = operation("copy", "/a/a", **{"from": "/a"})
DOUBLED = operation("copy", "/l/-", **{"from": "/l"})
DEEP = [operation("add", "/a" * level, value={}) for level in range(2, 300)]
HOLDS = operation("test", "/kind", value="Pod")
LARGE = operation("add", "/x", value="x" * (MOST_COPIED_BYTES // 3))
SMALL = {"apiVersion": "v1", "kind": "Pod"}


@cases(
    "body, code, message",
    ("as many as may be, and one", [HOLDS] * (MOST_OPERATIONS + 1), 413,
     "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001"),
    ("copies of which each would do", [LARGE, *[operation("copy", "/y", **{"from": "/x"})] * 3], 422, "rejected our"),
    ("a list that doubles", [DOUBLED] * 22, 422, "rejected our request"),
    ("the whole object copied", [operation("copy", "/b", **{"from": ""})], 422, "rejected our request"),
    ("the whole object taken away", [operation("add", "", value={})], 422, "rejected our request"),
    ("a number for the whole object", [operation("replace", "", value=5)], 422, "rejected our request"),
    ("a list for the whole object", [operation("replace", "", value=["x"])], 422,
     r'Invalid value: "\[\\"x\\"\]": couldn\'t get version/kind; json parse error: json: cannot unmarshal array into'),
    ("one level deeper each time", [INTO_ITSELF] * 1_500, 400, "exceeded max depth"),
    ("a level more by each path", DEEP, 400, "exceeded max depth"),
    ("what is deep put where it is deep", [*DEEP[:100], operation("add", "/a" * 102, value=nested(150))], 400,
     "exceeded max depth"),
    ("nothing there to copy", [operation("copy", "/b", **{"from": "/x/y"})], 422, "rejected our request"),
)  # fmt: skip
def test_operations_that_would_make_too_much_are_refused(body: list[Body], code: int, message: str) -> None:
    with pytest.raises(PatchError, match=message) as refused:
        patched({**SMALL, "a": {}, "l": ["x"]}, body, PatchType.JSON)
    reason = {400: "BadRequest", 413: "RequestEntityTooLarge", 422: "Invalid"}[code]
    assert (refused.value.code, refused.value.reason) == (code, reason)


@cases(
    "body, want",
    ("as many as may be", [HOLDS] * MOST_OPERATIONS, SMALL),
    ("the whole object compared", [operation("test", "", value=SMALL)], SMALL),
    ("another object in its place", [operation("replace", "", value={"kind": "Node"})], {"kind": "Node"}),
    ("a source of which nothing is taken", [operation("add", "/a", value=1, **{"from": ""})], {**SMALL, "a": 1}),
)
def test_operations_that_may_be_are_carried_out(body: list[Body], want: Body) -> None:
    assert patched(SMALL, body, PatchType.JSON) == want


def test_operations_change_what_those_before_them_have_made() -> None:
    pod = dict(SMALL)
    body = [operation("add", "/a", value={}), operation("replace", "/a/b", value=1), HOLDS]
    assert patched(pod, body, PatchType.JSON) == {**pod, "a": {"b": 1}}
    assert pod == SMALL and body[0]["value"] == {}
