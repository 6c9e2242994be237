"""The tool as it is called: what it prints, its exit codes, and files it does not read."""

from __future__ import annotations

import copy
import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tests.cases import cases
from tools.conformance import main
from tools.conformance.queue import run_queue_scenario

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


@pytest.mark.parametrize("form", ["table", "node", pytest.param("row", id="former name of node")])
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


@cases(
    "content, words",
    ("no steps", b'{"scenario": {"name": "q", "ops": []}, "result": {}}\n', "line 1: not a rec"),
    ("no pending pods", b'{"scenario": {"name": "q"}, "result": {}}\n', "line 1: not a recorded"),
    ("not an object", b"[1, 2]\n", "line 1: not a recorded"),
    ("cut JSON", b'{"scenario": \n', "line 1"),
    ("cut gzip", gzip.compress(b"x" * 5000)[:-20], "x.jsonl"),
    ("empty", b"", "nothing to compare"),
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


QUEUE_SCENARIO = {
    "name": "q-1",
    "config": {
        "initialBackoffSeconds": 1,
        "maxBackoffSeconds": 10,
        "maxInUnschedulableSeconds": 300,
        "gates": {},
        "profiles": [],
    },
    "start": 1_000,
    "objects": [],
    "ops": [{"op": "pop"}, {"op": "pending"}],
}
QUEUE_RESULT = {
    "name": "q-1",
    "steps": [
        {"op": "init", "t": 1_000},
        {"op": "pop", "t": 1_000, "blocked": True, "calls": ["not compared"]},
        {"op": "pending", "t": 1_000, "summary": "activeQ:0; backoffQ:0; unschedulablePods:0"},
    ],
}


def first_step_as_recorded() -> dict[str, Any]:
    """The state an empty queue begins with is long; it is taken from a run."""
    init = run_queue_scenario(QUEUE_SCENARIO)[0]
    return QUEUE_RESULT | {"steps": [init, *copy.deepcopy(QUEUE_RESULT["steps"][1:])]}  # type: ignore[index]


def test_main_counts_steps_when_the_first_line_is_of_the_queue(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = record(tmp_path / "hand.jsonl.gz", {"scenario": QUEUE_SCENARIO, "result": first_step_as_recorded()})
    assert main([path]) == 0
    assert capsys.readouterr().out.splitlines() == ["hand  3 / 3 steps", "3 passed, 0 failed"]


def test_main_names_the_step_and_field_when_the_queue_differs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = first_step_as_recorded()
    result["steps"][1]["blocked"] = False
    path = record(tmp_path / "hand.jsonl", {"scenario": QUEUE_SCENARIO, "result": result})
    assert main([path, "--json"]) == 1
    (family,) = json.loads(capsys.readouterr().out)["families"].values()
    assert (family["scenarios"], family["steps"], family["agreed"]) == (1, 3, 2)
    (divergence,) = family["divergences"]
    assert (divergence["cycle"], divergence["field"]) == ("step 1 pop", "blocked")


def test_families_of_both_kinds_are_told_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record(tmp_path / "hand.jsonl.gz", {"scenario": SCENARIO, "result": RESULT})
    (tmp_path / "queue").mkdir()
    line = {"scenario": QUEUE_SCENARIO, "result": first_step_as_recorded()}
    record(tmp_path / "queue" / "hand.jsonl.gz", line)
    assert main([str(tmp_path), str(tmp_path / "queue"), "--fields", "decision"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["hand", "hand", "4"]
    assert lines[1].endswith("3 / 3 steps")


def test_main_reads_no_file_of_two_kinds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = ({"scenario": SCENARIO, "result": RESULT}, {"scenario": QUEUE_SCENARIO, "result": QUEUE_RESULT})
    assert main([record(tmp_path / "hand.jsonl", *lines)]) == 2
    assert "line 2: not of the kind the file began with" in capsys.readouterr().err
