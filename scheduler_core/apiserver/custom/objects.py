"""Objects of kinds that a cluster defines: read in a version, shown in one, and checked.

They are stored in one version. Versions differ in their schemas alone: what is stored is shown in another as that one's
schema has it.
Source: kubernetes v1.34.1, staging/src/k8s.io/apiextensions-apiserver/pkg/{apiserver,registry/customresource}.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from scheduler_core.admission.context import Problem, invalid, refuse, required
from scheduler_core.admission.custom import structural
from scheduler_core.admission.custom.rules import ABSENT, Rules
from scheduler_core.admission.custom.values import NOT_ASKED, is_blocking, repeated
from scheduler_core.admission.validation.metadata import metadata_problems, metadata_update_problems
from scheduler_core.api.syntax import qualified_name_problems
from scheduler_core.apiserver.custom.definitions import Definition, Version
from scheduler_core.apiserver.store import Stored
from scheduler_core.errors import ManifestError

_MOST_REPLICAS: Final = 2**31 - 1
_STANDARD_FINALIZERS: Final = frozenset({"orphan", "foregroundDeletion", "kubernetes"})


def read_in(manifest: Mapping[str, Any], version: Version) -> tuple[Stored, list[str]]:
    """(the object as it is in a version, fields that this does not have). CoercionError."""
    nested = version.schema if version.holds_objects else None
    coerced, unknown = structural.coerced(dict(manifest), nested)
    found, others = structural.pruned(coerced, version.schema)
    structural.complete(found, version.schema)
    return found, sorted([*unknown, *others])


def view(stored: Stored, version: Version) -> Stored:
    """A stored object as clients of a version see it."""
    found, _ = structural.pruned(stored, version.schema)
    structural.complete(found, version.schema)
    return {**found, "apiVersion": version.api_version}


def stored_form(manifest: Stored, definition: Definition) -> Stored:
    """The object in the version in which it is stored."""
    return {**manifest, "apiVersion": definition.stored_in.api_version}


def accept_existing(manifest: Mapping[str, Any], definition: Definition) -> Stored:
    """An object of a cluster as it is, without resourceVersion and managedFields. ManifestError, AdmissionError."""
    try:
        found, _ = structural.coerced(dict(manifest), None)
    except structural.CoercionError as error:
        raise ManifestError("", str(error)) from None
    dropped = ("resourceVersion", "managedFields", "selfLink")
    metadata = {name: each for name, each in found["metadata"].items() if name not in dropped}
    accepted = stored_form({**found, "metadata": metadata}, definition)
    refuse(_metadata_problems(accepted, None, definition))
    return accepted


def problems(new: Stored, old: Stored | None, definition: Definition, version: Version) -> list[Problem]:
    """What is wrong with an object that is new, or that replaces another; both in the same version."""
    wrong = list(_type_problems(new, definition, version))
    if wrong:
        return wrong
    found = list(_metadata_problems(new, old, definition))
    found += _that_count(version.validator.problems(new), new, old, version)
    found += _scale_problems(new, version, parts=("spec", "status"))
    found += _embedded_problems(new, version)
    again = list(repeated(new, version.schema))
    if again and (old is None or not any(repeated(old, version.schema))):
        found += again
    return [*found, *_rule_problems(found, new, old, version)]


def status_problems(new: Stored, old: Stored, definition: Definition, version: Version) -> list[Problem]:
    """What is wrong with a new status."""
    wrong = list(_type_problems(new, definition, version))
    if wrong:
        return wrong
    found = list(_metadata_problems(new, old, definition))
    if "status" in new:
        found += _that_count(version.status_validator.problems(new["status"], "status"), new, old, version)
    found += _scale_problems(new, version, parts=("status",))
    again = list(repeated(new, version.schema))
    if again and not any(repeated(old, version.schema)):
        found += again
    return [*found, *_rule_problems(found, new, old, version)]


def finalizer_warnings(new: Stored, old: Stored | None) -> Iterator[str]:
    """Of finalizers whose names others may have too."""
    before = set((old or {"metadata": {}})["metadata"].get("finalizers") or ())
    for name in sorted(set(new["metadata"].get("finalizers") or ()) - before):
        for problem in qualified_name_problems(name):
            yield f'metadata.finalizers: "{name}": {problem}'
        if "/" not in name and name not in _STANDARD_FINALIZERS:
            path = " including a path (/)" if "." in name else ""
            advice = (
                f"prefer a domain-qualified finalizer name{path} to avoid accidental conflicts with other finalizer"
            )
            yield f'metadata.finalizers: "{name}": {advice} writers'


def value_at(manifest: Mapping[str, Any], path: str) -> Any:
    """The value at `.spec.replicas`; None where there is none."""
    found: Any = manifest
    for step in path.removeprefix(".").split("."):
        found = found.get(step) if isinstance(found, Mapping) else None
    return found


def _type_problems(new: Stored, definition: Definition, version: Version) -> Iterator[Problem]:
    for field, wanted in (("kind", definition.names["kind"]), ("apiVersion", version.api_version)):
        if new.get(field) != wanted:
            yield invalid(field, new.get(field) or "", f"must be {wanted}")


def _metadata_problems(new: Stored, old: Stored | None, definition: Definition) -> Iterator[Problem]:
    yield from metadata_problems(new, definition.kind, any_name=old is not None, namespaced=definition.namespaced)
    if old is not None:
        yield from metadata_update_problems(new["metadata"], old["metadata"])


def _that_count(found: Sequence[Problem], new: Stored, old: Stored | None, version: Version) -> list[Problem]:
    """Without what an object had wrong already, at places that are as they were."""
    if old is None:
        return list(found)
    return [each for each in found if not _is_as_it_was(each.path, new, old, version.schema)]


def _is_as_it_was(path: str, new: Any, old: Any, schema: structural.Schema | None) -> bool:
    for step in _steps(path):
        if new == old:
            return True
        if isinstance(step, int):
            keys = (schema or {}).get("x-kubernetes-list-map-keys") or ()
            if not isinstance(new, list) or not isinstance(old, list) or not keys or step >= len(new):
                return False
            wanted = [new[step].get(key) for key in keys] if isinstance(new[step], Mapping) else None
            old = next((o for o in old if isinstance(o, Mapping) and [o.get(key) for key in keys] == wanted), ABSENT)
            new, schema = new[step], structural.of_item(schema)
        else:
            if not isinstance(new, Mapping) or not isinstance(old, Mapping) or step not in new:
                return bool(new == old)
            new, old, schema = new[step], old.get(step, ABSENT), structural.of_field(schema, step)[0]
    return bool(new == old)


def _steps(path: str) -> Iterator[str | int]:
    for part in path.split("."):
        name, *indices = part.split("[")
        if name:
            yield name
        for index in indices:
            number = index.rstrip("]")
            yield int(number) if number.isdigit() else number


def _scale_problems(new: Stored, version: Version, *, parts: Sequence[str]) -> Iterator[Problem]:
    if version.scale is None:
        return
    for part in parts:
        path = version.scale[f"{part}ReplicasPath"]
        found = value_at(new, path)
        if found is None:
            continue
        if not isinstance(found, int) or isinstance(found, bool):
            kind = "string" if isinstance(found, str) else "float64" if isinstance(found, float) else "unexpected type"
            yield invalid(path, 0, f"{path} accessor error: {found} is of the type {kind}, expected int64")
        elif found < 0:
            yield invalid(path, found, "should be a non-negative integer")
        elif found > _MOST_REPLICAS:
            yield invalid(path, found, f"should be less than or equal to {_MOST_REPLICAS}")
    selector = version.scale.get("labelSelectorPath")
    found = value_at(new, selector) if selector and "status" in parts else None
    if found is not None and not isinstance(found, str):
        yield invalid(selector or "", "", f"{selector} accessor error: {found} is not of the type string")


def _embedded_problems(new: Stored, version: Version) -> Iterator[Problem]:
    """Of objects inside of it: each says what it is."""
    if not version.holds_objects:
        return
    for path, value in structural.embedded_objects(new, version.schema):
        if path:
            yield from (
                required(f"{path}.{name}", "must not be empty")
                for name in ("apiVersion", "kind")
                if not value.get(name)
            )


def _rule_problems(found: Sequence[Problem], new: Stored, old: Stored | None, version: Version) -> Iterator[Problem]:
    if not version.has_rules:
        return
    if any(map(is_blocking, found)):
        yield NOT_ASKED
        return
    yield from Rules().problems(new, ABSENT if old is None else old, version.schema)
