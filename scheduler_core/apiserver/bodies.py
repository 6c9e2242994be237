"""Bodies of requests: JSON with what decoding would lose, and read as objects of the kind that is asked for.

What decoding would lose are fields that stand twice in the same object. The last of them counts, as in the API server.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from scheduler_core.api.schema import DecodeError, read
from scheduler_core.apiserver import answers
from scheduler_core.apiserver.kinds import KINDS
from scheduler_core.apiserver.replies import RefusedError


class Body(msgspec.Struct, frozen=True):
    """A decoded body: JSON values, and the paths of fields that stood there twice (`spec.restartPolicy`).

    `oddities` are other things a strict reading refuses.
    """

    value: Any = None
    repeated: tuple[str, ...] = ()
    oddities: tuple[str, ...] = ()


class _Object(dict[str, Any]):
    """A JSON object, the names that stood in it more than once, and if there are any, all names in their order."""

    __slots__ = ("order", "repeated")

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        self.repeated: list[str] = []
        self.order: list[str] = [name for name, _ in pairs] if len(self) < len(pairs) else []
        if len(self) < len(pairs):
            seen: set[str] = set()
            for name, _ in pairs:
                if name in seen and name not in self.repeated:
                    self.repeated.append(name)
                seen.add(name)


def read_json(text: bytes | str) -> Body:
    """The body; raises json.JSONDecodeError."""
    value = json.loads(text, object_pairs_hook=_Object)
    repeated: list[str] = []
    _collect(value, "", repeated)
    return Body(value, tuple(repeated))


def _collect(value: Any, path: str, repeated: list[str]) -> None:
    if isinstance(value, _Object):
        prefix = f"{path}." if path else ""
        repeated += [prefix + name for name in value.repeated]
        for name, item in value.items():
            _collect(item, prefix + name, repeated)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            _collect(item, f"{path}[{index}]", repeated)


def read_as(body: Body, api_version: str, kind: str, validation: str) -> tuple[dict[str, Any], list[str]]:
    """Return the body as an object of the kind, and what to warn of; raises RefusedError.

    `validation` is Ignore, Warn or Strict: what becomes of fields that there are not, or that stand twice.
    """
    value = body.value
    if value is None:
        value = {}
    if not isinstance(value, Mapping):
        raise RefusedError(answers.bad_request(f"the object provided is unrecognized (must be of type {kind})"))
    _check_type(value, api_version, kind)
    version = api_version.rpartition("/")[2]
    try:
        manifest, unknown = read(value, api_version, kind)
    except DecodeError as error:
        message = f'{kind} in version "{version}" cannot be handled as a {kind}: {error}'
        raise RefusedError(answers.bad_request(message)) from None
    problems = [*body.oddities, *_odd_fields(body, unknown)]
    if problems and validation == "Strict":
        message = f'{kind} in version "{version}" cannot be handled as a {kind}: strict decoding error: '
        raise RefusedError(answers.bad_request(message + ", ".join(problems)))
    given = value.get("metadata")
    if isinstance(given, Mapping) and "managedFields" in given:
        manifest["metadata"]["managedFields"] = given["managedFields"]
    return manifest, problems if validation == "Warn" else []


def _odd_fields(body: Body, unknown: Sequence[str]) -> list[str]:
    """Return what is said of repeated and of unknown fields, in the order in which a decoder meets them."""
    repeated = [f'duplicate field "{path}"' for path in body.repeated]
    others = [f'unknown field "{path}"' for path in unknown]
    if not repeated or not others:
        return repeated + others
    met: dict[str, None] = {}
    _meet(body.value, "", met)
    kept = {*repeated, *others}
    return [text for text in dict.fromkeys([*met, *repeated, *others]) if text in kept]


def _meet(value: Any, path: str, met: dict[str, None]) -> None:
    """Collect what could be said of each field of the body, in order."""
    if isinstance(value, Mapping):
        prefix, seen = f"{path}." if path else "", set()
        for name in getattr(value, "order", None) or value:
            at = prefix + str(name)
            if name in seen:
                met[f'duplicate field "{at}"'] = None
                continue
            seen.add(name)
            met[f'unknown field "{at}"'] = None
            _meet(value[name], at, met)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            _meet(item, f"{path}[{index}]", met)


def _check_type(value: Mapping[str, Any], api_version: str, kind: str) -> None:
    given_version, given_kind = value.get("apiVersion") or api_version, value.get("kind") or kind
    if (given_version, given_kind) == (api_version, kind):
        return
    group, _, version = str(given_version).rpartition("/")
    if _is_registered(str(given_version), str(given_kind)):
        source = f"{_package(given_version)}.{given_kind}"
        internal = f"{_internal(api_version)}.{kind}"
        message = (
            f'{given_kind} in version "{version}" cannot be handled as a {kind}: converting ({source}) to'
            f" ({internal}): unknown conversion"
        )
    elif given_kind == kind:
        message = (
            f"the API version in the data ({given_version}) does not match the expected API version ({api_version})"
        )
    else:
        known_as = f'no kind "{given_kind}" is registered for version "{given_version}"'
        message = f'{known_as} in scheme "pkg/api/legacyscheme/scheme.go:30"'
    raise RefusedError(answers.bad_request(message))


# Kinds of v1 that are no objects of a cluster.
_OTHER_KINDS: Final = frozenset(
    {
        "APIGroup", "APIGroupList", "APIResourceList", "APIVersions", "Binding", "ComponentStatus", "CreateOptions",
        "DeleteOptions", "GetOptions", "List", "ListOptions", "PatchOptions", "PodTemplate", "Status", "UpdateOptions",
        "WatchEvent",
    }
)  # fmt: skip


def _is_registered(api_version: str, kind: str) -> bool:
    """Whether the API server knows a type of this name: a kind, a list of one, or another part of the protocol."""
    known = KINDS.get(kind) or KINDS.get(kind.removesuffix("List"))
    if known is not None:
        return known.cls.api_version == api_version
    return api_version == "v1" and kind in _OTHER_KINDS


def _package(api_version: str) -> str:
    return api_version.rpartition("/")[2]


def _internal(api_version: str) -> str:
    group = api_version.rpartition("/")[0].split(".")[0]
    return group or "core"
