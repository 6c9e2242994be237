"""The rule of the search: how a word matches a name, and that what is found has one order."""

import json
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kschedweb.common import ranking
from kschedweb.common.ranking import How, Match, match
from kschedweb.environment import ROOT

# The browser's half has the same rule and is held to the same cases.
CASES = json.loads((ROOT / "frontend/src/lib/ranking.cases.json").read_text())

words = st.text("ab0-. 1", max_size=6)
names = st.text("ab0-. 1", min_size=1, max_size=12)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['word']} in {case['name']}")
def test_word_matches_name(case: dict[str, Any]) -> None:
    found = match(case["word"], case["name"])
    how = None if found is None else found.how.name.lower()
    marks = [] if found is None else [list(mark) for mark in found.marks]
    assert (how, marks) == (case["how"], case["marks"])


@given(words, names)
def test_marks_are_the_letters_of_the_word_in_their_order(word: str, name: str) -> None:
    found = match(word, name)
    if found is None:
        return
    marked = "".join(name[start:end] for start, end in found.marks)
    assert marked.replace(" ", "") == word.strip().replace(" ", "")
    assert all(one[1] <= other[0] for one, other in zip(found.marks, found.marks[1:], strict=False))


def naive(word: str, name: str) -> Match | None:
    """What the rule says, by trying everything."""
    word = word.strip()
    if not word:
        return Match(How.START, 0, ())

    def begins(at: int) -> bool:
        while at and name[at - 1] == "0" and name[at].isdigit():
            at -= 1
        return not at or name[at - 1] in ranking.SEPARATORS

    places = [at for at in range(len(name)) if name.startswith(word, at)]
    if word == name:
        return Match(How.EXACT, 1, ((0, len(name)),))
    if 0 in places:
        return Match(How.START, 1, ((0, len(word)),))
    if starting := [at for at in places if begins(at) and word[0] not in ranking.SEPARATORS]:
        return Match(How.WORD, 1, ((starting[0], starting[0] + len(word)),))
    if places:
        return Match(How.INSIDE, 1, ((places[0], places[0] + len(word)),))
    letters = word.replace(" ", "")
    for parts in range(2, len(letters) + 1):
        for cuts in combinations(range(1, len(letters)), parts - 1):
            edges = (0, *cuts, len(letters))
            at, fits = 0, True
            for one, other in zip(edges, edges[1:], strict=False):
                piece = letters[one:other]
                found = [
                    place
                    for place in range(at, len(name))
                    if name.startswith(piece, place) and begins(place) and piece[0] not in ranking.SEPARATORS
                ]
                if not found:
                    fits = False
                    break
                at = found[0] + len(piece)
            if fits:
                return Match(How.PARTS, parts, ())
    return None


@given(words, names)
def test_rule_is_that_of_trying_everything(word: str, name: str) -> None:
    found, want = match(word, name), naive(word, name)
    if found is not None and found.how is How.PARTS:
        # One part with its spaces left out is no other kind of match.
        assert found.parts == 1 or (want is not None and (want.how, want.parts) == (found.how, found.parts))
    else:
        assert found == want or (want is not None and want.how is How.PARTS and found is None and " " in word)


@given(words, names)
def test_upper_and_lower_case_are_the_same(word: str, name: str) -> None:
    assert match(word.upper(), name) == match(word, name.upper()) == match(word, name)


def test_long_words_are_no_abbreviations() -> None:
    name = "a-" * 60
    assert match("a" * ranking.LONGEST_ABBREVIATION, name) is not None
    assert match("a" * (ranking.LONGEST_ABBREVIATION + 1), name) is None
