"""The tool as it is called: what it prints, its exit codes, and files it does not read."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from scheduler_core.conformance import main

NODE = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "n1", "uid": "node-1"},
    "spec": {},
    "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"}},
}
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p1", "namespace": "default", "uid": "pod-1"},
    "spec": {
        "schedulerName": "default-scheduler",
        "containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}],
    },
    "status": {"phase": "Pending"},
}
SCENARIO = {"name": "hand-1", "config": None, "objects": [NODE], "pending": [POD]}
RESULT = {
    "name": "hand-1",
    "percentageOfNodesToScore": 0,
    "nodeOrder": ["n1"],
    "queueOrder": ["default/p1"],
    "cycles": [
        {
            "pod": "default/p1",
            "attempt": 1,
            "outcome": "scheduled",
            "numNodesToFind": 1,
            "filter": [["n1", "ok"]],
            "evaluatedNodes": 1,
            "feasible": ["n1"],
            "startIndex": 0,
            "endIndex": 0,
            "node": "n1",
        }
    ],
}


def record(path: Path, *lines: Any) -> str:
    text = "".join(json.dumps(line) + "\n" for line in lines).encode()
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
    return str(path)


def wrong_node() -> dict[str, Any]:
    return RESULT | {"cycles": [RESULT["cycles"][0] | {"node": "n9"}]}  # type: ignore[index]


def last_line(capsys: pytest.CaptureFixture[str]) -> str:
    return capsys.readouterr().out.splitlines()[-1]


@pytest.mark.parametrize("form", ["table", "row"])
def test_main_passes_when_the_decision_agrees(form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = record(tmp_path / "hand.jsonl.gz", {"scenario": SCENARIO, "result": RESULT})
    assert main([path, "--fields", "decision", "--form", form]) == 0
    assert capsys.readouterr().out.splitlines() == ["hand  1 / 1 cycles", "1 passed, 0 failed"]


def test_main_fails_and_shows_the_difference_when_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = record(tmp_path / "hand.jsonl", {"scenario": SCENARIO, "result": wrong_node()})
    assert main([path, "--fields", "decision", "--show", "1"]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "hand  0 / 1 cycles",
        "  hand-1, default/p1 attempt 1: node",
        '    expected "n9"',
        '    got      "n1"',
        "0 passed, 1 failed",
    ]


def test_main_runs_the_scenario_whatever_was_recorded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = record(tmp_path / "hand.jsonl", {"scenario": SCENARIO, "result": {"name": "hand-1", "cycles": []}})
    assert main([path, "--fields", "decision", "--json"]) == 1
    (told,) = json.loads(capsys.readouterr().out)["families"].values()
    assert (told["cycles"], told["surplus"]) == (0, 1)


def test_main_counts_a_scenario_that_breaks_as_failed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    broken = SCENARIO | {"objects": [NODE | {"status": {"allocatable": {"cpu": "a lot"}}}]}
    good = {"scenario": SCENARIO, "result": RESULT}
    path = record(tmp_path / "hand.jsonl", {"scenario": broken, "result": RESULT}, good)
    assert main([path, "--fields", "decision", "--show", "1"]) == 1
    out = capsys.readouterr().out
    assert "ManifestError" in out
    assert "hand  1 / 2 cycles" in out


def test_main_prints_json_for_machines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = record(tmp_path / "hand.jsonl", {"scenario": SCENARIO, "result": wrong_node()})
    assert main([path, "--fields", "decision", "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert (told["passed"], told["failed"]) == (0, 1)
    family = told["families"]["hand"]
    assert (family["scenarios"], family["cycles"], family["agreed"]) == (1, 1, 0)
    assert family["divergences"] == [
        {"scenario": "hand-1", "cycle": "default/p1 attempt 1", "field": "node", "expected": "n9", "got": "n1"}
    ]


def test_folder_means_the_files_directly_in_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = {"scenario": SCENARIO, "result": RESULT}
    record(tmp_path / "b.jsonl.gz", line)
    record(tmp_path / "a.jsonl.gz", line, line)
    (tmp_path / "queue").mkdir()
    record(tmp_path / "queue" / "c.jsonl.gz", line)
    assert main([str(tmp_path), "--fields", "decision"]) == 0
    assert capsys.readouterr().out.splitlines() == ["a  2 / 2 cycles", "b  1 / 1 cycles", "3 passed, 0 failed"]


def test_family_chooses_files_by_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("a", "b", "c"):
        record(tmp_path / f"{name}.jsonl.gz", {"scenario": SCENARIO, "result": RESULT})
    assert main([str(tmp_path), "--fields", "decision", "--family", "a", "--family", "c"]) == 0
    assert last_line(capsys) == "2 passed, 0 failed"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        pytest.param(b'{"scenario": {"name": "q", "ops": []}, "result": {}}\n', "not read yet", id="queue recording"),
        pytest.param(b'{"scenario": {"name": "q"}, "result": {}}\n', "line 1: not a recorded", id="no pending pods"),
        pytest.param(b"[1, 2]\n", "line 1: not a recorded", id="not an object"),
        pytest.param(b'{"scenario": \n', "line 1", id="cut JSON"),
        pytest.param(gzip.compress(b"x" * 5000)[:-20], "x.jsonl", id="cut gzip"),
        pytest.param(b"", "nothing to compare", id="empty"),
    ],
)
def test_main_says_what_it_cannot_read(
    content: bytes, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(content)
    assert main([str(path)]) == 2
    assert words in capsys.readouterr().err


@pytest.mark.parametrize("path", ["missing.jsonl", "."])
def test_main_says_when_there_is_nothing(path: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / path)]) == 2
    assert str(tmp_path) in capsys.readouterr().err
