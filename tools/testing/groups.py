"""Which tests belong together: a group is what needs the same services, and what runs in one call of pytest.

core     engine, golden cycles, properties: no service, no network
web      PostgreSQL, Valkey and Celery for real, started by the tests
front    TypeScript: types, lint, unit tests, and whether the committed build is the one its sources make
browser  a running service in Chromium
faults   a running service whose processes are killed
attack   a running service that is stormed with requests
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from kschedweb.environment import ROOT

FRONT = "front"
# Every folder of tests belongs to one group; tests/architecture looks that none is forgotten.
FOLDERS = {
    "core": ("core", "tools", "bench", "coverage", "golden", "mutation", "property"),
    "web": ("web", "architecture"),
    "browser": ("browser",),
    "faults": ("faults",),
    "attack": ("attack",),
}
# Core comes last of those that work: it keeps every processor busy when the others have ended.
GROUPS = ("web", "core", FRONT, "browser", "faults", "attack")


class NotATestError(Exception):
    """A word of the command names neither a group nor a test; the text says which."""


def folders(group: str) -> list[str]:
    """The folders of a group, from the top of the checkout."""
    return [f"tests/{name}" for name in FOLDERS[group] if (ROOT / "tests" / name).is_dir()]


def group_of(path: str) -> str | None:
    """The group of a file or folder below `tests` or `frontend`; None for `tests` itself and for all else."""
    parts = Path(path).parts
    if parts[:1] == ("frontend",):
        return FRONT
    if len(parts) < 2 or parts[0] != "tests":
        return None
    return next((group for group, names in FOLDERS.items() if parts[1] in names), None)


def chosen(words: Iterable[str]) -> dict[str, list[str]]:
    """The groups that the words of the command name, in the order they run in, with the tests of each.

    A word is a group, or a test as pytest names it: a folder, a file, `file::test`. Without words: every group, whole.
    Raises NotATestError.
    """
    targets: dict[str, list[str]] = {}
    for word in words:
        if word in GROUPS:
            targets.setdefault(word, []).extend([] if word == FRONT else folders(word))
            continue
        path = _inside(word.partition("::")[0])
        group = None if path is None else group_of(path)
        if path is None or group is None:
            raise NotATestError(f"{word!r} is neither a group ({', '.join(GROUPS)}) nor a test of this checkout")
        targets.setdefault(group, []).append(path + word[len(word.partition("::")[0]) :])
    if not targets:
        targets = {group: [] if group == FRONT else folders(group) for group in GROUPS}
    return {group: _each_once(targets[group]) for group in GROUPS if group in targets}


def _each_once(names: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(names))


def _inside(word: str) -> str | None:
    """The path of an existing file or folder from the top of the checkout."""
    for base in (Path.cwd(), ROOT):
        path = (base / word).resolve()
        if path.exists() and path.is_relative_to(ROOT):
            return str(path.relative_to(ROOT))
    return None
