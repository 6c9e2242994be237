"""Every row of the coverage table has its tests or its reason, and none is told that is not there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tools import checklist

TABLE = Path(__file__).parents[3] / "shared" / "spec" / "seed-coverage.md"


@pytest.mark.skipif(not TABLE.exists(), reason="the table of rows, ../shared/spec, is not here")
def test_every_row_is_tested_or_explained() -> None:
    wanted: dict[str, set[str]] = {}
    document = ""
    for line in TABLE.read_text().splitlines():
        if heading := re.match(r"## (\d{3})", line):
            document = heading[1]
        elif document and line.startswith("| ") and not line.startswith("| Mechanism"):
            wanted.setdefault(document, set()).add(line.split(" | ")[0].removeprefix("| "))
    told = {name: {*found} for name, found in checklist.rows().items()}
    for name, found in checklist.reasons().items():
        assert not told.get(name, set()) & found.keys()
        told.setdefault(name, set()).update(found)
    assert told == wanted


def test_the_page_is_fresh() -> None:
    assert checklist.path().read_text() == checklist.render()
