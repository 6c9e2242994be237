"""The direction of knowledge: the import contracts of pyproject.toml hold."""

import subprocess
import sys

from kschedweb.environment import ROOT


def test_import_contracts_hold() -> None:
    run = "from importlinter.cli import lint_imports_command as run; run()"
    result = subprocess.run([sys.executable, "-c", run, "--no-cache"], cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
