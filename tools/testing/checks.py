"""`./ksched check`: format, lint, types, import contracts, migrations, structure, generated files."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from kschedweb.environment import ROOT
from tools import generated, structure
from tools.node import NodeMissing

Check = Callable[[], tuple[bool, str]]


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
    commands: list[tuple[str, Check]] = [
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


def _timed(command: Check) -> tuple[bool, str, float]:
    started_at = time.monotonic()
    good, output = command()
    return good, output, time.monotonic() - started_at


def _command(*words: str) -> Check:
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
