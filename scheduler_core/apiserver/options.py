"""Options of requests, as queries and bodies carry them: dry runs, field validation, how to delete.

Source: kubernetes v1.34.1, staging/src/k8s.io/apimachinery/pkg/apis/meta/{v1,internalversion}/validation.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from scheduler_core.apiserver.answers import Cause, Refused, Status, bad_request
from scheduler_core.apiserver.lists import options_refused
from scheduler_core.apiserver.requests import Propagation

Query = Mapping[str, Sequence[str]]
_VALIDATIONS: Final = ("", "Ignore", "Strict", "Warn")
_POLICIES: Final = ("Foreground", "Background", "Orphan")


class WriteOptions(msgspec.Struct, frozen=True):
    """`validation` is Ignore, Warn or Strict: what becomes of unknown and repeated fields."""

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


def write_options(kind: str, query: Query) -> WriteOptions | Refused:
    """The options of a write; `kind` is CreateOptions, UpdateOptions or PatchOptions."""
    causes: list[Cause] = []
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
    return WriteOptions(bool(runs), validation or "Warn", first(query, "fieldManager"), force)


def delete_options(query: Query, body: Any) -> DeleteOptions | Refused:
    """The options of a deletion: those of the body count, else those of the query."""
    if body:
        return _from_body(body)
    grace: int | None = None
    text = first(query, "gracePeriodSeconds")
    if text:
        try:
            grace = int(text)
        except ValueError:
            return bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax')
    runs = [value for value in query.get("dryRun", ()) if value]
    return _checked(grace, first(query, "propagationPolicy"), runs, {})


def _from_body(body: Any) -> DeleteOptions | Refused:
    if not isinstance(body, Mapping):
        return Refused(Status(500, "", "couldn't get version/kind; json parse error"))
    kind = body.get("kind") or "DeleteOptions"
    if kind != "DeleteOptions":
        return Refused(Status(500, "", f"decoded object cannot be converted to DeleteOptions: {kind}"))
    runs = body.get("dryRun") or []
    policy, orphans = body.get("propagationPolicy") or "", body.get("orphanDependents")
    if policy and orphans is not None:
        detail = f'Invalid value: "{policy}": orphanDependents and deletionPropagation cannot be both set'
        return options_refused("DeleteOptions", [Cause("FieldValueInvalid", detail, "propagationPolicy")])
    if orphans is not None:
        policy = "Orphan" if orphans else "Background"
    return _checked(body.get("gracePeriodSeconds"), policy, runs, body.get("preconditions") or {})


def _checked(
    grace: int | None, policy: str, runs: Sequence[str], preconditions: Mapping[str, str]
) -> DeleteOptions | Refused:
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
        grace,
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
