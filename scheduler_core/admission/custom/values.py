"""Whether values fit their schema, in the words of the API server: jsonschema finds what kube-openapi would tell.

Source: kubernetes v1.34.1, staging/src/k8s.io/apiextensions-apiserver/pkg/apiserver/validation; kube-openapi,
pkg/validation/{validate,errors,strfmt}.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import re2
from jsonschema import Draft4Validator, ValidationError
from jsonschema.validators import extend

from scheduler_core.admission.context import Problem, invalid, required, too_long, too_many, unsupported
from scheduler_core.admission.custom.formats import FORMATS
from scheduler_core.admission.custom.structural import INT_OR_STRING, Schema
from scheduler_core.api.go_values import json_quoted
from scheduler_core.api.schema.problems import json_kind
from scheduler_core.lru import LruDict

_MOST_PATTERNS: Final = 512
_options = re2.Options()
_options.log_errors = False
_patterns: LruDict[str, Any] = LruDict(_MOST_PATTERNS)


class Validator:
    """Checks values against one schema."""

    def __init__(self, schema: Schema) -> None:
        self._validator = _Validator(schema)

    def problems(self, value: Any, path: str = "") -> list[Problem]:
        """What does not fit, ordered by place."""
        found = list(_told(self._validator.iter_errors(value), path))
        return sorted(found, key=lambda each: (each.path, each.detail))


def pattern_problem(pattern: str) -> str:
    """What is wrong with a regular expression; empty when nothing is."""
    try:
        _compiled(pattern)
    except re2.error as error:
        return str(error.args[0].decode() if isinstance(error.args[0], bytes) else error)
    return ""


def unfit_type(value: Any, schema: Schema) -> str:
    """The types that a value should be of, where it is of none of them."""
    types = ["integer", "string"] if schema.get(INT_OR_STRING) else [schema["type"]] if schema.get("type") else []
    if not types or (value is None and schema.get("nullable")):
        return ""
    return "" if any(_is_of(value, each) for each in types) else ",".join(types)


def _is_of(value: Any, name: str) -> bool:
    if isinstance(value, bool):
        return name == "boolean"
    if isinstance(value, int):
        return name in ("integer", "number")
    if isinstance(value, float):
        return name == "number" or (name == "integer" and value.is_integer())
    kinds: tuple[tuple[Any, str], ...] = ((str, "string"), (list, "array"), (Mapping, "object"))
    return any(isinstance(value, kind) and name == found for kind, found in kinds)


def _compiled(pattern: str) -> Any:
    known = _patterns.get(pattern)
    if known is None:
        known = _patterns[pattern] = re2.compile(pattern, _options)
    return known


_Found = Iterator[ValidationError]


def _types(validator: Any, wanted: Any, value: Any, schema: Schema) -> _Found:
    told = unfit_type(value, schema)
    if told:
        yield ValidationError(told)


def _int_or_string(validator: Any, wanted: Any, value: Any, schema: Schema) -> _Found:
    if wanted and "type" not in schema:
        yield from _types(validator, wanted, value, schema)


def _pattern(validator: Any, pattern: str, value: Any, schema: Schema) -> _Found:
    if isinstance(value, str):
        try:
            is_match = _compiled(pattern).search(value) is not None
        except re2.error:
            return  # was refused where the definition is new
        if not is_match:
            yield ValidationError(pattern)


def _format(validator: Any, name: str, value: Any, schema: Schema) -> _Found:
    check = FORMATS.get(name.replace("-", ""))
    if check is not None and isinstance(value, str) and not check(value):
        yield ValidationError(name)


def _required(validator: Any, names: Sequence[str], value: Any, schema: Schema) -> _Found:
    if isinstance(value, Mapping):
        yield from (ValidationError(name) for name in names if name not in value)


def _enum(validator: Any, values: Sequence[Any], value: Any, schema: Schema) -> _Found:
    if value is None or not any(_same(value, each) for each in values):
        yield ValidationError("")


def _same(one: Any, other: Any) -> bool:
    return bool(one == other) and isinstance(one, bool) == isinstance(other, bool)


def _all_of(validator: Any, schemas: Sequence[Schema], value: Any, schema: Schema) -> _Found:
    found = [list(validator.descend(value, each)) for each in schemas] if value is not None else []
    if any(found):
        yield ValidationError("must validate all the schemas (allOf)")
        for each in found:
            yield from each


def _any_of(validator: Any, schemas: Sequence[Schema], value: Any, schema: Schema) -> _Found:
    found = [list(validator.descend(value, each)) for each in schemas] if value is not None else []
    if found and all(found):
        yield ValidationError("must validate at least one schema (anyOf)")
        yield from min(found, key=len)


def _one_of(validator: Any, schemas: Sequence[Schema], value: Any, schema: Schema) -> _Found:
    found = [list(validator.descend(value, each)) for each in schemas] if value is not None else []
    fitting = sum(not each for each in found)
    if found and fitting != 1:
        told = "Found none valid" if not fitting else f"Found {fitting} valid alternatives"
        yield ValidationError(f"must validate one and only one schema (oneOf). {told}")
        if not fitting:
            yield from min(found, key=len)


def _not(validator: Any, unwanted: Schema, value: Any, schema: Schema) -> _Found:
    if value is not None and next(validator.descend(value, unwanted), None) is None:
        yield ValidationError("must not validate the schema (not)")


def _fields(validator: Any, properties: Mapping[str, Schema], value: Any, schema: Schema) -> _Found:
    if isinstance(value, Mapping):
        for name, below in properties.items():
            if name in value:
                yield from validator.descend(value[name], below, path=name)


def _other_fields(validator: Any, below: Any, value: Any, schema: Schema) -> _Found:
    if isinstance(value, Mapping) and isinstance(below, Mapping):
        known = schema.get("properties") or {}
        for name, each in value.items():
            if name not in known:
                yield from validator.descend(each, below, path=name)


def _multiple(validator: Any, factor: float, value: Any, schema: Schema) -> _Found:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if is_number and factor > 0 and not (value / factor).is_integer():
        yield ValidationError("")


def _unasked(validator: Any, wanted: Any, value: Any, schema: Schema) -> _Found:
    return iter(())


_Validator: Final = extend(
    Draft4Validator,
    {
        "type": _types, INT_OR_STRING: _int_or_string, "pattern": _pattern, "format": _format, "enum": _enum,
        "required": _required,
        "allOf": _all_of, "anyOf": _any_of, "oneOf": _one_of, "not": _not, "properties": _fields,
        "additionalProperties": _other_fields, "multipleOf": _multiple,
        **dict.fromkeys(("dependencies", "patternProperties", "additionalItems", "$ref", "uniqueItems"), _unasked),
    },
)  # fmt: skip


def _told(errors: Iterator[ValidationError], path: str) -> Iterator[Problem]:
    for error in errors:
        steps = [f"[{step}]" if isinstance(step, int) else f".{step}" for step in error.absolute_path]
        place = f"{path}{''.join(steps)}".removeprefix(".")
        keyword = str(error.validator)
        if keyword in _TELLERS:
            yield _TELLERS[keyword](place, error)
        elif keyword == "required":
            yield required(f"{place}.{error.message}".removeprefix("."))
        elif keyword == "enum":
            values = [each if isinstance(each, str) else json_quoted(each) for each in error.validator_value]
            yield unsupported(place, error.instance, values)
        elif keyword in _COMBINED:
            yield invalid("<nil>", "", f'"{place}" {error.message}')
        elif keyword in _WORDS:
            yield invalid(place, error.instance, f"{place} in body {_WORDS[keyword](error)}")


def _unfit(place: str, error: ValidationError) -> Problem:
    found = "null" if error.instance is None else _TYPE_NAMES.get(json_kind(error.instance, ""), "") or _of(error)
    return invalid(place, found, f'{place} in body must be of type {error.message}: "{found}"')


_TYPE_NAMES: Final = {"bool": "boolean", "string": "string", "array": "array", "object": "object"}


def _of(error: ValidationError) -> str:
    return "integer" if isinstance(error.instance, int) else "number"


def _misformed(place: str, error: ValidationError) -> Problem:
    told = f"{place} in body must be of type {error.message}: {json_quoted(error.instance)}"
    return invalid(place, error.instance, told)


_COMBINED: Final = ("allOf", "anyOf", "oneOf", "not")
_TELLERS: Final[dict[str, Callable[[str, ValidationError], Problem]]] = {
    "type": _unfit,
    INT_OR_STRING: _unfit,
    "format": _misformed,
    "maxLength": lambda place, error: too_long(place, int(error.validator_value)),
    "maxItems": lambda place, error: too_many(place, len(error.instance), int(error.validator_value)),
    "maxProperties": lambda place, error: too_many(place, len(error.instance), int(error.validator_value)),
}


def _bound(word: str, exclusive: str) -> Callable[[ValidationError], str]:
    def told(error: ValidationError) -> str:
        equal = "" if error.schema.get(exclusive) else " or equal to"
        return f"should be {word} than{equal} {json_quoted(error.validator_value)}"

    return told


_WORDS: Final[dict[str, Callable[[ValidationError], str]]] = {
    "minimum": _bound("greater", "exclusiveMinimum"),
    "maximum": _bound("less", "exclusiveMaximum"),
    "multipleOf": lambda error: f"should be a multiple of {json_quoted(error.validator_value)}",
    "minLength": lambda error: f"should be at least {error.validator_value} chars long",
    "minItems": lambda error: f"should have at least {error.validator_value} items",
    "minProperties": lambda error: f"should have at least {error.validator_value} properties",
    "pattern": lambda error: f"should match '{error.validator_value}'",
}


def repeated(value: Any, schema: Schema | None, path: str = "") -> Iterator[Problem]:
    """Items of sets, and keys of lists that are maps, which stand there again."""
    if schema is None:
        return
    if isinstance(value, Mapping):
        known, more = schema.get("properties") or {}, schema.get("additionalProperties")
        for name, each in value.items():
            if name in known:
                yield from repeated(each, known[name], f"{path}.{name}" if path else name)
            elif isinstance(more, Mapping):
                yield from repeated(each, more, f"{path}[{name}]")
    elif isinstance(value, list):
        kind, keys = schema.get("x-kubernetes-list-type"), schema.get("x-kubernetes-list-map-keys") or ()
        if kind == "set":
            yield from _again(value, path)
        elif kind == "map":
            for index, each in enumerate(value):
                if each is not None and not isinstance(each, Mapping):
                    yield invalid(f"{path}[{index}]", each, "must be an object for an array of list-type map")
                    return
            yield from _again([{key: (each or {})[key] for key in keys if key in (each or {})} for each in value], path)
        items = schema.get("items")
        if isinstance(items, Mapping):
            for index, each in enumerate(value):
                yield from repeated(each, items, f"{path}[{index}]")


def _again(values: Sequence[Any], path: str) -> Iterator[Problem]:
    """What stands there a second time; a third time is not told."""
    seen: dict[str, int] = {}
    for index, each in enumerate(values):
        text = json_quoted(dict(sorted(each.items())) if isinstance(each, dict) else each)
        seen[text] = seen.get(text, 0) + 1
        if seen[text] == 2:
            yield Problem(f"{path}[{index}]", f"Duplicate value: {text}")


def is_blocking(problem: Problem) -> bool:
    """Whether rules in CEL are not asked of an object with this problem."""
    return problem.detail.startswith(("Unsupported", "Required", "Too long", "Too many")) or (
        " in body must be of type " in problem.detail
    )


NOT_ASKED: Final = Problem(
    "<nil>",
    "Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing"
    " errors to complete validation",
)
