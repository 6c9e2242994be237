"""Bodies of patches: directives and merge keys of strategic merge patches, and what cannot be read."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler_core.apiserver.patches import PatchError, patched
from scheduler_core.apiserver.requests import PatchType

A, B, C = ({"name": name, "image": f"{name}:1"} for name in "abc")
Body = dict[str, Any]


def strategic(target: Body, body: Any, kind: str = "Pod") -> Body:
    return patched({"kind": kind, **target}, body, PatchType.STRATEGIC) | {"kind": kind}


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
    ("field", "key"),
    [
        ("conditions", "type"),
        ("initContainers", "name"),
        ("ephemeralContainers", "name"),
        ("volumes", "name"),
        ("env", "name"),
        ("volumeMounts", "mountPath"),
        ("volumeDevices", "devicePath"),
        ("imagePullSecrets", "name"),
        ("hostAliases", "ip"),
        ("topologySpreadConstraints", "topologyKey"),
        ("resourceClaims", "name"),
        ("resourceClaimStatuses", "name"),
        ("schedulingGates", "name"),
        ("ownerReferences", "uid"),
        ("addresses", "type"),
        ("podIPs", "ip"),
        ("hostIPs", "ip"),
    ],
)
def test_field_has_upstreams_merge_key(field: str, key: str) -> None:
    assert strategic({field: [{key: "a", "v": 1}]}, {field: [{key: "a", "w": 2}]})[field] == [
        {key: "a", "v": 1, "w": 2}
    ]


@pytest.mark.parametrize(("kind", "key"), [("Service", "port"), ("Pod", "containerPort")])
def test_ports_are_told_apart_by_kind(kind: str, key: str) -> None:
    assert strategic({"ports": [{key: 80}]}, {"ports": [{key: 80, "name": "http"}]}, kind)["ports"] == [
        {key: 80, "name": "http"}
    ]


def test_list_without_a_merge_key_is_replaced() -> None:
    assert strategic({"args": ["a", "b"]}, {"args": ["c"]})["args"] == ["c"]


def test_finalizers_are_added_once_and_taken_away_by_name() -> None:
    assert strategic({"finalizers": ["a", "b"]}, {"finalizers": ["b", "c"]})["finalizers"] == ["c", "a", "b"]
    body = {"$deleteFromPrimitiveList/finalizers": ["a"], "$setElementOrder/finalizers": ["b"]}
    assert strategic({"finalizers": ["a", "b"]}, body) == {"kind": "Pod", "finalizers": ["b"]}


@pytest.mark.parametrize(
    ("patch_type", "body", "code", "message"),
    [
        pytest.param(PatchType.MERGE, [], 400, "expected an object", id="merge patch that is a list"),
        pytest.param(PatchType.STRATEGIC, [], 400, "expected an object", id="strategic patch that is a list"),
        pytest.param(
            PatchType.STRATEGIC, {"containers": [A, "c"]}, 500, "expected maps in the list", id="one item is no map"
        ),
        pytest.param(
            PatchType.STRATEGIC,
            {"containers": [{"z": 1, "b": {"y": 2}}]},
            500,
            "map: map[b:map[y:2] z:1] does not contain declared merge key: name",
            id="no merge key",
        ),
    ],
)
def test_body_that_cannot_be_read_is_refused(patch_type: PatchType, body: Any, code: int, message: str) -> None:
    with pytest.raises(PatchError, match=r".*") as refused:
        patched({"kind": "Pod", "containers": [A]}, body, patch_type)
    assert refused.value.code == code and message in refused.value.message
