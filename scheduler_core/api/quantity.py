"""Resource quantities such as `500m` or `1Gi`: exact numbers that remember how they were written.

`value()` is whole units, `milli_value()` thousandths, both rounded up, both int64 as upstream sees them: a compactly
stored number whose view overflows gives 0, any other wraps around. Comparison, sums and hashes use the exact number.
Errors are `ValueError` with upstream's words. Source: apimachinery of Kubernetes 1.34, pkg/api/resource.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import total_ordering
from typing import Final

from scheduler_core.api.text_cache import cached_by_text

FORMAT_WRONG: Final = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
NUMERIC_WRONG: Final = "unable to parse numeric part of quantity"
SUFFIX_WRONG: Final = "unable to parse quantity's suffix"

BINARY_SI: Final = "BinarySI"
DECIMAL_SI: Final = "DecimalSI"
DECIMAL_EXPONENT: Final = "DecimalExponent"

_NANO: Final = 10**9
_MAX_INT64: Final = 2**63 - 1
_MIN_INT64: Final = -(2**63)
_COMPACT_DIGITS: Final = 18  # more digits than these are kept as a big decimal upstream
# Bounds of our own: beyond them a short text would stand for a number of megabytes.
_MAX_EXPONENT: Final = 300
_MAX_DIGITS: Final = 600
_MAX_CHARACTERS: Final = 1000  # with blanks around the number and zeros before it

_DECIMAL_SUFFIXES: Final = {
    "n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18,
}  # fmt: skip
_BINARY_SUFFIXES: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_SI_SUFFIX_OF: Final = {exponent: suffix for suffix, exponent in _DECIMAL_SUFFIXES.items()}
_BINARY_SUFFIX_OF: Final = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")

# Possessive: what one part has taken no other part tries again.
_TEXT = re.compile(r"([+-]?+)(\d*+)(?:(\.)(\d*+))?+([eEinumkKMGTP]*+[-+]?+\d*+)", re.ASCII)
_EXPONENT = re.compile(r"[eE]([+-]?\d+)", re.ASCII)
_SIMPLE = re.compile(r"([1-9]\d{0,8})(|m|Ki|Mi|Gi)", re.ASCII)


@total_ordering
class Quantity:
    """An immutable number; make one with `parse` or `of`. `1` and `1000m` are equal but print differently."""

    __slots__ = ("_compact", "_format", "_milli", "_nano", "_scale", "_text", "_value")

    def __init__(self, nano: int, quantity_format: str, scale: int, compact: bool, text: str | None = None) -> None:
        self._nano = nano  # the number in 10^-9, exact
        self._format = quantity_format
        self._scale = scale  # power of ten of the stored digits; decides rounding and overflow of the views
        self._compact = compact
        self._text = text
        self._value: int | None = None
        self._milli: int | None = None

    @staticmethod
    def of(number: int, quantity_format: str = DECIMAL_SI) -> Quantity:
        """A whole number of units."""
        return Quantity(number * _NANO, quantity_format, 0, _fits(number))

    @staticmethod
    def of_milli(number: int, quantity_format: str = DECIMAL_SI) -> Quantity:
        """A number of thousandths."""
        return Quantity(number * 10**6, quantity_format, -3, _fits(number))

    @property
    def nano(self) -> int:
        """The exact number in units of 10^-9."""
        return self._nano

    @property
    def format(self) -> str:
        return self._format

    @property
    def is_zero(self) -> bool:
        return self._nano == 0

    def value(self) -> int:
        """Whole units, rounded up."""
        if self._value is None:
            self._value = self._scaled(0)
        return self._value

    def milli_value(self) -> int:
        """Thousandths, rounded up."""
        if self._milli is None:
            self._milli = self._scaled(-3)
        return self._milli

    def rounded_up_to_milli(self) -> Quantity:
        """The same number with no finer part than thousandths; itself when it has none."""
        if self._scale >= -3:
            return self
        sign = -1 if self._nano < 0 else 1
        return Quantity(sign * -(-abs(self._nano) // 10**6) * 10**6, self._format, -3, self._compact)

    def __add__(self, other: Quantity) -> Quantity:
        return self._plus(other, other._nano)

    def __sub__(self, other: Quantity) -> Quantity:
        return self._plus(other, -other._nano)

    def __eq__(self, other: object) -> bool:
        return self._nano == other._nano if isinstance(other, Quantity) else NotImplemented

    def __lt__(self, other: Quantity) -> bool:
        return self._nano < other._nano

    def __hash__(self) -> int:
        return hash(self._nano)

    def __str__(self) -> str:
        if self._text is None:
            self._text = _canonical(self._nano, self._format)
        return self._text

    def __repr__(self) -> str:
        return f"Quantity({str(self)!r})"

    def _plus(self, other: Quantity, nano: int) -> Quantity:
        if self._nano == 0:
            return Quantity(nano, other._format, other._scale, self._compact and other._compact)
        if nano == 0:
            return Quantity(self._nano, self._format, self._scale, self._compact and other._compact)
        scale = min(self._scale, other._scale)
        total = self._nano + nano
        fits = all(_fits(_digits(part, scale)) for part in (self._nano, nano, total))
        return Quantity(total, self._format, scale, self._compact and other._compact and fits)

    def _scaled(self, scale: int) -> int:
        """The number in units of 10^scale, as an int64."""
        unit: int = 10 ** (scale + 9)
        if self._compact:
            sign = -1 if self._nano < 0 else 1
            number = sign * -(-abs(self._nano) // unit)
            return number if _fits(number) else 0
        # A big decimal is divided toward zero and one is added when something is left over, whatever the sign.
        quotient, rest = divmod(abs(self._nano), unit)
        number = -quotient if self._nano < 0 else quotient
        number += 1 if rest else 0
        return (number + 2**63) % 2**64 - 2**63


def parse(text: str | int | float) -> Quantity:
    """The quantity a manifest names; numbers count as their text. Raises ValueError."""
    if isinstance(text, bool):
        raise ValueError(FORMAT_WRONG)
    written = str(text)
    if len(written) > _MAX_CHARACTERS:
        raise ValueError(NUMERIC_WRONG)
    return _parse_text(written)


@dataclass(frozen=True, slots=True)
class StoredForm:
    """How upstream keeps a parsed number: `digits` times 10^scale, in an int64 when compact, else as a big decimal.

    `text` is what was parsed where that is kept to be printed again, else empty.
    """

    digits: int
    scale: int
    is_compact: bool
    text: str
    format: str


def stored_form(text: str) -> StoredForm:
    """Return how upstream keeps the number that a canonical text stands for. Raises ValueError."""
    quantity = _parse_general(text)  # not from the cache, where numbers that were printed have a text
    kept, scale = quantity._text or "", quantity._scale
    if quantity._compact:
        return StoredForm(_digits(quantity.nano, scale), scale, True, kept, quantity.format)
    return StoredForm(quantity.nano, -9, False, kept, quantity.format)


@cached_by_text(16_384, longest=32)
def _parse_text(text: str) -> Quantity:
    simple = _SIMPLE.fullmatch(text)
    if simple is not None:
        quantity = _simple(text, int(simple[1]), simple[2])
    else:
        quantity = _parse_general(text.strip())
    quantity.value()
    quantity.milli_value()
    return quantity


def _simple(text: str, number: int, suffix: str) -> Quantity:
    """The forms nearly every manifest uses: small whole numbers without sign or leading zeros."""
    power = _BINARY_SUFFIXES.get(suffix)
    if power is not None:
        return Quantity((number << power) * _NANO, BINARY_SI, 0, True, text if number % 8 else None)
    exponent = _DECIMAL_SUFFIXES[suffix]
    return Quantity(number * 10 ** (9 + exponent), DECIMAL_SI, exponent, True, text if number % 1000 else None)


def _parse_general(text: str) -> Quantity:
    if text == "0":
        return Quantity(0, DECIMAL_SI, 0, True, text)
    match = _TEXT.fullmatch(text)
    # Without a number, as in "+", "." or "Mi", it means zero.
    if not text or match is None:
        raise ValueError(FORMAT_WRONG)
    sign = -1 if match[1] == "-" else 1
    whole, fraction = match[2].lstrip("0"), match[4] or ""
    if len(whole) + len(fraction) > _MAX_DIGITS:
        raise ValueError(NUMERIC_WRONG)
    base, exponent, quantity_format = _interpret(match[5])
    digits = (whole or "0") + fraction
    number = int(digits)
    if base == 2:
        return _binary(text, sign, number, len(whole or "0"), len(fraction), exponent)
    scale = exponent - len(fraction)
    if len(digits) <= _COMPACT_DIGITS and scale >= -9:
        canonical = scale % 3 == 0 and not digits.endswith("000") and digits[0] != "0"
        return Quantity(sign * number * 10 ** (scale + 9), quantity_format, scale, True, text if canonical else None)
    nano = number * 10 ** (scale + 9) if scale >= -9 else -(-number // 10 ** (-9 - scale))
    return Quantity(sign * nano, quantity_format, max(scale, -9), False)


def _binary(text: str, sign: int, number: int, whole_digits: int, fraction_digits: int, power: int) -> Quantity:
    compact_room = 15 - whole_digits - power * 3 // 10 - 1
    if fraction_digits == 0 and compact_room >= 0:
        return Quantity(sign * (number << power) * _NANO, BINARY_SI, 0, True, text if number % 8 else None)
    # Rounded up to nano, like every number with finer parts.
    nano = -(-(number << power) * _NANO // 10**fraction_digits)
    nano = min(nano, _MAX_INT64 * _NANO)
    quantity_format = DECIMAL_SI if 0 < nano < _NANO else BINARY_SI
    return Quantity(sign * nano, quantity_format, -min(fraction_digits, 9), False)


def _interpret(suffix: str) -> tuple[int, int, str]:
    """Base, exponent and format a suffix stands for."""
    if suffix in _DECIMAL_SUFFIXES:
        return 10, _DECIMAL_SUFFIXES[suffix], DECIMAL_SI
    if suffix in _BINARY_SUFFIXES:
        return 2, _BINARY_SUFFIXES[suffix], BINARY_SI
    match = _EXPONENT.fullmatch(suffix)
    if match is None or len(match[1]) > 8 or abs(int(match[1])) > _MAX_EXPONENT:
        raise ValueError(SUFFIX_WRONG)
    return 10, int(match[1]), DECIMAL_EXPONENT


def _canonical(nano: int, quantity_format: str) -> str:
    if nano == 0:
        return "0"
    if quantity_format == BINARY_SI:
        number, rest = divmod(nano, _NANO)
        if rest == 0 and not -1024 < number < 1024:
            step = 0
            while number % 1024 == 0 and step < len(_BINARY_SUFFIX_OF) - 1:
                number //= 1024
                step += 1
            return f"{number}{_BINARY_SUFFIX_OF[step]}"
        quantity_format = DECIMAL_SI
    mantissa, exponent = nano, -9
    # Down from whole thousands only: the exponent printed is a multiple of three and the mantissa an integer.
    while mantissa % 1000 == 0 and (quantity_format == DECIMAL_EXPONENT or exponent < 18):
        mantissa //= 1000
        exponent += 3
    if quantity_format == DECIMAL_EXPONENT:
        return f"{mantissa}e{exponent}" if exponent else str(mantissa)
    return f"{mantissa}{_SI_SUFFIX_OF[exponent]}"


def _digits(nano: int, scale: int) -> int:
    """The number a compact value of that scale stores; exact because the scale is fine enough."""
    unit: int = 10 ** (scale + 9)
    return nano // unit


def _fits(number: int) -> bool:
    return _MIN_INT64 <= number <= _MAX_INT64


ZERO: Final = parse("0")
