"""Quantities: grammar, integer views with their quirks, canonical text, exact arithmetic."""

from __future__ import annotations

import copy
import pickle
import re
import time
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scheduler_core.api.quantity import (
    BINARY_SI,
    DECIMAL_EXPONENT,
    DECIMAL_SI,
    FORMAT_WRONG,
    NUMERIC_WRONG,
    SUFFIX_WRONG,
    Quantity,
    parse,
)
from tests.cases import cases
from tests.strategies import quantity_texts

POWERS = {
    "n": Fraction(1, 10**9), "u": Fraction(1, 10**6), "m": Fraction(1, 1000), "": Fraction(1), "k": Fraction(10**3),
    "M": Fraction(10**6), "G": Fraction(10**9), "T": Fraction(10**12), "P": Fraction(10**15), "E": Fraction(10**18),
    "Ki": Fraction(2**10), "Mi": Fraction(2**20), "Gi": Fraction(2**30), "Ti": Fraction(2**40), "Pi": Fraction(2**50),
    "Ei": Fraction(2**60), "e3": Fraction(1000), "E-2": Fraction(1, 100), "e0": Fraction(1),
}  # fmt: skip


def exact(text: str) -> Fraction:
    """The number a text means by the grammar, rounded to nano and capped as the API server does, computed apart."""
    match = re.fullmatch(r"([+-]?)([0-9.]+)(.*)", text)
    assert match is not None
    whole, _, fraction = match[2].partition(".")
    magnitude = Fraction(int((whole + fraction) or "0"), 10 ** len(fraction)) * POWERS[match[3]]
    nano = magnitude * 10**9
    magnitude = Fraction(-(-nano.numerator // nano.denominator), 10**9)
    if match[3].endswith("i"):
        magnitude = min(magnitude, Fraction(2**63 - 1))
    return -magnitude if match[1] == "-" else magnitude


@cases(
    "text, canonical, value, milli",
    ("zero", "0", "0", 0, 0),
    ("a fraction becomes milli", "1.5", "1500m", 2, 1500),
    ("thousands become k", "1000", "1k", 1000, 1_000_000),
    ("hundred thousand", "100000", "100k", 100_000, 100_000_000),
    ("no whole thousands stay", "1200", "1200", 1200, 1_200_000),
    ("exponent form stays", "12e6", "12e6", 12_000_000, 12_000_000_000),
    ("exponent form is normalised", "5000e0", "5e3", 5000, 5_000_000),
    ("a small decimal", "0.0001", "100u", 1, 1),
    ("micro rounds up to one milli", "100u", "100u", 1, 1),
    ("a tenth", "0.1", "100m", 1, 100),
    ("whole units are rounded up", "1500m", "1500m", 2, 1500),
    ("binary fraction", "1.5Gi", "1536Mi", 1_610_612_736, 1_610_612_736_000),
    ("binary is divided while divisible", "1024Ki", "1Mi", 1_048_576, 1_048_576_000),
    ("not divisible", "1000Mi", "1000Mi", 1_048_576_000, 1_048_576_000_000),
    ("binary below 1024 prints as decimal", "0.5Ki", "512", 512, 512_000),
    ("half a mebibyte", "0.5Mi", "512Ki", 524_288, 524_288_000),
    ("leading zeros stay when it looks canonical", "007", "007", 7, 7000),
    ("a plus sign stays", "+5", "+5", 5, 5000),
    ("compact negatives round away from zero", "-1500m", "-1500m", -2, -1500),
    ("a lone point is zero", ".", "0", 0, 0),
    ("a lone plus is zero", "+", "0", 0, 0),
    ("a lone minus is zero", "-", "0", 0, 0),
    ("no digits before the point", ".5", "500m", 1, 500),
    ("a bare E is exa; milli overflows to zero", "1E", "1E", 10**18, 0),
    ("a compact overflow is zero", "100E", "100E", 0, 0),
    ("milli of ten peta overflows to zero", "10P", "10P", 10**16, 0),
    ("a big decimal wraps around", "1Ei", "1Ei", 2**60, -(2**63)),
    ("binary is capped at 2^63-1", "100Ei", str(2**63 - 1), 2**63 - 1, -1000),
    ("finer than nano is rounded up", "0.00000000001", "1n", 1, 1),
    ("negative big decimals get one added, an upstream quirk", "-0.00000000001", "-1n", 1, 1),
    ("binary that is no integer prints as decimal", "0.1Ki", "102400m", 103, 102_400),
    ("outer spaces are trimmed", " 1 ", "1", 1, 1000),
)
def test_parse_gives_text_and_integer_views(text: str, canonical: str, value: int, milli: int) -> None:
    quantity = parse(text)
    assert (str(quantity), quantity.value(), quantity.milli_value()) == (canonical, value, milli)


@cases(
    "text, message",
    ("empty", "", FORMAT_WRONG),
    ("no number", "abc", FORMAT_WRONG),
    ("inner space", "1 Gi", FORMAT_WRONG),
    ("two points", "1.2.3", FORMAT_WRONG),
    ("two signs", "--1", SUFFIX_WRONG),
    ("trailing letters", "1Gi3x", FORMAT_WRONG),
    ("digits of another script", "١", FORMAT_WRONG),
    ("capital K", "1K", SUFFIX_WRONG),
    ("bare e", "1e", SUFFIX_WRONG),
    ("no such suffix", "1mi", SUFFIX_WRONG),
    ("exponent out of all bounds", "1e999999999", SUFFIX_WRONG),
    ("thousands of digits", "9" * 2000, NUMERIC_WRONG),
)
def test_parse_refuses(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        parse(text)


def test_parse_takes_numbers_as_their_text() -> None:
    assert parse(2) == parse("2")
    assert parse(0.1).milli_value() == 100
    with pytest.raises(ValueError, match="regular expression"):
        parse(True)
    with pytest.raises(ValueError, match="regular expression"):
        parse(float("nan"))


@given(quantity_texts())
@example("1.5Gi")
@example("-0.5Ki")
@example("999999999999999999999n")
def test_value_is_exact_for_any_text(text: str) -> None:
    assert Fraction(parse(text).nano, 10**9) == exact(text)


@given(quantity_texts())
def test_parse_of_the_printed_text_is_the_same_number(text: str) -> None:
    quantity = parse(text)
    assert parse(str(quantity)) == quantity
    assert str(parse(str(quantity))) == str(quantity)


@given(quantity_texts(), quantity_texts())
def test_arithmetic_agrees_with_fractions(left: str, right: str) -> None:
    a, b = parse(left), parse(right)
    assert Fraction((a + b).nano, 10**9) == exact(left) + exact(right)
    assert Fraction((a - b).nano, 10**9) == exact(left) - exact(right)
    assert (a < b, a == b, a >= b) == (
        exact(left) < exact(right),
        exact(left) == exact(right),
        exact(left) >= exact(right),
    )
    if a == b:
        assert hash(a) == hash(b)


@given(quantity_texts(negative=False))
def test_rounding_to_milli_is_the_next_thousandth(text: str) -> None:
    rounded = Fraction(parse(text).rounded_up_to_milli().nano, 10**9)
    number = exact(text)
    assert 0 <= rounded - number < Fraction(1, 1000)
    assert (rounded * 1000).denominator == 1


@cases(
    "left, right, want, wanted_format",
    ("zero takes over the other's format", "0", "1Gi", "1Gi", BINARY_SI),
    ("else the first one's format stays", "1k", "1Ki", "2024", DECIMAL_SI),
    ("adding zero changes nothing", "1Gi", "0", "1Gi", BINARY_SI),
    ("exponent form", "1e3", "1", "1001", DECIMAL_EXPONENT),
    ("sums are canonical", "512Mi", "512Mi", "1Gi", BINARY_SI),
    ("tenths to one", "100m", "900m", "1", DECIMAL_SI),
)
def test_sum_prints_in_the_right_format(left: str, right: str, want: str, wanted_format: str) -> None:
    total = parse(left) + parse(right)
    assert (str(total), total.format) == (want, wanted_format)


def test_sum_beyond_int64_wraps_around_unless_the_suffix_keeps_it_compact() -> None:
    total = sum((parse("900000000000000000") for _ in range(10)), parse("900000000000000000"))
    assert total.nano == 99 * 10**17 * 10**9
    assert total.value() == 99 * 10**17 - 2**64
    assert (parse("5E") + parse("5E")).value() == 0


def test_equal_numbers_are_one_key_when_written_differently() -> None:
    assert {parse("1"), parse("1000m"), parse("1e0")} == {Quantity.of(1)}
    assert Quantity.of_milli(1500) == parse("1.5")
    assert parse("0").is_zero and not parse("1n").is_zero
    assert parse("1") != 1


@pytest.mark.parametrize("text", ["1" * 32_000 + "x", "0" * 32_000 + "1", "." + "1" * 32_000, " " * 32_000 + "1"])
def test_text_of_any_length_is_refused_at_once(text: str) -> None:
    began = time.thread_time()
    with pytest.raises(ValueError):
        parse(text)
    assert time.thread_time() - began < 5


@given(st.integers(-(2**62), 2**62))
def test_of_is_the_number(number: int) -> None:
    assert Quantity.of(number).value() == number
    assert Quantity.of_milli(number).milli_value() == number


def test_copies_survive_a_checkpoint() -> None:
    quantity = parse("1.5Gi")
    for twin in (pickle.loads(pickle.dumps(quantity)), copy.deepcopy(quantity)):
        assert twin == quantity and str(twin) == "1536Mi"
