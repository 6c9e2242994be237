"""The files of this folder that are run by name alone."""

import subprocess
import sys

from kschedweb.environment import ROOT


def test_every_fixture_of_a_benchmark_is_there() -> None:
    """No run of the suite collects them, so that a fixture that moved would be missed by whoever measures next."""
    files = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "tests" / "bench").glob("bench_*.py"))
    assert len(files) > 3
    words = [sys.executable, "-m", "pytest", "-q", "--setup-plan", "-p", "no:cacheprovider", *files]
    planned = subprocess.run(words, cwd=ROOT, capture_output=True, text=True)
    assert planned.returncode == 0, planned.stdout + planned.stderr
