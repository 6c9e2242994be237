"""Make faults in what decides, stores and admits, and see which of them the tests do not notice.

    python -m tests.mutation map core web            which test runs which line; once, and after many new tests
    python -m tests.mutation run --seed 1 --count 200
    python -m tests.mutation again                   those of the results that no test noticed, once more
    python -m tests.mutation report

Everything goes into a folder of its own (`--folder`, default .mutation), one JSON line for each mutant: a run that was
stopped goes on where it was. Ends with 1 when a fault was noticed by no test and is not among those shown to change
nothing (tests/mutation/equivalent.json). See tests/mutation/README.md.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from kschedweb.environment import ROOT
from tests.mutation.mapping import FIRST_TESTS, Choice, TestMap
from tests.mutation.operators import Mutant, mutants
from tests.mutation.scratch import Run, Scratch
from tests.mutation.targets import chosen, purpose

GROUPS = {
    "core": ("tests/core", "tests/property", "tests/golden", "tests/coverage", "tests/bench"),
    "web": tuple(
        f"tests/web/{name}"
        for name in ("accounts", "cluster", "common", "coverage", "lifecycle", "live", "scheduling", "traces")
    )
    + tuple(f"tests/coverage/test_{name}.py" for name in ("001_service", "002_leader_election", "002_leadership_ends")),
}
# They start processes, whose lines a map does not see, or ask for time more than for answers.
LEFT_OUT = (
    "tests/web/scheduling/test_workers.py",
    "tests/web/scheduling/test_growth.py",
    "tests/web/scheduling/test_size.py",
    "tests/web/common/test_openapi.py",
    "tests/web/common/test_collector.py",  # see server.py
)
EQUIVALENT = Path(__file__).with_name("equivalent.json")
# Of the time the tests took when the map was made: machines are busy, and a fault may make a loop endless.
TIME_FACTOR, TIME_MORE = 6, 90.0
# What `--quick` leaves out: tests that take longer, and of the others those beyond the nearest so many.
LONG_SECONDS, QUICK_TESTS = 1.5, 150
KILLED, LATE, SURVIVED = "killed", "killed by time", "survived"


def main(words: list[str]) -> int:
    """The command."""
    options = _parser().parse_args(words)
    options.folder.mkdir(parents=True, exist_ok=True)
    if options.command == "report":
        return report(options.folder)
    with Scratch(plain=options.plain) as scratch:
        if options.command == "map":
            return make_maps(scratch, options.folder, options.groups)
        paths = {group: options.folder / f"{group}.json" for group in GROUPS}
        maps = {group: TestMap(path) for group, path in paths.items() if path.exists()}
        results = Results(options.folder / "results.jsonl")
        if options.command == "again":
            known = _reasons()
            alive = [each for each in results.latest() if each["outcome"] == SURVIVED and each["name"] not in known]
            wanted = [Mutant(**_tuples(each["mutant"])) for each in alive]
            wanted = [moved for each in wanted if (moved := _found_again(each, scratch.tree)) is not None]
        else:
            wanted = [
                mutant
                for part, share in (("core", 0.6), ("web", 0.4))
                if options.only in (None, part)
                for mutant in chosen(
                    scratch.tree,
                    part,
                    seed=options.seed,
                    count=round(options.count * (share if options.only is None else 1)),
                    under=options.under,
                )
            ]
            done = {each["name"] for each in results.latest()}
            part, parts = map(int, options.share.split("/"))
            wanted = [mutant for mutant in wanted[part - 1 :: parts] if mutant.name not in done]
        for number, mutant in enumerate(wanted, start=1):
            result = tried(mutant, scratch, maps, wide=options.wide, quick=options.quick)
            results.add(result)
            print(
                f"{number}/{len(wanted)} {result['outcome']:8} {mutant.path}:{mutant.line} {mutant.operator}",
                flush=True,
            )
    return report(options.folder)


def tried(
    mutant: Mutant, scratch: Scratch, maps: dict[str, TestMap], *, wide: bool = False, quick: bool = False
) -> dict[str, Any]:
    """Run the tests that may notice the fault, nearest first, until one does."""
    started_at = time.monotonic()
    result: dict[str, Any] = {"name": mutant.name, "mutant": dataclasses.asdict(mutant), "tests": 0}
    first_group = "core" if mutant.path.startswith("scheduler_core/") else "web"
    text = mutant.applied_to((scratch.tree / mutant.path).read_text())
    with scratch.changed(mutant.path, text):
        for group in sorted(maps, key=lambda each: each != first_group):
            newer = [] if quick or group != first_group else [maps[group].newer(scratch.tree, GROUPS[group])]
            choices = _choices(mutant, maps[group], wide=wide, quick=quick, own=group == first_group)
            for choice in (*filter(None, newer), *choices):
                if group == "web":
                    scratch.start_servers()
                run = _run(choice, maps[group], scratch, database=group == "web")
                result["tests"] += len(choice.tests)
                if not run.passed:
                    result |= {"outcome": KILLED if run.in_time else LATE, "by": run.failed, "group": group}
                    if not run.failed:
                        result["output"] = run.output[-1500:]
                    break
            if "outcome" in result:
                break
    result.setdefault("outcome", SURVIVED)
    return result | {"seconds": round(time.monotonic() - started_at, 1)}


def _choices(mutant: Mutant, map_: TestMap, *, wide: bool, quick: bool, own: bool) -> Iterable[Choice]:
    """A few tests, then all of the line; all of the file where the line has none, or when asked for."""
    of_line = map_.of_line(mutant)
    tests = of_line
    if own and (wide or not of_line):
        tests = of_line | map_.of_file(mutant.path)
    tests = {test for test in tests if test not in map_.failed and not (quick and map_.seconds[test] > LONG_SECONDS)}
    if len(tests) > FIRST_TESTS:
        first = map_.choice(tests, mutant, most=FIRST_TESTS)
        yield first
        tests = tests - set(first.tests)
    if tests:
        yield map_.choice(tests, mutant, most=QUICK_TESTS if quick else None)


def _run(choice: Choice, map_: TestMap, scratch: Scratch, *, database: bool) -> Run:
    seconds = choice.seconds * TIME_FACTOR + TIME_MORE
    return scratch.chosen(choice.tests, list(map_.seconds), choice.files, seconds=seconds, database=database)


def make_maps(scratch: Scratch, folder: Path, groups: list[str]) -> int:
    """Run every test of the groups once, with tracing."""
    for group in groups or list(GROUPS):
        if group == "web":
            scratch.start_servers()
        target = folder / f"{group}.json"
        files = [name for name in GROUPS[group] if (scratch.tree / name).exists()]
        environment = {"KSCHED_MUTATION_TRACE": str(target.resolve())}
        options = ["--maxfail=1000000", "-p", "tests.mutation.traced", *(f"--ignore={name}" for name in LEFT_OUT)]
        run = scratch.pytest(files, seconds=7200, options=options, environment=environment, database=group == "web")
        print(f"{group}: {'all passed' if run.passed else run.output}", flush=True)
        if not target.exists():
            return 1
    return 0


class Results:
    """The file of results; the last line about a mutant counts."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def latest(self) -> list[dict[str, Any]]:
        if not self._path.exists():
            return []
        lines = (json.loads(line) for line in self._path.read_text().splitlines())
        return list({each["name"]: each for each in lines}.values())

    def add(self, result: dict[str, Any]) -> None:
        with open(self._path, "a") as file:
            file.write(json.dumps(result) + "\n")


def report(folder: Path) -> int:
    """How many were noticed; those that were not, but for those that change nothing."""
    results = Results(folder / "results.jsonl").latest()
    reasons = _reasons()
    alive = [each for each in results if each["outcome"] == SURVIVED]
    open_ones = [each for each in alive if each["name"] not in reasons]
    for each in open_ones:
        mutant = each["mutant"]
        print(
            f"\n{mutant['path']}:{mutant['line']} in {mutant['within']} ({mutant['operator']}), {each['tests']} tests"
        )
        print(f"  - {' '.join(mutant['old'].split())}\n  + {' '.join(mutant['new'].split())}")
    print()
    for name in ("decides", "stores", "admits", "all"):
        part = [each for each in results if name in ("all", purpose(each["mutant"]["path"]))]
        print(f"{name:8}{_counts(part, reasons)}")
    return 1 if open_ones else 0


def _counts(results: list[dict[str, Any]], reasons: dict[str, str]) -> str:
    by_outcome = Counter(each["outcome"] for each in results)
    equivalent = sum(each["outcome"] == SURVIVED and each["name"] in reasons for each in results)
    return (
        f"{len(results):5} mutants: {by_outcome[KILLED] + by_outcome[LATE]} noticed ({by_outcome[LATE]} by time), "
        f"{equivalent} equivalent, {by_outcome[SURVIVED] - equivalent} open"
    )


def _reasons() -> dict[str, str]:
    """Why mutants change nothing, by name."""
    found: dict[str, str] = json.loads(EQUIVALENT.read_text())
    return found


def _found_again(mutant: Mutant, root: Path) -> Mutant | None:
    """The same fault in the file as it is now."""
    path = root / mutant.path
    alike = (
        [each for each in mutants(mutant.path, path.read_text()) if each.name == mutant.name] if path.exists() else []
    )
    return min(alike, key=lambda each: abs(each.line - mutant.line)) if alike else None


def _tuples(told: dict[str, Any]) -> dict[str, Any]:
    return {**told, "statement": tuple(told["statement"])}


def _parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__.splitlines()[0])
    commands = top.add_subparsers(dest="command", required=True)
    for name in ("map", "run", "again", "report"):
        command = commands.add_parser(name)
        command.add_argument("--folder", type=Path, default=ROOT / ".mutation")
        command.add_argument("--plain", action="store_true", help="without the recordings beside the project")
        if name == "map":
            command.add_argument("groups", nargs="*", choices=[*GROUPS, []])
        if name == "run":
            command.add_argument("--seed", type=int, required=True)
            command.add_argument("--count", type=int, default=200)
            command.add_argument("--only", choices=list(GROUPS))
            command.add_argument(
                "--share", default="1/1", help="2/3: the second third, for processes beside each other"
            )
            command.add_argument("--under", default="", help="only files whose path begins so")
        if name in ("run", "again"):
            command.add_argument("--quick", action="store_true", help="without the tests that take long")
            command.add_argument("--wide", action="store_true", help="all tests of the file, not only of the line")
    return top


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
