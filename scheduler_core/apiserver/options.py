"""Options of requests, as queries and bodies carry them: dry runs, field validation, how to delete.

Source: kubernetes v1.34.1, staging/src/k8s.io/apimachinery/pkg/apis/meta/{v1,internalversion}/validation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from scheduler_core.api import field_errors
from scheduler_core.api.go_values import json_quoted
from scheduler_core.api.schema import DecodeError, read
from scheduler_core.apiserver import typemeta
from scheduler_core.apiserver.answers import Cause, Refused, bad_request, internal_error
from scheduler_core.apiserver.lists import options_refused
from scheduler_core.apiserver.numbers import NumberError, parse_int
from scheduler_core.apiserver.ownership.managers import UNKNOWN
from scheduler_core.apiserver.registered import META, is_options, unregistered
from scheduler_core.apiserver.requests import Propagation
from scheduler_core.apiserver.typemeta import TypeProblem

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


def flag(query: Query, name: str) -> bool | None:
    """Whether a parameter is on: it is by every value but two, even without one; None when it is not there."""
    values = query.get(name)
    return None if not values else values[0].lower() not in ("0", "false")


def number(query: Query, name: str) -> int | None:
    """A parameter that is a number; None when it is not there, NumberError when it is none."""
    values = query.get(name)
    return parse_int(values[0]) if values else None


def write_options(kind: str, query: Query, agent: str = "", *, is_apply: bool = False) -> WriteOptions | Refused:
    """The options of a write; `kind` is CreateOptions, UpdateOptions or PatchOptions.

    Who does not name a manager is called by the beginning of its User-Agent.
    """
    manager = first(query, "fieldManager")
    causes = list(_manager_problems(manager))
    if is_apply and not manager:
        causes.append(Cause.of("fieldManager", field_errors.required("is required for apply patch")))
    if kind == "PatchOptions" and not is_apply and query.get("force"):
        causes.append(Cause.of("force", field_errors.forbidden("may not be specified for non-apply patch")))
    runs = query.get("dryRun", ())
    causes += _dry_run_problems(runs)
    validation = first(query, "fieldValidation")
    if validation not in _VALIDATIONS:
        detail = field_errors.unsupported(validation, _VALIDATIONS, is_plain=True)
        causes.append(Cause.of("fieldValidation", detail))
    if causes:
        return options_refused(kind, causes)
    force = bool(flag(query, "force"))
    return WriteOptions(bool(runs), validation or "Warn", manager or _manager_of(agent), force)


def _manager_problems(manager: str) -> Iterator[Cause]:
    if len(manager.encode()) > LONGEST_MANAGER:
        yield Cause.of("fieldManager", field_errors.too_long(LONGEST_MANAGER))
    place = 0
    for char in manager:
        if not char.isprintable():
            detail = f"invalid character U+{ord(char):04X} (at position {place})"
            yield Cause.of("fieldManager", field_errors.invalid(manager, detail))
        place += len(char.encode())


def _manager_of(agent: str) -> str:
    text = "".join(char for char in agent.partition("/")[0] if char.isprintable())
    return text.encode()[:LONGEST_MANAGER].decode(errors="ignore") or UNKNOWN


def dry_runs(asked: Sequence[str], in_body: Sequence[str]) -> bool | Refused:
    """Whether an eviction is a dry run, by its query and its body, which may not differ; values are checked later."""
    if asked and in_body and list(asked) != list(in_body):
        shown = (f"[{' '.join(each)}]" for each in (asked, in_body))
        message = "Non-matching dry-run options in request and content: {} and {}"
        return internal_error(message.format(*shown))
    return bool(asked or in_body)


def delete_options(query: Query, body: Any) -> DeleteOptions | Refused:
    """The options of a deletion: those of the body count, even if it is empty, or those of the query without one."""
    if body is not None:
        return _from_body(body)
    try:
        grace = number(query, "gracePeriodSeconds")
    except NumberError as error:
        return bad_request(str(error))
    policy = query.get("propagationPolicy")
    given = {
        "gracePeriodSeconds": grace,
        "propagationPolicy": policy[0] if policy else None,
        "orphanDependents": flag(query, "orphanDependents"),
        "dryRun": query.get("dryRun"),
        "preconditions": {name: first(query, name) for name in ("uid", "resourceVersion")},
    }
    return checked_options(given)


def _from_body(body: Any) -> DeleteOptions | Refused:
    """The options of a body; one that cannot be read is the server's error, as it is upstream."""
    wanted = typemeta.named("v1", "DeleteOptions")
    try:
        found = typemeta.defaulted(typemeta.found_in(body), wanted)
        if not is_options(found.kind):
            raise TypeProblem(unregistered(found.api_version, found.kind, META))
        read_options, _ = read(body, "meta", wanted.kind)
        if found.kind != wanted.kind:
            raise TypeProblem(f"converting (v1.{found.kind}) to (v1.{wanted.kind}): unknown conversion")
    except (TypeProblem, DecodeError) as error:
        return internal_error(str(error))
    return checked_options(read_options)


def checked_options(body: Mapping[str, Any]) -> DeleteOptions | Refused:
    """The options, unless they contradict one another."""
    runs, policy, orphans = body.get("dryRun") or [], body.get("propagationPolicy"), body.get("orphanDependents")
    causes = []
    if policy is not None and orphans is not None:
        shown = field_errors.Shown(json_quoted(policy))
        detail = "orphanDependents and deletionPropagation cannot be both set"
        causes.append(Cause.of("propagationPolicy", field_errors.invalid(shown, detail)))
    if policy is not None and policy not in _POLICIES:
        causes.append(Cause.of("propagationPolicy", field_errors.unsupported(policy, (*_POLICIES, "nil"))))
    causes += _dry_run_problems(runs)
    if causes:
        return options_refused("DeleteOptions", causes)
    if orphans is not None:
        policy = "Orphan" if orphans else "Background"
    preconditions = body.get("preconditions") or {}
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
    return [Cause.of("dryRun", field_errors.unsupported(list(runs), ("All",)))]
