"""Numbers and texts as they stand in an expression, and their values."""

from __future__ import annotations

import re
from typing import Final

from scheduler_core.cel.values import MAX_INT, MAX_UINT, MIN_INT, Uint

_ESCAPED: Final = re.compile(
    r"\\(?:([abfnrtv\\?\"'`])|[xX]([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2})|(.|$))",
    re.ASCII | re.DOTALL,
)
_LETTERS: Final = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


_LONGEST: Final = 1000  # digits; Python takes time quadratic in their number


class LiteralError(ValueError):
    """The words of cel-go for a literal that is none."""


def number_of(text: str) -> tuple[str, int | float | Uint]:
    """(its type, the number)."""
    body = text.lstrip("-")
    if len(body) > _LONGEST:
        raise LiteralError("invalid number literal")
    if not body.startswith("0x") and any(sign in body for sign in ".eE"):
        return "double", float(text)
    if body[-1] in "uU":
        number = int(body[:-1], 0 if body.startswith("0x") else 10)
        if number > MAX_UINT:
            raise LiteralError("invalid uint literal")
        return "uint", Uint(number)
    number = int(text, 16 if body.startswith("0x") else 10)
    if not MIN_INT <= number <= MAX_INT:
        raise LiteralError("invalid int literal")
    return "int", number


def text_of(token: str) -> str:
    """LiteralError for an escape that there is not."""
    body, is_raw = _body(token)
    return body if is_raw else _ESCAPED.sub(_character, body)


def bytes_of(token: str) -> bytes:
    body, is_raw = _body(token)
    if is_raw:
        return body.encode()
    made, place = b"", 0
    for match in _ESCAPED.finditer(body):
        made += body[place : match.start()].encode()
        number = match[2] or match[5]
        if number:
            made += bytes([int(number, 16 if match[2] else 8)])
        else:
            made += _character(match).encode()
        place = match.end()
    return made + body[place:].encode()


def _body(token: str) -> tuple[str, bool]:
    prefix, _, _ = token.partition(token[-1])
    quote = 3 if token[len(prefix) :].startswith(token[-1] * 3) and len(token) >= len(prefix) + 6 else 1
    return token[len(prefix) + quote : -quote], "r" in prefix.lower()


def _character(match: re.Match[str]) -> str:
    letter, two, four, eight, octal, other = match.groups()
    if letter:
        return _LETTERS.get(letter, letter)
    if other is not None:
        raise LiteralError("unable to unescape string")
    code = int(two or four or eight, 16) if octal is None else int(octal, 8)
    if code > 0x10FFFF or 0xD800 <= code < 0xE000:
        raise LiteralError("unable to unescape string")
    return chr(code)
