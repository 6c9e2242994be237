"""`./ksched test`: which tests its words name, what has another try, and a last line that tells the truth."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from kschedweb.environment import ROOT
from tests.cases import cases
from tools import cli, testing
from tools.testing import changed, groups, pytests
from tools.testing.outcome import Failure, Outcome, counted

SUITE = '<testsuites><testsuite tests="10" failures="{0}" errors="{1}" skipped="2"/></testsuites>'
SERVICE_TEST, PLAIN_TEST = "tests/faults/test_kills.py::test_a", "tests/core/api/test_quantity.py::test_b"
SERVED = Failure(SERVICE_TEST, "what it said\n", may_pass=True)


@cases(
    "report, code, want",
    ("all good", SUITE.format(0, 0), 0, Outcome(8, 0, 2)),
    ("failures and errors", SUITE.format(1, 2), 1, Outcome(5, 3, 2)),
    ("ended badly all the same", SUITE.format(0, 0), 3, Outcome(8, 1, 2)),
    ("no report", None, 2, Outcome(0, 1, 0)),
)
def test_counted_is_honest(tmp_path: Path, report: str | None, code: int, want: Outcome) -> None:
    path = tmp_path / "report.xml"
    if report is not None:
        path.write_text(report)
    assert counted(path, code) == want


class Runs:
    """What each group comes to; `again` is what the tests that are tried once more come to."""

    def __init__(self) -> None:
        self.first = {"core": Outcome(5), "web": Outcome(4, 0, 1), "front": Outcome(3), "browser": Outcome(2)}
        self.first |= {"faults": Outcome(1), "attack": Outcome(1)}
        self.again = Outcome(1)
        self.asked: list[tuple[str, list[str], pytests.How]] = []

    def pytest(self, group: str, targets: Sequence[str], how: pytests.How, output: object = None) -> Outcome:
        self.asked.append((group, list(targets), how))
        return self.again if how.alone else self.first[group]

    def front(self, targets: Sequence[str] = (), *, word: str = "") -> Outcome:
        return self.first["front"]


def checks_fail(names: list[str], meanwhile: Callable[[], None] = lambda: None) -> list[str]:
    meanwhile()
    return names


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> Runs:
    """Groups that pass, and checks that hold."""
    made = Runs()
    monkeypatch.setattr(testing, "failed_checks", partial(checks_fail, []))
    monkeypatch.setattr(testing, "run_pytest", made.pytest)
    monkeypatch.setattr(testing, "run_front", made.front)
    return made


@cases(
    "words, without, last",
    ("all groups", [], [], "16 passed, 0 failed, 1 skipped"),
    ("one left out", [], ["browser"], "14 passed, 0 failed, 1 skipped, left out: browser"),
    ("that beside the checks", [], ["front"], "13 passed, 0 failed, 1 skipped, left out: front"),
    ("one group, without the checks", ["core"], [], "5 passed, 0 failed, 0 skipped"),
)
def test_last_line_adds_up(
    runs: Runs, capsys: pytest.CaptureFixture[str], words: list[str], without: list[str], last: str
) -> None:
    assert testing.run(words=words, without=without) == 0
    assert _lines(capsys)[-1] == last


def test_failed_check_fails_the_run(
    runs: Runs, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(testing, "failed_checks", partial(checks_fail, ["lint", "types"]))
    assert testing.run(words=[]) == 1
    lines = _lines(capsys)
    assert lines[-1] == "16 passed, 2 failed, 1 skipped"
    assert "FAILED check types   ./ksched check" in lines


def test_group_that_cannot_run_fails_and_says_what_to_install(
    runs: Runs, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("KSCHED_CHROMIUM", raising=False)
    monkeypatch.setattr(testing, "run_pytest", lambda *_: pytests.find_chromium() and Outcome())
    assert testing.run(words=["browser"]) == 1
    lines = _lines(capsys)
    assert "browser cannot run: no Chromium found: apt-get install chromium" in "\n".join(lines)
    assert lines[-1] == "0 passed, 1 failed, 0 skipped"


def test_modules_are_compiled_once_whatever_the_environment_says(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    assert testing.run(words=["core"]) == 0
    assert "PYTHONDONTWRITEBYTECODE" not in os.environ


def test_a_run_of_nothing_is_not_a_success(runs: Runs) -> None:
    assert testing.run(words=["core"], without=["core"]) == 1


def test_command_line_knows_every_group() -> None:
    assert cli.TEST_GROUPS == testing.GROUPS


# Another try


def test_service_test_that_passes_alone_is_told_as_unstable_and_counts_as_passed(
    runs: Runs, capsys: pytest.CaptureFixture[str]
) -> None:
    runs.first["faults"] = Outcome(3, 1, 0, [SERVED])
    assert testing.run(words=[]) == 0
    assert runs.asked[-1] == ("faults", [SERVICE_TEST], pytests.How(alone=True)), "after all others"
    lines = _lines(capsys)
    assert "what it said" in lines
    assert f"UNSTABLE {SERVICE_TEST}   ./ksched test {SERVICE_TEST}" in lines
    assert lines[-1] == "19 passed, 0 failed, 1 skipped"


@cases(
    "failures, again, tried",
    ("it fails again", [SERVED], Outcome(0, 1, 0, [Failure(SERVICE_TEST)]), True),
    ("pytest ends badly", [SERVED], Outcome(0, 1, 0, [Failure("faults")]), True),
    ("it has no service", [Failure(PLAIN_TEST)], Outcome(1), False),
    ("too many", [replace(SERVED, name=f"{SERVICE_TEST}{n}") for n in range(9)], Outcome(9), False),
)
def test_failure_stays_one(
    runs: Runs, capsys: pytest.CaptureFixture[str], failures: list[Failure], again: Outcome, tried: bool
) -> None:
    runs.first["faults"], runs.again = Outcome(0, len(failures), 0, failures), again
    assert testing.run(words=["faults"]) == 1
    assert any(how.alone for *_, how in runs.asked) == tried
    lines = _lines(capsys)
    assert [line for line in lines if line.startswith("FAILED ")] == [
        f"FAILED {failure.name}   ./ksched test {failure.name}" for failure in failures
    ]
    assert lines[-1] == f"0 passed, {len(failures)} failed, 0 skipped"


def test_failures_are_written_down_with_their_output_and_whether_they_have_another_try(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = service: has a service\n")
    (tmp_path / "test_it.py").write_text(
        "import pytest\n"
        "@pytest.mark.service\ndef test_slow():\n    print('said')\n    assert 1 == 2\n"
        "def test_plain():\n    assert []\n"
        "def test_good():\n    pass\n"
    )
    words = ["-p", "tools.testing.failed", f"--failed-to={tmp_path / 'failed.json'}", "-p", "no:django", "-q"]
    subprocess.run(
        [sys.executable, "-m", "pytest", *words, "-n", "1", "-c", str(tmp_path / "pytest.ini"), str(tmp_path)],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
        capture_output=True,
    )
    slow, plain = sorted(pytests.failures_in(tmp_path / "failed.json", "core"), key=lambda one: not one.may_pass)
    assert (slow.name, slow.may_pass) == ("test_it.py::test_slow", True)
    assert "assert 1 == 2" in slow.text and "said" in slow.text
    assert (plain.name, plain.may_pass) == ("test_it.py::test_plain", False)
    assert pytests.failures_in(tmp_path / "absent.json", "core") == [Failure("core")]


# Which tests


@cases(
    "words, want",
    ("a group", ["faults"], {"faults": ["tests/faults"]}),
    ("the group without Python", ["front"], {"front": []}),
    ("a test", [PLAIN_TEST], {"core": [PLAIN_TEST]}),
    ("folders", ["./tests/web/live/", "tests/core/api"], {"core": ["tests/core/api"], "web": ["tests/web/live"]}),
    ("the browser's half", [str(ROOT / "frontend" / "src")], {"front": ["frontend/src"]}),
    ("twice the same", ["attack", "tests/attack"], {"attack": ["tests/attack"]}),
)
def test_words_name_tests(words: list[str], want: dict[str, list[str]]) -> None:
    assert groups.chosen(words) == want


@pytest.mark.parametrize("word", ["curious", "tests", "tests/builders.py", "docs", "/etc/hosts", "tests/core/no.py"])
def test_word_that_names_no_test_is_refused_by_name(runs: Runs, capsys: pytest.CaptureFixture[str], word: str) -> None:
    assert testing.run(words=[word]) == 2
    assert repr(word) in _lines(capsys)[-1] and not runs.asked


def test_every_group_has_tests_without_words() -> None:
    assert list(groups.chosen([])) == list(testing.GROUPS)
    assert all(targets for group, targets in groups.chosen([]).items() if group != "front")


# Those that changes may concern


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A repository on a branch that has changed nothing yet."""
    for words in (
        ["init", "-q", "-b", "main"],
        ["commit", "-q", "--allow-empty", "-m", "first"],
        ["switch", "-qc", "w"],
    ):
        _git(tmp_path, *words)
    return tmp_path


def _git(folder: Path, *words: str) -> None:
    who = ["-c", "user.name=t", "-c", "user.email=t@example.com"]
    subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True)


def test_what_differs_from_main_is_found_committed_or_not(checkout: Path) -> None:
    assert changed.changed_files(checkout) == set()
    (checkout / "a.py").write_text("")
    _git(checkout, "add", "a.py")
    _git(checkout, "commit", "-qm", "second")
    (checkout / "b.py").write_text("")
    assert changed.changed_files(checkout) == {"a.py", "b.py"}


@cases(
    "files, some, none",
    ("a plugin", {"scheduler_core/plugins/priority_sort.py"},
     {"tests/core/plugins/test_priority_sort.py", "tests/faults", "tests/browser"},
     {"tests/core/api/test_quantity.py", "tests/tools/test_go_types.py"}),
    ("a test", {"tests/core/api/test_quantity.py"}, {"tests/core/api/test_quantity.py"}, {"tests/faults"}),
    ("a helper", {"tests/faults/audit.py"}, {"tests/faults/test_kills.py"}, {"tests/browser"}),
    ("fixtures", {"tests/web/mirror/conftest.py"},
     {"tests/web/mirror/test_following.py"}, {"tests/web/live/test_feed.py"}),
    ("a page", {"docs/queue.md"}, {"tests/architecture"}, {"tests/faults", "tests/browser"}),
    ("the browser's half", {"frontend/src/main.ts"}, {"tests/browser"}, {"tests/faults"}),
    ("data of tests", {"tests/mutation/breakages/001.toml"},
     {"tests/mutation/breakages", "tests/mutation"}, {"tests/faults"}),
)  # fmt: skip
def test_changes_concern_tests(
    monkeypatch: pytest.MonkeyPatch, files: set[str], some: set[str], none: set[str]
) -> None:
    monkeypatch.setattr(changed, "changed_files", lambda root: files)
    found = {target for targets in changed.concerned().values() for target in targets}
    assert some & found and not none & found, sorted(found)


def test_nothing_changed_is_no_failure(
    runs: Runs, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(changed, "changed_files", lambda root: set())
    assert testing.run(words=[], only_changed=True) == 0
    assert _lines(capsys)[-1] == "nothing has changed since main" and not runs.asked


def _lines(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return capsys.readouterr().out.splitlines()
