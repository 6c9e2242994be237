"""The tables of keys and columns in docs/lists.md, made from kschedweb/query/keys.py."""

from kschedweb.environment import ROOT
from kschedweb.query import KEYS, LISTS, Key
from kschedweb.query.keys import form_of

PAGE = ROOT / "docs" / "lists.md"
BEGIN = "<!-- lists: made from kschedweb/query/keys.py -->\n"
END = "<!-- end -->"


def render() -> str:
    """The page with the tables as they should be."""
    before, _, rest = PAGE.read_text().partition(BEGIN)
    return f"{before}{BEGIN}\n{tables()}\n\n{END}{rest.partition(END)[2]}"


def tables() -> str:
    """Keys with the lists that have them, then lists with their columns."""
    lines = ["| key | meaning | in |", "| --- | --- | --- |"]
    lines += [f"| `{form_of(key).replace(' ', '` `')}` | {_meaning(key)} | {_lists(key)} |" for key in KEYS.values()]
    lines += [
        "",
        "| list | columns, and those that are shown when chosen | order | free words |",
        "| --- | --- | --- | --- |",
    ]
    for one in LISTS.values():
        shown = ", ".join(f"`{column.name}`" for column in one.columns if column.shown)
        others = ", ".join(f"`{column.name}`" for column in one.columns if not column.shown)
        lines.append(f"| {one.name} | {shown}; {others} | `{one.sort}` | part of {one.free} |")
    return "\n".join(lines)


def _meaning(key: Key) -> str:
    told: dict[str, list[str]] = {}  # the lists that take the same words
    for name, one in LISTS.items():
        if key.name in one.words:
            told.setdefault(", ".join(f"`{word}`" for word in one.words[key.name]), []).append(name)
    return "; ".join([key.text, *(f"{', '.join(names)}: {words}" for words, names in told.items())])


def _lists(key: Key) -> str:
    return ", ".join(name for name, one in LISTS.items() if key.name in one.keys)
