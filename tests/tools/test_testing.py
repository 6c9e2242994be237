"""The last line of ./ksched test tells the truth."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from tools import cli, testing
from tools.testing import Count

SUITE = '<testsuites><testsuite tests="10" failures="{0}" errors="{1}" skipped="2"/></testsuites>'


@pytest.mark.parametrize(
    ("report", "code", "want"),
    [
        pytest.param(SUITE.format(0, 0), 0, Count(8, 0, 2), id="all good"),
        pytest.param(SUITE.format(1, 2), 1, Count(5, 3, 2), id="failures and errors"),
        pytest.param(SUITE.format(0, 0), 3, Count(8, 1, 2), id="ended badly all the same"),
        pytest.param(None, 2, Count(0, 1, 0), id="no report"),
    ],
)
def test_counted_is_honest(tmp_path: Path, report: str | None, code: int, want: Count) -> None:
    path = tmp_path / "report.xml"
    if report is not None:
        path.write_text(report)
    assert testing.counted(path, code) == want


def checks_fail(names: list[str], meanwhile: Callable[[], None] = lambda: None) -> list[str]:
    meanwhile()
    return names


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> dict[str, Count]:
    """What each group would count; the checks all hold."""
    counts = {"core": Count(5), "web": Count(4, 0, 1), "front": Count(3), "browser": Count(2), "faults": Count(1)}
    counts["attack"] = Count(1)
    monkeypatch.setattr(testing, "failed_checks", partial(checks_fail, []))
    monkeypatch.setattr(testing, "run_pytest", lambda group, **_: counts[group])
    monkeypatch.setattr(testing, "run_front", lambda: counts["front"])
    return counts


def test_last_line_adds_up_all_groups(runs: dict[str, Count], capsys: pytest.CaptureFixture[str]) -> None:
    assert testing.run(groups=[], without=[], long=False) == 0
    assert _last(capsys) == "16 passed, 0 failed, 1 skipped"


def test_last_line_says_what_was_left_out(runs: dict[str, Count], capsys: pytest.CaptureFixture[str]) -> None:
    assert testing.run(groups=[], without=["browser"], long=False) == 0
    assert _last(capsys) == "14 passed, 0 failed, 1 skipped, left out: browser"


def test_last_line_is_true_without_the_group_that_runs_beside_the_checks(
    runs: dict[str, Count], capsys: pytest.CaptureFixture[str]
) -> None:
    assert testing.run(groups=[], without=["front"], long=False) == 0
    assert _last(capsys) == "13 passed, 0 failed, 1 skipped, left out: front"


def test_one_group_runs_without_the_checks(
    runs: dict[str, Count], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(testing, "failed_checks", partial(checks_fail, ["lint"]))
    assert testing.run(groups=["core"], without=[], long=False) == 0
    assert _last(capsys) == "5 passed, 0 failed, 0 skipped"


def test_failed_check_fails_the_run(
    runs: dict[str, Count], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(testing, "failed_checks", partial(checks_fail, ["lint", "types"]))
    assert testing.run(groups=[], without=[], long=False) == 1
    assert _last(capsys) == "16 passed, 2 failed, 1 skipped"


def test_group_that_cannot_run_fails_and_says_what_to_install(
    runs: dict[str, Count], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("KSCHED_CHROMIUM", raising=False)
    monkeypatch.setattr(testing, "run_pytest", lambda group, **_: testing.find_chromium() and Count())
    assert testing.run(groups=["browser"], without=[], long=False) == 1
    said = capsys.readouterr().out
    assert "browser cannot run: no Chromium found: apt-get install chromium" in said
    assert said.endswith("0 passed, 1 failed, 0 skipped\n")


def test_command_line_knows_every_group() -> None:
    assert cli.TEST_GROUPS == testing.GROUPS


def test_a_run_of_nothing_is_not_a_success(runs: dict[str, Count]) -> None:
    assert testing.run(groups=["core"], without=["core"], long=False) == 1


def _last(capsys: pytest.CaptureFixture[str]) -> str:
    return capsys.readouterr().out.splitlines()[-1]
