"""What pages name exists: links, headings, files, commands with their options, modules, settings, addresses."""

from __future__ import annotations

import argparse
import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.urls import Resolver404, resolve

from kschedweb import environment
from kschedweb.environment import ROOT
from tools import cli
from tools.conformance import _parser as conformance_parser

PAGES = sorted(
    path
    for pattern in (
        "*.md",
        "docs/**/*.md",
        "examples/**/*.md",
        "frontend/*.md",
        "scheduler_core/**/*.md",
        "kschedweb/**/*.md",
        "tests/**/*.md",
    )
    for path in ROOT.glob(pattern)
)
each_page = pytest.mark.parametrize("page", [pytest.param(page, id=str(page.relative_to(ROOT))) for page in PAGES])
# Paths are named from the root of the tree, or from the folder the text is about.
FOLDERS = (
    ".",
    "kschedweb",
    "scheduler_core",
    "frontend",
    "frontend/src",
    "docs",
    "docs/how-to",
    "tests",
    "examples/plugin",
)
ENDINGS = "py|pyi|md|ts|svelte|toml|ya?ml|json|css|svg|png|lock|in|csv"
MADE_BY_PEOPLE = {"deploy/kschedweb-token"}
NOT_OURS = re.compile(
    r"^(my-overlay|my-plugin|my_plugins|export|\.ksched|\.mutation|\.\./shared|node_modules)/|^(cluster|out|prod|Cargo|package|pod|node)\.json$"
)


def prose(page: Path) -> str:
    """The page without what it tells people to write: blocks of code other than commands."""
    return re.sub(r"^```(?!sh|bash)\w*\n.*?^```$", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)


def written(page: Path) -> set[str]:
    """The files that a page of docs/how-to tells to write."""
    return set(re.findall(r"^### `(.+)`$", page.read_text(), flags=re.MULTILINE))


def anchors(page: Path) -> set[str]:
    """What links to headings of the page end with."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def commands(text: str) -> Iterator[list[str]]:
    """The words of each `./ksched …`, up to the end of its line or of its quotes."""
    for words in re.findall(r"\./ksched ((?:[^`\n#|)]|\\\|)+)", text):
        yield words.replace("[", " ").replace("]", " ").split()


@each_page
def test_links_lead_to_files_and_headings(page: Path) -> None:
    for path, anchor in re.findall(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)", prose(page)):
        target = page.parent / path if path else page
        assert target.exists(), path
        assert not anchor or anchor in anchors(target), f"{path}#{anchor}"


@each_page
def test_files_named_exist(page: Path) -> None:
    named = re.findall(rf"(?<![\w/.*…<-])((?:\.\./)?[\w.-]+(?:/[\w.-]+)*\.(?:{ENDINGS}))\b(?![*/(])", prose(page))
    places = [page.parent, *(ROOT / folder for folder in FOLDERS)]
    missing = {
        name
        for name in named
        if "/" in name and not NOT_OURS.search(name) and not any((at / name).exists() for at in places)
    }
    assert missing - written(page) == set()


@each_page
def test_folders_named_exist(page: Path) -> None:
    named = re.findall(
        r"`((?:scheduler_core|kschedweb|tests|tools|docs|deploy|examples|frontend)/[\w./-]+)`", prose(page)
    )
    assert {name for name in named if not (ROOT / name).exists()} - written(page) - MADE_BY_PEOPLE == set()


def options_of(parser: argparse.ArgumentParser) -> set[str]:
    """Its own and those of what it has below it."""
    found = {option for one in parser._actions for option in one.option_strings}
    below = [one for one in parser._actions if isinstance(one, argparse._SubParsersAction)]
    return found.union(*(options_of(each) for one in below for each in one.choices.values()))


@each_page
def test_commands_named_exist_with_their_options(page: Path) -> None:
    action = next(each for each in cli.parser()._actions if isinstance(each, argparse._SubParsersAction))
    parsers = {**action.choices, "conformance": conformance_parser()}
    for name, *words in commands(prose(page)):
        if name in ("…", "--help"):
            continue
        assert name in parsers, name
        options = options_of(parsers[name])
        for word in words:
            if word.startswith("--"):
                assert word.partition("=")[0].rstrip(",:;.") in options, f"{name} {word}"


@each_page
def test_modules_named_can_be_run(page: Path) -> None:
    for name in re.findall(r"python3? -m ([a-z_]+(?:\.[a-z_]+)+)", prose(page)):
        assert importlib.util.find_spec(name) is not None, name


@each_page
def test_settings_named_are_read(page: Path) -> None:
    known = {*environment.variables(), "KSCHED_TEST_RUN_DIR", "KSCHED_SOAK_MINUTES"}
    known |= set(re.findall(r"KSCHED_[A-Z_]+", (ROOT / "ksched").read_text()))
    known |= {
        name
        for folder in ("kschedweb", "tools")
        for path in (ROOT / folder).rglob("*.py")
        for name in re.findall(r"KSCHED_[A-Z_]+", path.read_text())
    }
    assert set(re.findall(r"KSCHED_[A-Z_]+", prose(page))) - known == set()


@each_page
def test_addresses_named_are_answered(page: Path) -> None:
    if written(page):
        pytest.skip("it tells how to add one")
    relative = (
        re.findall(r"^\|[^|]+\| `([a-z][\w/{}.]*)", prose(page), flags=re.MULTILINE) if page.stem == "traces" else []
    )
    for path in relative:
        resolve(re.sub(r"\{(\w+)\}", "1", f"/api/clusters/1/{path}"))
    for path in re.findall(r"(?<![\w.])(/api/[\w/{}.-]+|/(?:metrics|healthz|livez|readyz|configz)[\w/]*)", prose(page)):
        filled = re.sub(
            r"\{(\w+)\}", lambda name: "1" if name[1] in ("id", "seq", "cluster_id") else "x", path.rstrip("./")
        )
        try:
            resolve(filled)
        except Resolver404:
            pytest.fail(f"nothing answers {path}")


def test_list_of_decisions_has_every_page_under_its_title() -> None:
    folder = ROOT / "docs" / "decisions"
    listed = dict(re.findall(r"^\| \[\d{4}\]\(([^)]+)\) \| (.+) \|$", (folder / "README.md").read_text(), re.MULTILINE))
    titles = {path.name: path.read_text().partition("\n")[0] for path in folder.glob("0*.md")}
    # The list may add which earlier page one changes.
    changed = re.compile(r" \((?:changes|continues|supersedes) .*")
    assert {name: f"# {name[:4]} {changed.sub('', title)}" for name, title in listed.items()} == titles
