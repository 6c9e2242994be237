"""What can stand where somebody is writing: keys, their words, or values that the caller looks up in a cluster."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from kschedweb.query.keys import KEYS, Kind, ListOf
from kschedweb.query.terms import known_key, needs_quotes, quoted

MOST: Final = 20

Look = Callable[[str, str], Sequence[str]]
"""(key, part) → values of the cluster that have that part."""


@dataclass(frozen=True, slots=True)
class Completion:
    """The options replace the text from `at` to `end`. An option that is whole ends in a space."""

    at: int
    end: int
    options: tuple[str, ...]


def completion(text: str, caret: int, wanted: ListOf, look: Look) -> Completion:
    """The options at a place of the text."""
    caret = max(0, min(caret, len(text)))
    start = _begin(text, caret)
    end = _end(text, caret)
    begun = text[start:caret]
    sign = begun[:1] == "-"
    name_at = start + sign
    for place, letter in enumerate(begun):
        if letter in ":<>":
            key = known_key(text[name_at : start + place], wanted)
            if key is None:
                return Completion(start, end, ())
            value_at = start + place + 1
            if letter != ":" and text[value_at : value_at + 1] == "=":
                value_at += 1
            value_at = max(value_at, text.rfind(",", value_at, caret) + 1)
            part = text[value_at:caret].removeprefix('"')
            return Completion(value_at, end, _values(key.name, part, wanted, look))
    begins = begun[sign:].lower()
    keys = [name for name in wanted.keys if name.startswith(begins)]
    return Completion(name_at, end, tuple(f"{name}{'>' if KEYS[name].is_compared else ':'}" for name in keys))


def _values(key: str, part: str, wanted: ListOf, look: Look) -> tuple[str, ...]:
    sought = part.lower()
    kind = KEYS[key].kind
    if kind is Kind.WORD:
        return tuple(f"{word} " for word in wanted.words[key] if word.lower().startswith(sought))
    if kind in (Kind.NUMBER, Kind.SPAN):
        return ()
    found = [value for value in look(key, part) if sought in value.lower()]
    found.sort(key=lambda value: (not value.lower().startswith(sought), value))
    return tuple(f"{quoted(value) if needs_quotes(value, is_free=False) else value} " for value in found[:MOST])


def _begin(text: str, caret: int) -> int:
    """Where the term that is being written begins: after the last space outside of quotes."""
    begin, is_quoted = 0, False
    for place in range(caret):
        if text[place] == '"' and text[place - 1 : place] != "\\":
            is_quoted = not is_quoted
        elif text[place].isspace() and not is_quoted:
            begin = place + 1
    return begin


def _end(text: str, caret: int) -> int:
    """Where the value at the caret ends."""
    end = caret
    while end < len(text) and not text[end].isspace() and text[end] != ",":
        end += 1
    return end
