"""`./ksched test` and `./ksched check`: the checks and the groups of tests (groups.py), and one honest last line.

A group that cannot run fails with one line that says what to install. A failed check counts as one failed test. A test
of a running service that fails has another try, alone, after all others: passing then, it is told as UNSTABLE with the
output of its failure, and the run is green. docs/testing.md is the page on all this.
"""

from __future__ import annotations

import os
import shlex
import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import IO

from tools.node import NodeMissing
from tools.testing import changed, groups
from tools.testing.checks import check, failed_checks
from tools.testing.front import run_front
from tools.testing.groups import FOLDERS, FRONT, GROUPS
from tools.testing.outcome import CannotRunError, Failure, Outcome
from tools.testing.pytests import How, run_pytest

__all__ = ["FOLDERS", "GROUPS", "check", "run"]

# Two groups run at a time. With three the same tests took up to half as much again of the processors' time.
AT_ONCE = 2
# Those that take long first; last the one of two processes that never wait, which has both processors then.
ORDER = (FRONT, "browser", "web", "attack", "faults", "core")
# So many failures of one group are no matter of chance.
MOST_TRIED_AGAIN = 8


def run(
    *, words: Sequence[str], without: Sequence[str] = (), word: str = "", only_changed: bool = False, long: bool = False
) -> int:
    """The checks (of a whole run) and the tests that `words` name; 0 when nothing failed and something passed."""
    is_whole = not words and not word and not only_changed
    # Tests start processes by the hundred: without it each would compile all modules anew.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    try:
        chosen = changed.concerned() if only_changed else groups.chosen(words)
    except groups.NotATestError as problem:
        print(problem)
        return 2
    chosen = {group: targets for group, targets in chosen.items() if group not in without}
    if only_changed and not chosen:
        print("nothing has changed since main")
        return 0
    how = How(long=long, word=word)
    ended = _run_groups(chosen, how, with_checks=is_whole)
    outcomes = {name: outcome for name, (outcome, _) in ended.items()}
    total = Outcome()
    for outcome in outcomes.values():
        total.add(outcome)
    unstable = [failure for group in chosen for failure in _unstable(group, outcomes[group].failures, how)]
    total.forgive([failure.name for failure in unstable])
    print("\n" + "\n".join(line for _, line in ended.values()))
    _tell(total, unstable)
    left_out = [group for group in GROUPS if group in without]
    print(f"{total}{', left out: ' + ' '.join(left_out) if left_out else ''}", flush=True)
    return 1 if total.failed or not total.passed else 0


def _run_groups(chosen: Mapping[str, Sequence[str]], how: How, *, with_checks: bool) -> dict[str, tuple[Outcome, str]]:
    """What each group came to, and a line that says so, in the order of `chosen`, the checks first.

    Two at a time, of which Python's tests are shown when they are done; in the long form, which judges by time, one
    after the other.
    """
    ended: dict[str, tuple[Outcome, str]] = {}
    is_alone = how.long or len(chosen) == 1

    def run_group(group: str) -> None:
        started_at = time.monotonic()
        if is_alone or group == FRONT:
            print(f"\n== {group} ==", flush=True)
            outcome = _outcome(group, chosen[group], how)
        else:
            with tempfile.TemporaryFile() as output:
                outcome = _outcome(group, chosen[group], how, output)
                output.seek(0)
                print(f"\n== {group} ==\n{output.read().decode(errors='replace')}", flush=True)
        cpu = f" ({outcome.cpu_seconds:.0f} s of CPU)" if outcome.cpu_seconds else ""
        ended[group] = outcome, f"{group}: {outcome} in {time.monotonic() - started_at:.0f} s{cpu}"

    def run_checks() -> None:
        # The longest of the checks is of one process: the frontend's half runs before it has ended.
        checks = failed_checks(meanwhile=lambda: run_group(FRONT) if FRONT in chosen else None)
        failures = [Failure(f"check {name}") for name in checks]
        told = f"checks: {'failed: ' + ', '.join(checks) if checks else 'all hold'}"
        ended["checks"] = Outcome(failed=len(checks), failures=failures), told

    with ThreadPoolExecutor(1 if is_alone else AT_ONCE) as pool:
        under_way = [pool.submit(run_checks)] if with_checks else []
        here = [group for group in ORDER if group in chosen and not (with_checks and group == FRONT)]
        under_way += [pool.submit(run_group, group) for group in here]
        for each in under_way:
            each.result()
    return {name: ended[name] for name in ("checks", *chosen) if name in ended}


def _outcome(group: str, targets: Sequence[str], how: How, output: IO[bytes] | None = None) -> Outcome:
    try:
        return run_front(targets, word=how.word) if group == FRONT else run_pytest(group, targets, how, output)
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
