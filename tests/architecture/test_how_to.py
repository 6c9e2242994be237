"""The pages of docs/how-to hold: what a page says, done to a copy of the tree, passes the checks the page names.

Under the heading of a file, a `diff` block changes it, any other block is its whole content. Nothing is done that the
pages do not say. Each page is followed in a copy of its own, in the long form: it takes the checks of the whole tree.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kschedweb.environment import ROOT
from tools.node import FRONTEND, install_front, node_environment

PAGES = sorted((ROOT / "docs" / "how-to").glob("*.md"))
NOT_COPIED = shutil.ignore_patterns(
    ".git", ".venv", ".ksched", "node_modules", "images", "__pycache__", ".pytest_cache", ".ruff_cache"
)
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
CHECKS = (
    ("-m", "ruff", "format", "--check", "."),
    ("-m", "ruff", "check", "."),
    ("-m", "mypy"),
    ("-c", "from importlinter.cli import lint_imports_command as run; run()", "--no-cache"),
)  # of `./ksched check` all but what no page here can change


def steps(page: str) -> Iterator[tuple[str, str, str]]:
    """(path, language, text) of the blocks under headings that name a file."""
    for section in page.split("\n### ")[1:]:
        heading, _, body = section.partition("\n")
        for language, text in BLOCK.findall(body.split("\n## ")[0]):
            yield heading.strip("`"), language, text


def commands(page: str) -> list[list[str]]:
    """The command lines under the heading Check."""
    (_, text) = BLOCK.findall(page.partition("\n## Check\n")[2])[0]
    return [line.split() for line in text.splitlines()]


def patched(text: str, diff: str) -> str:
    """The text after one hunk, whose lines begin with a blank, + or -."""
    lines = [(line[:1] or " ", line[1:] + "\n") for line in diff.splitlines()]
    before = "".join(line for sign, line in lines if sign != "+")
    after = "".join(line for sign, line in lines if sign != "-")
    assert text.count(before) == 1, f"found {text.count(before)} times:\n{before}"
    return text.replace(before, after)


def copy_of_tree(folder: Path) -> Path:
    """What is checked out, with what is installed for its frontend."""
    tree = folder / "tree"
    shutil.copytree(ROOT, tree, ignore=NOT_COPIED, symlinks=True)
    install_front(node_environment())
    (tree / "frontend" / "node_modules").symlink_to(FRONTEND / "node_modules")
    return tree


def follow(text: str, tree: Path) -> None:
    """Make the files of a page, and change those it changes."""
    for name, language, block in steps(text):
        path = tree / name
        if language == "diff":
            path.write_text(patched(path.read_text(), block))
        else:
            assert not path.exists(), name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block)


def run(tree: Path, *words: str, **more: str) -> None:
    """Run a command in the copy; one that runs tests starts servers of its own."""
    given = {name: value for name, value in os.environ.items() if not _is_of_this_run(name, value)}
    environment = {**given, **more, "DJANGO_SETTINGS_MODULE": "kschedweb.settings_test", "PYTHONPATH": ""}
    result = subprocess.run(words, cwd=tree, env=environment, capture_output=True, text=True)
    assert result.returncode == 0, f"{' '.join(words)}\n{result.stdout[-6000:]}{result.stderr[-2000:]}"


def _is_of_this_run(name: str, value: str) -> bool:
    """Whether a variable belongs to this run of pytest: its worker, its folder, what lies in that folder."""
    return name.startswith("PYTEST_") or os.environ["KSCHED_TEST_RUN_DIR"] in value


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_page_is_all_it_takes(page: Path, tmp_path: Path) -> None:
    tree = copy_of_tree(tmp_path)
    text = page.read_text()
    follow(text, tree)
    asked = commands(text)
    assert ["./ksched", "check"] in asked
    # What makes files comes before what looks at them.
    for words in sorted(asked, key=lambda words: words[0] != ".venv/bin/python"):
        if words == ["./ksched", "check"]:
            for check in CHECKS:
                run(tree, sys.executable, *check)
        elif words[0] == ".venv/bin/pytest":
            run(tree, sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *words[1:])
        elif words[0] == ".venv/bin/python":
            run(tree, sys.executable, *words[1:])
        else:
            assert words[:3] == ["npm", "--prefix", "frontend"], words
            run(tree, *words, **node_environment())


@pytest.mark.parametrize("package", ["scheduler_core", "kschedweb"])
def test_readme_has_every_layer_of_its_package(package: str) -> None:
    text = (ROOT / package / "README.md").read_text()
    layers = {path.parent.name for path in (ROOT / package).glob("*/__init__.py")}
    assert {layer for layer in layers if not re.search(rf"\b{layer}  ", text)} == set()
