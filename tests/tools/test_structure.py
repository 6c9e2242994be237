"""The check of the sources' shape finds what it is for."""

from pathlib import Path

from tests.cases import cases
from tools.structure import MAX_LINES, REASON, problems

TOO_MANY = "x = 1\n" * (MAX_LINES + 1)


def tree(root: Path, text: str, ignores: str = "") -> Path:
    (root / "tools").mkdir()
    (root / "tools" / "a.py").write_text(text)
    (root / "pyproject.toml").write_text(f"[tool.ruff.lint.per-file-ignores]\n{ignores}")
    return root


@cases(
    "text, exceptions, want",
    ("not long", "x = 1\n" * MAX_LINES, set(), ""),
    ("long", TOO_MANY, set(), "401 lines"),
    ("long with a reason", f"# {REASON}of this.\n{TOO_MANY}", set(), ""),
    ("long and excepted", TOO_MANY, {"tools/a.py"}, ""),
    ("excepted for nothing", "x = 1\n", {"tools/a.py"}, "take it from LONG"),
)
def test_long_file_needs_a_reason(text: str, exceptions: set[str], want: str, tmp_path: Path) -> None:
    found = problems(tree(tmp_path, text), exceptions)
    assert len(found) == bool(want)
    assert all(want in line for line in found)


@cases(
    "text, stale",
    ("six parameters", "def f(a, b, c, d, e, g): ...\n", False),
    ("five", "def f(a, b, c, d, e): ...\n", True),
)
def test_exception_for_many_parameters_is_needed(text: str, stale: bool, tmp_path: Path) -> None:
    found = problems(tree(tmp_path, text, '"tools/a.py" = ["PLR0913"]\n'), set())
    assert [line.partition(":")[0] for line in found] == (["tools/a.py"] if stale else [])
