"""Text of an expression into a tree, or its syntax errors.

Source: the grammar of the CEL specification (cel.expr), as cel-go 0.26 reads it with ANTLR, whose messages these are.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import Any, Final

from scheduler_core.cel.literals import LiteralError, bytes_of, number_of, text_of
from scheduler_core.cel.macros import MacroError, expanded
from scheduler_core.cel.nodes import CelError, Node

_SPACE: Final = re.compile(r"(?:[\t\n\f\r ]++|//[^\n]*+)*+", re.ASCII)
_NUMBER: Final = re.compile(
    r"0x[0-9a-fA-F]++[uU]?|[0-9]++\.[0-9]++(?:[eE][+-]?[0-9]++)?|\.[0-9]++(?:[eE][+-]?[0-9]++)?"
    r"|[0-9]++[eE][+-]?[0-9]++|[0-9]++[uU]?",
    re.ASCII,
)
_TEXT: Final = re.compile(
    r"""(?:[bB]?[rR]|[rR][bB])(?:"{3}(?s:.*?)"{3}|'{3}(?s:.*?)'{3}|"[^"\n]*+"|'[^'\n]*+')"""
    r"""|[bB]?(?:"{3}(?s:(?:[^\\]|\\.)*?)"{3}|'{3}(?s:(?:[^\\]|\\.)*?)'{3}"""
    r"""|"(?:[^"\\\n]|\\.)*+"|'(?:[^'\\\n]|\\.)*+')""",
    re.ASCII,
)
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*+", re.ASCII)
_SIGN: Final = re.compile(r"&&|\|\||==|!=|<=|>=|[-+*/%!<>?:.,()\[\]{}]", re.ASCII)
_BINARY: Final = ({"||"}, {"&&"}, {"==", "!=", "<", "<=", ">", ">=", "in"}, {"+", "-"}, {"*", "/", "%"})
_NUM_LOGICAL: Final = 2  # of these, the first
_OPERANDS: Final = "'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"
# What may stand where an operand is missing, by what was opened last.
_EXPECTED: Final = {
    "": "{'[', '{', '(', '.', '-', '!', ",
    "call": "{'[', '{', '(', ')', '.', '-', '!', ",
    "list": "{'[', ']', '{', '(', '.', ',', '-', '!', '?', ",
    "map": "{'[', '{', '}', '(', '.', ',', '-', '!', '?', ",
    "index": "{'[', '{', '(', '.', '-', '!', '?', ",
}
_CONSTANTS: Final = {"true": ("bool", True), "false": ("bool", False), "null": ("null_type", None)}
_DEEPEST: Final = 250  # of one rule of the grammar within itself, and of the tree
NOWHERE: Final = -1  # the position of an error that is about the whole
MOST_ERRORS: Final = 100  # that are told; each repeats its line


class UnknownSyntaxError(Exception):
    """A construct that is not read here."""


class _SyntaxError(Exception):
    def __init__(self, position: int, message: str) -> None:
        super().__init__(message)
        self.error = (position, f"Syntax error: {message}")


class _TooDeepError(Exception):
    """A rule of the grammar within itself too often."""


@dataclass(frozen=True, slots=True)
class Token:
    kind: str  # name, number, text, sign, end
    text: str
    at: int


def parse(text: str, *, is_stored: bool = True) -> tuple[Node | None, list[CelError]]:
    """(the tree, syntax errors); UnknownSyntaxError for what is not read here.

    `is_stored`: whether macros count that new expressions may not use yet.
    """
    tokens, errors = _tokens(text)
    parser = _Parser(tokens, is_stored=is_stored)
    try:
        node = parser.whole()
        if _depth(node) > _DEEPEST:
            return None, [(NOWHERE, "max recursion depth exceeded")]
        return node, errors + parser.errors
    except _TooDeepError:
        return None, [(NOWHERE, f"expression recursion limit exceeded: {_DEEPEST}")]
    except _SyntaxError as error:
        return None, [*errors, *parser.errors, error.error]


def _tokens(text: str) -> tuple[list[Token], list[CelError]]:
    found: list[Token] = []
    errors: list[CelError] = []
    place = 0
    while True:
        space = _SPACE.match(text, place)
        place = space.end() if space is not None else place
        if place == len(text) or len(errors) > MOST_ERRORS:
            return [*found, Token("end", "<EOF>", place)], errors
        if text[place] == "`":
            raise UnknownSyntaxError
        for kind, pattern in (("text", _TEXT), ("number", _NUMBER), ("name", _NAME), ("sign", _SIGN)):
            match = pattern.match(text, place)
            if match is not None:
                found.append(Token(kind, match[0], place))
                place = match.end()
                break
        else:
            wrong = text[place : place + (2 if text[place] in "=&|" else 1)]  # half of a sign, and what came instead
            wrong = text[place:].partition("\n")[0] if text[place] in "\"'" else wrong
            errors.append((place, f"Syntax error: token recognition error at: '{wrong}'"))
            place += len(wrong)


def _depth(node: Node) -> int:
    """How many operators, fields and calls are within each other; those of one chain of `&&` or `||` count as one."""
    deepest, left = 0, [(node, 0, "")]
    while left:
        one, depth, above = left.pop()
        deepest = max(deepest, depth)
        is_same_chain = one.name == above and one.name in ("_&&_", "_||_")
        below = depth + (1 if one.parts and not is_same_chain else 0)
        left += [(part, below, one.name) for part in one.parts]
    return deepest


class _Parser:
    def __init__(self, tokens: list[Token], *, is_stored: bool) -> None:
        self.errors: list[CelError] = []  # of macros, whose arguments are read on
        self._is_stored = is_stored
        self._tokens = tokens
        self._place = 0
        self._depths: Counter[str] = Counter()  # of rules

    @property
    def _next(self) -> Token:
        return self._tokens[self._place]

    def _take(self) -> Token:
        token = self._next
        self._place += 1
        return token

    def _takes(self, *texts: str) -> Token | None:
        token = self._next
        return self._take() if token.kind in ("sign", "name") and token.text in texts else None

    def whole(self) -> Node:
        node = self._expression()
        if self._next.kind != "end":
            # One token too many is passed over; of more than one the first does not fit.
            word = "extraneous" if self._tokens[self._place + 1].kind == "end" else "mismatched"
            raise _SyntaxError(self._next.at, f"{word} input '{self._next.text}' expecting <EOF>")
        return node

    def _expression(self, opened: str = "") -> Node:
        self._enter("expression")
        node = self._binary(0, opened)
        sign = self._takes("?")
        if sign is not None:
            then = self._binary(0)
            self._expect(":", "':'")
            node = Node("choice", sign.at, "_?_:_", (node, then, self._expression()))
        self._depths["expression"] -= 1
        return node

    def _enter(self, rule: str) -> None:
        self._depths[rule] += 1
        if self._depths[rule] > _DEEPEST:
            raise _TooDeepError

    def _binary(self, level: int, opened: str = "") -> Node:
        if level == len(_BINARY):
            return self._unary(opened)
        if level < _NUM_LOGICAL:
            return self._logical(level, opened)
        # Sums and products are one rule, and each operand on the right is that rule again.
        rule = "relation" if level == _NUM_LOGICAL else "sum"
        is_new = level <= _NUM_LOGICAL + 1
        if is_new:
            self._enter(rule)
        node = self._binary(level + 1, opened)
        while (sign := self._takes(*_BINARY[level])) is not None:
            name = "@in" if sign.text == "in" else f"_{sign.text}_"
            self._enter(rule)
            node = Node("binary", sign.at, name, (node, self._binary(level + 1)))
            self._depths[rule] -= 1
        if is_new:
            self._depths[rule] -= 1
        return node

    def _logical(self, level: int, opened: str) -> Node:
        """Terms of one operator as a tree of little depth, as cel-go has them."""
        terms, signs = [self._binary(level + 1, opened)], []
        while (sign := self._takes(*_BINARY[level])) is not None:
            signs.append(sign)
            terms.append(self._binary(level + 1))

        def balanced(first: int, last: int) -> Node:
            """Of the operators with these numbers, and the terms around them."""
            if first > last:
                return terms[first]
            middle = (first + last + 1) // 2
            parts = (balanced(first, middle - 1), balanced(middle + 1, last))
            return Node("binary", signs[middle].at, f"_{signs[middle].text}_", parts)

        return balanced(0, len(signs) - 1)

    def _unary(self, opened: str) -> Node:
        sign = self._takes("!", "-")
        if sign is None:
            return self._member(opened)
        times = 1
        while self._takes(sign.text) is not None:
            times += 1
        is_number = sign.text == "-" and times == 1 and self._next.kind == "number" and self._next.text[-1] not in "uU"
        operand = self._member("", "-") if is_number else self._unary("")
        if is_number:
            return operand
        return Node("unary", sign.at, f"{sign.text}_", (operand,)) if times % 2 else operand

    def _member(self, opened: str, sign: str = "") -> Node:
        node = self._primary(opened, sign)
        while True:
            if (dot := self._takes(".")) is not None:
                node = self._selected(node, dot)
            elif (bracket := self._takes("[")) is not None:
                is_optional = self._takes("?") is not None
                index = self._expression("index")
                name = "_[?_]" if is_optional else "_[_]"
                node = Node("index", bracket.at, name, (node, index), is_optional=is_optional)
                self._expect("]")
            elif self._next.text == "{" and node.kind in ("name", "select"):
                raise UnknownSyntaxError
            else:
                return node

    def _selected(self, node: Node, dot: Token) -> Node:
        if self._takes("?") is not None and self._next.kind == "name":
            return Node("select", dot.at, self._take().text, (node,), is_optional=True)
        if self._next.kind != "name":
            if self._next.text == ".":
                raise _SyntaxError(self._next.at, "no viable alternative at input '..'")
            shown = "" if self._next.kind == "end" else self._next.text
            raise _SyntaxError(self._next.at, f"no viable alternative at input '.{shown}'")
        name = self._take()
        opened = self._takes("(")
        if opened is None:
            return Node("select", dot.at, name.text, (node,))
        return self._expanded(Node("call", opened.at, name.text, (node, *self._items(")")[0]), has_target=True))

    def _primary(self, opened: str, sign: str = "") -> Node:
        token = self._next
        if token.kind == "number":
            self._take()
            try:
                kind, number = number_of(sign + token.text)
            except LiteralError as error:
                raise _SyntaxError(token.at, str(error)) from error
            return Node("literal", token.at - len(sign), kind, value=number)
        if token.kind == "text":
            self._take()
            is_bytes = "b" in token.text.partition(token.text[-1])[0].lower()
            try:
                value: Any = bytes_of(token.text) if is_bytes else text_of(token.text)
            except LiteralError as error:
                raise _SyntaxError(token.at, str(error)) from error
            return Node("literal", token.at, "bytes" if is_bytes else "string", value=value)
        if token.kind == "name" and token.text != "in":
            return self._named()
        if self._takes("(") is not None:
            node = self._expression()
            self._expect(")")
            return node
        if self._takes("[") is not None:
            items, optional = self._items("]")
            return Node("list", token.at, parts=items, value=optional)
        if self._takes("{") is not None:
            entries, optional = self._entries()
            return Node("map", token.at, parts=entries, value=optional)
        if token.text == "." and token.kind == "sign":
            raise UnknownSyntaxError
        expected = _EXPECTED[opened] + _OPERANDS
        raise _SyntaxError(token.at, f"mismatched input '{token.text}' expecting {expected}")

    def _named(self) -> Node:
        token = self._take()
        if token.text in _CONSTANTS:
            kind, value = _CONSTANTS[token.text]
            return Node("literal", token.at, kind, value=value)
        opened = self._takes("(")
        if opened is None:
            return Node("name", token.at, token.text)
        return self._expanded(Node("call", opened.at, token.text, self._items(")")[0]))

    def _expanded(self, call: Node) -> Node:
        try:
            return expanded(call, is_stored=self._is_stored)
        except MacroError as error:
            self.errors.append(error.error)
            return call

    def _items(self, closing: str) -> tuple[tuple[Node, ...], tuple[int, ...]]:
        """(the items, the places of those that are optional)."""
        items: list[Node] = []
        optional: list[int] = []
        if self._takes(closing) is not None:
            return (), ()
        while True:
            if closing == "]" and self._takes("?") is not None:
                optional.append(len(items))
            items.append(self._expression("" if items else "call" if closing == ")" else "list"))
            if self._takes(",") is None:
                break
            if closing == "]" and self._takes("]") is not None:
                return tuple(items), tuple(optional)
        self._expect(closing, f"{{'{closing}', ','}}")
        return tuple(items), tuple(optional)

    def _entries(self) -> tuple[tuple[Node, ...], tuple[int, ...]]:
        """(keys and values in turn, the places of entries that are optional)."""
        parts: list[Node] = []
        optional: list[int] = []
        while self._takes("}") is None:
            if self._takes("?") is not None:
                optional.append(len(parts) // 2)
            parts.append(self._expression("" if parts else "map"))
            self._expect(":", "':'")
            parts.append(self._expression())
            if self._takes(",") is None:
                self._expect("}", "{'}', ','}")
                break
        return tuple(parts), tuple(optional)

    def _expect(self, text: str, among: str = "") -> None:
        """Take the sign; `among` says what else might have stood there, where something might."""
        if self._takes(text) is None:
            shown = self._next.text
            told = f"mismatched input '{shown}' expecting {among}" if among else f"missing '{text}' at '{shown}'"
            raise _SyntaxError(self._next.at, told)
