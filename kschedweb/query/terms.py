"""A query's text becomes terms, and terms become a text: parse(written(terms)) == terms.

    query  = term {space term}
    term   = ["-"] (key operator value {"," value} | value {"," value})
    value  = letters without space, comma and quote | '"' … '"', in which `\\"` and `\\\\` stand for themselves

A wrong text is a QueryError that says where: `at` and `end` are places in the text, counted in characters.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from kschedweb.query.keys import KEYS, Key, Kind, ListOf

OPERATORS: Final = (">=", "<=", ">", "<", ":")  # longer ones first: they begin as others do
UNITS: Final = {"w": 604_800, "d": 86_400, "h": 3_600, "m": 60, "s": 1}
MOST_TERMS: Final = 50
MOST_NUMBER: Final = 2**31 - 1
MOST_SECONDS: Final = 100 * 366 * 86_400

Value = str | int


# What can be wrong with a text. The browser says it in the reader's language, by these names.
PROBLEMS: Final = {
    "tooMany": "at most {most} terms",
    "afterQuote": 'a quote ends a value: a space or "," must follow',
    "quoteWithin": "a quote stands around a whole value",
    "openQuote": "the quote is not closed",
    "noKey": "{list} have no key {key!r}; known: {known}; text with a colon: in quotes",
    "operator": "{key} takes {operators}",
    "oneValue": "{key}{operator} takes one value",
    "word": "{key} is one of {words}",
    "number": "{key} is a whole number of at most {most}",
    "span": "{key} is a time such as 90s, 10m, 1h30m or 2d",
    "noWord": "a word is missing",
    "noValue": "a value for {key} is missing",
    "nul": "no text holds a character of code 0",
}


class QueryError(ValueError):
    """The text is no query: what is wrong, one of PROBLEMS with its values, and where."""

    def __init__(self, problem: str, at: int, end: int, **values: str | int) -> None:
        self.message = PROBLEMS[problem].format(**values)
        super().__init__(self.message)
        self.problem, self.values, self.at, self.end = problem, values, at, end


@dataclass(frozen=True, slots=True)
class Term:
    """`key` is empty for free words. Spans are in seconds. One of the values must hold; not, if it is negated."""

    key: str
    operator: str
    values: tuple[Value, ...]
    negated: bool = False
    at: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Piece:
    """A value as it stands in the text."""

    text: str
    at: int
    end: int
    quoted: bool


@dataclass(frozen=True, slots=True)
class Raw:
    """A term as it stands in the text; `operator` is empty for free words."""

    at: int
    end: int
    negated: bool
    name: str
    name_at: int
    operator: str
    pieces: tuple[Piece, ...]


def parse(text: str, wanted: ListOf) -> tuple[Term, ...]:
    """The terms of a text, as asked of a list. QueryError."""
    found = tuple(_term(raw, wanted) for raw in scan(text))
    if len(found) > MOST_TERMS:
        raise QueryError("tooMany", found[MOST_TERMS].at, len(text.rstrip()), most=MOST_TERMS)
    return found


def written(terms: Iterable[Term]) -> str:
    """The text of terms; the same for equal ones."""
    return " ".join(_written(term) for term in terms)


def scan(text: str) -> Iterator[Raw]:
    """The terms of a text, without asking what they mean. QueryError where a quote is not closed."""
    at = 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        raw = _raw(text, at)
        yield raw
        at = raw.end


def _raw(text: str, start: int) -> Raw:
    negated = text[start] == "-"
    name_at = at = start + negated
    while at < len(text) and (text[at].isalnum() or text[at] in "_-"):
        at += 1
    name, operator = "", ""
    if at > name_at:
        operator = next((one for one in OPERATORS if text.startswith(one, at)), "")
    if operator:
        name, at = text[name_at:at], at + len(operator)
    else:
        at = name_at
    pieces: list[Piece] = []
    while True:
        piece = _piece(text, at)
        pieces.append(piece)
        at = piece.end
        if at >= len(text) or text[at] != ",":
            break
        at += 1
    if at < len(text) and not text[at].isspace():
        raise QueryError("afterQuote", at, at + 1)
    return Raw(start, at, negated, name, name_at, operator, tuple(pieces))


def _piece(text: str, start: int) -> Piece:
    if text[start : start + 1] == '"':
        return _quoted(text, start)
    at = start
    while at < len(text) and not text[at].isspace() and text[at] != ",":
        if text[at] == '"':
            raise QueryError("quoteWithin", at, at + 1)
        at += 1
    return Piece(text[start:at], start, at, quoted=False)


def _quoted(text: str, start: int) -> Piece:
    letters: list[str] = []
    at = start + 1
    while at < len(text) and text[at] != '"':
        if text[at] == "\\" and text[at + 1 : at + 2] in ("\\", '"'):
            at += 1
        letters.append(text[at])
        at += 1
    if at >= len(text):
        raise QueryError("openQuote", start, len(text))
    return Piece("".join(letters), start, at + 1, quoted=True)


def _term(raw: Raw, wanted: ListOf) -> Term:
    if not raw.operator:
        return Term("", "", tuple(_text(piece, raw) for piece in raw.pieces), raw.negated, raw.at)
    key = known_key(raw.name, wanted)
    end = raw.name_at + len(raw.name)
    if key is None:
        raise QueryError("noKey", raw.name_at, end, list=wanted.name, key=raw.name, known=", ".join(wanted.keys))
    if key.is_compared is not (raw.operator != ":") and not (key.kind is Kind.NUMBER and raw.operator == ":"):
        takes = {Kind.SPAN: "> <", Kind.NUMBER: ": > <"}.get(key.kind, ":")
        raise QueryError("operator", end, end + len(raw.operator), key=key.name, operators=takes)
    if key.is_compared and raw.operator != ":" and len(raw.pieces) > 1:
        raise QueryError("oneValue", raw.pieces[1].at - 1, raw.end, key=key.name, operator=raw.operator)
    values = tuple(_value(key, piece, raw, wanted) for piece in raw.pieces)
    return Term(key.name, raw.operator, values, raw.negated, raw.at)


def known_key(name: str, wanted: ListOf) -> Key | None:
    """The key of that name, in small or capital letters, if the list has it."""
    found = KEYS.get(name.lower())
    return found if found is not None and found.name in wanted.keys else None


def _value(key: Key, piece: Piece, raw: Raw, wanted: ListOf) -> Value:
    text = _text(piece, raw, key.name)
    if key.kind is Kind.WORD:
        words: Sequence[str] = wanted.words[key.name]
        word = next((word for word in words if word.lower() == text.lower()), None)
        if word is None:
            raise QueryError("word", piece.at, piece.end, key=key.name, words=", ".join(words))
        return word
    if key.kind is Kind.NUMBER:
        number = _number(text)
        if number is None:
            raise QueryError("number", piece.at, piece.end, key=key.name, most=MOST_NUMBER)
        return number
    if key.kind is Kind.SPAN:
        seconds = _seconds(text)
        if seconds is None:
            raise QueryError("span", piece.at, piece.end, key=key.name)
        return seconds
    return text


def _text(piece: Piece, raw: Raw, key: str = "") -> str:
    if not piece.text:
        if key:
            raise QueryError("noValue", raw.at, raw.end, key=key)
        raise QueryError("noWord", raw.at, raw.end)
    if "\0" in piece.text:
        raise QueryError("nul", piece.at, piece.end)
    return piece.text


def _number(text: str) -> int | None:
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdecimal()) or len(digits) > len(str(MOST_NUMBER)):
        return None
    number = int(text)
    return number if -MOST_NUMBER <= number <= MOST_NUMBER else None


def _seconds(text: str) -> int | None:
    """The seconds of numbers with their units, the largest unit first."""
    total, digits, units = 0, "", list(UNITS)
    for letter in text:
        if letter.isascii() and letter.isdecimal() and len(digits) < len(str(MOST_SECONDS)):
            digits += letter
        elif digits and letter in units:
            total += int(digits) * UNITS[letter]
            digits, units = "", units[units.index(letter) + 1 :]
        else:
            return None
    return None if digits or not text or total > MOST_SECONDS else total


def _written(term: Term) -> str:
    values = ",".join(_written_value(term, value) for value in term.values)
    return f"{'-' if term.negated else ''}{term.key}{term.operator}{values}"


def _written_value(term: Term, value: Value) -> str:
    if isinstance(value, int):
        return _written_span(value) if KEYS[term.key].kind is Kind.SPAN else str(value)
    return quoted(value) if needs_quotes(value, is_free=not term.key) else value


def needs_quotes(value: str, *, is_free: bool) -> bool:
    """Whether a value cannot stand as it is; a free word must not look like a key, or like a term that is negated."""
    if not value or any(letter.isspace() or letter in ',"' for letter in value):
        return True
    return is_free and (value.startswith("-") or any(letter in ":<>" for letter in value))


def quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _written_span(seconds: int) -> str:
    parts = []
    for unit, length in UNITS.items():
        if count := seconds // length:
            parts.append(f"{count}{unit}")
            seconds %= length
    return "".join(parts) or "0s"
