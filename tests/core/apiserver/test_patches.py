"""Bodies of patches: directives and merge keys of strategic merge patches, and what cannot be read."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler_core.api.schema import type_of
from scheduler_core.apiserver.patches import patched
from scheduler_core.apiserver.requests import PatchType
from scheduler_core.apiserver.strategic import PatchError, misfit

A, B, C = ({"name": name, "image": f"{name}:1"} for name in "abc")
Body = dict[str, Any]


def strategic(target: Body, body: Any, kind: str = "Pod") -> Body:
    return patched({"apiVersion": "v1", "kind": kind, **target}, body, PatchType.STRATEGIC)


@pytest.mark.parametrize(
    ("body", "want"),
    [
        pytest.param({"a": {"$patch": "replace", "z": 3}}, {"z": 3}, id="replaced"),
        pytest.param({"a": {"$patch": "delete"}}, {}, id="emptied"),
        pytest.param({"a": {"$retainKeys": ["x", "z"], "z": 3}}, {"x": 1, "z": 3}, id="only these keys stay"),
        pytest.param({"a": {"x": None}}, {"y": 2}, id="null takes away"),
        pytest.param({"a": {"y": 5}}, {"x": 1, "y": 5}, id="merged"),
    ],
)
def test_map_is_changed_as_the_directive_says(body: Body, want: Body) -> None:
    assert strategic({"a": {"x": 1, "y": 2}}, body)["a"] == want


@pytest.mark.parametrize(
    ("items", "want"),
    [
        pytest.param([{"name": "b", "image": "b:2"}], [A, {"name": "b", "image": "b:2"}], id="found by its key"),
        pytest.param([C], [C, A, B], id="what is new comes first"),
        pytest.param([{"name": "a", "$patch": "delete"}], [B], id="taken out"),
        pytest.param([C, {"$patch": "replace"}], [C], id="the whole list replaced"),
        pytest.param([{"name": "x", "$patch": "delete"}], [A, B], id="nothing to take out"),
    ],
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


@pytest.mark.parametrize(
    ("manifest", "want"),
    [
        pytest.param({"spec": {"containers": "x"}}, "cannot restore slice from string", id="no list"),
        pytest.param({"spec": 1}, "cannot restore struct from: int64", id="no map"),
        pytest.param({"metadata": {"labels": ["x"]}}, "cannot restore map from slice", id="no labels"),
        pytest.param({"metadata": {"labels": {"a": 1}}}, "cannot convert int64 to string", id="number as a label"),
        pytest.param({"spec": {"nodeName": True}}, "unrecognized type: string", id="truth as text"),
        pytest.param({"spec": {"priority": 1.5}}, "cannot convert float64 to int32", id="half a number"),
        pytest.param({"spec": {"restartPolicy": 3}}, "cannot convert int64 to v1.RestartPolicy", id="named type"),
        pytest.param({"spec": {"priority": 2.0, "containers": [{"name": "a"}]}}, "", id="fits"),
    ],
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


@pytest.mark.parametrize(
    ("patch_type", "body", "code", "message"),
    [
        pytest.param(PatchType.MERGE, [], 400, "cannot unmarshal array", id="merge patch that is a list"),
        pytest.param(PatchType.STRATEGIC, [], 400, "cannot unmarshal array", id="strategic patch that is a list"),
        pytest.param(
            PatchType.STRATEGIC,
            {"spec": {"containers": [A, "c"]}},
            500,
            "types are not identical",
            id="one item no map",
        ),
        pytest.param(
            PatchType.STRATEGIC,
            {"spec": {"containers": [{"z": 1, "b": {"y": 2}}]}},
            500,
            "map: map[b:map[y:2] z:1] does not contain declared merge key: name",
            id="no merge key",
        ),
    ],
)
def test_body_that_cannot_be_read_is_refused(patch_type: PatchType, body: Any, code: int, message: str) -> None:
    with pytest.raises(PatchError, match=r".*") as refused:
        patched({"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [A]}}, body, patch_type)
    assert refused.value.code == code and message in refused.value.message
