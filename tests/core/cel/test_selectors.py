"""Selectors are evaluated as cel-go evaluates them: values, errors in its words, and the limit of costs."""

from __future__ import annotations

import pytest

from scheduler_core import typed
from scheduler_core.api.resource_claims import Device
from scheduler_core.cel.selectors import CompileError, SelectorError, compile_selector, device_value

DEVICE = typed.convert({"name": "gpu-0",
                          "attributes": {"model": {"string": "a100"}, "index": {"int": 2}, "nvlink": {"bool": True},
                                         "driverVersion": {"version": "1.5.0"},
                                         "other.example.com/rack": {"string": "r1"}},
                          "capacity": {"memory": {"value": "40Gi"}, "share": {"value": "500m"}}}, Device)  # fmt: skip
GPU = 'device.attributes["gpu.example.com"]'
MEMORY = 'device.capacity["gpu.example.com"].memory'


def answer(expression: str) -> bool | str:
    try:
        return compile_selector(expression).accepts(device_value("gpu.example.com", DEVICE))
    except (CompileError, SelectorError) as error:
        return str(error)


@pytest.mark.parametrize(
    "expression",
    [
        'device.driver == "gpu.example.com"',
        f'{GPU}.model == "a100" && {GPU}.index < 3 && {GPU}.nvlink',
        'device.attributes["other.example.com"].rack == "r1"',
        f'{MEMORY}.compareTo(quantity("40960Mi")) == 0 && {MEMORY} == quantity("40Gi")',
        f'sign({MEMORY}.sub(quantity("40Gi"))) == 0 && !quantity("500m").isInteger()',
        f'{GPU}.driverVersion.isGreaterThan(semver("1.5.0-rc.1")) && {GPU}.driverVersion == semver("1.5.0+build")',
        f'semver("v1.2", true).minor() == 2 && {GPU}.driverVersion.compareTo(semver("1.10.0")) < 0',
        f'{GPU}.?missing.orValue(7) == 7 && !{GPU}.?missing.hasValue() && {GPU}[?"model"].value() == "a100"',
        f'has({GPU}.model) && !has({GPU}.missing) && "model" in {GPU} && !("nope" in device.attributes)',
        f'cel.bind(a, {GPU}, a.model.startsWith("a") && a.index in [1, 2])',
        f"{GPU}.missing == 1 || {GPU}.index == 2",
        f"!({GPU}.missing == 1 && {GPU}.index == 3)",
        f'["x", "a100"].exists(m, m == {GPU}.model) && [1, 2].all(i, i <= {GPU}.index)',
        f'{GPU}.all(name, name != "zzz") && {GPU}.exists_one(name, name == "index")',
        "[1, 2, 3].map(i, i > 1, i * 2) == [4, 6] && [3, 1].filter(i, i > 2) == [3]",
        '[1, 2].transformList(i, v, i + v) == [1, 3] && {"a": 1}.transformMap(k, v, v + 1)["a"] == 2',
        "dyn(1) == 1.0 && dyn(1u) == 1 && dyn(2) > 1.5 && !(dyn(1) == true)",
        '-7 / 2 == -3 && -7 % 3 == -1 && 7.0 / 2.0 == 3.5 && "a" + "b" == "ab" && [1] + [2] == [1, 2]',
        'int("42") == 42 && string(1.5) == "1.5" && double("2") == 2.0 && bool("true") && string(100) == "100"',
        '"h\\u00e9" == "hé" && \'\'\'a"b\'\'\' == "a\\"b" && r"\\n".size() == 2 && size("hé") == 2 && size(b"hé") == 3',
        '"a,b,c".split(",").size() == 3 && "abc".substring(1, 2) == "b" && ["a", "b"].join("-") == "a-b"',
        '"abcb".lastIndexOf("b") == 3 && "abc".replace("b", "") == "ac"',
        '" x ".trim() == "x" && "aB".lowerAscii() == "ab"',
        '"a100-80".matches("^a[0-9]+") && "a1b22".find("[0-9]+") == "1" && "a1b22".findAll("[0-9]+") == ["1", "22"]',
        "[3, 1, 2].max() == 3 && [1, 2].sum() == 3 && [1, 2].isSorted()",
        "[1, 1].distinct() == [1] && [2, 1].sort() == [1, 2]",
        "sets.contains([1, 2], [2]) && sets.intersects([1], [1, 2]) && !sets.equivalent([1], [2])",
        'type(1) == int && optional.of(1).or(optional.none()).hasValue() && isQuantity("1Gi") && !isSemver("1")',
        "true ? !false : false",
        "!!true && --1 == 1",
    ],
)
def test_expression_holds(expression: str) -> None:
    assert answer(expression) is True


@pytest.mark.parametrize(
    ("expression", "error"),
    [
        (f"{GPU}.missing == 1", "no such key: missing"),
        ('device.attributes["nope"].x', "no such key: x"),
        (f"{GPU}.model.x.y == 1", "no such key: x"),
        (f"{GPU}.model > 3", "no such overload"),
        (f"{GPU}.index.startsWith('a')", "no such overload"),
        (f"!{GPU}.model", "no such overload"),
        (f"-{GPU}.model == 1", "no such overload: -_"),
        (f"{GPU}.nvlink + 1 == 1", "no such overload: _+_"),
        (f"{GPU}.model + 1 == 1", "no such overload"),
        (f"{GPU}.index && true", "no such overload"),
        (f"{GPU}.model ? true : false", "no such overload"),
        (f"{GPU}.driverVersion == 'x'", "no such overload"),
        (f"{GPU}.index / 0 == 1", "division by zero"),
        (f"{GPU}.index % 0 == 1", "modulus by zero"),
        ("9223372036854775807 + 1 == 1", "integer overflow"),
        ("1u - 2u == 1u", "unsigned integer overflow"),
        (f"[1, 2][{GPU}.index] == 1", "index out of bounds: 2"),
        (f"int({GPU}.model) == 1", "type conversion error from 'string' to 'int'"),
        (f"semver({GPU}.model).major() == 1", "No Major.Minor.Patch elements found"),
        ("semver('01.0.0').major() == 1", 'Major number must not contain leading zeroes "01"'),
        (f"quantity({GPU}.model).isInteger()", "quantities must match the regular expression "
         "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"),
        ("optional.none().value() == 1", "optional.none() dereference"),
        ("quantity('1.5').asInteger() == 1", "cannot convert value to integer"),
        (f"{GPU}.model", "CEL result of type string could not be converted to bool: "
         "unsupported native conversion from string to 'bool'"),
        ("lists.range(1000).map(i, lists.range(1000).map(j, i + j)).size() == 0",
         "operation cancelled: actual cost limit exceeded"),
    ],
)  # fmt: skip
def test_what_goes_wrong_is_told_in_the_words_of_cel_go(expression: str, error: str) -> None:
    assert answer(expression) == f"CEL runtime error: {error}"


@pytest.mark.parametrize(
    ("expression", "kind"), [("1 + 1", "int"), ('"x"', "string"), ("device.driver", "string"), ("[1]", "list(int)")]
)
def test_what_is_no_condition_does_not_compile(expression: str, kind: str) -> None:
    assert answer(expression) == f"CEL compile error: must evaluate to bool or the unknown type, not {kind}"


def test_pattern_that_backtracks_takes_no_time() -> None:
    text = "a" * 64
    assert answer(f'!"{text}!".matches("^(a+)+$")') is True


def test_attribute_without_a_value_fails_every_selector() -> None:
    broken = typed.convert({"name": "d", "attributes": {"x": {}}}, Device)
    with pytest.raises(SelectorError, match="attribute x: unsupported attribute value"):
        device_value("gpu.example.com", broken)
