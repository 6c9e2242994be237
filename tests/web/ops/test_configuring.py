"""`./ksched config` against a service that answers what the test says."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kschedweb.ops import client, configuring
from tests.cases import cases
from tests.web.ops.conftest import Command, Said, Service

Configure = Callable[..., tuple[Said, list[tuple[str, str, Any]]]]

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


@pytest.fixture
def configure(command: Command) -> Configure:
    """`configure(answer, *words)`: what the command says when the service answers so, and what it asked."""

    def run(answer: Any, *words: str) -> tuple[Said, list[tuple[str, str, Any]]]:
        def told(path: str, body: Any) -> Any:
            if isinstance(answer, Exception):
                raise answer
            return answer

        service = Service(told, ("lab",))
        return command(configuring.configure, service, "config", "--cluster", "lab", *words), service.asked

    return run


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "config.yaml"
    path.write_text("kind: X\n")
    return path


def test_config_uploads_the_file_and_tells_what_runs(configure: Configure, file: Path) -> None:
    said, asked = configure(CONFIG, str(file))
    assert asked == [("PUT", "/api/clusters/1/scheduler-config", b"kind: X\n")]
    assert said.code == 0
    assert said.lines == [
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


@cases(
    "answer, last",
    ("the same again", {"changes": [], "is_in_use": True}, ["no setting differs from the version before",
     "version 3 is in use"]),
    ("nothing to compare with", {"changes": None},
     ["nothing to compare with: this is the first version, or the one before can no longer be read",
     "version 3 counts from the scheduler's next step on; queued pods stay queued"]),
)  # fmt: skip
def test_config_says_when_nothing_changed(configure: Configure, answer: dict[str, Any], last: list[str]) -> None:
    said, _ = configure({**CONFIG, **answer}, "--defaults")
    assert (said.code, said.lines[-2:]) == (0, last)


@cases(
    "words, call, out",
    ("shows the text alone", ["--show"], ("GET", None), "kind: X\n"),
    ("tells what runs", [], ("GET", None), "version 3, by ada at 2026-11-21T10:00:00Z\nprofile"),
    ("goes back to the defaults", ["--defaults"], ("PUT", b""), "version 3"),
)
def test_config_without_a_file(
    configure: Configure, words: list[str], call: tuple[str, bytes | None], out: str
) -> None:
    said, ((method, _, body),) = configure(CONFIG, *words)
    assert (said.code, (method, body)) == (0, call)
    assert said.out.startswith(out)


PROBLEMS = [
    {"line": 12, "path": "profilez", "message": "unknown field", "found": "profilez", "expected": "profiles"},
    {"line": None, "path": "", "message": "is too\nlarge", "found": "", "expected": ""},
]


def test_config_prints_every_problem_in_a_table(configure: Configure, file: Path) -> None:
    said, _ = configure(client.Refused("cannot be used", {"extra": {"problems": PROBLEMS}}), str(file))
    assert said.code == 1
    assert said.err.splitlines() == [
        f"ksched: {file}: refused, nothing was changed; 2 problems:",
        "LINE  FIELD     PROBLEM",
        "12    profilez  unknown field (expected: profiles)",
        "-     -         is too large",
    ]


def test_config_prints_what_more_there_is_to_say_below_the_table(configure: Configure, file: Path) -> None:
    problems = [PROBLEMS[0] | {"help": "- name: x\n  args: {}"}, PROBLEMS[1] | {"help": ""}]
    said, _ = configure(client.Refused("cannot be used", {"extra": {"problems": problems}}), str(file))
    assert said.err.splitlines()[3:] == ["-     -         is too large", "", "profilez:", "  - name: x", "    args: {}"]


def test_config_that_can_no_longer_be_used_says_why(configure: Configure) -> None:
    said, _ = configure({**CONFIG, "effective": None, "problems": PROBLEMS[:1]})
    assert said.code == 0
    assert said.lines[1:] == [
        "cannot be used any more:",
        "LINE  FIELD     PROBLEM",
        "12    profilez  unknown field (expected: profiles)",
    ]


@cases(
    "words, code, text",
    ("unknown cluster", ["--cluster", "other"], 1, "there is no cluster named other"),
    ("no such file", ["no.yaml"], 1, "cannot read no.yaml"),
    ("two wishes at once", ["--show", "--defaults"], 2, "not several"),
)
def test_config_that_cannot_be_done(configure: Configure, words: list[str], code: int, text: str) -> None:
    said, asked = configure(CONFIG, *words)
    assert said.code == code and text in said.err
    assert not any(method == "PUT" for method, _, _ in asked)
