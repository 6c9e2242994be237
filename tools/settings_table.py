"""The table of settings in docs/operations.md, made from the one at the top of kschedweb/environment.py."""

import re

from kschedweb import environment
from kschedweb.environment import ROOT

PAGE = ROOT / "docs" / "operations.md"
PLACE = re.compile(r"(<!-- settings: [^\n]* -->\n).*?(<!-- end -->)", re.DOTALL)


def rows() -> list[tuple[str, str, str]]:
    """(variable, default, meaning); a star behind the variable: set it in production."""
    lines = re.findall(r"^\| (\w+ ?\*?) *\| (.*?) *\| (.*)$", environment.__doc__ or "", flags=re.MULTILINE)
    return [(name.strip(), default, meaning) for name, default, meaning in lines if name.strip() != "variable"]


def render() -> str:
    """The page with the table as it should be."""
    lines = ["| variable | default | meaning |", "| --- | --- | --- |"]
    lines += [f"| {_code(name)} | {default} | {meaning} |" for name, default, meaning in rows()]
    table = "\n".join(lines)
    note = "\\*: set it in production. Lists are written with commas."
    return PLACE.sub(lambda place: f"{place[1]}\n{table}\n\n{note}\n\n{place[2]}", PAGE.read_text())


def _code(name: str) -> str:
    variable, _, star = name.partition(" ")
    return f"`{variable}`" + (" \\*" if star else "")
