"""The command line of `./ksched bench`; apart from the work, so that other commands need not load the engine."""

from __future__ import annotations

import argparse
from pathlib import Path

from kschedweb.environment import ROOT

WORKLOADS = ROOT.parent / "shared" / "bench" / "workloads"
LEVELS = ("L1", "L2", "L3")  # the last is a whole service
VIEWERS = 50
TRACES = ("off", "on", "stored")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Build the parser of the command line."""
    parser.add_argument("workloads", nargs="*", metavar="WORKLOAD", help="a file, or its stem, such as W1_n5000_e0")
    parser.add_argument("--level", choices=LEVELS, default="L1", help="how much is measured (default: L1)")
    parser.add_argument("--runs", type=_number, default=3, metavar="N", help="each in a new process (default: 3)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results there as well")
    parser.add_argument(
        "--trace", type=_traces, default=["on"], metavar="LIST", help="of off, on, stored (default: on)"
    )
    parser.add_argument("--no-reuse", action="store_true", help="cache nothing between the cycles of equivalent pods")
    parser.add_argument(
        "--config", type=Path, metavar="FILE", help="the scheduler's configuration, with plugins that are installed"
    )
    parser.add_argument("--nodes", type=_sizes, default=[None], metavar="N,N,…", help="other numbers of nodes")
    parser.add_argument("--pods", type=_positive, metavar="N", help="only the first N pods")
    parser.add_argument("--verify", action="store_true", help="first check each decision; --runs 0 for that alone")
    parser.add_argument("--profile", action="store_true", help="print where the time of one run goes")
    parser.add_argument("--folder", type=Path, default=WORKLOADS, metavar="DIR", help="where stems are looked for")
    service = parser.add_argument_group("level 3, each a line with its target; without a WORKLOAD, nothing else")
    service.add_argument("--latency", action="store_true", help="of a pod on an idle cluster, from upload to bound")
    service.add_argument("--idle", action="store_true", help="what an idle service uses of a core")
    service.add_argument(
        "--viewers",
        type=_positive,
        nargs="?",
        const=VIEWERS,
        metavar="N",
        help=f"so many browsers get every frame, and slow little (default: {VIEWERS})",
    )
    report = parser.add_argument_group("the page of figures")
    report.add_argument(
        "--report", type=Path, metavar="PAGE", help="measure all rows of docs/benchmarks.md and write them into it"
    )
    report.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="WORD",
        help="only rows with this in their name, such as W6 or growth",
    )
    report.add_argument("--redraw", action="store_true", help="measure nothing, write what was measured before")


def _number(text: str) -> int:
    return 0 if text == "0" else _positive(text)


def _positive(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 on")
    return int(text)


def _sizes(text: str) -> list[int | None]:
    return [_positive(word) for word in text.split(",")]


def _traces(text: str) -> list[str]:
    words = text.split(",")
    if not set(words) <= set(TRACES):
        raise argparse.ArgumentTypeError(f"{text!r}: expected some of {', '.join(TRACES)}")
    return words
