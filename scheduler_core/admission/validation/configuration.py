"""What is checked of what programs are configured with: config maps, secrets; and of revisions of workloads.

Messages never hold a value of a secret.

Source: kubernetes v1.34.1, pkg/apis/{core,apps}/validation.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any, Final

from scheduler_core.admission.context import Manifest, Problem, Shown, forbidden, invalid, required, too_long
from scheduler_core.admission.validation import formats
from scheduler_core.admission.validation.formats import named, not_negative

MOST_BYTES: Final = 1024 * 1024
_LOCKED: Final = "field is immutable when `immutable` is set"
_ACCOUNT: Final = "kubernetes.io/service-account.name"
# By type of secret: the keys that it must have, with what is checked of their value.
_JSON_KEYS: Final = {
    "kubernetes.io/dockercfg": ".dockercfg",
    "kubernetes.io/dockerconfigjson": ".dockerconfigjson",
}


def config_map_problems(manifest: Manifest) -> Iterator[Problem]:
    data, binary = manifest.get("data") or {}, manifest.get("binaryData") or {}
    for key in data:
        yield from named(f"data[{key}]", key, formats.config_key(key))
        if key in binary:
            yield invalid(f"data[{key}]", key, "duplicate of key present in binaryData")
    for key in binary:
        yield from named(f"binaryData[{key}]", key, formats.config_key(key))
    if sum(len(value.encode()) for value in data.values()) + _decoded_bytes(binary) > MOST_BYTES:
        yield too_long("[]", MOST_BYTES)  # the object as a whole


def secret_problems(manifest: Manifest) -> Iterator[Problem]:
    data, kind = manifest.get("data") or {}, manifest.get("type", "")
    for key in data:
        yield from named(f"data[{key}]", key, formats.config_key(key))
    if _decoded_bytes(data) > MOST_BYTES:
        yield too_long("data", MOST_BYTES)
    match kind:
        case "kubernetes.io/service-account-token":
            if not (manifest["metadata"].get("annotations") or {}).get(_ACCOUNT):
                yield required(f"metadata.annotations[{_ACCOUNT}]")
        case "kubernetes.io/dockercfg" | "kubernetes.io/dockerconfigjson":
            yield from _json_object(data, _JSON_KEYS[kind])
        case "kubernetes.io/basic-auth":
            if "username" not in data and "password" not in data:
                yield required("data[username]")
                yield required("data[password]")
        case "kubernetes.io/ssh-auth":
            if not data.get("ssh-privatekey"):
                yield required("data[ssh-privatekey]")
        case "kubernetes.io/tls":
            for key in ("tls.crt", "tls.key"):
                if key not in data:
                    yield required(f"data[{key}]")


def _json_object(data: Manifest, key: str) -> Iterator[Problem]:
    if key not in data:
        yield required(f"data[{key}]")
        return
    try:
        value = json.loads(base64.b64decode(data[key]))
    except ValueError:
        detail = "invalid character in JSON"
    else:
        if value is None or isinstance(value, dict):
            return
        given = {list: "array", str: "string", bool: "bool"}.get(type(value), "number")
        detail = f"json: cannot unmarshal {given} into Go value of type map[string]interface {{}}"
    yield invalid(f"data[{key}]", "<secret contents redacted>", detail)


def _decoded_bytes(values: Manifest) -> int:
    """How many bytes base64 texts stand for."""
    return sum(len(text) // 4 * 3 - text[-2:].count("=") for text in values.values())


def locked_problems(new: Manifest, old: Manifest) -> Iterator[Problem]:
    """Of a change of what was made immutable."""
    if not old.get("immutable"):
        return
    if not new.get("immutable"):
        yield forbidden("immutable", _LOCKED)
    for field in ("data", "binaryData"):
        if (new.get(field) or {}) != (old.get(field) or {}):
            yield forbidden(field, _LOCKED)


def controller_revision_problems(manifest: Manifest, *, is_new: bool) -> Iterator[Problem]:
    yield from not_negative("revision", manifest["revision"])
    if not is_new:
        return
    data: Any = manifest.get("data")
    if data is None:
        yield required("data", "data is mandatory")
    elif not isinstance(data, dict):
        yield required("data", "data must be a valid JSON object")


def revision_change_problems(new: Manifest, old: Manifest) -> Iterator[Problem]:
    if new.get("data") != old.get("data"):
        yield invalid("data", Shown(json.dumps(new.get("data"), separators=(",", ":"))), formats.IMMUTABLE)
