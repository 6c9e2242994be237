"""The command line of `./ksched bench`; apart from the work, so that other commands need not load the engine."""

from __future__ import annotations

import argparse
from pathlib import Path

from kschedweb.environment import ROOT

WORKLOADS = ROOT.parent / "shared" / "bench" / "workloads"
LEVELS = ("L1", "L2", "L3")  # the last is a whole service
VIEWERS = 50
BROWSER_SECONDS, BROWSER_RATE = 60, 500
SMALL_CLUSTERS = 100
TRACES = ("off", "on", "stored")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Build the parser of the command line."""
    parser.add_argument(
        "workloads",
        nargs="*",
        metavar="WORKLOAD",
        help="a workload: a file, or its name without the end, such as W1_n5000_e0",
    )
    parser.add_argument(
        "--level",
        choices=LEVELS,
        help="L1: scheduling cycles; L2: the scheduler with an API server in memory; L3: a whole service (default: L1;"
        " of --scheduler-perf L2)",
    )
    parser.add_argument(
        "--runs", type=_number, default=3, metavar="N", help="number of runs, each in a new process (default: 3)"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the results to this file")
    parser.add_argument(
        "--trace",
        type=_traces,
        default=["on"],
        metavar="LIST",
        help="what is kept of each attempt: off, on, stored, or several with commas (default: on)",
    )
    parser.add_argument("--no-reuse", action="store_true", help="cache nothing between the cycles of equivalent pods")
    parser.add_argument(
        "--config",
        type=Path,
        metavar="FILE",
        help="a KubeSchedulerConfiguration; the plugins it names must be installed",
    )
    parser.add_argument(
        "--nodes", type=_sizes, default=[None], metavar="N,N,…", help="repeat with these numbers of nodes"
    )
    parser.add_argument("--pods", type=_positive, metavar="N", help="use only the first N pods")
    parser.add_argument(
        "--verify",
        action="store_true",
        help="first compare every attempt with the plain cycle; with --runs 0 do nothing else",
    )
    parser.add_argument("--profile", action="store_true", help="print the functions that take most time in one run")
    parser.add_argument(
        "--folder", type=Path, default=WORKLOADS, metavar="DIR", help="where workloads are looked for by name"
    )
    perf = parser.add_argument_group(
        "upstream's own benchmark, scheduler_perf; a WORKLOAD then is a part of the names to run: Basic/500Nodes"
    )
    perf.add_argument(
        "--scheduler-perf",
        type=Path,
        action="append",
        metavar="FILE",
        help="run the workloads of this configuration file, or of all in this folder; may be given several times",
    )
    perf.add_argument(
        "--label",
        default="",
        metavar="LABELS",
        help="only workloads with these labels, and without those after a minus: performance,-short",
    )
    service = parser.add_argument_group(
        "measurements of a whole service, one line each with its target; they need no WORKLOAD"
    )
    service.add_argument(
        "--latency", action="store_true", help="time from upload to binding of a pod in an idle cluster"
    )
    service.add_argument(
        "--path", action="store_true", help="the path of one pod, from POST to bound, at several rates; takes minutes"
    )
    service.add_argument(
        "--writes", action="store_true", help="what the life of a pod writes: rows and bytes by table, and WAL"
    )
    service.add_argument(
        "--past", action="store_true", help="what it costs scheduling that somebody reads the past; takes minutes"
    )
    service.add_argument(
        "--idle",
        type=_positive,
        nargs="?",
        const=1,
        metavar="N",
        help="what is used and written while nothing happens in N clusters of 5,000 nodes and 30,000 pods (default: 1)",
    )
    service.add_argument(
        "--kube-api", action="store_true", help="the Kubernetes API: pods created, watchers, lists in pages"
    )
    service.add_argument(
        "--mirror", action="store_true", help="following a cluster of 5,000 nodes and 100,000 pods; takes minutes"
    )
    service.add_argument(
        "--controllers",
        action="store_true",
        help="controllers of 5,000 simulated nodes with 30,000 pods: idle, and when 100 nodes are lost; takes minutes",
    )
    service.add_argument(
        "--large",
        action="store_true",
        help="a cluster of 20,000 nodes with ten pods each from import to deletion, or of --nodes with --pods in all;"
        " then many small ones with two scheduler workers; takes many minutes",
    )
    service.add_argument(
        "--clusters",
        type=_number,
        default=SMALL_CLUSTERS,
        metavar="N",
        help=f"number of the small clusters of --large; 0: none (default: {SMALL_CLUSTERS})",
    )
    service.add_argument(
        "--browser",
        type=_positive,
        nargs="?",
        const=BROWSER_SECONDS,
        metavar="SECONDS",
        help="the dashboard of 5,000 nodes and 30,000 pods in Chromium: its first view, then frames and memory while"
        f" 500 pods/s come and go for so long (default: {BROWSER_SECONDS}); with --profile also the functions that take"
        " most time",
    )
    service.add_argument(
        "--rate",
        type=_positive,
        default=BROWSER_RATE,
        metavar="N",
        help=f"pods per second of --browser (default: {BROWSER_RATE})",
    )
    service.add_argument(
        "--viewers",
        type=_positive,
        nargs="?",
        const=VIEWERS,
        metavar="N",
        help=f"rate with N browsers connected, compared with one (default: {VIEWERS})",
    )
    report = parser.add_argument_group("the page of measurements")
    report.add_argument(
        "--report", type=Path, metavar="PAGE", help="measure all rows of docs/benchmarks.md and write them into it"
    )
    report.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="WORD",
        help="with --report: only rows with this in their name, such as W6 or growth; may be given several times",
    )
    report.add_argument(
        "--redraw",
        action="store_true",
        help="with --report: measure nothing, write the page from what was measured before",
    )


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
