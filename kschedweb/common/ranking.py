"""How well a word matches a name: the one order of what a search finds.

Best first: the name itself, its start, the start of a word in it, any place in it, and last parts of the word in order,
each at the start of a word: `opod12` is openb-pod-0012. Zeros before a number are passed over. Upper and lower case are
the same. `frontend/src/lib/ranking.ts` has the same rule for what only the browser knows; tests hold them equal.
"""

from dataclasses import dataclass
from enum import IntEnum
from typing import Final

SEPARATORS: Final = "-./:_ "
# Longer words are pasted, not abbreviated.
LONGEST_ABBREVIATION: Final = 16

Marks = tuple[tuple[int, int], ...]
_Step = tuple[int, int, int | None]  # parts up to a place, where the last begins, the place of the letter before


class How(IntEnum):
    """In which way a word matches, the best first."""

    EXACT = 0
    START = 1
    WORD = 2
    INSIDE = 3
    PARTS = 4


@dataclass(frozen=True, slots=True)
class Match:
    """`parts`: into how many the word was taken apart; `marks`: (start, end) of what matches, in characters."""

    how: How
    parts: int
    marks: Marks


def folded(text: str) -> str:
    """The text in lower case, character by character: places in it are those in the text."""
    if text.isascii():
        return text.lower()
    return "".join(low if len(low := one.lower()) == 1 else one for one in text)


def match(word: str, name: str) -> Match | None:
    """How the word matches the name; None when it does not. An empty word matches every name."""
    word, name = folded(word.strip()), folded(name)
    if not word:
        return Match(How.START, 0, ())
    if word == name:
        return Match(How.EXACT, 1, ((0, len(name)),))
    if name.startswith(word):
        return Match(How.START, 1, ((0, len(word)),))
    starts = _starts(name)
    inside = -1
    at = name.find(word)
    while at >= 0:
        if starts[at]:
            return Match(How.WORD, 1, ((at, at + len(word)),))
        inside = at if inside < 0 else inside
        at = name.find(word, at + 1)
    if inside >= 0:
        return Match(How.INSIDE, 1, ((inside, inside + len(word)),))
    letters = abbreviation(word)
    marks = _parts(letters, name, starts) if letters else None
    return None if marks is None else Match(How.PARTS, len(marks), marks)


def abbreviation(word: str) -> str:
    """The letters of a folded word to be found in order; empty when it is too long for that."""
    letters = "".join(word.split())
    return letters if len(letters) <= LONGEST_ABBREVIATION else ""


def _starts(name: str) -> list[bool]:
    """Whether a word starts at each place of the name; zeros before a number are passed over."""
    starts: list[bool] = []
    for place, letter in enumerate(name):
        before = name[place - 1] if place else ""
        begins = not place or before in SEPARATORS or (before == "0" and "0" <= letter <= "9" and starts[-1])
        starts.append(begins and letter not in SEPARATORS)
    return starts


def _parts(letters: str, name: str, starts: list[bool]) -> Marks | None:
    """The fewest parts, leftmost, in which the letters stand in the name; None when they do not.

    For each letter in turn: the places it may stand at, each with the fewest parts up to it.
    """
    row: dict[int, _Step] = {at: (1, at, None) for at, one in enumerate(name) if one == letters[0] and starts[at]}
    rows = [row]
    for letter in letters[1:]:
        following: dict[int, _Step] = {}
        best: tuple[int, int] | None = None  # the fewest parts up to a place passed already, and that place
        for at, one in enumerate(name):
            if one == letter:
                found: _Step | None = None
                if at - 1 in row:
                    count, begin, _ = row[at - 1]
                    found = (count, begin, at - 1)
                if starts[at] and best is not None and (found is None or best[0] + 1 < found[0]):
                    found = (best[0] + 1, at, best[1])
                if found is not None:
                    following[at] = found
            if at in row and (best is None or row[at][0] < best[0]):
                best = (row[at][0], at)
        row = following
        rows.append(row)
    if not row:
        return None
    at = min(row, key=lambda place: (row[place][0], place))
    ends: list[tuple[int, int]] = []
    end = at + 1
    for places in reversed(rows):
        _, begin, before = places[at]
        if begin == at:
            ends.append((at, end))
            end = 0 if before is None else before + 1
        at = -1 if before is None else before
    return tuple(reversed(ends))
