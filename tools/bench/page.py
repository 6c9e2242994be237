"""The tables of the page of figures, made from a campaign and put between the marks of their sections.

A section of the page stands between `<!-- measured: NAME -->` and `<!-- end -->`; everything else is written by hand.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from statistics import median

from tools.bench.campaign import Campaign, Measurement
from tools.bench.engine.result import Result
from tools.bench.rows import Row

MARK = re.compile(r"(<!-- measured: (?P<name>[a-z0-9 ]+) -->\n).*?(<!-- end -->)", re.DOTALL)
MAX_TRACE_COST = 0.25
MAX_MEMORY_MB = 500
MAX_START_MS = 3_000
PICTURE = "images/benchmarks-growth.svg"  # beside the page
NOT_MEASURED = "Not measured yet."


class PageProblem(Exception):
    """The page has a section that is not generated."""


def filled(page: str, campaign: Campaign, rows: Sequence[Row]) -> str:
    """The page with its measured sections written anew."""

    def section(match: re.Match[str]) -> str:
        name = match["name"]
        if name not in SECTIONS:
            raise PageProblem(f"no section {name!r}; there are {', '.join(SECTIONS)}")
        text = SECTIONS[name](campaign, rows) or NOT_MEASURED
        return f"{match[1]}\n{text}\n\n{match[3]}"

    return MARK.sub(section, page)


def _machine(campaign: Campaign, rows: Sequence[Row]) -> str:
    measured = [found for row in rows if (found := campaign.measurements.get(row.key)) is not None]
    if not measured:
        return ""
    times = sorted(each.at for each in measured)
    calibrations = [each.result.calibration_ms for each in measured]
    loads = [each.load for each in measured]
    return "\n".join(
        (
            f"- machine: {campaign.machine}",
            f"- {campaign.python}",
            f"- measured: {times[0]} to {times[-1]}; {len(measured)} of {len(rows)} rows",
            f"- command: `{campaign.command}`",
            f"- calibration loop: {min(calibrations):.0f} to {max(calibrations):.0f} ms, "
            f"median {median(calibrations):.0f} ms; load average before the rows: {min(loads)} to {max(loads)}",
        )
    )


def _targets(campaign: Campaign, rows: Sequence[Row]) -> str:
    head = ("workload", "nodes + pods", "Go, best", "target", "ours, median", "best", "runs", "times Go", "p50 ms",
            "p90 ms", "p99 ms", "CPU ms", "MB", "calibration ms", "reached")  # fmt: skip
    lines = []
    for row, found in _of(campaign, rows, "targets"):
        result = found.result
        lines.append(
            (_name(row), _size(found), _number(row.go), f"≥ {row.target:,}", *_rates(row, result),
             _ms(result.p50_ms), _ms(result.p90_ms), _ms(result.p99_ms), _ms(result.cpu_ms_per_pod),
             _number(result.peak_rss_mb), _number(result.calibration_ms), _reached(row, result))
        )  # fmt: skip
    return _table(head, lines)


def _level_2(campaign: Campaign, rows: Sequence[Row]) -> str:
    head = ("workload", "nodes + pods", "Go, best", "ours, median", "best", "runs", "times Go", "p50 ms", "p99 ms",
            "CPU ms", "cycles", "calibration ms")  # fmt: skip
    lines = [
        (_name(row), _size(found), _number(row.go), *_rates(row, found.result),
         _ms(found.result.p50_ms), _ms(found.result.p99_ms), _ms(found.result.cpu_ms_per_pod),
         _number(found.result.attempted), _number(found.result.calibration_ms))
        for row, found in _of(campaign, rows, "level 2")
    ]  # fmt: skip
    return _table(head, lines)


def _level_3(campaign: Campaign, rows: Sequence[Row]) -> str:
    head = ("workload", "nodes + pods", "Go, level 2", "target", "ours, median", "best", "runs", "times Go", "p50 ms",
            "p99 ms", "CPU ms", "MB", "calibration ms", "load before", "reached")  # fmt: skip
    lines = []
    for row, found in _of(campaign, rows, "level 3"):
        result = found.result
        lines.append(
            (_name(row), _size(found), _number(row.go), f"≥ {row.target:,}", *_rates(row, result),
             _number(result.p50_ms), _number(result.p99_ms), _ms(result.cpu_ms_per_pod), _number(result.peak_rss_mb),
             _number(result.calibration_ms), f"{found.load:.1f}", _reached(row, result))
        )  # fmt: skip
    return _table(head, lines)


def _processes(campaign: Campaign, rows: Sequence[Row]) -> str:
    """CPU by process of level 3; a row that missed its target names the three greatest."""
    found = [(row, each) for row, each in _of(campaign, rows, "level 3") if each.details.phases_us]
    names = list(dict.fromkeys(name for _, each in found for name in each.details.phases_us))
    lines = []
    for row, each in found:
        spent = each.details.phases_us
        greatest = sorted(spent, key=lambda name: -spent[name])[:3]
        lines.append(
            (_name(row), _size(each), _number(sum(spent.values())), *(_number(spent.get(name)) for name in names),
             ", ".join(greatest))
        )  # fmt: skip
    return _table(("workload", "nodes + pods", "CPU us per pod", *names, "most"), lines)


def _trace(campaign: Campaign, rows: Sequence[Row]) -> str:
    head = ("workload", "trace", "median", "best", "runs", "cost", "bytes per attempt", "calibration ms",
            "at most 25 %")  # fmt: skip
    lines = []
    without: dict[str, float] = {}
    for row, found in _of(campaign, rows, "trace"):
        result, is_off = found.result, row.job.trace == "off"
        if is_off:
            without[row.job.word] = result.pods_per_second_median
        cost = 1 - result.pods_per_second_median / without[row.job.word] if row.job.word in without else None
        lines.append(
            (_name(row), row.job.trace, _number(result.pods_per_second_median), _number(result.pods_per_second_best),
             _number(len(result.pods_per_second)), "" if cost is None else f"{cost:.0%}",
             _number(found.details.bytes_per_attempt or None), _number(result.calibration_ms),
             _kept(not is_off and cost is not None, (cost or 0.0) <= MAX_TRACE_COST))
        )  # fmt: skip
    return _table(head, lines)


def _before(campaign: Campaign, rows: Sequence[Row]) -> str:
    head = ("workload", "nodes + pods", "scheduled", "parsing ms", "building ms", "first snapshot ms", "together ms",
            "memory MB", "under 3 s", "under 500 MB")  # fmt: skip
    lines = []
    for row, found in [*_of(campaign, rows, "memory"), *_of(campaign, rows, "targets")]:
        details = found.details
        together = details.parse_ms + details.build_ms + details.snapshot_ms
        asked = row.section == "memory"
        lines.append(
            (_name(row), _size(found), _number(found.result.scheduled), _number(details.parse_ms),
             _number(details.build_ms), _number(details.snapshot_ms), _number(together),
             _number(found.result.peak_rss_mb), _kept(asked, together < MAX_START_MS),
             _kept(asked, found.result.peak_rss_mb < MAX_MEMORY_MB))
        )  # fmt: skip
    return _table(head, lines)


def _growth(campaign: Campaign, rows: Sequence[Row]) -> str:
    head = ("workload", "nodes", "median", "us per pod", "grown", "nodes grown", "no faster than linear", "CPU ms",
            "MB", "calibration ms")  # fmt: skip
    lines = []
    first: dict[str, tuple[int, float]] = {}
    for row, found in _of(campaign, rows, "growth"):
        result = found.result
        cost = 1e6 / result.pods_per_second_median
        nodes, least = first.setdefault(result.workload, (result.nodes, cost))
        lines.append(
            (_name(row), _number(result.nodes), _number(result.pods_per_second_median), _number(cost),
             f"{cost / least:.2f}", f"{result.nodes / nodes:.0f}",
             "ok" if cost / least <= result.nodes / nodes else "**missed**", _ms(result.cpu_ms_per_pod),
             _number(result.peak_rss_mb), _number(result.calibration_ms))
        )  # fmt: skip
    return f"![Time per pod over the number of nodes]({PICTURE})\n\n{_table(head, lines)}" if lines else ""


def _phases(campaign: Campaign, rows: Sequence[Row]) -> str:
    found = [(row, each) for row, each in _of(campaign, rows, "targets") if each.details.phases_us]
    phases = list(dict.fromkeys(phase for _, each in found for phase in each.details.phases_us))
    lines = []
    for row, each in found:
        spent, whole = each.details.phases_us, 1e6 / each.result.pods_per_second_best
        lines.append(
            (_name(row), _size(each), _number(whole), *(_number(spent.get(phase)) for phase in phases),
             _number(whole - sum(spent.values())))
        )  # fmt: skip
    return _table(
        ("workload", "nodes + pods", "us per pod", *(phase.replace("_", " ") for phase in phases), "rest"), lines
    )


SECTIONS: dict[str, Callable[[Campaign, Sequence[Row]], str]] = {
    "machine": _machine,
    "targets": _targets,
    "level 2": _level_2,
    "level 3": _level_3,
    "processes": _processes,
    "trace": _trace,
    "before": _before,
    "growth": _growth,
    "phases": _phases,
}


def _of(campaign: Campaign, rows: Sequence[Row], section: str) -> list[tuple[Row, Measurement]]:
    return [
        (row, found)
        for row in rows
        if row.section == section and (found := campaign.measurements.get(row.key)) is not None
    ]


def _table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    if not lines:
        return ""
    ruled = ["---" if place == 0 else "---:" for place in range(len(head))]
    return "\n".join("| " + " | ".join(line) + " |" for line in (head, ruled, *lines))


def _name(row: Row) -> str:
    return row.job.word.partition("_")[0] + ("" if row.job.reuse else ", no reuse")


def _size(found: Measurement) -> str:
    existing = found.result.existing_pods
    return f"{found.result.nodes:,}" + (f" + {existing:,}" if existing else "")


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:,.0f}"


def _ms(value: float) -> str:
    return f"{value:.3f}"


def _rates(row: Row, result: Result) -> tuple[str, str, str, str]:
    """Median, best and number of runs, and how many times the real scheduler's best the median is."""
    median_rate = result.pods_per_second_median
    return (
        _number(median_rate),
        _number(result.pods_per_second_best),
        _number(len(result.pods_per_second)),
        "" if row.go is None else f"{median_rate / row.go:.1f}",
    )


def _reached(row: Row, result: Result) -> str:
    """Say whether the median reaches the target, or by how much it misses it."""
    assert row.target is not None
    rate = result.pods_per_second_median
    if rate >= row.target:
        return "ok"
    below = f", below {row.least}" if row.least is not None and rate < row.least else ""
    return f"**missed**, {rate / row.target:.0%} of it{below}"


def _kept(asked: bool, holds: bool) -> str:
    return "" if not asked else "ok" if holds else "**missed**"
