"""Break each mechanism on purpose, and see that the tests which stand for it fail.

    python -m tests.mutation.rows                 all of them; takes some minutes
    python -m tests.mutation.rows 002 ghost       those whose name or test has one of the words

The breakages are in tests/mutation/breakages: for every test of a row of docs/coverage.md one at least, and some more
for tests elsewhere. Each names the test, the file, a text in it and what comes in its place. A breakage is made in a
copy of the project; it holds when its test fails then, and no other way: a text that is not in the file exactly
once, or a test that cannot even be collected, is a failure of its own. Ends with 1 unless all hold.
"""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.mutation.scratch import Run, Scratch

FOLDER = Path(__file__).with_name("breakages")
SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class Breakage:
    """One text of one file replaced by another; `test`, a node id, has to fail then."""

    test: str
    file: str
    old: str
    new: str

    @property
    def needs_service(self) -> bool:
        return self.test.startswith("tests/web/")

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


def main(words: Sequence[str]) -> int:
    """The command; the words choose among the breakages."""
    wanted = [each for each in breakages() if not words or any(word in each.test for word in words)]
    failed = []
    with Scratch() as scratch:
        if any(each.needs_service for each in wanted):
            scratch.start_servers()
        for problem, tests in _whole(scratch, wanted):
            print(f"\n{problem}: {', '.join(tests)}")
            return 1
        for number, each in enumerate(wanted, start=1):
            problem = _problem(each, scratch)
            print(f"{number}/{len(wanted)} {'ok    ' if not problem else 'FAILED'} {each.test}", flush=True)
            if problem:
                failed.append(f"{each.test}\n  {each.file}: {each.old!r}\n  {problem}")
    print("\n".join(["", *failed, f"{len(wanted)} breakages, {len(failed)} not noticed"]))
    return 1 if failed or not wanted else 0


def _whole(scratch: Scratch, wanted: Sequence[Breakage]) -> Iterator[tuple[str, list[str]]]:
    """Tests that fail with nothing broken prove nothing; on a busy machine one may, so they have two tries."""
    for database in (False, True):
        tests = sorted({each.test for each in wanted if each.needs_service is database})
        if not tests:
            continue
        run = scratch.pytest(tests, seconds=SECONDS * 4, database=database)
        if not run.passed:
            run = scratch.pytest(tests, seconds=SECONDS * 4, database=database)
        if not run.passed:
            yield f"not even without a breakage all pass\n{run.output}", [run.failed]


def _problem(breakage: Breakage, scratch: Scratch) -> str:
    """Why it does not hold; empty when it does."""
    try:
        text = breakage.broken((scratch.tree / breakage.file).read_text())
    except ValueError as problem:
        return str(problem)
    with scratch.changed(breakage.file, text):
        run = scratch.pytest([breakage.test], seconds=SECONDS, database=breakage.needs_service)
    return _judged(run, breakage)


def _judged(run: Run, breakage: Breakage) -> str:
    if run.passed:
        return "its test stays green"
    name = breakage.test.rpartition("::")[2].partition("[")[0]
    if run.in_time and name not in run.failed:
        return f"something else failed than the test: {json.dumps(run.output[-600:])}"
    return ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
