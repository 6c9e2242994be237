"""docs/coverage.md: which test shows which mechanism of the documents the scheduler was built from.

A row is the first paragraph of the docstring of a test in one of the folders, its document the number in the test's
name; several tests may share a row. Rows of which nothing is built stand in tests/coverage/background.py. Both are
read as text, so that nothing of the tests runs.
"""

import ast
import re
from pathlib import Path

from kschedweb.environment import ROOT

FOLDER = ROOT / "tests" / "coverage"
FOLDERS = (FOLDER, ROOT / "tests" / "web" / "coverage")  # the second needs PostgreSQL
DOCUMENTS = {
    "000": "The scheduler cache",
    "001": "Overview, sequences, data structures",
    "002": "Leader election",
    "003": "The scheduling queue",
    "004": "Scheduling, preemption and eviction",
}
Reasons = dict[str, dict[str, str]]

HEAD = """# Coverage of the seed documents

Made by `python -m tools.generated` from the names and docstrings in `tests/coverage` and `tests/web/coverage`;
rows of which nothing is built stand with their reason in `tests/coverage/background.py`. That each of these tests fails
when its mechanism is broken is shown by `python -m tests.mutation.rows`.
"""


def render() -> str:
    """The page."""
    tests, background = rows(), reasons()
    parts = [HEAD, _summary(tests, background)]
    for document, title in DOCUMENTS.items():
        lines = [f"## {document} — {title}\n", "| Mechanism | Test |", "| --- | --- |"]
        for row, places in tests.get(document, {}).items():
            lines.append(f"| {row} | {', '.join(f'`{name}`' for name in places)} |")
        lines += [f"| {row} | background: {why} |" for row, why in background.get(document, {}).items()]
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def rows() -> dict[str, dict[str, list[str]]]:
    """Document → row → names of its tests, in the order of the files."""
    found: dict[str, dict[str, list[str]]] = {}
    for path in [path for folder in FOLDERS for path in sorted(folder.glob("test_*.py"))]:
        for node in ast.parse(path.read_text()).body:
            named = re.match(r"test_(\d{3})_", node.name) if isinstance(node, ast.FunctionDef) else None
            if named and isinstance(node, ast.FunctionDef):
                row = " ".join((ast.get_docstring(node) or "").split("\n\n")[0].split())
                found.setdefault(named[1], {}).setdefault(row, []).append(node.name)
    return found


def reasons() -> Reasons:
    """Read why nothing is built for some rows."""
    (assignment,) = (
        node for node in ast.parse((FOLDER / "background.py").read_text()).body if isinstance(node, ast.Assign)
    )
    table: Reasons = ast.literal_eval(assignment.value)
    return table


def _summary(tests: dict[str, dict[str, list[str]]], background: Reasons) -> str:
    tested, told = sum(map(len, tests.values())), sum(map(len, background.values()))
    return f"{tested} rows are tested, {told} are background.\n"


def path() -> Path:
    return ROOT / "docs" / "coverage.md"
