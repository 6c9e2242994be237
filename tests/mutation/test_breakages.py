"""The breakages of rows.py: every row's test has one, and each still fits the file it breaks."""

from __future__ import annotations

import pytest

from kschedweb.environment import ROOT
from tests.mutation.rows import GROUPS, Breakage, breakages, chosen
from tools import checklist
from tools.testing.groups import FRONT

BREAKAGES = breakages()


def test_every_test_of_a_row_has_a_breakage() -> None:
    tests = {name for found in checklist.rows().values() for names in found.values() for name in names}
    broken = {each.test.rpartition("::")[2].partition("[")[0] for each in BREAKAGES}
    assert tests - broken == set()


@pytest.mark.parametrize("file", sorted({each.file for each in BREAKAGES}))
def test_breakages_fit_their_file(file: str) -> None:
    text = (ROOT / file).read_text()
    for breakage in BREAKAGES:
        if breakage.file == file:
            assert breakage.broken(text) != text


def test_tests_of_breakages_exist() -> None:
    for breakage in BREAKAGES:
        path, _, name = breakage.test.partition("::")
        function = name.rpartition("::")[2].partition("[")[0]
        named = f't("{name}", ' if breakage.group == FRONT else f"def {function}("  # it or test
        assert named in (ROOT / path).read_text(), breakage.test


def test_breakage_that_fits_no_more_is_refused() -> None:
    breakage = Breakage("tests/a.py::test_a", "a.py", "x = 1", "x = 2")
    assert breakage.broken("a\nx = 1\n") == "a\nx = 2\n"
    for text in ("nothing", "x = 1\nx = 1\n"):
        with pytest.raises(ValueError, match="times: 'x = 1'"):
            breakage.broken(text)


def test_breakages_are_chosen_by_group_and_word() -> None:
    assert sorted(map(str, chosen(()))) == sorted(map(str, BREAKAGES))
    for group in GROUPS:
        found = chosen((group,))
        assert {each.group for each in found} == {group}
    every_third = chosen(("web",), 3)
    assert every_third == chosen(("web",))[::3]
    assert {each.test for each in chosen(("ghost",))} == {each.test for each in BREAKAGES if "ghost" in each.test}
