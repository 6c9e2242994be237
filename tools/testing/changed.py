"""`./ksched test --changed`: the tests that what has changed since `main` may concern, by imports.

A test imports modules, helpers and the conftest.py above it, and those import others. What is not imported counts by
where it lies: the browser's half concerns front and browser; a running service is made of everything; a page or a list
beside the code concerns the tests of the repository; a file among the tests concerns the tests of its folder.
"""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import grimp

from kschedweb.environment import ROOT
from tools.testing.groups import FRONT, NotATestError, chosen, folders

PACKAGES = ("scheduler_core", "kschedweb", "tools")
OF_A_SERVICE = ("scheduler_core", "kschedweb", "frontend")
SERVICE_GROUPS = ("browser", "faults", "attack")
REPOSITORY = "tests/architecture"


def concerned(root: Path = ROOT) -> dict[str, list[str]]:
    """The tests by group; empty when nothing has changed. Raises NotATestError where there is no `main`."""
    changed = changed_files(root)
    words = _by_place(changed, root) | _by_import(changed, root)
    return chosen(sorted(words)) if words else {}


def changed_files(root: Path) -> set[str]:
    """What differs from where this branch left `main`, committed or not."""
    base = _git(root, "merge-base", "HEAD", "main")
    differing = _git(root, "diff", "--name-only", base[0], "--")
    return {*differing, *_git(root, "ls-files", "--others", "--exclude-standard")}


def _git(root: Path, *words: str) -> list[str]:
    result = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True)
    if result.returncode != 0:
        raise NotATestError(f"what has changed since main cannot be told: {result.stderr.strip()}")
    return result.stdout.splitlines()


def _by_place(changed: Iterable[str], root: Path) -> set[str]:
    found = set()
    for name in changed:
        top = name.partition("/")[0]
        if top in OF_A_SERVICE:
            found |= {"browser"} if top == "frontend" else {*SERVICE_GROUPS}
        if top == "frontend":
            found.add(FRONT)
        if top == "tests" and not name.endswith(".py"):
            found |= _tests_around(root / name, root)
        if not name.endswith(".py"):
            found.add(REPOSITORY)
    return found


def _tests_around(path: Path, root: Path) -> set[str]:
    """The nearest folder above with tests in it."""
    for folder in path.parents:
        if folder == root / "tests":
            break
        if any(folder.rglob("test_*.py")):
            return {str(folder.relative_to(root))}
    return set()


def _by_import(changed: Iterable[str], root: Path) -> set[str]:
    """Files of tests that import a changed module, helper or conftest.py, or something that does."""
    graph = _graph()
    modules = {_module(name) for name in changed if name.endswith(".py")}
    touched = set(modules)
    for module in modules & graph.modules:
        touched |= graph.find_downstream_modules(module)
    found = set()
    for group_folder in (folder for group in ("core", "web", *SERVICE_GROUPS) for folder in folders(group)):
        for file in (root / group_folder).rglob("test_*.py"):
            if _needs(file, root) & touched:
                found.add(str(file.relative_to(root)))
    return found


@cache
def _graph() -> grimp.ImportGraph:
    return grimp.build_graph(*PACKAGES, include_external_packages=False, cache_dir=None)


def _needs(file: Path, root: Path) -> set[str]:
    """The modules that a file of tests imports, itself or by its helpers, and the names of those and its own."""
    seen: set[Path] = set()
    left = [file, *(folder / "conftest.py" for folder in file.parents if (folder / "conftest.py").exists())]
    needed: set[str] = set()
    while left:
        path = left.pop()
        if path in seen:
            continue
        seen.add(path)
        imported = _imports(path) | {_module(str(path.relative_to(root)))}
        needed |= imported
        left += [helper for name in imported if name.startswith("tests.") and (helper := _file(name, root))]
    return needed


@cache
def _imports(path: Path) -> frozenset[str]:
    """Every module that a file may import: of `from a import b`, both `a` and `a.b`."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return frozenset(found)


def _module(name: str) -> str:
    return name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _file(module: str, root: Path) -> Path | None:
    path = root / f"{module.replace('.', '/')}.py"
    return path if path.exists() else None
