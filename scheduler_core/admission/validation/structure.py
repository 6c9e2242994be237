"""What even an object of a running cluster must satisfy before the scheduler can work with it.

Its manifest is as it was sent: without nulls, but not read by the schema.
"""

from __future__ import annotations

from collections.abc import Iterator

from scheduler_core.admission.context import Manifest, Problem, invalid, required
from scheduler_core.admission.validation import formats
from scheduler_core.admission.validation.formats import NOT_NEGATIVE, named
from scheduler_core.admission.validation.metadata import name_problems
from scheduler_core.api.manifests import CLASSES
from scheduler_core.api.quantity import parse


def structural_problems(manifest: Manifest, kind: str) -> list[Problem]:
    """A proper name, and no negative quantities."""
    problems = list(_names(manifest["metadata"], kind))
    spec, status = manifest.get("spec") or {}, manifest.get("status") or {}
    if kind == "Node":
        for field in ("allocatable", "capacity"):
            problems += _quantities(f"status.{field}", status.get(field) or {})
    elif kind == "Pod":
        for field in ("containers", "initContainers"):
            for index, container in enumerate(spec.get(field) or ()):
                resources = container.get("resources") or {}
                for part in ("requests", "limits"):
                    problems += _quantities(f"spec.{field}[{index}].resources.{part}", resources.get(part) or {})
        problems += _quantities("spec.overhead", spec.get("overhead") or {})
    return problems


def _names(metadata: Manifest, kind: str) -> Iterator[Problem]:
    name, namespace = metadata.get("name", ""), metadata.get("namespace", "")
    if not name:
        yield required("metadata.name", "name or generateName is required")
    else:
        yield from named("metadata.name", name, name_problems(kind, name))
    if not CLASSES[kind].namespaced:
        if namespace:
            yield invalid("metadata.namespace", namespace, "not allowed on this type")
    elif not namespace:
        yield required("metadata.namespace")
    else:
        yield from named("metadata.namespace", namespace, formats.label(namespace))


def _quantities(path: str, quantities: Manifest) -> Iterator[Problem]:
    for name, value in quantities.items():
        yield from named(f"{path}[{name}]", name, formats.qualified(name))
        amount = parse(value)
        if amount.nano < 0:
            yield invalid(f"{path}[{name}]", str(amount), NOT_NEGATIVE)
