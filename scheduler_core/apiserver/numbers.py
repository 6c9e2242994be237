"""Numbers in queries and versions, read as the API server's language reads them.

Source: Go's strconv.ParseInt and ParseUint, base 10, 64 bits.
"""

from __future__ import annotations

from typing import Final

_MOST_DIGITS: Final = 20  # of a number of 64 bits


class NumberError(ValueError):
    """The text is no such number; the message is Go's."""


def parse_int(text: str) -> int:
    """The number, from -2**63 to 2**63 - 1; NumberError."""
    return _parsed("ParseInt", text, text[1:] if text[:1] in ("+", "-") else text, range(-(1 << 63), 1 << 63))


def parse_uint(text: str) -> int:
    """The number, below 2**64; NumberError."""
    return _parsed("ParseUint", text, text, range(1 << 64))


def _parsed(function: str, text: str, digits: str, numbers: range) -> int:
    if not (digits.isascii() and digits.isdigit()):
        raise NumberError(f'strconv.{function}: parsing "{text}": invalid syntax')
    # Nothing is gained by reading more digits than are too many, and Python refuses thousands of them.
    number = int(digits.lstrip("0")[: _MOST_DIGITS + 1] or "0") * (-1 if text[0] == "-" else 1)
    if number not in numbers:
        raise NumberError(f'strconv.{function}: parsing "{text}": value out of range')
    return number
