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
    start, value_at, end = _places(text, caret)
    begun = text[start:caret]
    sign = begun[:1] == "-"
    name_at = start + sign
    for place, letter in enumerate(begun):
        if letter in ":<>":
            key = known_key(text[name_at : start + place], wanted)
            if key is None:
                return Completion(start, end, ())
            first_at = start + place + 1
            if letter != ":" and text[first_at : first_at + 1] == "=":
                first_at += 1
            value_at = max(value_at, first_at)
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


def _places(text: str, caret: int) -> tuple[int, int, int]:
    """Where the term that is being written begins, its value after the last comma, and where that value ends.

    Spaces and commas within quotes end nothing, nor does a quote after a backslash within them.
    """
    begin = value_at = at = 0
    is_quoted = False
    while at < len(text):
        letter = text[at]
        ends = not is_quoted and (letter.isspace() or letter == ",")
        if at >= caret and ends:
            break
        if is_quoted and letter == "\\":
            at += 1
        elif letter == '"':
            is_quoted = not is_quoted
        elif ends:
            value_at = at + 1
            begin = begin if letter == "," else value_at
        at += 1
    if is_quoted:  # and never closed: what comes after a space are other terms
        at = next((place for place in range(caret, len(text)) if text[place].isspace()), len(text))
    return begin, value_at, max(caret, min(at, len(text)))
