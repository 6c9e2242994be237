"""Bodies of requests: JSON with what decoding would lose, and read as objects of the kind that is asked for.

What decoding would lose are fields that stand twice in the same object. The last of them counts, as in the API server.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from scheduler_core.api.schema import DecodeError, read
from scheduler_core.apiserver import answers, typemeta
from scheduler_core.apiserver.answers import Refused
from scheduler_core.apiserver.kinds import CONFIDENTIAL_KINDS
from scheduler_core.apiserver.replies import RefusedError
from scheduler_core.apiserver.typemeta import TypeMeta, TypeProblem

_SHOWN: Final = 30  # bytes of a body in a message


class Body(msgspec.Struct, frozen=True):
    """A decoded body: JSON values, and the paths of fields that stood there twice (`spec.restartPolicy`).

    `oddities` are other things a strict reading refuses. `content` is what was sent.
    """

    value: Any = None
    repeated: tuple[str, ...] = ()
    oddities: tuple[str, ...] = ()
    content: bytes = b""


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
    content = text if isinstance(text, bytes) else text.encode(errors="surrogateescape")
    return Body(value, tuple(repeated), content=content)


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
    value, wanted = {} if body.value is None else body.value, typemeta.named(api_version, kind)
    found: TypeMeta | None = None
    try:
        found = typemeta.defaulted(typemeta.found_in(value), wanted)
        typemeta.check(found, wanted, "" if kind in CONFIDENTIAL_KINDS else body.content.decode(errors="replace"))
        manifest, unknown = read(value, api_version, kind)
    except (TypeProblem, DecodeError) as error:
        raise RefusedError(unreadable(kind, str(error), found, body.content)) from None
    version = found.version
    problems = [*body.oddities, *odd_fields(body, unknown)]
    if problems and validation == "Strict":
        message = f'{kind} in version "{version}" cannot be handled as a {kind}: strict decoding error: '
        raise RefusedError(answers.bad_request(message + ", ".join(problems)))
    if found != wanted:
        message = f"the API version in the data ({found.api_version}) does not match the expected API version"
        raise RefusedError(answers.bad_request(f"{message} ({api_version})"))
    given = value.get("metadata")
    if isinstance(given, Mapping) and "managedFields" in given:
        manifest["metadata"]["managedFields"] = given["managedFields"]
    return manifest, problems if validation == "Warn" else []


def unreadable(kind: str, problem: str, found: TypeMeta | None, content: bytes) -> Refused:
    """A body that cannot be read as an object of the kind; it is quoted where it does not say what it is."""
    if found is not None and found.kind:
        detail = f'{found.kind} in version "{found.version}" cannot be handled as a {kind}: {problem}'
        return answers.bad_request(detail)
    shown = "<contents redacted>" if kind in CONFIDENTIAL_KINDS else _summary(content)
    return answers.bad_request(f"the object provided is unrecognized (must be of type {kind}): {problem} ({shown})")


def _summary(content: bytes) -> str:
    """The beginning of a body; what does not look like an object in hexadecimal."""
    if not content:
        return "<empty>"
    rest = " ..." if len(content) > _SHOWN else ""
    shown = content[:_SHOWN]
    return (shown.decode("utf-8", "replace") if shown[:1] == b"{" else shown.hex()) + rest


def odd_fields(body: Body, unknown: Sequence[str]) -> list[str]:
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
