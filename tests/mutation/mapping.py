"""Which tests may notice a fault in a line: from a map of lines to tests, made by running every test once.

The map of a group is made by `python -m tests.mutation map`; a test without an entry is newer than the map, and runs
before all others. A line that runs only while modules are imported, or in processes the tests start, has no
tests of its own: then all tests that go through its file run, and those of the folder named like its package.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.mutation.operators import Mutant

FIRST_TESTS = 30
NO_SECONDS = 0.01


@dataclass(frozen=True, slots=True)
class Choice:
    """Tests by node id; their files in the order in which they run; how long they took when the map was made."""

    tests: tuple[str, ...]
    files: tuple[str, ...]
    seconds: float


class TestMap:
    """The map of one group of tests."""

    __test__ = False  # not a class of tests

    def __init__(self, path: Path) -> None:
        told: dict[str, Any] = json.loads(path.read_text())
        self.made_at = path.stat().st_mtime
        self.seconds: dict[str, float] = told["seconds"]
        self.failed = frozenset(told["failed"])  # without any fault: what they say of one means nothing
        self._names: list[str] = told["tests"]
        self._lines: dict[str, dict[str, list[int]]] = told["lines"]
        self._of_file: dict[str, list[str]] = {}
        for test in self.seconds:
            self._of_file.setdefault(_file(test), []).append(test)

    def of_line(self, mutant: Mutant) -> set[str]:
        """The tests that run the mutant's line, or else its statement."""
        by_line = self._lines.get(mutant.path, {})
        found = self._tests(by_line.get(str(mutant.line), []))
        if not found:
            first, last = mutant.statement
            found = self._tests(number for line in range(first, last + 1) for number in by_line.get(str(line), []))
        return found

    def of_file(self, path: str) -> set[str]:
        """The tests that run any line of the file, and those of the folder named like its package."""
        found = self._tests(number for numbers in self._lines.get(path, {}).values() for number in numbers)
        part = path.split("/")[1].removesuffix(".py")
        return found | {test for test in self.seconds if f"/{part}/" in test or f"/test_{part}" in test}

    def newer(self, tree: Path, folders: Iterable[str]) -> Choice | None:
        """What was added to the group since the map was made; None where no file is newer."""
        parts = [tree / name for name in folders if (tree / name).exists()]
        paths = [path for part in parts for path in ([part] if part.is_file() else sorted(part.rglob("test_*.py")))]
        files = tuple(str(path.relative_to(tree)) for path in paths if path.stat().st_mtime > self.made_at)
        return Choice((), files, 0.0) if files else None

    def choice(self, tests: set[str], mutant: Mutant, *, most: int | None = None) -> Choice:
        """Those nearest to the mutant's file first, then quick files; `most`: so many tests only."""
        name = Path(mutant.path).stem
        folder = Path(mutant.path).parent.name
        files: dict[str, list[str]] = {}
        for test in tests:
            files.setdefault(_file(test), []).append(test)
        cost = {file: sum(self._cost(test) for test in found) for file, found in files.items()}

        def distance(file: str) -> tuple[bool, bool, float]:
            return (Path(file).stem != f"test_{name}", folder not in file.split("/"), cost[file])

        ordered = sorted(files, key=distance)
        if most is None:
            return self._choice(ordered, {file: files[file] for file in ordered})
        taken: dict[str, list[str]] = {}
        for file in ordered:
            left = most - sum(map(len, taken.values()))
            if left <= 0:
                break
            taken[file] = sorted(files[file], key=self._cost)[:left]
        return self._choice(list(taken), taken)

    def _choice(self, files: list[str], tests: dict[str, list[str]]) -> Choice:
        chosen = tuple(test for file in files for test in sorted(tests[file]))
        return Choice(chosen, tuple(files), sum(self._cost(test) for test in chosen))

    def _tests(self, numbers: Any) -> set[str]:
        found: set[str] = set()
        for number in set(numbers):
            name = self._names[number]
            found.update(self._of_file.get(name[:-2], []) if name.endswith("::") else [name])
        return found & self.seconds.keys()

    def _cost(self, test: str) -> float:
        return max(self.seconds.get(test, NO_SECONDS), NO_SECONDS)


def _file(test: str) -> str:
    return test.partition("::")[0]
