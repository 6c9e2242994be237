"""The page of figures: sections filled from a campaign, verdicts, the picture."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from kschedweb.environment import ROOT
from tools.bench import campaign as campaigns
from tools.bench import command, page
from tools.bench.campaign import Campaign, Measurement, measure_rows, read_campaign
from tools.bench.engine.result import Details, Result
from tools.bench.measuring import Measured
from tools.bench.picture import growth_picture
from tools.bench.rows import Row, rows

ROWS = rows("folder")


def _result(row: Row, rate: float, **other: Any) -> Result:
    """Three runs: one of half the rate, one of the rate, one of twice the rate."""
    given: dict[str, Any] = {
        "workload": row.job.word.partition("_")[0], "level": row.job.level, "nodes": row.job.nodes or 5000,
        "existing_pods": 0, "pods": 2000, "attempted": 2000, "scheduled": 2000,
        "pods_per_second": [rate / 2, rate, rate * 2],
        "pods_per_second_median": rate, "pods_per_second_best": rate * 2, "p50_ms": 0.1, "p90_ms": 0.2, "p99_ms": 0.3,
        "cpu_ms_per_pod": 0.15, "peak_rss_mb": 99.0, "calibration_ms": 60.0,
    }  # fmt: skip
    return Result(**given | other)


def _details(**other: Any) -> Details:
    given: dict[str, Any] = {
        "parse_ms": 1.0, "build_ms": 2.0, "snapshot_ms": 3.0, "bytes_per_attempt": 0.0, "phases_us": {"filter": 40.0},
    }  # fmt: skip
    return Details(**given | other)


def _campaign(rates: dict[str, float], **other: Any) -> Campaign:
    by_key = {row.key: row for row in ROWS}
    measurements = {
        key: Measurement(
            key=key, at="2026-01-01 00:00 UTC", load=0.1, result=_result(by_key[key], rate, **other), details=_details()
        )
        for key, rate in rates.items()
    }
    return Campaign(machine="a machine", python="a Python", command="./ksched bench", measurements=measurements)


def _section(name: str, campaign: Campaign) -> list[str]:
    text = page.filled(f"<!-- measured: {name} -->\nold\n<!-- end -->", campaign, ROWS)
    assert "old" not in text
    return text.splitlines()[2:-2]


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_rows_have_names_of_their_own_and_none_is_without_a_section() -> None:
    assert len({row.key for row in ROWS}) == len(ROWS)
    assert {row.section for row in ROWS} == {"targets", "level 2", "level 3", "trace", "memory", "growth"}


@pytest.mark.parametrize(
    ("median", "verdict"),
    [
        pytest.param(6_700.0, "ok", id="reached"),
        pytest.param(3_350.0, "**missed**, 50% of it", id="missed by the median, though the best run reached it"),
    ],
)
def test_row_says_whether_its_target_is_reached(median: float, verdict: str) -> None:
    *_, line = _section("targets", _campaign({"targets/W1_n5000_e0/L1/on": median}))
    times = f"{median / 672:.1f}"
    assert _cells(line)[:8] == ["W1", "5,000", "672", "≥ 6,700", f"{median:,.0f}", f"{median * 2:,.0f}", "3", times]
    assert _cells(line)[-1] == verdict


def test_row_far_below_its_target_says_so() -> None:
    *_, line = _section("level 3", _campaign({"level 3/W1_n1000_e0/L3/on": 250.0}))
    assert _cells(line)[-1] == "**missed**, 25% of it, below 300"


def test_cost_of_the_trace_is_told_against_the_run_without_it() -> None:
    rates = {"off": 1000.0, "on": 800.0, "stored": 500.0}
    keys = {f"trace/W1_n5000_e0/L1/{trace}": rate for trace, rate in rates.items()} | {"trace/W5_n5000_e0/L1/on": 5.0}
    lines = [_cells(line) for line in _section("trace", _campaign(keys))[2:]]
    assert [(line[1], line[5], line[-1]) for line in lines] == [
        ("off", "0%", ""),
        ("on", "20%", "ok"),
        ("stored", "50%", "**missed**"),
        ("on", "", ""),
    ]


def test_growth_is_told_against_the_smallest_cluster() -> None:
    keys = {"growth/W1_n1000_e0_n1000/L1/on": 1000.0, "growth/W1_n1000_e0_n2000/L1/on": 400.0}
    lines = [line for line in _section("growth", _campaign(keys)) if line.startswith("| W1")]
    assert "| 1.00 | 1 | ok |" in lines[0]
    assert "| 2.50 | 2 | **missed** |" in lines[1]


def test_memory_and_start_have_their_limits() -> None:
    key = "memory/W5_n5000_e5_p5000/L1/on"
    assert _section("before", _campaign({key: 9.0}, peak_rss_mb=499.0))[-1].endswith("| ok | ok |")
    assert _section("before", _campaign({key: 9.0}, peak_rss_mb=500.0))[-1].endswith("| ok | **missed** |")


def test_phases_leave_a_rest() -> None:
    *_, line = _section("phases", _campaign({"targets/W1_n5000_e0/L1/on": 5_000.0}))  # 10,000 in the fastest run
    assert line == "| W1 | 5,000 | 100 | 40 | 60 |"


@pytest.mark.parametrize("name", list(page.SECTIONS))
def test_section_without_measurements_says_so(name: str) -> None:
    assert _section(name, Campaign()) == [page.NOT_MEASURED]


def test_section_nobody_makes_is_refused() -> None:
    with pytest.raises(page.PageProblem, match="no section 'other'"):
        page.filled("<!-- measured: other -->\n<!-- end -->", Campaign(), ROWS)


def test_page_in_the_tree_has_every_section_and_is_what_its_file_makes() -> None:
    path = ROOT / "docs" / "benchmarks.md"
    text = path.read_text()
    assert sorted(re.findall(r"<!-- measured: (.+?) -->", text)) == sorted(page.SECTIONS)
    assert page.filled(text, read_campaign(path.with_suffix(".json")), ROWS) == text


def test_rows_measured_again_replace_their_figures_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rates = iter([1.0, 2.0, 3.0])
    monkeypatch.setattr(
        campaigns, "measure", lambda job, runs: Measured(job, _result(ROWS[0], next(rates)), _details())
    )
    told: list[Measured] = []
    measure_rows(ROWS[:2], 1, tmp_path / "b.json", told.append)
    measure_rows(ROWS[:1], 1, tmp_path / "b.json", told.append)
    kept = read_campaign(tmp_path / "b.json").measurements
    assert [kept[row.key].result.pods_per_second_median for row in ROWS[:2]] == [3.0, 2.0]
    assert len(told) == 3


def test_picture_has_a_curve_a_line_of_proportion_and_the_marks() -> None:
    svg = growth_picture("Title & more", {"W1": [(1000, 100), (2000, 120)], "W5": [(1000, 200)]}, {"W1": [(1000, 900)]})
    root = ElementTree.fromstring(svg)
    kinds = [element.get("class") or element.tag.rpartition("}")[2] for element in root]
    assert (kinds.count("curve"), kinds.count("linear"), kinds.count("circle")) == (2, 2, 3)
    titles = [element.text for element in root.iter("{http://www.w3.org/2000/svg}title")]
    assert titles[0] == "Title & more"
    assert "kube-scheduler, W1: 1,000 nodes, 900 us" in titles


def test_picture_is_drawn_of_the_growth_rows_alone() -> None:
    assert command.drawn(_campaign({"targets/W1_n5000_e0/L1/on": 10.0}), ROWS) == ""
    assert "W5: 20,000 nodes, 100 us" in command.drawn(_campaign({"growth/W5_n1000_e0_n20000/L1/on": 10_000.0}), ROWS)
