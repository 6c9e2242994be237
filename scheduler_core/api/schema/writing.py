"""A part of a manifest as the API server prints it in messages, fields in the order of their type.

Most values are printed as manifests have them, some in the server's own form of the type (`internal.txt`).
"""

from __future__ import annotations

import difflib
import json
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from scheduler_core.api.schema.types import SCALARS, Type, type_named


def json_text(value: Any, shape: str) -> str:
    """The value as JSON; `shape` is the name of its type, or `[]` and one."""
    return json.dumps(in_type_order(value, shape), separators=(",", ":"), ensure_ascii=False)


def in_type_order(value: Any, shape: str) -> Any:
    """The value with its fields in the order in which the API server writes them."""
    if shape.startswith("[]") and isinstance(value, list):
        return [in_type_order(item, shape[2:]) for item in value]
    if shape.startswith("{}") and isinstance(value, dict):
        return {key: in_type_order(value[key], shape[2:]) for key in sorted(value)}
    if shape in SCALARS or not isinstance(value, dict):
        return value
    type_: Type = type_named(shape)
    found = {name: in_type_order(value[name], field.shape) for name, field in type_.fields.items() if name in value}
    if shape == "meta.ObjectMeta" and "managedFields" in value:
        found["managedFields"] = value["managedFields"]
    return found


def internal_text(value: Any, shape: str, *, indent: bool = False) -> str:
    """The value as the server's own form of the type prints: Go names, every field, null for what is absent."""
    built = _internal(value, shape)
    return json.dumps(built, separators=(",", ": ") if indent else (",", ":"), indent=1 if indent else None)


def internal_diff(before: Any, after: Any, shape: str) -> str:
    """The unified difference of two values of a type, as messages about forbidden changes end with it."""
    was, now = (
        [f"{line}\n" for line in internal_text(value, shape, indent=True).split("\n")] for value in (before, after)
    )
    lines = list(difflib.unified_diff(was, now, n=3))
    return "".join(lines[2:])


def _internal(value: Any, shape: str) -> Any:
    if shape.startswith("[]"):
        return None if value is None else [_internal(item, shape[2:]) for item in value]
    if shape.startswith("{}"):
        return None if value is None else {key: _internal(value[key], shape[2:]) for key in sorted(value)}
    if shape in SCALARS:
        return value
    names = _internal_names().get(shape)
    if names is None:
        return json.loads(json_text(value, shape))
    fields = type_named(shape).fields
    if shape == "core.PodSpec":  # the server keeps the host's namespaces in the security context
        value = {**value, "securityContext": {**value.get("securityContext", {}), **_host_fields(value)}}
    built: dict[str, Any] = {}
    for name, field_name in names.items():
        if name == "ObjectMeta":  # embedded, so its fields stand among the others
            built |= json.loads(json_text(value.get("metadata", {}), "meta.ObjectMeta"))
            continue
        field, found = fields.get(field_name), value.get(field_name)
        if field is None:
            built[name] = found if found is not None or field_name not in _HOST_FLAGS else False
        elif found is not None:
            built[name] = _internal(found, field.shape)
        elif field.is_pointer or field.shape[:2] in ("[]", "{}") or field.shape in _NULLS:
            built[name] = None
        elif field.shape in _ZEROS:
            built[name] = _ZEROS[field.shape]
        else:
            built[name] = _internal({}, field.shape)
    return built


_HOST_FLAGS: Final = ("hostNetwork", "hostPID", "hostIPC")
_NULLS: Final = frozenset({"time", "microtime", "raw", "bytes"})
_ZEROS: Final[dict[str, Any]] = {
    "string": "", "int32": 0, "int64": 0, "bool": False, "quantity": "0", "intorstring": 0,
}  # fmt: skip


def _host_fields(spec: dict[str, Any]) -> dict[str, Any]:
    names = (*_HOST_FLAGS, "shareProcessNamespace", "hostUsers")
    return {name: spec[name] for name in names if name in spec}


@lru_cache(maxsize=1)
def _internal_names() -> dict[str, dict[str, str]]:
    """By type: the server's name of each field, and the manifest's."""
    types: dict[str, dict[str, str]] = {}
    names: dict[str, str] = {}
    for line in (Path(__file__).parent / "internal.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            continue
        words = line.split()
        if not line.startswith(" "):
            names = types.setdefault(words.pop(0), {})
        for word in words:
            name, _, field = word.partition("=")
            names[name] = field or name[0].lower() + name[1:]
    return types
