"""`./ksched test` and `./ksched check`: the checks, then the groups of tests (groups.py), and one honest last line.

A group that cannot run fails with one line that says what to install. A failed check counts as one failed test. A test
of a running service that fails has another try, alone, after all others: passing then, it is told as UNSTABLE with the
output of its failure, and the run is green. docs/testing.md is the page on all this.
"""

from __future__ import annotations

import resource
import shlex
import time
from collections.abc import Callable, Sequence

from tools.node import NodeMissing
from tools.testing import changed, groups
from tools.testing.checks import check, failed_checks
from tools.testing.front import run_front
from tools.testing.groups import FOLDERS, FRONT, GROUPS
from tools.testing.outcome import CannotRunError, Failure, Outcome
from tools.testing.pytests import How, run_pytest

__all__ = ["FOLDERS", "GROUPS", "check", "run"]

# Of one process most of the time, as the longest of the checks is.
WITH_CHECKS = FRONT
# So many failures of one group are no matter of chance.
MOST_TRIED_AGAIN = 8


def run(
    *, words: Sequence[str], without: Sequence[str] = (), word: str = "", only_changed: bool = False, long: bool = False
) -> int:
    """The checks (of a whole run) and the tests that `words` name; 0 when nothing failed and something passed."""
    is_whole = not words and not word and not only_changed
    try:
        chosen = changed.concerned() if only_changed else groups.chosen(words)
    except groups.NotATestError as problem:
        print(problem)
        return 2
    chosen = {group: targets for group, targets in chosen.items() if group not in without}
    if only_changed and not chosen:
        print("nothing has changed since main")
        return 0
    how = How(long=long, whole=is_whole, word=word)
    total, lines = Outcome(), []
    failed: dict[str, list[Failure]] = {}

    def run_group(group: str) -> None:
        print(f"\n== {group} ==", flush=True)
        started_at, cpu_before = time.monotonic(), _cpu_seconds()
        outcome = _outcome(group, chosen[group], how)
        failed[group] = outcome.failures
        total.add(outcome)
        took, cpu = time.monotonic() - started_at, _cpu_seconds() - cpu_before
        lines.append(f"{group}: {outcome} in {took:.0f} s ({cpu:.0f} s of CPU)")

    left = list(chosen)
    if is_whole:
        beside: Callable[[], None] = lambda: None  # noqa: E731
        if WITH_CHECKS in left:
            left.remove(WITH_CHECKS)
            beside = lambda: run_group(WITH_CHECKS)  # noqa: E731
        checks = failed_checks(meanwhile=beside)
        total.add(Outcome(failed=len(checks), failures=[Failure(f"check {name}") for name in checks]))
        lines.append(f"checks: {'failed: ' + ', '.join(checks) if checks else 'all hold'}")
    for group in left:
        run_group(group)
    unstable = [failure for group in failed for failure in _unstable(group, failed[group], how)]
    total.forgive([failure.name for failure in unstable])
    print("\n" + "\n".join(lines))
    _tell(total, unstable)
    left_out = [group for group in GROUPS if group in without]
    print(f"{total}{', left out: ' + ' '.join(left_out) if left_out else ''}", flush=True)
    return 1 if total.failed or not total.passed else 0


def _cpu_seconds() -> float:
    """What the processes that were started and have ended took so far, with those below them."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _outcome(group: str, targets: Sequence[str], how: How) -> Outcome:
    try:
        return run_front(targets, word=how.word) if group == FRONT else run_pytest(group, targets, how)
    except (CannotRunError, NodeMissing) as problem:
        print(f"{group} cannot run: {problem}")
        return Outcome(failed=1, failures=[Failure(group)])


def _unstable(group: str, failures: Sequence[Failure], how: How) -> list[Failure]:
    """The failures of tests that pass when they are run once more, alone."""
    again = [failure for failure in failures if failure.may_pass]
    if not again or len(failures) > MOST_TRIED_AGAIN:
        return []
    print(f"\n== {group}, once more: {len(again)} ==", flush=True)
    names = [failure.name for failure in again]
    still = {failure.name for failure in run_pytest(group, names, How(long=how.long, alone=True)).failures}
    # Whatever ended the second run without naming a test forgives none.
    return [] if still - set(names) else [failure for failure in again if failure.name not in still]


def _tell(total: Outcome, unstable: Sequence[Failure]) -> None:
    """Name what failed, each with the command that runs it alone, and what passed only at the second try."""
    for failure in unstable:
        print(f"\n== first failure of {failure.name} ==\n{failure.text.rstrip()}")
    print()
    for failure in unstable:
        print(f"UNSTABLE {failure.name}   ./ksched test {shlex.quote(failure.name)}")
    for failure in total.failures:
        print(f"FAILED {failure.name}   {_command(failure.name)}")


def _command(name: str) -> str:
    """The command that runs a failed test, group or check alone."""
    if name.startswith("tests/") or name in GROUPS:
        return f"./ksched test {shlex.quote(name)}"
    return "./ksched check" if name.startswith("check ") else f"./ksched test {FRONT}"
