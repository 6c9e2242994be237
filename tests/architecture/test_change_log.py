"""The change log has one writer: nothing else makes its rows or advances the counter they are numbered by.

But for a history read from a file, with the numbers it had, into a new cluster in which nothing happens any more.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
WRITER = ROOT / "kschedweb" / "cluster" / "changes.py"
READER_OF_HISTORIES = ROOT / "kschedweb" / "scheduling" / "past" / "opening.py"
WRITING_METHODS = {"create", "bulk_create", "get_or_create", "update_or_create", "abulk_create", "acreate", "update"}
LOG_TABLE = re.compile(r"\b(INSERT\s+INTO|UPDATE|COPY)\s+\"?cluster_change\b", re.IGNORECASE)
COUNTER = re.compile(r"UPDATE\s+\"?cluster_cluster\b.*\brv\s*=", re.IGNORECASE | re.DOTALL)


def problems(source: str) -> Iterator[str]:
    """What in a module writes the log or its counter."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            yield from _call_problems(node)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and _writes(node.value):
            yield f"line {node.lineno}: SQL on the log or its counter"


def _writes(text: str) -> bool:
    return bool(LOG_TABLE.search(text) or COUNTER.search(text))


def _call_problems(node: ast.Call) -> Iterator[str]:
    function = node.func
    name = function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")
    if name == "Change":
        yield f"line {node.lineno}: makes a Change"
    words = ast.unparse(function)
    if name in WRITING_METHODS and re.search(r"\bChange\.objects\b", words):
        yield f"line {node.lineno}: writes Change rows"
    sets_rv = any(keyword.arg == "rv" for keyword in node.keywords)
    if sets_rv and name in WRITING_METHODS and re.search(r"\bCluster\.objects\b", words):
        yield f"line {node.lineno}: sets a cluster's rv"
    if name in ("copy_rows", "_copy") and node.args and "cluster_change" in ast.unparse(node.args[0]):
        yield f"line {node.lineno}: copies into the log"


def test_only_changes_commit_writes_the_change_log() -> None:
    found = [
        f"{path.relative_to(ROOT)}: {problem}"
        for path in sorted((ROOT / "kschedweb").rglob("*.py"))
        if path not in (WRITER, READER_OF_HISTORIES) and "migrations" not in path.parts
        for problem in problems(path.read_text(encoding="utf-8"))
    ]
    assert found == []


def test_the_writer_is_where_it_is_looked_for() -> None:
    assert list(problems(WRITER.read_text(encoding="utf-8")))


@pytest.mark.parametrize(
    "source",
    [
        pytest.param("Change.objects.create(rv=1)", id="create"),
        pytest.param("Change(rv=1).save()", id="constructor"),
        pytest.param("models.Change.objects.filter(rv=1).update(kind='x')", id="update"),
        pytest.param("Cluster.objects.filter(pk=1).update(rv=F('rv') + 1)", id="counter"),
        pytest.param("cursor.execute('INSERT INTO cluster_change VALUES (1)')", id="SQL on the log"),
        pytest.param("cursor.execute('UPDATE cluster_cluster SET rv = rv + 1')", id="SQL on the counter"),
        pytest.param("bulk.copy_rows('cluster_change', columns, rows)", id="COPY"),
    ],
)
def test_a_second_writer_is_found(source: str) -> None:
    assert list(problems(source))
