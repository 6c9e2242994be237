"""Rules in CEL that schemas have for their values: their form, and what they say."""

from __future__ import annotations

from typing import Any

from scheduler_core.admission.custom.rules import ABSENT, Rules, rule_problems
from tests.cases import cases

Schema = dict[str, Any]
RULES = "x-kubernetes-validations"
INTEGER, TEXT = {"type": "integer"}, {"type": "string"}


def ruled(*rules: str | dict[str, Any], **schema: Any) -> Schema:
    return {**schema, RULES: [{"rule": each} if isinstance(each, str) else each for each in rules]}


def of(name: str, schema: Schema) -> Schema:
    return {"type": "object", "properties": {name: schema}}


@cases(
    "schema, old, value, told",
    ("one that holds", ruled("self > 1", **INTEGER), None, 2, []),
    ("one that does not", ruled("self > 1", **INTEGER), None, 1,
     ['<nil>: Invalid value: "integer": failed rule: self > 1']),
    ("a message", ruled({"rule": "false", "message": "no"}, **TEXT), None, "a", ['<nil>: Invalid value: "string": no']),
    ("a message that is made", ruled({"rule": "false", "messageExpression": "'not ' + self"}, **TEXT), None, "a",
     ['<nil>: Invalid value: "string": not a']),
    ("one that cannot be made", ruled({"rule": "false", "message": "no", "messageExpression": "self[1]"}, **TEXT), None,
     "a", ['<nil>: Invalid value: "string": no']),
    ("a reason", of("a", ruled({"rule": "false", "message": "no", "reason": "FieldValueForbidden"}, **TEXT)), None,
     {"a": "b"}, ["a: Forbidden: no"]),
    ("a field that is missing", of("a", ruled({"rule": "has(self.b)", "reason": "FieldValueRequired", "message": "no",
     "fieldPath": ".b"}, **of("b", TEXT))), None, {"a": {}}, ["a.b: Required value: no"]),
    ("one with a key of a map", {"type": "object", "additionalProperties": ruled("self > 1", **INTEGER)}, None,
     {"x": 1, "y": 2}, ['[x]: Invalid value: "integer": failed rule: self > 1']),
    ("one with an item of a list", of("a", {"type": "array", "items": ruled("self > 1", **INTEGER)}), None,
     {"a": [2, 1]}, ['a[1]: Invalid value: "integer": failed rule: self > 1']),
    ("of what is not there", of("a", ruled("false", **TEXT)), None, {}, []),
    ("of a null", of("a", ruled("false", **TEXT)), None, {"a": None}, []),
    ("of a change", of("a", ruled("self >= oldSelf", **INTEGER)), {"a": 2}, {"a": 1},
     ['a: Invalid value: "integer": failed rule: self >= oldSelf']),
    ("of a creation", of("a", ruled("self >= oldSelf", **INTEGER)), None, {"a": 1}, []),
    ("of a creation, if asked", of("a", ruled({"rule": "oldSelf.hasValue()", "optionalOldSelf": True}, **INTEGER)),
     None, {"a": 1}, ['a: Invalid value: "integer": failed rule: oldSelf.hasValue()']),
    ("of an item with a key", of("a", {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys":
     ["k"], "items": ruled("self.v >= oldSelf.v", type="object", properties={"k": TEXT, "v": INTEGER})}),
     {"a": [{"k": "x", "v": 2}, {"k": "y", "v": 5}]}, {"a": [{"k": "y", "v": 4}, {"k": "x", "v": 2}]},
     ['a[0]: Invalid value: "object": failed rule: self.v >= oldSelf.v']),
    ("of an item without one", of("a", {"type": "array", "items": ruled("self >= oldSelf", **INTEGER)}), {"a": [2]},
     {"a": [1]}, []),
    ("an odd name", ruled("self.a__dash__b == 'x' && self.__if__ == 1", type="object", properties={"a-b": TEXT,
     "if": INTEGER}), None, {"a-b": "x", "if": 1}, []),
    ("a time", ruled("self > timestamp('2029-01-01T00:00:00Z')", type="string", format="date-time"), None,
     "2030-01-01T00:00:00Z", []),
    ("a duration", ruled("self < duration('2h')", type="string", format="duration"), None, "90m", []),
    ("a number is no whole one", ruled("self == 1.0", type="number"), None, 1, []),
    ("what it cannot do", ruled("self.a > 1", type="object", properties={"a": INTEGER}), None, {},
     ['<nil>: Invalid value: "object": no such key: a evaluating rule: self.a > 1']),
)  # fmt: skip
def test_rules_say_of_a_value(schema: Schema, old: Any, value: Any, told: list[str]) -> None:
    found = Rules().problems(value, ABSENT if old is None else old, schema)
    assert [f"{each.path}: {each.detail}" for each in found] == told


def test_rules_end_when_they_cost_too_much() -> None:
    schema = ruled("self.all(a, self.all(b, self.all(c, a + b + c >= 0)))", type="array", items=INTEGER)
    (told,) = Rules().problems(list(range(1000)), ABSENT, schema)
    assert "no further validation rules will be run" in told.detail


@cases(
    "rule, told",
    ("none", " ", ["s.x-kubernetes-validations[0].rule: Required value: rule is not specified"]),
    ("no truth", "1 + 1", ["s.x-kubernetes-validations[0].rule: Invalid value"]),
    ("what cannot be read", "self.", ["s.x-kubernetes-validations[0].rule: Invalid value"]),
    ("lines without a message", "self == 1 &&\\ntrue".replace("\\n", "\n"),
     ["s.x-kubernetes-validations[0].message: Required value: message must be specified if rule contains line breaks"]),
    ("an empty message", {"rule": "true", "message": " "},
     ["s.x-kubernetes-validations[0].message: Invalid value: \" \": must be non-empty if specified"]),
    ("a reason that there is not", {"rule": "true", "reason": "Why"},
     ["s.x-kubernetes-validations[0].reason: Unsupported value"]),
    ("a message that is no text", {"rule": "true", "messageExpression": "1"},
     ["s.x-kubernetes-validations[0].messageExpression: Invalid value"]),
    ("what was, without asking for it", {"rule": "true", "optionalOldSelf": True},
     ["s.x-kubernetes-validations[0].optionalOldSelf: Invalid value: true: may not be set if oldSelf is not used"]),
)  # fmt: skip
def test_rules_have_a_form(rule: Any, told: list[str]) -> None:
    found = [f"{each.path}: {each.detail}" for each in rule_problems(ruled(rule, **INTEGER), "s")]
    assert len(found) == len(told) and all(one.startswith(start) for one, start in zip(found, told, strict=True)), found


def test_what_was_is_not_known_of_items_without_keys() -> None:
    schema = {"type": "array", "items": ruled("self == oldSelf", **INTEGER)}
    (told,) = rule_problems(schema, "s")
    assert told.path == "s.items.x-kubernetes-validations[0].rule" and "uncorrelatable portion" in told.detail
