"""What a fresh clone needs: locks that name no host, a README whose commands exist, tests that belong to a group."""

import re
import shlex
from pathlib import Path

import pytest

from kschedweb.environment import ROOT
from tools import cli, testing

LOCKS = [pytest.param(ROOT / name, id=name) for name in ("requirements.lock", "requirements-dev.lock")]


@pytest.mark.parametrize("lock", LOCKS)
def test_lock_names_no_host_and_no_path(lock: Path) -> None:
    text = lock.read_text()
    assert not re.search(r"https?:|://|--(extra-)?index-url|--find-links|--trusted-host|(^|\s)/\w", text)


@pytest.mark.parametrize("lock", LOCKS)
def test_lock_has_a_version_and_hashes_for_every_package(lock: Path) -> None:
    entries = [entry for entry in lock.read_text().replace("\\\n", " ").splitlines() if not entry.startswith("#")]
    assert len(entries) > 50
    assert [entry for entry in entries if not re.match(r"[a-z0-9._-]+==\S+ .*--hash=sha256:[0-9a-f]{64}", entry)] == []


@pytest.mark.parametrize("lock", LOCKS)
def test_lock_has_every_package_asked_for(lock: Path) -> None:
    assert _asked_for(lock.with_suffix(".in")) - _pins(lock) == set()


def test_dev_lock_has_everything_of_the_runtime_lock() -> None:
    assert _pins(ROOT / "requirements.lock") - _pins(ROOT / "requirements-dev.lock") == set()


def test_every_folder_of_tests_belongs_to_a_group() -> None:
    grouped = {name for names in testing.FOLDERS.values() for name in names}
    found = {path.name for path in (ROOT / "tests").iterdir() if path.is_dir() and any(path.rglob("test_*.py"))}
    assert found - grouped == set()


def test_readme_leads_to_every_page_and_none_that_is_not_there() -> None:
    found = [*(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "how-to").glob("*.md")]
    pages = {str(path.relative_to(ROOT)) for path in found}
    linked = set(re.findall(r"\]\((docs/[\w./-]+)", (ROOT / "README.md").read_text()))
    assert pages <= linked
    assert all((ROOT / path).exists() for path in linked)


def test_commands_in_the_readme_exist() -> None:
    readme = ROOT / "README.md"
    if not readme.exists():
        pytest.skip("there is no README.md")
    commands = re.findall(r"^\s*(?:\$ )?\./ksched +(.+?)\s*(?:#.*)?$", readme.read_text(), flags=re.MULTILINE)
    assert any(command.startswith("up") for command in commands)
    assert any(command.startswith("test") for command in commands)
    for command in commands:
        words = shlex.split(command.replace("…", "").replace("FILE", "file"))
        if words[0] != "conformance":
            cli.parser().parse_args(words)  # ends the test with what is wrong


def test_ci_runs_the_test_command() -> None:
    assert (ROOT / ".ci" / "run").read_text().rstrip().endswith("exec ./ksched test")


def _asked_for(path: Path) -> set[str]:
    found: set[str] = set()
    for line in path.read_text().splitlines():
        line = line.partition("#")[0].strip()
        if line.startswith("-r "):
            found |= _asked_for(path.with_name(line[3:]))
        elif line:
            found.add(re.sub(r"\[.*\]", "", line).lower())
    return found


def _pins(lock: Path) -> set[str]:
    return {match[0].lower() for match in re.finditer(r"^[A-Za-z0-9._-]+==[^\s;]+", lock.read_text(), re.MULTILINE)}
