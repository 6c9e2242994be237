"""`./ksched pods`, `./ksched attempts`, …: lists of the running service, asked as in the dashboard's box.

People get a table and how many rows there are in all; where a query is wrong they are shown the place. `--json` and
`--csv` print the service's own downloads, which have all rows.
"""

import argparse
import sys
import urllib.parse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kschedweb.ops.client import Client, Refused, cluster_id, connect
from kschedweb.ops.telling import number_of, table
from kschedweb.query import LISTS, Form, ListOf, QueryError, parse

PAGE = 1000
WIDEST = 60  # letters of a cell; --json and --csv have all


def show(*, data_dir: Path, options: argparse.Namespace) -> int:
    """Print what the options ask for."""
    return shown(LISTS[options.command], data_dir, options)


def shown(wanted: ListOf, data_dir: Path, options: argparse.Namespace, at: str | None = None) -> int:
    """Print a list, as it is or as it was `at` a moment."""
    query, sort = " ".join(options.query), options.sort or wanted.sort
    try:
        parse(query, wanted)
        client = connect(data_dir)
        url = f"/api/clusters/{cluster_id(client, options.cluster)}/lists/{wanted.name}"
        asked = {"q": query, "sort": sort} | ({"columns": options.columns} if options.columns else {})
        asked |= {"at": at} if at is not None else {}
        if options.json or options.csv:
            form = "json" if options.json else "csv"
            sys.stdout.write(client.text(f"{url}/export.{form}?{urllib.parse.urlencode(asked)}"))
            return 0
        columns = _columns(wanted, options.columns)
        asked.pop("columns", None)
        rows, total = _rows(client, f"{url}?{urllib.parse.urlencode(asked)}", options.limit)
    except QueryError as problem:
        print("\n".join([f"ksched: {problem.message}", *pointed(query, problem.at, problem.end)]), file=sys.stderr)
        return 1
    except Refused as problem:
        print(f"ksched: {problem}", file=sys.stderr)
        return 1
    if rows:
        print("\n".join(lines(wanted, columns, rows)))
    more = "" if len(rows) == total else f"{len(rows):,} of "
    print(f"{more}{number_of(total, wanted.name.removesuffix('s'))}", file=sys.stderr)
    return 0


def pointed(query: str, at: int, end: int) -> list[str]:
    """The query, and a line under it that marks the place."""
    plain = "".join(letter if letter.isprintable() else " " for letter in query)
    return [f"  {plain}", f"  {' ' * at}{'^' * (end - at)}"]


def lines(wanted: ListOf, columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """A table; what is too wide ends in `…`."""
    return table(
        [name.upper() for name in columns],
        [[_cell(wanted, name, row[name]) for name in columns] for row in rows],
        left=len(columns),
    )


def _cell(wanted: ListOf, name: str, value: Any) -> str:
    column = wanted.column(name)
    if value is None or value == "":
        return "-"
    if column is not None and column.form is Form.MOMENT:
        return str(value)[:19].replace("T", " ")
    if column is not None and column.form is Form.DURATION:
        return f"{value / 1000:,.1f} ms"
    text = "".join(letter if letter.isprintable() else " " for letter in str(value))
    return text if len(text) <= WIDEST else f"{text[: WIDEST - 1]}…"


def _columns(wanted: ListOf, asked: str | None) -> Sequence[str]:
    """Refused for a column that the list does not have."""
    if asked is None:
        return [column.name for column in wanted.columns if column.shown]
    names = asked.split(",")
    if unknown := [name for name in names if wanted.column(name) is None]:
        known = ", ".join(column.name for column in wanted.columns)
        raise Refused(f"{wanted.name} have no column {unknown[0]!r}; known: {known}")
    return names


def _rows(client: Client, path: str, limit: int) -> tuple[list[Mapping[str, Any]], int]:
    """The first rows, and how many there are."""
    rows: list[Mapping[str, Any]] = []
    total = 0
    next_path: str | None = path
    while next_path is not None:
        count = min(PAGE, limit - len(rows)) if limit else PAGE
        _, answer = client.call("GET", f"{next_path}&limit={count}" if not rows else next_path)
        rows += answer["results"]
        total = total if answer["total"] is None else answer["total"]
        address = urllib.parse.urlsplit(answer["next"]) if answer["next"] else None
        next_path = f"{address.path}?{address.query}" if address and (not limit or len(rows) < limit) else None
    return rows[:limit] if limit else rows, total
