"""What the schema asks of kinds that scheduling does not read: what is required, and values that fields may have."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from scheduler_core.admission.context import Manifest, Problem, Shown, invalid, required, unsupported
from scheduler_core.admission.validation.definitions import (
    definition_change_problems,
    definition_problems,
    definition_status_problems,
)
from scheduler_core.admission.validation.formats import immutable
from scheduler_core.api.custom import DEFINITION
from scheduler_core.api.schema import SCALARS, Field, Type, json_text, type_named, type_of

_POSITIVE: Final = "must be greater than 0"
_BINDINGS: Final = ("RoleBinding", "ClusterRoleBinding")
# What stays as it is, by kind.
_IMMUTABLE: Final = {"IngressClass": ("spec", "controller"), "IPAddress": ("spec", "parentRef")}


def kept_problems(manifest: Manifest) -> Iterator[Problem]:
    """Of all but metadata and status, which the server or its controllers write."""
    if manifest["kind"] == DEFINITION:
        yield from definition_problems(manifest)
        return
    for name, field in type_of(manifest["apiVersion"], manifest["kind"]).fields.items():
        if name not in ("metadata", "status"):
            yield from _field_problems(manifest.get(name), name, field)


def kept_status_problems(manifest: Manifest) -> Iterator[Problem]:
    """Of the status: no value that there is not."""
    if manifest["kind"] == DEFINITION:
        yield from definition_status_problems(manifest)
    field = type_of(manifest["apiVersion"], manifest["kind"]).fields["status"]
    for problem in _field_problems(manifest.get("status"), "status", field):
        if "Unsupported value" in problem.detail:
            yield problem


def kept_change_problems(new: Manifest, old: Manifest) -> Iterator[Problem]:
    """Of a change: what may not be another."""
    kind = new["kind"]
    if kind == DEFINITION:
        yield from definition_change_problems(new, old)
    if kind in _BINDINGS and new["roleRef"] != old["roleRef"]:
        shown = Shown(json_text(new["roleRef"], "rbac.RoleRef"))
        yield invalid("roleRef", shown, "cannot change roleRef")
    if kind in _IMMUTABLE:
        part, name = _IMMUTABLE[kind]
        yield from immutable(f"{part}.{name}", new[part].get(name), old[part].get(name))


def _field_problems(value: Any, path: str, field: Field) -> Iterator[Problem]:
    if field.is_required and field.shape == "int32" and not field.is_pointer:
        if value <= 0:
            yield invalid(path, value, _POSITIVE)
    elif field.is_required and not value and (field.is_pointer or field.shape in SCALARS or field.shape[:2] == "[]"):
        yield required(path)
        return
    if value is None:
        return
    if field.enum:
        for at, one in _each(value, path):
            if one and one not in field.enum:
                yield unsupported(at, one, sorted(field.enum))
    shape = field.item if field.shape[:2] in ("[]", "{}") else field.shape
    if shape in SCALARS or shape[:2] in ("[]", "{}") or shape.startswith("meta."):
        return
    type_ = type_named(shape)
    for at, one in _each(value, path):
        yield from _struct_problems(one, at, type_)


def _each(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """The value, or what is in the list; with places."""
    if isinstance(value, list):
        yield from ((f"{path}[{index}]", one) for index, one in enumerate(value))
    else:
        yield path, value


def _struct_problems(value: Manifest, path: str, type_: Type) -> Iterator[Problem]:
    for name, field in type_.fields.items():
        yield from _field_problems(value.get(name), f"{path}.{name}", field)
