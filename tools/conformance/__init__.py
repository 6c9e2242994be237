"""Recorded decisions of the real scheduler against ours.

    conformance --kube-api [PATH…]                                                  (see `kube_api`)
    conformance PATH… [--fields all|decision] [--family F]… [--form table|node] [--show N] [--json]

Each scenario is run by our engine without sight of what was recorded (`harness`), the outcome is then compared with it
(`compare`). Recorded operations on the queue are known by their first line (`queue`); their steps are counted, and
neither --fields nor --form means anything to them. The last line of the text is `N passed, M failed`: cycles or steps
that agree, and those (or scenario heads) that do not. Exit code 0 when all agree, 1 when something differs, 2 when a
path cannot be read or nothing was compared.
"""

from __future__ import annotations

import argparse
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

from tools.conformance import kube_api
from tools.conformance.compare import Comparison, Divergence, compare
from tools.conformance.files import Recording, UnreadableError, family_of, read_recordings, recording_files
from tools.conformance.harness import run_scenario
from tools.conformance.queue import compare_steps, run_queue_scenario
from tools.conformance.tally import CYCLES, STEPS, Tally, as_json, as_text

AGREED, DIFFERENT, UNUSABLE = 0, 1, 2


def main(argv: Sequence[str] | None = None) -> int:
    """Run the tool; the exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    if "--kube-api" in words:
        return kube_api.main([word for word in words if word != "--kube-api"])
    options = _parser().parse_args(words)
    tallies: dict[str, Tally] = {}
    try:
        for path in recording_files(options.paths):
            if options.family and family_of(path) not in options.family:
                continue
            for recording in read_recordings(path):
                checked = check(
                    recording, use_table=options.form == "table", decision_only=options.fields == "decision"
                )
                _tally_of(tallies, recording).add(checked)
    except UnreadableError as error:
        print(error, file=sys.stderr)
        return UNUSABLE
    if not tallies:
        print("nothing to compare: no file of the families asked for", file=sys.stderr)
        return UNUSABLE
    print(as_json(tallies, options.show) if options.json else as_text(tallies, options.show or 0))
    return DIFFERENT if any(tally.failed for tally in tallies.values()) else AGREED


def check(recording: Recording, *, use_table: bool, decision_only: bool) -> Comparison:
    """Run one scenario and compare. An exception of ours is a divergence, and nothing of the scenario agrees."""
    try:
        if recording.is_of_queue:
            return compare_steps(recording.result, run_queue_scenario(recording.scenario))
        got = run_scenario(recording.scenario, use_table=use_table)
    except Exception as error:  # whatever it is, it belongs to this scenario's count
        where = traceback.extract_tb(error.__traceback__)[-1]
        text = f"{type(error).__name__}: {error} ({Path(where.filename).name}, line {where.lineno})"
        return _broken(recording, text)
    return compare(recording.result, got, decision_only=decision_only)


def _tally_of(tallies: dict[str, Tally], recording: Recording) -> Tally:
    """Of the recording's family; one of the queue goes by a longer name where another family has its own."""
    unit = STEPS if recording.is_of_queue else CYCLES
    name = recording.family
    if name in tallies and tallies[name].unit != unit:
        name = f"{name} ({unit})"
    return tallies.setdefault(name, Tally(unit))


def _broken(recording: Recording, text: str) -> Comparison:
    divergence = Divergence(recording.result["name"], "", "exception", "(none)", text)
    if recording.is_of_queue:
        return Comparison(len(recording.result["steps"]), 0, 0, True, (divergence,))
    return Comparison(len(recording.result["cycles"]), 0, 0, False, (divergence,))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="ksched conformance",
        description="Run recorded scenarios of kube-scheduler 1.34.1 and compare every decision with the recording.",
        epilog="conformance --kube-api --help shows its own options.",
    )
    parser.add_argument(
        "paths", nargs="+", metavar="PATH", help="a recording, or a folder with recordings (*.jsonl.gz) in it"
    )
    parser.add_argument(
        "--kube-api", action="store_true", help="play conversations with kube-apiserver instead; has options of its own"
    )
    parser.add_argument(
        "--fields",
        choices=("all", "decision"),
        default="all",
        help="compare everything, or only decision: outcome, filters, scores, node (default: all)",
    )
    parser.add_argument(
        "--family",
        action="append",
        metavar="F",
        help="only recordings of this family (folder); may be given several times",
    )
    parser.add_argument(
        "--form",
        type=lambda text: "node" if text == "row" else text,  # its former name
        choices=("table", "node"),
        default="table",
        help="form of the rules that is run: table for all nodes at once, node for one at a time (default: table)",
    )
    parser.add_argument("--show", type=int, metavar="N", help="print the first N differences of each family")
    parser.add_argument("--json", action="store_true", help="print the counts and differences as JSON")
    return parser
