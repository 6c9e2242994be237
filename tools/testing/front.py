"""The group of the browser's half: types, lint, unit tests, and whether the committed build is fresh."""

from __future__ import annotations

import gzip
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tools.node import FRONTEND, install_front, node_environment
from tools.testing.outcome import CannotRunError, Failure, Outcome, counted


def run_front(targets: Sequence[str] = (), *, word: str = "") -> Outcome:
    """All of it; of named files, or with a word of names, the unit tests only."""
    if not (FRONTEND / "package.json").exists():
        raise CannotRunError("there is no frontend/package.json")
    environment = node_environment()
    install_front(environment)
    total = Outcome()
    is_whole = not targets and not word
    for name in ("check", "lint") if is_whole else ():
        if subprocess.run(["npm", "run", "--silent", name], cwd=FRONTEND, env=environment).returncode != 0:
            total.add(_failure(f"npm run {name}"))
    with tempfile.TemporaryDirectory() as scratch:
        report = Path(scratch) / "report.xml"
        words = ["npm", "test", "--silent", "--", "--reporter=default", "--reporter=junit", f"--outputFile={report}"]
        words += [str(Path(target).relative_to("frontend")) for target in targets]
        words += ["-t", word, "--passWithNoTests"] if word else []
        code = subprocess.run(words, cwd=FRONTEND, env=environment).returncode
        tests = counted(report, code)
        tests.failures += [Failure("frontend/src")] if tests.failed else []
        total.add(tests)
    if is_whole:
        total.add(_build_is_fresh(environment))
    return total


def _failure(name: str) -> Outcome:
    print(f"FAILED {name}")
    return Outcome(failed=1, failures=[Failure(name)])


def _build_is_fresh(environment: dict[str, str]) -> Outcome:
    """Build into another folder and compare with what is committed."""
    committed = FRONTEND / "dist"
    with tempfile.TemporaryDirectory() as scratch:
        built = Path(scratch) / "dist"
        words = ["npm", "run", "--silent", "build", "--", "--outDir", str(built), "--emptyOutDir"]
        result = subprocess.run(words, cwd=FRONTEND, env=environment, capture_output=True, text=True)
        if result.returncode != 0:
            print(f"{result.stdout}{result.stderr}")
            return _failure("npm run build")
        stale = sorted(_files(built).items() ^ _files(committed).items())
    if stale:
        names = ", ".join(sorted({name for name, _ in stale}))
        print(f"frontend/dist is not what its sources make ({names}): npm run build in frontend/ and commit it")
        return _failure("frontend/dist")
    return Outcome(passed=1)


def _files(folder: Path) -> dict[str, bytes]:
    """Read all files, decompressing .gz: compressed bytes differ between versions of zlib."""
    found = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    return {name: gzip.decompress(content) if name.endswith(".gz") else content for name, content in found.items()}
