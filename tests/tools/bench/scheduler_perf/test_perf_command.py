"""`./ksched bench --scheduler-perf` as it is called. No assertion on speed."""

import json
from pathlib import Path

import pytest

from tests.cases import cases
from tests.tools.bench.scheduler_perf.perf_files import POD, config_file, operation
from tools import cli


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Three workloads: one that comes to its end, one that cannot, one that is not run here."""
    operations = [
        operation("createNodes", count=1),
        operation("createPods", countParam="$pods", podTemplatePath="p.yaml", collectMetrics=True),
    ]
    made = config_file(tmp_path, *operations, templates={"p.yaml": POD})
    (case,) = json.loads(made.read_text())
    case["workloads"] = [
        {"name": "few", "labels": ["short"], "params": {"pods": 2}, "threshold": 0.5},
        {"name": "many", "labels": ["performance"], "params": {"pods": 5}},
        {"name": "taints", "labels": ["short"], "params": {"pods": 1}, "featureGates": {"DRADeviceTaints": True}},
    ]
    made.write_text(json.dumps([case]))
    return made


def test_workloads_with_the_label_are_run_and_others_named_with_what_they_lack(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = path.parent / "out.json"
    words = ["--scheduler-perf", str(path), "--label", "short", "--runs", "1", "--json", str(out)]
    assert cli.main(["bench", *words]) == 0
    head, row, *rest = capsys.readouterr().out.splitlines()
    assert head.split()[0] == "workload"
    assert (row.split()[0], row.split()[1], row.split()[-1]) == ("Case/few", "2", "ok")
    assert rest == ["1 of 2 workloads run here", "not run: Case/taints: feature gate DRADeviceTaints=true"]
    few, taints = json.loads(out.read_bytes())
    assert (few["case"], few["workload"], few["threshold"], few["items"][0]["pods"]) == ("Case", "few", 0.5, 2)
    assert (taints["missing"], taints["items"]) == ("feature gate DRADeviceTaints=true", [])


def test_command_fails_where_a_workload_does_not_come_to_its_end(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["bench", "Case/many", "--scheduler-perf", str(path), "--runs", "1"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == ("Case/many: failed: 5 pods of namespace-1 to be scheduled: not within 600 s; there are 4")


@cases(
    "words, problem",
    ("nothing chosen", ["--label", "long"], "no workload is named or labelled so"),
    ("a profile", ["--profile"], "--profile does not go with --scheduler-perf"),
    ("no reuse", ["--no-reuse"], "--no-reuse does not go with --scheduler-perf"),
    ("level 1", ["--level", "L1"], "--level L1 does not go with --scheduler-perf"),
)
def test_what_does_not_go_together_is_refused(
    words: list[str], problem: str, path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["bench", "--scheduler-perf", str(path), *words]) == 2
    assert problem in capsys.readouterr().err
