"""A selector: whether a device of a driver, with its attributes and capacity, is wanted.

Source: kubernetes v1.34.1, staging/src/k8s.io/dynamic-resource-allocation/cel/compile.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from scheduler_core.api import quantity as quantities
from scheduler_core.api.resource_claims import Device, DeviceAttribute
from scheduler_core.cel import FAILED, compiled, library, semver
from scheduler_core.cel.declarations import STORED
from scheduler_core.cel.evaluation import Compiler
from scheduler_core.cel.parsing import UnknownSyntaxError
from scheduler_core.cel.runs import CostError, Run, Step
from scheduler_core.cel.semver import SemverError
from scheduler_core.cel.values import EvaluationError, Map, type_name

__all__ = ["CompileError", "Selector", "SelectorError", "compile_selector", "device_value", "library"]

_EMPTY: Final = Map()
# What types call themselves where they cannot be converted.
_NAMED: Final = {
    "double": "Double", "bytes": "Bytes", "list": "list", "map": "map", "kubernetes.Quantity": "'Quantity'",
    "kubernetes.Semver": "'Semver'",
}  # fmt: skip


class CompileError(ValueError):
    """The text is no selector; the words are the API server's."""


class SelectorError(ValueError):
    """The selector cannot say whether it wants the device."""


class Selector:
    """A compiled expression."""

    __slots__ = ("_step",)

    def __init__(self, step: Step) -> None:
        self._step = step

    def accepts(self, device: Map) -> bool:
        """Whether the device, as `device_value` makes it, is wanted. SelectorError when that fails."""
        try:
            result = self._step(Run({"device": device}))
        except (EvaluationError, CostError) as error:
            raise SelectorError(f"CEL runtime error: {error}") from error
        except RecursionError as error:
            raise SelectorError("CEL runtime error: the expression is nested too deeply") from error
        if type(result) is not bool:
            kind = type_name(result)
            told = f"unsupported native conversion from {kind} to 'bool'" if kind == "string" else _no_bool(kind)
            raise SelectorError(f"CEL runtime error: CEL result of type {kind} could not be converted to bool: {told}")
        return result


@lru_cache(maxsize=1024)
def compile_selector(text: str) -> Selector:
    """CompileError when the text is none."""
    try:
        found = compiled(text, STORED)
        if found.problem or found.node is None or found.checked is None:
            raise CompileError(f"CEL compile error: {found.problem}")
        return Selector(Compiler(found.checked).step(found.node))
    except (UnknownSyntaxError, RecursionError) as error:
        raise CompileError(f"CEL compile error: {FAILED}this expression cannot be evaluated here") from error


def device_value(driver: str, device: Device) -> Map:
    """The variable `device`. SelectorError when an attribute has no value that can be used."""
    attributes: dict[str, dict[str, Any]] = {}
    for name, attribute in (device.attributes or {}).items():
        domain, identifier = _qualified(name, driver)
        attributes.setdefault(domain, {})[identifier] = _attribute_value(name, attribute)
    capacity: dict[str, dict[str, Any]] = {}
    for name, amount in (device.capacity or {}).items():
        domain, identifier = _qualified(name, driver)
        capacity.setdefault(domain, {})[identifier] = quantities.parse(amount.get("value", "0"))
    fields = {"driver": driver, "attributes": _domains(attributes), "capacity": _domains(capacity)}
    return Map(fields.items())


def _domains(found: Mapping[str, Mapping[str, Any]]) -> Map:
    return Map(((domain, Map(values.items())) for domain, values in found.items()), missing=_EMPTY)


def _qualified(name: str, driver: str) -> tuple[str, str]:
    domain, slash, identifier = name.partition("/")
    return (domain, identifier) if slash else (driver, name)


def _attribute_value(name: str, attribute: DeviceAttribute) -> Any:
    if attribute.int_value is not None:
        return attribute.int_value
    if attribute.bool_value is not None:
        return attribute.bool_value
    if attribute.string_value is not None:
        return attribute.string_value
    if attribute.version_value is None:
        raise SelectorError(f"CEL runtime error: attribute {name}: unsupported attribute value")
    try:
        return semver.parse(attribute.version_value)
    except SemverError as error:
        raise SelectorError(f"CEL runtime error: attribute {name}: parse semantic version: {error}") from error


def _no_bool(kind: str) -> str:
    named = _NAMED.get(kind, f"'{kind}'")
    if kind in ("int", "uint"):
        return f"unsupported type conversion from {named} to bool"
    return f"type conversion error from {named} to 'bool'"
