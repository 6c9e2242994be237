"""The check of the sources' shape finds what it is for."""

from pathlib import Path

import pytest

from tools.structure import MAX_LINES, REASON, problems

TOO_MANY = "x = 1\n" * (MAX_LINES + 1)


def tree(root: Path, text: str, ignores: str = "") -> Path:
    (root / "tools").mkdir()
    (root / "tools" / "a.py").write_text(text)
    (root / "pyproject.toml").write_text(f"[tool.ruff.lint.per-file-ignores]\n{ignores}")
    return root


@pytest.mark.parametrize(
    ("text", "exceptions", "want"),
    [
        pytest.param("x = 1\n" * MAX_LINES, set(), "", id="not long"),
        pytest.param(TOO_MANY, set(), "401 lines", id="long"),
        pytest.param(f"# {REASON}of this.\n{TOO_MANY}", set(), "", id="long with a reason"),
        pytest.param(TOO_MANY, {"tools/a.py"}, "", id="long and excepted"),
        pytest.param("x = 1\n", {"tools/a.py"}, "take it from LONG", id="excepted for nothing"),
    ],
)
def test_long_file_needs_a_reason(text: str, exceptions: set[str], want: str, tmp_path: Path) -> None:
    found = problems(tree(tmp_path, text), exceptions)
    assert len(found) == bool(want)
    assert all(want in line for line in found)


@pytest.mark.parametrize(
    ("text", "stale"),
    [
        pytest.param("def f(a, b, c, d, e, g): ...\n", False, id="six parameters"),
        pytest.param("def f(a, b, c, d, e): ...\n", True, id="five"),
    ],
)
def test_exception_for_many_parameters_is_needed(text: str, stale: bool, tmp_path: Path) -> None:
    found = problems(tree(tmp_path, text, '"tools/a.py" = ["PLR0913"]\n'), set())
    assert [line.partition(":")[0] for line in found] == (["tools/a.py"] if stale else [])
