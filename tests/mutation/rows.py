"""Break each mechanism on purpose, and see that the tests which stand for it fail.

    python -m tests.mutation.rows                 all of them; takes some minutes
    python -m tests.mutation.rows 002 ghost       those whose test has one of the words in its name
    python -m tests.mutation.rows web --every 3   of a group, every third

The breakages are in tests/mutation/breakages: for every test of a row of docs/coverage.md one at least, and some more
for tests elsewhere. Each names the test, the file, a text in it and what comes in its place. A breakage is made in a
copy of the project; it holds when its test fails then, and no other way: a text that is not in the file exactly
once, or a test that cannot even be collected, is a failure of its own. Ends with 1 unless all hold.

The path of a test says how it is run: one of `frontend` by vitest, one of tests/browser against a bundle that is built
of the broken sources, any other by pytest, those of tests/web with a database.
"""

from __future__ import annotations

import argparse
import json
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.mutation.scratch import Run, Scratch
from tools.testing.groups import FRONT, group_of

FOLDER = Path(__file__).with_name("breakages")
GROUPS = ("core", "web", FRONT, "browser")
SECONDS = {"core": 300.0, "web": 300.0, FRONT: 300.0, "browser": 900.0}
# What a broken page is waited for mostly never comes.
WAIT = {"KSCHED_TEST_WAIT_SECONDS": "60"}


@dataclass(frozen=True, slots=True)
class Breakage:
    """One text of one file replaced by another; `test`, a node id, has to fail then."""

    test: str
    file: str
    old: str
    new: str

    @property
    def group(self) -> str:
        group = group_of(self.test.partition("::")[0])
        assert group in GROUPS, self.test
        return group

    def broken(self, text: str) -> str:
        """The text of the file with the breakage in it; ValueError when it does not fit any more."""
        if text.count(self.old) != 1:
            raise ValueError(f"{self.file} has the text {text.count(self.old)} times: {self.old!r}")
        return text.replace(self.old, self.new)


def breakages() -> list[Breakage]:
    """All of them, in the order of the files."""
    return [
        Breakage(**each)
        for path in sorted(FOLDER.glob("*.toml"))
        for each in tomllib.loads(path.read_text())["breakage"]
    ]


def chosen(words: Sequence[str], every: int = 1) -> list[Breakage]:
    """Those of the groups, or with the words in the names of their tests, by group; of each group every so manieth."""
    found = [each for each in breakages() if not words or any(_fits(each, word) for word in words)]
    return [each for group in GROUPS for each in [one for one in found if one.group == group][::every]]


def main(words: Sequence[str]) -> int:
    """The command; the words choose among the breakages."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutation.rows", description=__doc__.splitlines()[0])
    parser.add_argument("words", nargs="*", help="groups, or parts of the names of tests")
    parser.add_argument("--every", type=int, default=1, help="of each group every so manieth only")
    options = parser.parse_args(words)
    wanted = chosen(options.words, options.every)
    missed: Counter[str] = Counter()
    with Scratch() as scratch:
        for problem, tests in _whole(scratch, wanted):
            print(f"\n{problem}: {', '.join(tests)}")
            return 1
        for number, each in enumerate(wanted, start=1):
            problem = _problem(each, scratch)
            print(f"{number}/{len(wanted)} {'ok    ' if not problem else 'FAILED'} {each.test}", flush=True)
            if problem:
                print(f"  {each.file}: {each.old!r}\n  {problem}", flush=True)
                missed[each.group] += 1
    counts = Counter(each.group for each in wanted)
    for group, count in counts.items():
        print(f"{group}: {count} breakages, {missed[group]} not noticed")
    return 1 if missed or not wanted else 0


def _fits(breakage: Breakage, word: str) -> bool:
    return breakage.group == word if word in GROUPS else word in breakage.test


def _whole(scratch: Scratch, wanted: Sequence[Breakage]) -> Iterator[tuple[str, list[str]]]:
    """Tests that fail with nothing broken prove nothing; on a busy machine one may, so they have two tries."""
    for group in GROUPS:
        tests = sorted({each.test for each in wanted if each.group == group})
        if not tests:
            continue
        run = _run(group, tests, scratch, seconds=SECONDS[group] * 4)
        if not run.passed:
            run = _run(group, tests, scratch, seconds=SECONDS[group] * 4)
        if not run.passed:
            yield f"not even without a breakage all pass\n{run.output}", [run.failed]


def _problem(breakage: Breakage, scratch: Scratch) -> str:
    """Why it does not hold; empty when it does."""
    try:
        text = breakage.broken((scratch.tree / breakage.file).read_text())
    except ValueError as problem:
        return str(problem)
    with scratch.changed(breakage.file, text):
        seconds = SECONDS[breakage.group]
        run = _run(breakage.group, [breakage.test], scratch, seconds=seconds, environment=WAIT)
    return _judged(run, breakage)


def _run(
    group: str,
    tests: Sequence[str],
    scratch: Scratch,
    *,
    seconds: float,
    environment: dict[str, str] | None = None,
) -> Run:
    """Run tests of one group."""
    if group == FRONT:
        return scratch.vitest(tests, seconds=seconds)
    if group == "browser":
        return scratch.browser(tests, seconds=seconds, environment=environment)
    if group == "web":
        scratch.start_servers()
    return scratch.pytest(tests, seconds=seconds, environment=environment, database=group == "web")


def _judged(run: Run, breakage: Breakage) -> str:
    if run.passed:
        return "its test stays green"
    name = breakage.test.rpartition("::")[2].partition("[")[0]
    # A service that did not come up in time shows nothing.
    is_own = name in run.failed and (breakage.group != "browser" or run.failed.startswith("FAILED"))
    if run.in_time and not is_own:
        return f"something else failed than the test: {json.dumps(run.output[-600:])}"
    return ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
