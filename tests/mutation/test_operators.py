"""What the operators find in a few lines, and what they leave alone."""

from __future__ import annotations

import pytest

from tests.mutation.operators import mutants

SOURCE = '''"""Says 1 < 2."""

from typing import Protocol


class Port(Protocol):
    def answer(self, most: int = 3) -> bool:
        return most > 1


def count(rows: list[int], most: int = 10) -> int:
    """Of those below 1."""
    found = [row for row in rows if row < most and row != 4]
    log.info("found", len(found) + 1)
    for row in found:
        if not row:
            continue
        tell(row, most, loudly=True)
    return max(len(found), 2)
'''


def replaced(source: str = SOURCE) -> set[tuple[int, str, str]]:
    """(line, old, new) of all mutants."""
    return {(each.line, each.old, each.new) for each in mutants("one.py", source)}


@pytest.mark.parametrize(
    ("line", "old", "new"),
    [
        pytest.param(13, "row < most", "(row >= most)", id="comparison"),
        pytest.param(13, "row < most", "(row <= most)", id="boundary"),
        pytest.param(13, "row < most and row != 4", "(row < most or row != 4)", id="boolean"),
        pytest.param(13, "row < most and row != 4", "(row != 4)", id="operand dropped"),
        pytest.param(13, "[row for row in rows if row < most and row != 4]", "([row for row in rows])", id="filter"),
        pytest.param(11, "10", "(11)", id="constant of a default"),
        pytest.param(16, "not row", "True", id="condition"),
        pytest.param(17, "continue", "break", id="loop"),
        pytest.param(18, "tell(row, most, loudly=True)", "pass", id="statement dropped"),
        pytest.param(18, "tell(row, most, loudly=True)", "(tell(most, row, loudly=True))", id="arguments swapped"),
        pytest.param(18, "tell(row, most, loudly=True)", "(tell(row, most))", id="argument dropped"),
        pytest.param(19, "return max(len(found), 2)", "return (max(len(found), 2)) + 1", id="returned value"),
        pytest.param(19, "max(len(found), 2)", "(min(len(found), 2))", id="other function"),
        pytest.param(19, "max(len(found), 2)", "(len(found))", id="call dropped"),
    ],
)
def test_operator_finds(line: int, old: str, new: str) -> None:
    assert (line, old, new) in replaced()


def test_words_logs_annotations_and_protocols_are_left_alone() -> None:
    assert {line for line, _, _ in replaced()} <= {11, 13, 15, 16, 17, 18, 19}


def test_condition_of_a_statement_for_the_database_is_made_void() -> None:
    source = 'SQL = (\n    "UPDATE a SET b = %s"\n    " WHERE é.c = %s AND d < %s"\n)\n'
    assert replaced(source) == {
        (3, "é.c = %s", "%s IS NOT NULL"),
        (3, "d < %s", "%s IS NOT NULL"),
        (3, "d < %s", "d <= %s"),
    }
    (first, *_) = mutants("one.py", source)
    assert first.applied_to(source).splitlines()[2] == '    " WHERE %s IS NOT NULL AND d < %s"'


def test_every_mutant_of_the_sample_is_python_and_differs() -> None:
    for mutant in mutants("one.py", SOURCE):
        assert mutant.compiles(SOURCE), mutant
        assert mutant.applied_to(SOURCE) != SOURCE
