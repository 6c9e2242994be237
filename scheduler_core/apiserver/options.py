"""Options of requests, as queries and bodies carry them: dry runs, field validation, how to delete.

Source: kubernetes v1.34.1, staging/src/k8s.io/apimachinery/pkg/apis/meta/{v1,internalversion}/validation.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from scheduler_core.api.schema import DecodeError, read
from scheduler_core.apiserver.answers import Cause, Refused, Status, bad_request
from scheduler_core.apiserver.lists import options_refused
from scheduler_core.apiserver.numbers import NumberError, parse_int
from scheduler_core.apiserver.ownership.managers import UNKNOWN
from scheduler_core.apiserver.requests import Propagation

Query = Mapping[str, Sequence[str]]
_VALIDATIONS: Final = ("", "Ignore", "Strict", "Warn")
_POLICIES: Final = ("Foreground", "Background", "Orphan")


LONGEST_MANAGER: Final = 128


class WriteOptions(msgspec.Struct, frozen=True):
    """`validation` is Ignore, Warn or Strict: what becomes of unknown and repeated fields.

    `field_manager` is who owns what is written, `force` that an apply takes what others own.
    """

    dry_run: bool = False
    validation: str = "Warn"
    field_manager: str = ""
    force: bool = False


class DeleteOptions(msgspec.Struct, frozen=True):
    grace_seconds: int | None = None
    propagation: Propagation | None = None
    uid: str = ""
    resource_version: str = ""
    dry_run: bool = False


def first(query: Query, name: str) -> str:
    values = query.get(name) or ("",)
    return values[0]


def write_options(kind: str, query: Query, agent: str = "", *, is_apply: bool = False) -> WriteOptions | Refused:
    """The options of a write; `kind` is CreateOptions, UpdateOptions or PatchOptions.

    Who does not name a manager is called by the beginning of its User-Agent.
    """
    manager = first(query, "fieldManager")
    causes = list(_manager_problems(manager))
    if is_apply and not manager:
        causes.append(Cause("FieldValueRequired", "Required value: is required for apply patch", "fieldManager"))
    if kind == "PatchOptions" and not is_apply and query.get("force"):
        causes.append(Cause("FieldValueForbidden", "Forbidden: may not be specified for non-apply patch", "force"))
    runs = [value for value in query.get("dryRun", ()) if value]
    causes += _dry_run_problems(runs)
    validation = first(query, "fieldValidation")
    if validation not in _VALIDATIONS:
        names = ", ".join(f'"{name}"' for name in _VALIDATIONS)
        detail = f'Unsupported value: "{validation}": supported values: {names}'
        causes.append(Cause("FieldValueNotSupported", detail, "fieldValidation"))
    if causes:
        return options_refused(kind, causes)
    force = first(query, "force") in ("true", "1", "t", "T", "TRUE", "True")
    return WriteOptions(bool(runs), validation or "Warn", manager or _manager_of(agent), force)


def _manager_problems(manager: str) -> Iterator[Cause]:
    if len(manager.encode()) > LONGEST_MANAGER:
        detail = f"Too long: may not be more than {LONGEST_MANAGER} bytes"
        yield Cause("FieldValueTooLong", detail, "fieldManager")
    place = 0
    for char in manager:
        if not char.isprintable():
            shown = json.dumps(manager, ensure_ascii=False)
            detail = f"Invalid value: {shown}: invalid character U+{ord(char):04X} (at position {place})"
            yield Cause("FieldValueInvalid", detail, "fieldManager")
        place += len(char.encode())


def _manager_of(agent: str) -> str:
    text = "".join(char for char in agent.partition("/")[0] if char.isprintable())
    return text.encode()[:LONGEST_MANAGER].decode(errors="ignore") or UNKNOWN


def delete_options(query: Query, body: Any) -> DeleteOptions | Refused:
    """The options of a deletion: those of the body count, else those of the query."""
    if body:
        return _from_body(body)
    given: dict[str, Any] = {"propagationPolicy": first(query, "propagationPolicy")}
    text = first(query, "gracePeriodSeconds")
    if text:
        try:
            given["gracePeriodSeconds"] = parse_int(text)
        except NumberError as error:
            return bad_request(str(error))
    if query.get("orphanDependents"):
        given["orphanDependents"] = first(query, "orphanDependents").lower() not in ("false", "0")
    given["dryRun"] = [value for value in query.get("dryRun", ()) if value]
    return _checked(given)


def _from_body(body: Any) -> DeleteOptions | Refused:
    if not isinstance(body, Mapping):
        return Refused(Status(500, "", "couldn't get version/kind; json parse error"))
    kind = body.get("kind") or "DeleteOptions"
    if kind != "DeleteOptions":
        return Refused(Status(500, "", f"decoded object cannot be converted to DeleteOptions: {kind}"))
    try:
        body, _ = read(body, "meta", kind)
    except DecodeError as error:
        return Refused(Status(500, "", str(error)))
    return _checked(body)


def _checked(body: Mapping[str, Any]) -> DeleteOptions | Refused:
    """The options, unless they contradict one another."""
    runs = body.get("dryRun") or []
    policy, orphans = body.get("propagationPolicy") or "", body.get("orphanDependents")
    if policy and orphans is not None:
        detail = f'Invalid value: "{policy}": orphanDependents and deletionPropagation cannot be both set'
        return options_refused("DeleteOptions", [Cause("FieldValueInvalid", detail, "propagationPolicy")])
    if orphans is not None:
        policy = "Orphan" if orphans else "Background"
    preconditions = body.get("preconditions") or {}
    causes = _dry_run_problems(runs)
    if policy and policy not in _POLICIES:
        names = ", ".join(f'"{name}"' for name in ("Foreground", "Background", "Orphan", "nil"))
        causes.insert(
            0,
            Cause("FieldValueNotSupported", f'Unsupported value: "{policy}": supported values: {names}',
                  "propagationPolicy"),
        )  # fmt: skip
    if causes:
        return options_refused("DeleteOptions", causes)
    return DeleteOptions(
        body.get("gracePeriodSeconds"),
        Propagation(policy) if policy else None,
        preconditions.get("uid") or "",
        preconditions.get("resourceVersion") or "",
        bool(runs),
    )


def _dry_run_problems(runs: Sequence[str]) -> list[Cause]:
    if set(runs) <= {"All"}:
        return []
    shown = json.dumps(list(runs), separators=(",", ":"))
    return [Cause("FieldValueNotSupported", f'Unsupported value: {shown}: supported values: "All"', "dryRun")]
