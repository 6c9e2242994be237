"""`./ksched bench` as it is called: one small workload measured, checked, profiled. No assertion on speed."""

import json
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest

from scheduler_core.trace.diff import Divergence
from tests.tools.bench.workloads import file_of, written
from tools import cli
from tools.bench import browsing, command, large, level3
from tools.bench.engine.keeping import Trace
from tools.bench.engine.levels import LEVELS as LEVELS_THERE_ARE
from tools.bench.engine.verify import Verdict
from tools.bench.options import BROWSER_RATE, BROWSER_SECONDS, LEVELS, TRACES
from tools.bench.promises import Promise
from tools.bench.worker import peak_rss_bytes


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    written(tmp_path, "W5_n4_e0_p2000.json.gz", file_of(workload="W5"))
    return tmp_path


def test_options_name_all_levels_and_traces() -> None:
    assert (*LEVELS_THERE_ARE, level3.LEVEL) == LEVELS
    assert tuple(Trace) == TRACES


@pytest.mark.parametrize("level", LEVELS_THERE_ARE)
def test_results_are_printed_and_written_in_the_order_asked_for(
    level: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = folder / "out.json"
    words = ["W5_n4_e0", "W8_n4_e0", "--level", level, "--runs", "2", "--nodes", "6", "--pods", "5"]
    assert cli.main(["bench", *words, "--folder", str(folder), "--json", str(out)]) == 0
    results = json.loads(out.read_bytes())
    assert [result["workload"] for result in results] == ["W5", "W8"]
    for result in results:
        assert (result["level"], result["nodes"], result["existing_pods"], result["pods"]) == (level, 6, 0, 5)
        assert (result["attempted"], result["scheduled"], len(result["pods_per_second"])) == (5, 5, 2)
        assert 0 < result["p50_ms"] <= result["p90_ms"] <= result["p99_ms"]
        assert result["peak_rss_mb"] > 10 and result["calibration_ms"] > 0 and result["cpu_ms_per_pod"] > 0
    printed = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in printed] == ["workload", "W5", "before:", "W8", "before:"]


def test_each_trace_and_each_size_is_a_result(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["W5_n4_e0", "--runs", "1", "--nodes", "2,4", "--trace", "off,stored", "--no-reuse"]
    assert cli.main(["bench", *words, "--folder", str(folder)]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("W5")]
    assert [("off" if " off," in line else "stored", line.split()[5]) for line in lines] == [
        ("off", "2"), ("stored", "2"), ("off", "4"), ("stored", "4"),
    ]  # fmt: skip


def test_verify_says_how_many_agree(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["bench", "W8_n4_e0", "--verify", "--runs", "0", "--folder", str(folder)]) == 0
    assert capsys.readouterr().out == "W8 L1, 4 nodes: 6 attempts agree\n"


def test_verify_ends_badly_and_measures_all_the_same_when_a_decision_differs(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    differs = Verdict(2, "default/pod-000002", Divergence("node", "a", "b"))
    monkeypatch.setattr(command, "verify", lambda level, workload, **_: differs)
    assert cli.main(["bench", "W5_n4_e0", "--verify", "--runs", "1", "--folder", str(folder)]) == 1
    first, _, measured, _ = capsys.readouterr().out.splitlines()
    assert first == "W5 L1, 4 nodes: 2 attempts agree; then default/pod-000002: node: 'a', plain 'b'"
    assert measured.startswith("W5")


def test_profile_shows_functions_of_the_engine(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["bench", "W5_n4_e0", "--profile", "--folder", str(folder)]) == 0
    printed = capsys.readouterr().out
    assert "W5 L1, 4 nodes" in printed
    assert "decide" in printed or "schedule_one" in printed
    assert "read_workload" not in printed  # before the clock


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        pytest.param([], 2, "name a WORKLOAD", id="nothing asked for"),
        pytest.param(["W1_n4"], 1, "no such workload; there are W5_n4_e0_p2000", id="no such workload"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_line(
    words: list[str], code: int, said: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["bench", *words, "--folder", str(folder)]) == code
    assert said in capsys.readouterr().err


def test_large_is_measured_in_each_size_and_then_many_clusters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    promise = Promise("large", "measured", {"seconds": 1.0}, kept=True)
    asked: list[tuple[object, ...]] = []

    def one(_: object, *, nodes: int, pods: int | None) -> Iterator[Promise]:
        asked.append((nodes, pods))
        yield promise

    def several(_: object, clusters: int) -> Iterator[Promise]:
        asked.append((clusters,))
        yield promise

    monkeypatch.setattr(command, "RunningService", nullcontext)
    monkeypatch.setattr(command.large, "measure", one)
    monkeypatch.setattr(command.many, "measure", several)
    out = tmp_path / "out.json"
    assert cli.main(["bench", "--large", "--nodes", "4,8", "--pods", "20", "--clusters", "3", "--json", str(out)]) == 0
    assert asked == [(4, 20), (8, 20), (3,)]
    assert capsys.readouterr().out.splitlines() == ["large: measured: ok"] * 3
    assert json.loads(out.read_bytes()) == [{"promise": "large", "seconds": 1.0, "kept": True}] * 3
    asked.clear()
    assert cli.main(["bench", "--large", "--clusters", "0"]) == 0
    assert asked == [(large.NODES, None)]


def test_browser_is_told_how_long_how_many_and_whether_to_profile(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[tuple[object, ...]] = []

    def measured(_: object, seconds: int, *, rate: int, profile: bool) -> Iterator[Promise]:
        asked.append((seconds, rate, profile))
        yield Promise("browser", "measured", {"seconds": 1.0}, kept=False)

    monkeypatch.setattr(command, "RunningService", nullcontext)
    monkeypatch.setattr(browsing, "measure", measured)
    assert cli.main(["bench", "--browser"]) == 1
    assert cli.main(["bench", "--browser", "600", "--rate", "100", "--profile"]) == 1
    assert asked == [(BROWSER_SECONDS, BROWSER_RATE, False), (600, 100, True)]
    assert capsys.readouterr().out.splitlines() == ["browser: measured: missed"] * 2


def test_peak_memory_is_of_this_process() -> None:
    before = peak_rss_bytes()
    block = bytearray(64 << 20)
    assert peak_rss_bytes() - before > 32 << 20
    del block
