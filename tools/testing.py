"""`./ksched test` and `./ksched check`: the checks, then the groups of tests, and one honest last line.

core     engine, golden cycles, properties: no service, no network
web      PostgreSQL, Valkey and Celery for real, started by the tests
front    TypeScript: types, lint, unit tests, and whether the committed build is the one its sources make
browser  a running service in Chromium
faults   a running service whose processes are killed
attack   a running service that is stormed with requests

A group that cannot run fails with one line that says what to install. A failed check counts as one failed test.
"""

import gzip
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from kschedweb.environment import ROOT
from tools import generated, structure
from tools.node import FRONTEND, NodeMissing, install_front, node_environment

# Every folder of tests belongs to one group; tests/architecture looks that none is forgotten.
FOLDERS = {
    "core": ("core", "tools", "bench", "coverage", "golden", "mutation", "property"),
    "web": ("web", "architecture"),
    "browser": ("browser",),
    "faults": ("faults",),
    "attack": ("attack",),
}
GROUPS = ("core", "web", "front", "browser", "faults", "attack")
# Each process of pytest has services of its own, which start once for a file or for all its files.
BY_FILE = ("browser", "faults")
# Of one process most of the time, as the longest of the checks is.
WITH_CHECKS = "front"
# What is judged is how soon the service answers others while it is stormed: nothing runs beside it.
IN_ONE_PROCESS = ("attack",)
CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
PROCESSES = "2"
SLOWEST = ("--durations=15", "--durations-min=5")


@dataclass(slots=True)
class Count:
    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def add(self, other: "Count") -> None:
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped

    def __str__(self) -> str:
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


class CannotRun(Exception):
    """A group lacks something; the text says what to install."""


def run(*, groups: Sequence[str], without: Sequence[str], long: bool) -> int:
    """The checks (when no group is named) and the groups; 0 when nothing failed."""
    chosen = [group for group in (groups or GROUPS) if group not in without]
    total, lines = Count(), []

    def run_group(group: str) -> None:
        print(f"\n== {group} ==", flush=True)
        started_at = time.monotonic()
        try:
            count = run_front() if group == "front" else run_pytest(group, whole=not groups, long=long)
        except (CannotRun, NodeMissing) as problem:
            print(f"{group} cannot run: {problem}")
            count = Count(failed=1)
        total.add(count)
        lines.append(f"{group}: {count} in {time.monotonic() - started_at:.0f} s")

    if not groups:
        if WITH_CHECKS in chosen:
            chosen.remove(WITH_CHECKS)
            failed = failed_checks(meanwhile=lambda: run_group(WITH_CHECKS))
        else:
            failed = failed_checks()
        total.add(Count(failed=len(failed)))
        lines.append(f"checks: {'failed: ' + ', '.join(failed) if failed else 'all hold'}")
    for group in chosen:
        run_group(group)
    print("\n" + "\n".join(lines))
    left_out = [group for group in GROUPS if group in without]
    print(f"{total}{', left out: ' + ' '.join(left_out) if left_out else ''}", flush=True)
    return 1 if total.failed or not total.passed else 0


def check() -> int:
    """The checks alone; 0 when all hold."""
    failed = failed_checks()
    print(f"failed: {', '.join(failed)}" if failed else "all checks hold")
    return 1 if failed else 0


def failed_checks(meanwhile: Callable[[], None] = lambda: None) -> list[str]:
    """Run every check, print what fails, and name it; `meanwhile` is called before the longest of them has ended."""
    print("== checks ==", flush=True)
    python = sys.executable
    lint_imports = "from importlinter.cli import lint_imports_command as run; run()"
    commands: list[tuple[str, Callable[[], tuple[bool, str]]]] = [
        ("format", _command(python, "-m", "ruff", "format", "--check", ".", "ksched")),
        ("lint", _command(python, "-m", "ruff", "check", ".", "ksched")),
        ("contracts", _command(python, "-c", lint_imports, "--no-cache")),
        ("migrations", _command(python, "-W", "ignore", "manage.py", "makemigrations", "--check", "--dry-run")),
        ("structure", structure.check),
        ("generated files", _generated),
    ]
    failed = []

    def tell(name: str, outcome: tuple[bool, str, float]) -> None:
        good, output, seconds = outcome
        print(f"{'ok    ' if good else 'FAILED'} {name} ({seconds:.0f} s)", flush=True)
        if not good:
            failed.append(name)
            print(output.rstrip(), flush=True)

    with ThreadPoolExecutor(1) as beside:
        types = beside.submit(_timed, _command(python, "-m", "mypy"))
        for name, command in commands:
            tell(name, _timed(command))
        meanwhile()
        tell("types", types.result())
    return failed


def run_pytest(group: str, *, whole: bool, long: bool) -> Count:
    """One group of Python tests."""
    folders = [f"tests/{name}" for name in FOLDERS[group] if (ROOT / "tests" / name).is_dir()]
    extra = ["--long"] if long else ["--golden-full"] if whole else []
    environment = {}
    if group == "browser":
        environment["KSCHED_CHROMIUM"] = str(find_chromium())
    if group not in IN_ONE_PROCESS:
        extra += ["-n", PROCESSES, "--dist", "loadfile" if group in BY_FILE else "worksteal"]
    with tempfile.TemporaryDirectory() as scratch:
        report = Path(scratch) / "report.xml"
        words = [sys.executable, "-m", "pytest", "-q", f"--junitxml={report}", *SLOWEST, *extra, *folders]
        code = subprocess.run(words, cwd=ROOT, env={**os.environ, **environment}).returncode
        return counted(report, code)


def run_front() -> Count:
    """Types, lint, unit tests and the build of the browser's half."""
    if not (FRONTEND / "package.json").exists():
        raise CannotRun("there is no frontend/package.json")
    environment = node_environment()
    install_front(environment)
    total = Count()
    for name in ("check", "lint"):
        if subprocess.run(["npm", "run", "--silent", name], cwd=FRONTEND, env=environment).returncode != 0:
            print(f"FAILED npm run {name}")
            total.failed += 1
    with tempfile.TemporaryDirectory() as scratch:
        report = Path(scratch) / "report.xml"
        words = ["npm", "test", "--silent", "--", "--reporter=default", "--reporter=junit", f"--outputFile={report}"]
        code = subprocess.run(words, cwd=FRONTEND, env=environment).returncode
        total.add(counted(report, code))
    total.add(_build_is_fresh(environment))
    return total


def find_chromium() -> Path:
    """The browser that the tests drive."""
    named = os.environ.get("KSCHED_CHROMIUM")
    for name in (named,) if named else CHROMIUM_NAMES:
        found = shutil.which(name)
        if found is not None:
            return Path(found)
    raise CannotRun("no Chromium found: apt-get install chromium, or leave it out with --without browser")


def counted(report: Path, code: int) -> Count:
    """Count the tests of a JUnit report; add a failure when the program failed without one."""
    count = Count()
    if report.exists():
        for suite in ElementTree.parse(report).getroot().iter("testsuite"):
            tests, failures, errors, skipped = (
                int(suite.get(name) or 0) for name in ("tests", "failures", "errors", "skipped")
            )
            count.add(Count(max(0, tests - failures - errors - skipped), failures + errors, skipped))
    if code != 0 and not count.failed:
        print(f"FAILED: ended with code {code}")
        count.failed = 1
    return count


def _build_is_fresh(environment: dict[str, str]) -> Count:
    """Build into another folder and compare with what is committed."""
    committed = FRONTEND / "dist"
    with tempfile.TemporaryDirectory() as scratch:
        built = Path(scratch) / "dist"
        words = ["npm", "run", "--silent", "build", "--", "--outDir", str(built), "--emptyOutDir"]
        result = subprocess.run(words, cwd=FRONTEND, env=environment, capture_output=True, text=True)
        if result.returncode != 0:
            print(f"FAILED npm run build\n{result.stdout}{result.stderr}")
            return Count(failed=1)
        stale = sorted(_files(built).items() ^ _files(committed).items())
    if stale:
        names = ", ".join(sorted({name for name, _ in stale}))
        print(f"FAILED frontend/dist is not what its sources make ({names}): npm run build in frontend/ and commit it")
        return Count(failed=1)
    return Count()


def _files(folder: Path) -> dict[str, bytes]:
    """Read all files, decompressing .gz: compressed bytes differ between versions of zlib."""
    found = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    return {name: gzip.decompress(content) if name.endswith(".gz") else content for name, content in found.items()}


def _timed(command: Callable[[], tuple[bool, str]]) -> tuple[bool, str, float]:
    started_at = time.monotonic()
    good, output = command()
    return good, output, time.monotonic() - started_at


def _command(*words: str) -> Callable[[], tuple[bool, str]]:
    def call() -> tuple[bool, str]:
        environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "kschedweb.settings_test"}
        result = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True)
        return result.returncode == 0, result.stdout + result.stderr

    return call


def _generated() -> tuple[bool, str]:
    try:
        stale = generated.stale()
    except (NodeMissing, generated.GenerationFailed) as problem:
        return False, str(problem)
    return not stale, "\n".join(f"{name} is stale: python -m tools.generated" for name in stale)
