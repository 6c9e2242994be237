"""`./ksched config` against a service that answers what the test says."""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kschedweb.ops import client, configuring
from tools import cli

PLUGINS = [{"name": "NodeResourcesFit", "weight": 1}, {"name": "RackAware", "weight": 5}]
CONFIG = {
    "version": 3,
    "replayable": False,
    "actor": "ada",
    "at": "2026-11-21T10:00:00Z",
    "text": "kind: X\n",
    "problems": [],
    "changes": [
        {"path": "parallelism", "kind": "changed", "before": "16", "after": "8"},
        {"path": "profiles[second]", "kind": "added", "before": "", "after": ""},
    ],
    "is_in_use": False,
    "effective": {
        "profiles": [
            {
                "scheduler_name": "default-scheduler",
                "points": [{"point": "score", "plugins": PLUGINS}, {"point": "permit", "plugins": []}],
                "left_out": [],
                "not_deterministic": ["RackAware"],
                "ends_reuse": ["RackAware"],
            }
        ]
    },
}
Calls = list[tuple[str, str, bytes | None]]


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any], Calls]:
    """Let every call about the configuration be answered so; the calls made."""

    def answers(answer: Any) -> Calls:
        calls: Calls = []

        def call(self: Any, method: str, path: str, body: bytes | None = None, content_type: str = "") -> Any:
            calls.append((method, path, body))
            if path == "/api/clusters":
                return 200, [{"id": 7, "name": "lab"}]
            if isinstance(answer, Exception):
                raise answer
            return 200, answer

        monkeypatch.setattr(client.Client, "call", call)
        monkeypatch.setattr(configuring, "connect", lambda _: client.Client("h", 1, "t"))
        return calls

    return answers


def run(tmp_path: Path, *words: str) -> int:
    options: argparse.Namespace = cli.parser().parse_args(["config", *words])
    return configuring.configure(data_dir=tmp_path, options=options)


def test_config_uploads_the_file_and_tells_what_runs(
    service: Callable[[Any], Calls], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    calls = service(CONFIG)
    file = tmp_path / "config.yaml"
    file.write_text("kind: X\n")
    assert run(tmp_path, str(file), "--cluster", "lab") == 0
    assert calls[1] == ("PUT", "/api/clusters/7/scheduler-config", b"kind: X\n")
    assert capsys.readouterr().out.splitlines() == [
        "version 3, by ada at 2026-11-21T10:00:00Z",
        "profile default-scheduler",
        "  not replayable because of RackAware",
        "  no reuse between equivalent pods because of RackAware",
        "  score       NodeResourcesFit*1, RackAware*5",
        "",
        "changed against the version before:",
        "FIELD             WHAT     BEFORE  NOW",
        "parallelism       changed  16      8",
        "profiles[second]  added    -       -",
        "version 3 counts from the scheduler's next step on; queued pods stay queued",
    ]


@pytest.mark.parametrize(
    ("answer", "last"),
    [
        pytest.param(
            {"changes": [], "is_in_use": True},
            ["no setting differs from the version before", "version 3 is in use"],
            id="the same again",
        ),
        pytest.param(
            {"changes": None},
            [
                "nothing to compare with: this is the first version, or the one before can no longer be read",
                "version 3 counts from the scheduler's next step on; queued pods stay queued",
            ],
            id="nothing to compare with",
        ),
    ],
)
def test_config_says_when_nothing_changed(
    service: Callable[[Any], Calls],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    answer: dict[str, Any],
    last: list[str],
) -> None:
    service({**CONFIG, **answer})
    assert run(tmp_path, "--defaults", "--cluster", "lab") == 0
    assert capsys.readouterr().out.splitlines()[-2:] == last


@pytest.mark.parametrize(
    ("words", "call", "out"),
    [
        pytest.param(["--show"], ("GET", None), "kind: X\n", id="shows the text alone"),
        pytest.param([], ("GET", None), "version 3, by ada at 2026-11-21T10:00:00Z\nprofile", id="tells what runs"),
        pytest.param(["--defaults"], ("PUT", b""), "version 3", id="goes back to the defaults"),
    ],
)
def test_config_without_a_file(
    service: Callable[[Any], Calls],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    call: tuple[str, bytes | None],
    out: str,
) -> None:
    calls = service(CONFIG)
    assert run(tmp_path, *words, "--cluster", "lab") == 0
    assert (calls[1][0], calls[1][2]) == call
    assert capsys.readouterr().out.startswith(out)


PROBLEMS = [
    {"line": 12, "path": "profilez", "message": "unknown field", "found": "profilez", "expected": "profiles"},
    {"line": None, "path": "", "message": "is too\nlarge", "found": "", "expected": ""},
]


def test_config_prints_every_problem_in_a_table(
    service: Callable[[Any], Calls], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    service(client.Refused("cannot be used", {"extra": {"problems": PROBLEMS}}))
    file = tmp_path / "config.yaml"
    file.write_text("x")
    assert run(tmp_path, str(file), "--cluster", "lab") == 1
    assert capsys.readouterr().err.splitlines() == [
        f"ksched: {file}: refused, nothing was changed; 2 problems:",
        "LINE  FIELD     PROBLEM",
        "12    profilez  unknown field (expected: profiles)",
        "-     -         is too large",
    ]


def test_config_that_can_no_longer_be_used_says_why(
    service: Callable[[Any], Calls], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    service({**CONFIG, "effective": None, "problems": PROBLEMS[:1]})
    assert run(tmp_path, "--cluster", "lab") == 0
    assert capsys.readouterr().out.splitlines()[1:] == [
        "cannot be used any more:",
        "LINE  FIELD     PROBLEM",
        "12    profilez  unknown field (expected: profiles)",
    ]


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        pytest.param(["--cluster", "other"], 1, "there is no cluster named other", id="unknown cluster"),
        pytest.param(["no.yaml", "--cluster", "lab"], 1, "cannot read no.yaml", id="no such file"),
        pytest.param(["--show", "--defaults", "--cluster", "lab"], 2, "not several", id="two wishes at once"),
    ],
)
def test_config_that_cannot_be_done(
    service: Callable[[Any], Calls],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    code: int,
    text: str,
) -> None:
    calls = service(CONFIG)
    assert run(tmp_path, *words) == code
    assert text in capsys.readouterr().err
    assert not any(method == "PUT" for method, _, _ in calls)
