"""What came of a group of tests: counts, and the tests that failed, each with its output."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree


@dataclass(frozen=True, slots=True)
class Failure:
    """A test that failed, by its name in pytest, and its output.

    `may_pass` says that it runs a service, processes or threads: it has another try, alone, before it counts.
    """

    name: str
    text: str = ""
    may_pass: bool = False


@dataclass(slots=True)
class Outcome:
    """Counts of tests; `failures` names those that failed where that is known.

    `cpu_seconds`: what the processes took that ran them, where that is known.
    """

    passed: int = 0
    failed: int = 0
    skipped: int = 0
    failures: list[Failure] = field(default_factory=list)
    cpu_seconds: float = field(default=0.0, compare=False)

    def add(self, other: Outcome) -> None:
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        self.failures += other.failures

    def forgive(self, names: Sequence[str]) -> None:
        """Count these tests, which had failed, as passed."""
        forgiven = {failure.name for failure in self.failures} & set(names)
        self.failures = [failure for failure in self.failures if failure.name not in forgiven]
        self.failed -= len(forgiven)
        self.passed += len(forgiven)

    def __str__(self) -> str:
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


class CannotRunError(Exception):
    """A group lacks something; the text says what to install."""


def counted(report: Path, code: int) -> Outcome:
    """Count the tests of a JUnit report; add a failure when the program failed without one."""
    outcome = Outcome()
    if report.exists():
        for suite in ElementTree.parse(report).getroot().iter("testsuite"):
            tests, failures, errors, skipped = (
                int(suite.get(name) or 0) for name in ("tests", "failures", "errors", "skipped")
            )
            outcome.add(Outcome(max(0, tests - failures - errors - skipped), failures + errors, skipped))
    if code != 0 and not outcome.failed:
        print(f"FAILED: ended with code {code}")
        outcome.failed = 1
    return outcome
