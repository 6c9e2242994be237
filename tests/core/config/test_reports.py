"""Configurations that people had trouble with, and whether kube-scheduler 1.34.1 takes them: see their expected.md."""

from __future__ import annotations

import re
from typing import Any

import pytest

from scheduler_core import config
from scheduler_core.build import problems_of
from scheduler_core.errors import ConfigProblem
from tests.golden.recordings import GOLDEN

REPORTS = GOLDEN.parent / "reports" / "04-configs"
NO_EXTENDER: Any = None  # all are taken for reached
pytestmark = pytest.mark.skipif(not REPORTS.is_dir(), reason=f"the reports are not there: {REPORTS}")


def problems(name: str) -> list[ConfigProblem]:
    (path,) = REPORTS.glob(f"{name}-*")
    examined = config.examine(path.read_bytes())
    if examined.is_readable:
        examined.add(problems_of(examined.config, connect_extender=lambda extender: NO_EXTENDER))
    return list(examined.problems)


def test_good_ones_are_taken_and_all_others_are_refused() -> None:
    good = re.search(r"Expected, as [^:]*: (.*?) good; all others refused", (REPORTS / "expected.md").read_text())
    assert good is not None
    names = {path.name.partition("-")[0] for path in REPORTS.glob("?-*")}
    assert {name for name in names if not problems(name)} == set(good[1].split(", "))


@pytest.mark.parametrize("name", ["b", "f"])
def test_former_versions_are_refused_in_the_words_of_the_source(name: str) -> None:
    told = re.search(rf" {name}: (.*?)[;.] ", (REPORTS / "expected.md").read_text())
    assert told is not None
    (problem,) = problems(name)
    words = told[1].replace(" for that version", "")
    assert words in str(problem) and 'registered for version "kubescheduler.config.k8s.io/v1beta3"' in str(problem)
    assert problem.expected == "kubescheduler.config.k8s.io/v1" and problem.help


def test_every_problem_says_where_it_is_and_what_is_expected() -> None:
    for path in REPORTS.glob("?-*"):
        for problem in problems(path.name[0]):
            assert problem.message and (problem.path or problem.line), (path.name, problem)
            assert problem.expected or not problem.path, (path.name, problem)
