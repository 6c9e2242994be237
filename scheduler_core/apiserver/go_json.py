"""What Go's JSON decoder says of a text that is not JSON: clients and tests compare these words.

Source: go 1.24, src/encoding/json/scanner.go (the states of the scanner and its messages).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

MOST_DEPTH: Final = 200  # of what is read; Go's decoder has 10,000, and what is stored is written by one that has 254
TOO_DEEP: Final = "exceeded max depth"
_SPACE: Final = " \t\r\n"
_END: Final = "unexpected end of JSON input"
_ESCAPES: Final = {'"', "\\", "/", "b", "f", "n", "r", "t"}


class SyntaxProblem(Exception):
    """The text is not JSON; the message is the decoder's."""


def problem_of(text: str) -> str:
    """The decoder's message; empty for JSON."""
    try:
        scanner = _Scanner(text)
        scanner.value()
        scanner.end()
    except SyntaxProblem as problem:
        return str(problem)
    return ""


def depth(value: Any) -> int:
    """How many maps and lists are inside of one another."""
    found, held = 0, [value] if isinstance(value, (Mapping, list)) else []
    while held:
        found += 1
        below = (each for one in held for each in (one.values() if isinstance(one, Mapping) else one))
        held = [each for each in below if isinstance(each, (Mapping, list))]
    return found


class _Scanner:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._depth = 0

    def value(self) -> None:
        self._space()
        char = self._char()
        if char in ("{", "["):
            self._depth += 1
            if self._depth > MOST_DEPTH:
                raise SyntaxProblem(TOO_DEEP)
            (self._object if char == "{" else self._array)()
            self._depth -= 1
        elif char == '"':
            self._string()
        elif char == "-" or char.isascii() and char.isdigit():
            self._number()
        elif char in "tfn":
            self._literal({"t": "true", "f": "false", "n": "null"}[char])
        else:
            self._fail("looking for beginning of value")

    def end(self) -> None:
        self._space()
        if self._at < len(self._text):
            self._fail("after top-level value")

    def _object(self) -> None:
        self._at += 1
        self._space()
        if self._char() == "}":
            self._at += 1
            return
        while True:
            self._space()
            if self._char() != '"':
                self._fail("looking for beginning of object key string")
            self._string()
            self._space()
            if self._char() != ":":
                self._fail("after object key")
            self._at += 1
            self.value()
            self._space()
            char = self._char()
            if char not in ",}":
                self._fail("after object key:value pair")
            self._at += 1
            if char == "}":
                return

    def _array(self) -> None:
        self._at += 1
        self._space()
        if self._char() == "]":
            self._at += 1
            return
        while True:
            self.value()
            self._space()
            char = self._char()
            if char not in ",]":
                self._fail("after array element")
            self._at += 1
            if char == "]":
                return

    def _string(self) -> None:
        self._at += 1
        while True:
            char = self._char()
            if char == '"':
                self._at += 1
                return
            if char == "\\":
                self._at += 1
                escaped = self._char()
                if escaped == "u":
                    for _ in range(4):
                        self._at += 1
                        if self._char().lower() not in "0123456789abcdef":
                            self._fail("in \\u hexadecimal character escape")
                elif escaped not in _ESCAPES:
                    self._fail("in string escape code")
            elif char < " ":
                self._fail("in string literal")
            self._at += 1

    def _number(self) -> None:
        if self._char() == "-":
            self._at += 1
            if not _is_digit(self._char()):
                self._fail("in numeric literal")
        if self._char() == "0":
            self._at += 1
        else:
            self._digits()
        if self._peek() == ".":
            self._at += 1
            if not _is_digit(self._char()):
                self._fail("after decimal point in numeric literal")
            self._digits()
        if self._peek() in ("e", "E"):
            self._at += 1
            if self._char() in "+-":
                self._at += 1
            if not _is_digit(self._char()):
                self._fail("in exponent of numeric literal")
            self._digits()

    def _literal(self, word: str) -> None:
        for place, expected in enumerate(word):
            if self._char() != expected:
                self._fail(f"in literal {word} (expecting {_quoted(word[place])})")
            self._at += 1

    def _digits(self) -> None:
        while _is_digit(self._peek()):
            self._at += 1

    def _space(self) -> None:
        while self._at < len(self._text) and self._text[self._at] in _SPACE:
            self._at += 1

    def _peek(self) -> str:
        return self._text[self._at] if self._at < len(self._text) else ""

    def _char(self) -> str:
        if self._at >= len(self._text):
            raise SyntaxProblem(_END)
        return self._text[self._at]

    def _fail(self, context: str) -> None:
        raise SyntaxProblem(f"invalid character {_quoted(self._text[self._at])} {context}")


def _is_digit(char: str) -> bool:
    return char != "" and char in "0123456789"


def _quoted(char: str) -> str:
    """A character as messages show it; of one beyond ASCII the first byte, as the scanner reads bytes."""
    if char == "'":
        return r"'\''"
    if char == '"':
        return "'\"'"
    stray = "\udc80" <= char <= "\udcff"  # a byte that is no text, decoded with surrogateescape
    byte = char.encode("utf-8", "surrogateescape" if stray else "surrogatepass")[0]
    if byte >= 0x80:
        return f"'{chr(byte)}'" if byte >= 0xA1 else f"'\\u{byte:04x}'"
    named = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\", "\a": "\\a", "\b": "\\b", "\f": "\\f", "\v": "\\v"}
    if char in named:
        return f"'{named[char]}'"
    return f"'{char}'" if char.isprintable() else f"'\\x{byte:02x}'"
