"""Bodies of patches laid over objects: JSON merge patch, JSON patch, strategic merge patch (`strategic`).

Nothing given is changed. Source: RFC 7386, RFC 6902; kubernetes v1.34.1,
staging/src/k8s.io/apiserver/pkg/endpoints/handlers/patch.go.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from typing import Any, Final

import jsonpatch

from scheduler_core.api.schema import json_text
from scheduler_core.apiserver.go_json import MOST_DEPTH, TOO_DEEP, depth
from scheduler_core.apiserver.ownership.managers import decoded, encode
from scheduler_core.apiserver.requests import Patch, PatchType
from scheduler_core.apiserver.strategic import PatchError, manifest_type, strategically_merged
from scheduler_core.apiserver.typemeta import go_kind, no_object

MOST_OPERATIONS: Final = 10_000
MOST_COPIED_BYTES: Final = 3 * 1024 * 1024  # by all operations of a patch; each of them may double what there is
_REJECTED: Final = "the server rejected our request due to an error in our request"


def patched(manifest: Mapping[str, Any], body: Any, patch_type: PatchType) -> dict[str, Any]:
    """The manifest after the patch; raises PatchError."""
    if patch_type == PatchType.JSON:
        return _json_patched(manifest, body)
    if not isinstance(body, Mapping):
        return _unchanged(manifest, body, patch_type)
    if patch_type == PatchType.MERGE:
        result: dict[str, Any] = merged(manifest, body)
        return result
    return strategically_merged(manifest, body)


def _unchanged(manifest: Mapping[str, Any], body: Any, patch_type: PatchType) -> dict[str, Any]:
    """The manifest after a patch that is no object: a strategic one may be null; raises PatchError."""
    problem = f"json: cannot unmarshal {go_kind(body)} into Go value of type map[string]interface {{}}"
    if patch_type == PatchType.MERGE:
        raise PatchError(400, "Invalid JSON Patch" if body is None else f"error decoding patch: {problem}")
    if body is not None:
        raise PatchError(400, problem)
    return dict(manifest)


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


def _json_patched(manifest: Mapping[str, Any], body: Any) -> dict[str, Any]:
    body = [] if body is None else body
    problem = _unreadable(body)
    if problem:
        raise PatchError(400, f"error decoding patch: json: cannot unmarshal {problem}")
    if len(body) > MOST_OPERATIONS:
        told = f"The allowed maximum operations in a JSON patch is {MOST_OPERATIONS}, got {len(body)}"
        raise PatchError(413, f"Request entity too large: {told}")
    result: Any = copy.deepcopy(dict(manifest))
    copied = 0
    try:
        for operation in copy.deepcopy(body):  # what it adds, a later one may change
            found = _copied(result, operation)
            copied += len(compact(found).encode()) if found is not None else 0
            if copied > MOST_COPIED_BYTES or _concerns_all(operation):
                raise PatchError(422, _REJECTED)
            result = jsonpatch.apply_patch(result, [_lenient(result, operation)], in_place=True)
    except (jsonpatch.JsonPatchException, jsonpatch.JsonPointerException, TypeError) as error:
        raise PatchError(422, _REJECTED) from error
    except RecursionError:
        raise PatchError(400, TOO_DEEP) from None
    _check_depth(result)  # a body is not so deep, but many operations after one another may make an object so
    if isinstance(result, list):
        raise PatchError(
            422, f' "" is invalid: patch: Invalid value: {json.dumps(compact(result))}: {no_object(result)}'
        )
    return dict(result)


def _concerns_all(operation: Any) -> bool:
    """Whether an operation adds or takes away the whole object: it can be replaced by another only."""
    if not isinstance(operation, Mapping) or operation.get("op") == "test":
        return False
    if operation.get("op") == "replace":
        return operation.get("path") == "" and not isinstance(operation.get("value"), Mapping | list)
    return operation.get("path") == ""


def _copied(manifest: Any, operation: Any) -> Any:
    """What an operation copies, None for nothing; raises PatchError where it is, or goes, too deep."""
    if not isinstance(operation, Mapping):
        return None
    source, path = operation.get("from") or "", operation.get("path") or ""
    if max(source.count("/"), path.count("/")) > MOST_DEPTH:
        raise PatchError(400, TOO_DEEP)
    if operation.get("op") != "copy":
        return None
    found = jsonpatch.JsonPointer(source).resolve(manifest, None)
    _check_depth(found)
    return found


def _check_depth(value: Any) -> None:
    if depth(value) > MOST_DEPTH:
        raise PatchError(400, TOO_DEEP)


def _unreadable(body: Any) -> str:
    """What the body has in place of a list of operations; empty when it is one."""
    if not isinstance(body, list):
        return f"{go_kind(body)} into Go value of type []handlers.jsonPatchOp"
    for operation in body:
        if operation is not None and not isinstance(operation, Mapping):
            return f"{go_kind(operation)} into Go value of type handlers.jsonPatchOp"
        for name in ("op", "path", "from"):
            value = (operation or {}).get(name)
            if value is not None and not isinstance(value, str):
                return f"{go_kind(value)} into Go struct field jsonPatchOp.{name} of type string"
    return ""


def _lenient(manifest: Mapping[str, Any], operation: Any) -> Any:
    """The API server's library lets a replacement add the member of an object."""
    if not isinstance(operation, Mapping) or operation.get("op") != "replace":
        return operation
    holder_path, _, member = str(operation.get("path", "")).rpartition("/")
    holder = jsonpatch.JsonPointer(holder_path).resolve(manifest, None) if holder_path else manifest
    is_new = isinstance(holder, Mapping) and member.replace("~1", "/").replace("~0", "~") not in holder
    return {**operation, "op": "add"} if is_new else operation


def unknown_of_operations(body: Any) -> list[str]:
    """Members that operations of a JSON patch do not have."""
    known = ("op", "path", "from", "value")
    return [f"[{n}].{name}" for n, operation in enumerate(body or ()) for name in operation or () if name not in known]


def patched_text(manifest: Mapping[str, Any], request: Patch) -> str:
    """What a merge patch or a JSON patch makes of the manifest, as messages quote it: what the patch goes through has
    its members by name, the rest as the API server writes them.
    """
    holder = manifest_type(manifest)
    entries = manifest["metadata"].get("managedFields")
    ordered = dict(manifest)
    if entries:
        manifest = {**manifest, "metadata": {**manifest["metadata"], "managedFields": encode(decoded(entries))}}
    if holder is not None:
        named = {name: manifest[name] for name in ("kind", "apiVersion")}
        ordered = {**named, **json.loads(json_text(manifest, holder.name))}
    result = patched(ordered, request.body, request.patch_type)
    if request.patch_type == PatchType.MERGE:
        return compact(_sorted_along(result, request.body))
    result = dict(sorted(result.items()))
    for operation in request.body:
        if isinstance(operation, Mapping):
            _sort_on_the_way(result, str(operation.get("path", "")).split("/")[1:-1])
    return compact(result)


def _sorted_along(value: Any, body: Any) -> Any:
    if not isinstance(value, Mapping) or not isinstance(body, Mapping):
        return value
    return {key: _sorted_along(value[key], body.get(key)) for key in sorted(value)}


def _sort_on_the_way(holder: Any, steps: list[str]) -> None:
    """Order the maps that a path leads through by name, in place."""
    for step in (one.replace("~1", "/").replace("~0", "~") for one in steps):
        if isinstance(holder, dict) and isinstance(holder.get(step), dict):
            holder[step] = dict(sorted(holder[step].items()))
            holder = holder[step]
        elif isinstance(holder, list) and step.isascii() and step.isdigit() and int(step) < len(holder):
            if isinstance(holder[int(step)], dict):
                holder[int(step)] = dict(sorted(holder[int(step)].items()))
            holder = holder[int(step)]
        else:
            return


def compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
