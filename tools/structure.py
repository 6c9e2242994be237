"""The shape of the sources, as far as no other check sees it: long files say why, and lists of exceptions shrink."""

import json
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

from kschedweb.environment import ROOT

FOLDERS = ("scheduler_core", "kschedweb", "tools", "tests", "frontend/src")
SUFFIXES = (".py", ".ts", ".svelte", ".css")
MAX_LINES = 400
REASON = "Longer than 400 lines because "
REASON_WITHIN = 30  # lines from the top

# Files without a reason yet. To become empty.
LONG: set[str] = set()


def problems(root: Path = ROOT, long: set[str] = LONG) -> list[str]:
    """Return what is wrong, a line each."""
    return [*_long_files(root, long), *_stale_exceptions(root)]


def check() -> tuple[bool, str]:
    """Return whether all is well, and the problems."""
    found = problems()
    return not found, "\n".join(found)


def _long_files(root: Path, exceptions: set[str]) -> Iterator[str]:
    left = set(exceptions)
    for path in sources(root):
        lines = path.read_text().splitlines()
        if len(lines) <= MAX_LINES:
            continue
        name = str(path.relative_to(root))
        if any(REASON in line for line in lines[:REASON_WITHIN]) or name in exceptions:
            left.discard(name)
        else:
            yield f"{name}: {len(lines)} lines; split it, or say near its top: {REASON}…"
    for name in sorted(left):
        yield f"{name}: no longer too long, take it from LONG in tools/structure.py"


def sources(root: Path) -> Iterator[Path]:
    """Walk the files written by hand."""
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in SUFFIXES and ".gen." not in path.name and path.is_file():
                yield path


def _stale_exceptions(root: Path) -> Iterator[str]:
    """Files of the cycle that may have functions with many parameters and have none."""
    ignores: dict[str, list[str]] = tomllib.loads((root / "pyproject.toml").read_text())["tool"]["ruff"]["lint"][
        "per-file-ignores"
    ]
    excepted = [name for name, rules in ignores.items() if "PLR0913" in rules and not name.startswith("!")]
    if not excepted:
        return
    words = [sys.executable, "-m", "ruff", "check", "--isolated", "--select", "PLR0913", "--output-format", "json"]
    result = subprocess.run([*words, *excepted], cwd=root, capture_output=True, text=True)
    found = {str(Path(each["filename"]).relative_to(root)) for each in json.loads(result.stdout)}
    for name in excepted:
        if name not in found:
            yield f"{name}: its functions have few parameters, take it from per-file-ignores in pyproject.toml"
