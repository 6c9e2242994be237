"""Rules in CEL that a schema has for its values (x-kubernetes-validations): their form, and what they say of a value.

The types of fields are told when a rule is evaluated, not before, and what a rule may cost is not estimated. Rules that
are not read here hold of every value.

Source: kubernetes v1.34.1, staging/src/k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, Final

from scheduler_core.admission.context import Problem, forbidden, invalid, required, unsupported
from scheduler_core.admission.custom import structural
from scheduler_core.admission.custom.structural import Schema
from scheduler_core.api.go_values import json_quoted
from scheduler_core.cel.expressions import (
    CostError,
    EvaluationError,
    Expression,
    ExpressionError,
    UnknownSyntaxError,
    compile_expression,
)
from scheduler_core.cel.times import TimeError, parse_duration, parse_moment
from scheduler_core.cel.values import NONE, Map, Optional

RULES: Final = "x-kubernetes-validations"
_BUDGET: Final = 10_000_000
_REASONS: Final = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")
_OUT_OF_BUDGET: Final = "validation failed due to running out of cost budget, no further validation rules will be run"
_RESERVED: Final = frozenset(
    {
        "true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if", "import",
        "let", "loop", "package", "namespace", "return",
    }
)  # fmt: skip
_ESCAPED: Final = (("__", "__underscores__"), (".", "__dot__"), ("-", "__dash__"), ("/", "__slash__"))
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_ABSENT: Final = object()


def rule_problems(schema: Schema, path: str, *, correlates: bool = True) -> Iterator[Problem]:
    """What is wrong with the rules of a schema and of all in it. `correlates`: the value before is known."""
    for index, rule in enumerate(schema.get(RULES) or ()):
        place = f"{path}.{RULES}[{index}]"
        told = list(_form_problems(rule, place))
        yield from told or _text_problems(rule, place, path, correlates=correlates)
    for name, each in (schema.get("properties") or {}).items():
        below = correlates and schema.get("x-kubernetes-map-type") != "atomic"
        yield from rule_problems(each, f"{path}.properties[{name}]", correlates=below)
    more, items = schema.get("additionalProperties"), structural.of_item(schema)
    if isinstance(more, Mapping):
        yield from rule_problems(more, f"{path}.additionalProperties", correlates=correlates)
    if items is not None:
        below = correlates and schema.get("x-kubernetes-list-type") == "map"
        yield from rule_problems(items, f"{path}.items", correlates=below)


def unread_rules(schema: Schema) -> Iterator[str]:
    """The rules of a schema that nobody evaluates here."""
    for rule in schema.get(RULES) or ():
        for text, wanted in ((rule["rule"], "bool"), (rule.get("messageExpression") or '""', "string")):
            if _compiled(text, wanted) is None:
                yield rule["rule"]
                break
    for each in (
        *(schema.get("properties") or {}).values(), schema.get("additionalProperties"), structural.of_item(schema),
    ):  # fmt: skip
        if isinstance(each, Mapping):
            yield from unread_rules(each)


def has_rules(schema: Schema) -> bool:
    """Whether the schema, or one inside of it, has rules."""
    below = (
        *(schema.get("properties") or {}).values(), schema.get("additionalProperties"), structural.of_item(schema),
    )  # fmt: skip
    return bool(schema.get(RULES)) or any(isinstance(each, Mapping) and has_rules(each) for each in below)


def _form_problems(rule: Mapping[str, Any], path: str) -> Iterator[Problem]:
    text, message = rule["rule"].strip(), (rule.get("message") or "").strip()
    if not text:
        yield required(f"{path}.rule", "rule is not specified")
    elif rule.get("message") and not message:
        yield invalid(f"{path}.message", rule["message"], "must be non-empty if specified")
    elif _has_lines(message):
        yield invalid(f"{path}.message", rule["message"], "must not contain line breaks")
    elif _has_lines(text) and not message:
        yield required(f"{path}.message", "message must be specified if rule contains line breaks")
    if rule.get("messageExpression") and not rule["messageExpression"].strip():
        yield required(f"{path}.messageExpression", "messageExpression must be non-empty if specified")
    if rule.get("reason") is not None and rule["reason"] not in _REASONS:
        yield unsupported(f"{path}.reason", rule["reason"], _REASONS)
    place = rule.get("fieldPath") or ""
    if place and not place.strip():
        yield invalid(f"{path}.fieldPath", place, "must be non-empty if specified")
    if _has_lines(place):
        yield invalid(f"{path}.fieldPath", place, "must not contain line breaks")


def _text_problems(rule: Mapping[str, Any], path: str, schema_path: str, *, correlates: bool) -> Iterator[Problem]:
    shown = dict(rule)
    found: Expression | None = None
    for field, wanted, word in (
        ("rule", "bool", "cel expression"),
        ("messageExpression", "string", "messageExpression"),
    ):
        if not rule.get(field):
            continue
        try:
            made = compile_expression(rule[field], wanted)
            found = made if field == "rule" else found
        except UnknownSyntaxError:
            continue
        except ExpressionError as error:
            told = f"{word} {error}" if str(error).startswith("must") else str(error)
            yield invalid(f"{path}.{field}", shown, told)
    if found is None:
        return
    if found.uses_old and not correlates:
        detail = f"oldSelf cannot be used on the uncorrelatable portion of the schema within {schema_path}"
        yield invalid(f"{path}.rule", rule["rule"], detail)
    elif not found.uses_old and rule.get("optionalOldSelf") is not None:
        detail = "may not be set if oldSelf is not used in rule"
        yield invalid(f"{path}.optionalOldSelf", rule["optionalOldSelf"], detail)


def _has_lines(text: str) -> bool:
    return "\n" in text or "\r" in text


def _compiled(text: str, wanted: str) -> Expression | None:
    try:
        return compile_expression(text, wanted)
    except (ExpressionError, UnknownSyntaxError):
        return None


class Rules:
    """What the rules of a schema say of one value, and of the one before it."""

    def __init__(self) -> None:
        self._left = _BUDGET

    def problems(self, value: Any, old: Any, schema: Schema, path: str = "") -> Iterator[Problem]:
        """The problems of a value in place of an old one; ABSENT where there is none to compare it with."""
        if value is None:
            return
        if schema.get(RULES):
            yield from self._of_node(value, old, schema, path)
        if isinstance(value, Mapping):
            is_whole = schema.get("x-kubernetes-map-type") == "atomic"
            for name, each in value.items():
                below, _ = structural.of_field(schema, name)
                if below is not None:
                    is_known = isinstance(old, Mapping) and not is_whole
                    before = old.get(name, _ABSENT) if is_known else _ABSENT
                    is_field = name in (schema.get("properties") or {})
                    place = f"{path}.{name}".removeprefix(".") if is_field else f"{path}[{name}]"
                    yield from self.problems(each, before, below, place)
        items = structural.of_item(schema)
        if isinstance(value, list) and items is not None:
            for index, each in enumerate(value):
                yield from self.problems(each, _correlated(each, old, schema), items, f"{path}[{index}]")

    def _of_node(self, value: Any, old: Any, schema: Schema, path: str) -> Iterator[Problem]:
        made, before = cel_value(value, schema), None if old in (None, _ABSENT) else cel_value(old, schema)
        for rule in schema[RULES]:
            condition = _compiled(rule["rule"], "bool")
            if condition is None or (condition.uses_old and before is None and not rule.get("optionalOldSelf")):
                continue
            if self._left <= 0:
                yield invalid(path or "<nil>", schema.get("type", ""), _OUT_OF_BUDGET)
                return
            was = before if not rule.get("optionalOldSelf") else NONE if before is None else Optional(True, before)
            told = (rule.get("message") or "").strip() or rule["rule"].strip()
            try:
                holds, cost = condition.value({"self": made, "oldSelf": was})
                self._left -= cost
            except CostError as error:
                end = "no further validation rules will be run due to call cost exceeds limit for rule"
                detail = f"'{error}': {end}: {told}"
                self._left = 0
                yield invalid(path or "<nil>", schema.get("type", ""), detail)
                return
            except EvaluationError as error:
                detail = f"{error} evaluating rule: {told}"
                if str(error).startswith("no such overload"):
                    detail = (
                        f"'{error}': call arguments did not match a supported operator, function or macro signature for"
                        f" rule: {told}"
                    )
                yield invalid(path or "<nil>", schema.get("type", ""), detail)
                continue
            if holds is True:
                continue
            yield _broken(rule, self._message(rule, made, was), schema, f"{path}{rule.get('fieldPath') or ''}")

    def _message(self, rule: Mapping[str, Any], made: Any, was: Any) -> str:
        text = rule.get("messageExpression")
        expression = _compiled(text, "string") if text else None
        if expression is not None:
            with suppress(EvaluationError, CostError):
                found, cost = expression.value({"self": made, "oldSelf": was})
                self._left -= cost
                if isinstance(found, str) and found.strip() and not _has_lines(found):
                    return found.strip()
        return (rule.get("message") or "").strip() or f"failed rule: {rule['rule'].strip()}"


ABSENT: Final = _ABSENT


def _broken(rule: Mapping[str, Any], message: str, schema: Schema, path: str) -> Problem:
    place, kind = path.removeprefix(".") or "<nil>", schema.get("type", "")
    match rule.get("reason"):
        case "FieldValueForbidden":
            return forbidden(place, message)
        case "FieldValueRequired":
            return required(place, message)
        case "FieldValueDuplicate":
            return Problem(place, f"Duplicate value: {json_quoted(kind)}")
    return invalid(place, kind, message)


def _correlated(item: Any, old: Any, schema: Schema) -> Any:
    """The item of the old list that this one was: one with the same keys."""
    keys = schema.get("x-kubernetes-list-map-keys") or ()
    if schema.get("x-kubernetes-list-type") != "map" or not isinstance(old, list) or not isinstance(item, Mapping):
        return _ABSENT
    wanted = [item.get(key) for key in keys]
    found = (each for each in old if isinstance(each, Mapping) and [each.get(key) for key in keys] == wanted)
    return next(found, _ABSENT)


def cel_value(value: Any, schema: Schema | None) -> Any:
    """A value as rules see it: fields by their escaped names, times and durations as such."""
    known = schema or {}
    if isinstance(value, Mapping):
        properties = known.get("properties") or {}
        return Map((_escaped(name) if name in properties or not known.get("additionalProperties") else name,
                    cel_value(each, structural.of_field(schema, name)[0])) for name, each in value.items())  # fmt: skip
    if isinstance(value, list):
        items = structural.of_item(schema)
        return tuple(cel_value(each, items) for each in value)
    if isinstance(value, str):
        return _text_value(value, known.get("format", ""))
    if isinstance(value, int) and not isinstance(value, bool) and known.get("type") == "number":
        return float(value)
    if isinstance(value, float) and known.get("type") == "integer" and value.is_integer():
        return int(value)
    return value


def _text_value(text: str, form: str) -> Any:
    with suppress(TimeError, binascii.Error, ValueError):
        if form in ("date-time", "datetime"):
            return parse_moment(text)
        if form == "date":
            return parse_moment(f"{text}T00:00:00Z")
        if form == "duration":
            return parse_duration(text)
        if form == "byte":
            return base64.b64decode(text, validate=True)
    return text


def _escaped(name: str) -> str:
    if name in _RESERVED:
        return f"__{name}__"
    if _NAME.fullmatch(name) and "__" not in name:
        return name
    for sign, word in _ESCAPED:
        name = name.replace(sign, word)
    return name
