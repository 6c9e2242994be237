"""What the service imports is in the lock that a fresh start installs, and not merely where the tests run."""

import ast
import sys
from importlib import metadata

from kschedweb.environment import ROOT

OURS = {"kschedweb", "scheduler_core", "tools"}
# These run in the environment of the tests only; who asks for the second without it is told.
WITH_TESTS = {ROOT / "tools" / "testing", ROOT / "tools" / "bench" / "dashboard.py"}


def test_every_package_the_service_imports_is_locked_for_a_fresh_start() -> None:
    locked = {
        line.partition("==")[0].partition("[")[0].lower()
        for line in (ROOT / "requirements.lock").read_text().splitlines()
        if "==" in line
    }
    providers = metadata.packages_distributions()
    absent = [
        name
        for name in sorted(imported() - OURS - set(sys.stdlib_module_names))
        if not any(provider.lower().replace("_", "-") in locked for provider in providers.get(name, ()))
    ]
    assert absent == []


def imported() -> set[str]:
    """The first words of everything imported anywhere in the packages."""
    found = set()
    for package in OURS:
        for path in (path for path in (ROOT / package).rglob("*.py") if WITH_TESTS.isdisjoint({path, *path.parents})):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Import):
                    found |= {alias.name.partition(".")[0] for alias in node.names}
                elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
                    found.add(node.module.partition(".")[0])
    return found
