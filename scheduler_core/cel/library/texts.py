"""Functions of texts; a character is a code point.

Source: cel-go 0.26, common/stdlib and ext/strings.go; kubernetes v1.34.1, apiserver/pkg/cel/library/regex.go.
"""

from __future__ import annotations

from typing import Any

from scheduler_core.cel import regexes
from scheduler_core.cel.functions import both, function, method, of_result, searched, traversal
from scheduler_core.cel.values import EvaluationError, Map

_QUOTED = str.maketrans(
    {
        "\a": "\\a",
        "\b": "\\b",
        "\f": "\\f",
        "\n": "\\n",
        "\r": "\\r",
        "\t": "\\t",
        "\v": "\\v",
        "\\": "\\\\",
        '"': '\\"',
    }
)


@function("size", "dyn")
@method("size", "dyn")
def size(value: Any) -> int:
    if isinstance(value, (str, bytes, tuple, Map)):
        return len(value)
    raise EvaluationError("no such overload: size")


@method("startsWith", "string", "string", cost=traversal())
def starts_with(text: str, start: str) -> bool:
    return text.startswith(start)


@method("endsWith", "string", "string", cost=traversal())
def ends_with(text: str, end: str) -> bool:
    return text.endswith(end)


@method("contains", "string", "string", cost=both)
def contains(text: str, part: str) -> bool:
    return part in text


@function("matches", "string", "string", cost=searched)
@method("matches", "string", "string", cost=searched)
def matches(text: str, pattern: str) -> bool:
    return regexes.matches(text, pattern)


@method("find", "string", "string", cost=searched)
def find(text: str, pattern: str) -> str:
    return next(iter(regexes.found(text, pattern, 1)), "")


@method("findAll", "string", "string", cost=searched)
def find_all(text: str, pattern: str) -> tuple[str, ...]:
    return regexes.found(text, pattern, -1)


@method("findAll", "string", "string", "int", cost=searched)
def find_some(text: str, pattern: str, limit: int) -> tuple[str, ...]:
    return regexes.found(text, pattern, limit)


@method("charAt", "string", "int")
def char_at(text: str, index: int) -> str:
    if not 0 <= index <= len(text):
        raise EvaluationError(f"index out of range: {index}")
    return text[index : index + 1]


@method("indexOf", "string", "string", cost=traversal(10))
def index_of(text: str, part: str) -> int:
    return text.find(part)


@method("indexOf", "string", "string", "int", cost=traversal(10))
def index_of_from(text: str, part: str, start: int) -> int:
    if not part:
        return start
    if not 0 <= start < len(text):
        raise EvaluationError(f"index out of range: {start}")
    return text.find(part, start)


@method("lastIndexOf", "string", "string", cost=traversal(10))
def last_index_of(text: str, part: str) -> int:
    return text.rfind(part)


@method("lastIndexOf", "string", "string", "int", cost=traversal(10))
def last_index_of_until(text: str, part: str, last: int) -> int:
    if not part:
        return last
    if not 0 <= last < len(text):
        raise EvaluationError(f"index out of range: {last}")
    return text.rfind(part, 0, last + len(part))


@method("lowerAscii", "string", cost=traversal())
def lower_ascii(text: str) -> str:
    return "".join(chr(ord(each) + 32) if "A" <= each <= "Z" else each for each in text)


@method("upperAscii", "string", cost=traversal())
def upper_ascii(text: str) -> str:
    return "".join(chr(ord(each) - 32) if "a" <= each <= "z" else each for each in text)


@method("replace", "string", "string", "string", cost=traversal(2))
def replace(text: str, old: str, new: str) -> str:
    return text.replace(old, new)


@method("replace", "string", "string", "string", "int", cost=traversal(2))
def replace_some(text: str, old: str, new: str, times: int) -> str:
    return text.replace(old, new, times)


@method("split", "string", "string", cost=traversal(2))
def split(text: str, separator: str) -> tuple[str, ...]:
    return split_some(text, separator, -1)


@method("split", "string", "string", "int", cost=traversal(2))
def split_some(text: str, separator: str, limit: int) -> tuple[str, ...]:
    if limit == 0:
        return ()
    if not separator:
        head = text if limit < 0 else text[: limit - 1]
        rest = text[len(head) :]
        return (*head, rest) if rest else tuple(head)
    return tuple(text.split(separator, limit - 1 if limit > 0 else -1))


@method("substring", "string", "int", cost=traversal())
def substring(text: str, start: int) -> str:
    if not 0 <= start <= len(text):
        raise EvaluationError(f"index out of range: {start}")
    return text[start:]


@method("substring", "string", "int", "int", cost=traversal())
def substring_until(text: str, start: int, end: int) -> str:
    if start > end:
        raise EvaluationError(f"invalid substring range. start: {start}, end: {end}")
    for place in (start, end):
        if not 0 <= place <= len(text):
            raise EvaluationError(f"index out of range: {place}")
    return text[start:end]


@function("strings.quote", "string")
def quote(text: str) -> str:
    return '"' + text.translate(_QUOTED) + '"'


@method("trim", "string", cost=traversal())
def trim(text: str) -> str:
    return text.strip(
        "\t\n\v\f\r \u0085\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
        "\u2028\u2029\u202f\u205f\u3000"
    )


@method("join", "list", cost=of_result)
def join(parts: tuple[Any, ...]) -> str:
    return join_with(parts, "")


@method("join", "list", "string", cost=of_result)
def join_with(parts: tuple[Any, ...], separator: str) -> str:
    if not all(isinstance(part, str) for part in parts):
        raise EvaluationError("no such overload")
    return separator.join(parts)
