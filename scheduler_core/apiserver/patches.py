"""Bodies of patches laid over objects: JSON merge patch, JSON patch, strategic merge patch. Nothing given is changed.

A strategic merge patch merges lists of maps by a key, where the API server has one for the field, and obeys the
directives `$patch: delete | replace`, `$deleteFromPrimitiveList/…`, `$setElementOrder/…` (read, the order is kept) and
`$retainKeys`.

Source: RFC 7386, RFC 6902; kubernetes v1.34.1, staging/src/k8s.io/apimachinery/pkg/util/strategicpatch and the
patchMergeKey tags of staging/src/k8s.io/api.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

import jsonpatch

from scheduler_core.apiserver.requests import PatchType

# Merge keys by field, which mean the same in all kinds but for `ports`; without one a list is replaced.
_MERGE_KEYS: Final[dict[str, str]] = {
    "conditions": "type",
    "containers": "name",
    "initContainers": "name",
    "ephemeralContainers": "name",
    "volumes": "name",
    "env": "name",
    "volumeMounts": "mountPath",
    "volumeDevices": "devicePath",
    "imagePullSecrets": "name",
    "hostAliases": "ip",
    "topologySpreadConstraints": "topologyKey",
    "resourceClaims": "name",
    "resourceClaimStatuses": "name",
    "schedulingGates": "name",
    "ownerReferences": "uid",
    "addresses": "type",
    "podIPs": "ip",
    "hostIPs": "ip",
}
_PORTS: Final = {"Service": "port"}  # of a container: containerPort
_PRIMITIVES: Final = frozenset({"finalizers", "podCIDRs"})
_DELETE_PRIMITIVES: Final = "$deleteFromPrimitiveList/"
_SET_ORDER: Final = "$setElementOrder/"
_DIRECTIVE: Final = "$patch"
_RETAIN: Final = "$retainKeys"


class PatchError(Exception):
    """The patch cannot be read, or does not fit the object; `code` as the API server answers."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


def patched(manifest: Mapping[str, Any], body: Any, patch_type: PatchType) -> dict[str, Any]:
    """The manifest after the patch; raises PatchError."""
    if patch_type == PatchType.JSON:
        return _json_patched(manifest, body)
    if not isinstance(body, Mapping):
        raise PatchError(400, "error decoding patch: expected an object")
    if patch_type == PatchType.MERGE:
        result: dict[str, Any] = merged(manifest, body)
        return result
    return _strategic(manifest, body, str(manifest.get("kind", "")))


def merged(target: Any, patch: Any) -> Any:
    """RFC 7386: maps are merged, null removes, everything else replaces."""
    if not isinstance(patch, Mapping):
        return patch
    result = dict(target) if isinstance(target, Mapping) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), value)
    return result


def _strategic(target: Any, patch: Mapping[str, Any], kind: str) -> dict[str, Any]:
    directive = patch.get(_DIRECTIVE)
    if directive == "replace":
        return {key: value for key, value in patch.items() if key != _DIRECTIVE}
    if directive == "delete":
        return {}
    if directive is not None:
        raise PatchError(500, f"unknown patch type: {directive} in map: {go_map(patch)}")
    result = dict(target) if isinstance(target, Mapping) else {}
    if _RETAIN in patch:
        result = {key: value for key, value in result.items() if key in patch[_RETAIN]}
    for key, value in patch.items():
        if key == _RETAIN or key.startswith(_SET_ORDER):
            continue
        if key.startswith(_DELETE_PRIMITIVES):
            field = key.removeprefix(_DELETE_PRIMITIVES)
            result[field] = [item for item in result.get(field, ()) if item not in value]
        elif value is None:
            result.pop(key, None)
        elif isinstance(value, Mapping):
            result[key] = _strategic(result.get(key), value, kind)
        elif isinstance(value, list):
            result[key] = _merged_list(result.get(key), value, key, kind)
        else:
            result[key] = value
    return result


def _merged_list(target: Any, patch: list[Any], field: str, kind: str) -> list[Any]:
    if field in _PRIMITIVES and isinstance(target, list):
        return [*(item for item in patch if item not in target), *target]
    merge_key = _PORTS.get(kind, "containerPort") if field == "ports" else _MERGE_KEYS.get(field)
    if not merge_key:
        return patch
    if any(not isinstance(item, Mapping) for item in patch):
        raise PatchError(500, f"expected maps in the list of the field {field}")
    if any(item.get(_DIRECTIVE) == "replace" for item in patch):
        return [dict(item) for item in patch if _DIRECTIVE not in item]
    before: list[Any] = list(target) if isinstance(target, list) else []
    result, ours = list(before), []
    for item in patch:
        if merge_key not in item:
            raise PatchError(500, f"map: {go_map(item)} does not contain declared merge key: {merge_key}")
        value = item[merge_key]
        place = next((n for n, one in enumerate(result) if one.get(merge_key) == value), None)
        if item.get(_DIRECTIVE) == "delete":
            result = [one for one in result if one.get(merge_key) != value]
            continue
        made = _strategic({} if place is None else result[place], item, kind)
        if place is None:
            result.append(made)
        else:
            result[place] = made
        ours.append(value)
    return _ordered(result, before, ours, merge_key)


def _ordered(result: list[Any], before: list[Any], ours: list[Any], merge_key: str) -> list[Any]:
    """The items of the patch in its order, among the others, which keep theirs; what is new comes first."""
    places = {one.get(merge_key): n for n, one in reversed(list(enumerate(before)))}
    by_key = {one.get(merge_key): one for one in result}
    patched_items = [by_key[value] for value in dict.fromkeys(ours) if value in by_key]
    others = [one for one in result if one.get(merge_key) not in ours]
    merged_items: list[Any] = []
    while others and patched_items:
        here, there = places.get(others[0].get(merge_key)), places.get(patched_items[0].get(merge_key))
        first = others if here is not None and there is not None and here < there else patched_items
        merged_items.append(first.pop(0))
    return [*merged_items, *others, *patched_items]


def go_map(value: Any) -> str:
    """A map as Go prints it, which the API server's message contains."""
    if isinstance(value, Mapping):
        return f"map[{' '.join(f'{key}:{go_map(value[key])}' for key in sorted(value))}]"
    return str(value)


def _json_patched(manifest: Mapping[str, Any], body: Any) -> dict[str, Any]:
    if not isinstance(body, list):
        message = "json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp"
        raise PatchError(400, f"error decoding patch: {message}")
    # The API server's library lets a replacement add the member of an object.
    body = [_lenient(manifest, operation) for operation in body]
    try:
        result: dict[str, Any] = jsonpatch.apply_patch(manifest, body)
    except (jsonpatch.JsonPatchException, jsonpatch.JsonPointerException) as error:
        raise PatchError(422, "the server rejected our request due to an error in our request") from error
    return result


def _lenient(manifest: Mapping[str, Any], operation: Any) -> Any:
    if not isinstance(operation, Mapping) or operation.get("op") != "replace":
        return operation
    holder_path, _, member = str(operation.get("path", "")).rpartition("/")
    holder = jsonpatch.JsonPointer(holder_path).resolve(manifest, None) if holder_path else manifest
    is_new = isinstance(holder, Mapping) and member.replace("~1", "/").replace("~0", "~") not in holder
    return {**operation, "op": "add"} if is_new else operation


def unknown_of_operations(body: Any) -> list[str]:
    """Members that operations of a JSON patch do not have."""
    known = ("op", "path", "from", "value")
    return [f"[{n}].{name}" for n, operation in enumerate(body) for name in operation if name not in known]


def compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
