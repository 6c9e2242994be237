"""The entry ./ksched: what it says when Python is too old or cannot make environments, and when it installs again."""

import contextlib
import hashlib
import importlib
import importlib.machinery
import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from kschedweb.environment import ROOT, variables
from kschedweb.ops import cli
from tests.cases import cases


@pytest.fixture
def entry() -> Iterator[ModuleType]:
    loader = importlib.machinery.SourceFileLoader("ksched_entry", str(ROOT / "ksched"))
    spec = importlib.util.spec_from_loader("ksched_entry", loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    yield module


def test_entry_says_which_python_it_needs_when_this_one_is_older(
    entry: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 9, 2))
    monkeypatch.setattr(entry, "newer_python", lambda: None)
    with pytest.raises(SystemExit) as ended:
        entry.check_python()
    assert ended.value.code == 1
    assert "needs Python 3.11 or newer, this is 3.9.2" in capsys.readouterr().err


def test_entry_names_a_newer_python_that_is_there(
    entry: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 9, 2))
    monkeypatch.setattr(entry, "newer_python", lambda: "python3.12")
    with pytest.raises(SystemExit):
        entry.check_python()
    assert "python3.12 ./ksched" in capsys.readouterr().err


@pytest.mark.parametrize("module", ["venv", "ensurepip"])
def test_entry_says_what_to_install_when_environments_cannot_be_made(
    entry: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], module: str
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(SystemExit):
        entry.check_venv()
    said = capsys.readouterr().err
    assert f"no module '{module}'" in said
    assert f"apt-get install python3.{sys.version_info[1]}-venv" in said


def fake_python(folder: Path, code: int) -> Path:
    """Something that looks like this version of Python, and answers every question with the code."""
    folder.mkdir()
    python = folder / f"python3.{sys.version_info[1]}"
    python.write_text(f"#!/bin/sh\nexit {code}\n")
    python.chmod(0o755)
    return python


def test_environment_is_made_with_a_python_that_is_built_well(
    entry: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    slow, other, fast = (fake_python(tmp_path / name, code) for name, code in (("a", 1), ("b", 1), ("c", 0)))
    monkeypatch.setattr(sys, "executable", str(slow))
    monkeypatch.setenv("PATH", f"{other.parent}:{tmp_path}:{fast.parent}")
    assert entry.well_built_python() == str(fast)
    monkeypatch.setattr(sys, "executable", str(fast))
    assert entry.well_built_python() == str(fast)


def test_question_how_a_python_is_built_can_be_asked_of_this_one(entry: ModuleType) -> None:
    told = subprocess.run([sys.executable, "-c", entry.WELL_BUILT], capture_output=True, text=True, check=False)
    assert (told.returncode in (0, 1), told.stdout, told.stderr) == (True, "", "")


def test_entry_can_be_read_by_old_pythons() -> None:
    compile((ROOT / "ksched").read_text(), "ksched", "exec", dont_inherit=True)
    source = (ROOT / "ksched").read_text()
    assert source.isascii()
    assert "\n    match " not in source and ":=" not in source and ' f"' not in source and '(f"' not in source


def test_making_the_environment_leaves_stdout_to_the_command(
    entry: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(entry, "well_built_python", lambda: sys.executable)
    monkeypatch.setattr(entry.subprocess, "call", lambda *_, **__: 0)
    monkeypatch.setattr(entry, "works", lambda python: False)
    monkeypatch.setattr(entry, "install", lambda *_: 0)
    entry.make(str(tmp_path / "venv"), str(tmp_path / "venv/bin/python"), "requirements.lock")
    said = capsys.readouterr()
    assert said.out == "" and "making the environment" in said.err and "requirements.lock" in said.err


@cases("bad, want", ("all install", "nothing", 0), ("one does not", "b==2", 3))
def test_parts_that_are_installed_are_the_whole_lock(
    entry: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, bad: str, want: int
) -> None:
    entries = [
        f"{name}==2 \\\n    --hash=sha256:{name}1 \\\n    --hash=sha256:{name}2\n    # via c\n" for name in "abcde"
    ]
    (tmp_path / "requirements.lock").write_text("# made by a program\n" + "".join(entries))
    python = tmp_path / "python"
    python.write_text(f"""#!/bin/sh
for part; do :; done
echo "$*" >> "{tmp_path}/words"
cat "$part" >> "{tmp_path}/$(basename "$part").seen"
! grep -q "{bad}" "$part" || exit 3
""")
    python.chmod(0o755)
    monkeypatch.setattr(entry, "ROOT", str(tmp_path))
    monkeypatch.setattr(entry.os, "cpu_count", lambda: 2)
    assert entry.install(str(python), "requirements.lock") == want
    parts = [path.read_text() for path in sorted(tmp_path.glob("*.seen"))]
    assert parts == ["".join(entries[0::2]), "".join(entries[1::2])]
    said = (tmp_path / "words").read_text().splitlines()
    assert len(said) == 2 and all("--no-deps --require-hashes" in words and "--no-compile" in words for words in said)


def test_what_nothing_imports_is_not_compiled(
    entry: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(entry, "install", lambda *_: 0)
    packages = tmp_path / "lib" / "site-packages"
    for folder in ("a", "a/tests", "b/aio"):
        (packages / folder).mkdir(parents=True)
        (packages / folder / "x.py").touch()
    entry.make(str(tmp_path), sys.executable, "requirements.lock")
    assert [path.parents[1] for path in tmp_path.rglob("*.pyc")] == [packages / "a"]


def test_environment_is_made_once_and_again_when_the_lock_changes(
    entry: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    made: list[str] = []
    for name in entry.LOCKS:
        (tmp_path / name).write_text(f"{name} 1")

    def make(folder: str, python: str, lock_name: str) -> None:
        made.append(lock_name)
        Path(python).parent.mkdir(parents=True, exist_ok=True)
        if not Path(python).exists():
            Path(python).symlink_to(sys.executable)

    monkeypatch.setattr(entry, "ROOT", str(tmp_path))
    monkeypatch.setattr(entry, "make", make)
    monkeypatch.setenv("KSCHED_VENV", str(tmp_path / "venv"))
    entry.environment("requirements.lock")
    entry.environment("requirements.lock")
    assert made == ["requirements.lock"]
    entry.environment("requirements-dev.lock")
    assert made == ["requirements.lock", "requirements-dev.lock"]
    (tmp_path / "requirements.lock").write_text("requirements.lock 2")
    entry.environment("requirements.lock")
    assert made[2:] == ["requirements.lock"]
    stamp = (tmp_path / "venv" / "requirements.lock.installed").read_text()
    assert stamp == hashlib.sha256(b"requirements.lock 2").hexdigest()


@cases(
    "words, want",
    ("help lists the commands", ["--help"], "prune"),
    ("help of up", ["up", "--help"], "--no-sample"),
    ("port out of range", ["up", "--port", "99999"], "is no port"),
    ("unknown command", ["nonsense"], "invalid choice"),
    ("status of nothing", ["status", "--data-dir", "/nowhere/at/all"], "nothing runs on"),
    ("down of nothing", ["down", "--data-dir", "/nowhere/at/all"], "nothing runs on"),
    ("import without a service", ["import", "--data-dir", "/nowhere", __file__], "start it with ./ksched up"),
    ("digest without wait", ["import", "--digest", __file__], "it needs --wait"),
    ("import of no file", ["import", "/nowhere/x.json"], "cannot read /nowhere/x.json"),
)
def test_command_line_answers_clearly(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: list[str], want: str
) -> None:
    for name in variables():
        monkeypatch.delenv(name, raising=False)
    with contextlib.suppress(SystemExit):
        cli.main(words)
    said = capsys.readouterr()
    assert want in said.out + said.err


def test_command_line_is_a_program() -> None:
    words = [sys.executable, "-P", "-m", "kschedweb.ops.cli", "--help"]
    known = {"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"}
    result = subprocess.run(words, cwd=ROOT, env=known, capture_output=True, text=True)
    assert (result.returncode, result.stderr) == (0, "") and "prune" in result.stdout


def test_every_command_has_a_function() -> None:
    choices = cli.add_commands(cli.top_parser()).choices
    for name in choices.keys() - {"up", "down", "status"}:
        module, _, function = choices[name].get_default("run").partition(".")
        assert callable(getattr(importlib.import_module(f"kschedweb.ops.{module}"), function)), name
