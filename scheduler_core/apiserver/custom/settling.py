"""What the API server's own controllers say of a definition: which of its names are taken, and whether it is served.

Here it is said at once, in the change that asks for it.
Source: kubernetes v1.34.1, staging/src/k8s.io/apiextensions-apiserver/pkg/controller/{status,establish}.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from scheduler_core.api.times import time_text

Manifest = dict[str, Any]
_ACCEPTED: Final = ("NoConflicts", "no conflicts found")
_ESTABLISHED: Final = ("InitialNamesAccepted", "the initial names have been accepted")
_NOT_ACCEPTED: Final = ("NotAccepted", "not all names are accepted")


def settled(manifest: Manifest, others: Iterable[Mapping[str, Any]], now: int) -> Manifest:
    """The definition with the names that it gets beside those of others, and what there is to say of them."""
    spec, status = manifest["spec"], manifest.get("status") or {}
    before, wanted = status.get("acceptedNames") or {}, spec["names"]
    resources, kinds = _taken(manifest, others)
    accepted = dict(before)
    problem: tuple[str, str] | None = None
    for name, taken, reason in (
        ("plural", resources, "PluralConflict"), ("singular", resources, "SingularConflict"),
        ("shortNames", resources, "ShortNamesConflict"), ("kind", kinds, "KindConflict"),
        ("listKind", kinds, "ListKindConflict"),
    ):  # fmt: skip
        clashes = _clashes(wanted.get(name), before.get(name), taken)
        if clashes:
            problem = reason, clashes
        elif name in wanted:
            accepted[name] = wanted[name]
        else:
            accepted.pop(name, None)
    accepted.pop("categories", None)
    if wanted.get("categories"):
        accepted["categories"] = wanted["categories"]
    conditions: list[Manifest] = list(status.get("conditions") or ())
    _say(conditions, "NamesAccepted", problem is None, problem or _ACCEPTED, now)
    was = next((one for one in conditions if one.get("type") == "Established"), None)
    if was is None or was.get("status") != "True":
        _say(conditions, "Established", problem is None, _ESTABLISHED if problem is None else _NOT_ACCEPTED, now)
    made = {**status, "conditions": conditions, "acceptedNames": _in_order(accepted)}
    return {**manifest, "status": made}


def with_condition(manifest: Manifest, type_: str, said: tuple[bool, str, str], now: int) -> Manifest:
    """The object with one more condition in its status: (whether it holds, a reason, a message)."""
    status = manifest.get("status") or {}
    conditions = list(status.get("conditions") or ())
    _say(conditions, type_, said[0], said[1:], now)
    return {**manifest, "status": {**status, "conditions": conditions}}


def _taken(manifest: Manifest, others: Iterable[Mapping[str, Any]]) -> tuple[set[str], set[str]]:
    """Names of resources and of kinds that other definitions of the group have."""
    resources: set[str] = set()
    kinds: set[str] = set()
    for other in others:
        is_other = other["metadata"]["name"] != manifest["metadata"]["name"]
        if is_other and other["spec"]["group"] == manifest["spec"]["group"]:
            names = (other.get("status") or {}).get("acceptedNames") or {}
            resources |= {names.get("plural", ""), names.get("singular", ""), *(names.get("shortNames") or ())}
            kinds |= {names.get("kind", ""), names.get("listKind", "")}
    return resources - {""}, kinds - {""}


def _clashes(wanted: str | Sequence[str] | None, before: Any, taken: set[str]) -> str:
    """Which of the names somebody else has, in words; those that are its own already stay so."""
    names = [wanted] if isinstance(wanted, str) else list(wanted or ())
    own = [before] if isinstance(before, str) else list(before or ())
    found = [f'"{name}" is already in use' for name in names if name not in own and name in taken]
    return found[0] if len(found) == 1 else f"[{', '.join(found)}]" if found else ""


def _say(conditions: list[Manifest], type_: str, holds: bool, words: tuple[str, str] | Sequence[str], now: int) -> None:
    """Put the condition into the list; the time is that of its last turn."""
    made: Manifest = {"type": type_, "status": "True" if holds else "False", "lastTransitionTime": time_text(now)}
    made |= {"reason": words[0], "message": words[1]}
    for place, one in enumerate(conditions):
        if one.get("type") == type_:
            if one.get("status") == made["status"]:
                made["lastTransitionTime"] = one.get("lastTransitionTime")
            conditions[place] = made
            return
    conditions.append(made)


def _in_order(names: Mapping[str, Any]) -> Manifest:
    order = ("plural", "singular", "shortNames", "kind", "listKind", "categories")
    return {"plural": "", "kind": ""} | {name: names[name] for name in order if name in names}
