"""Pages of a list by key, and its total; of the past where `tables` and `rows` are given that were of then.

A page begins after the last row of the one before, by the values it is sorted by and then by its key, whatever was
added or removed meanwhile; nothing is skipped by counting, so a later page costs what the first does.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

import msgspec
from django.db import connection

from kschedweb.common.reading import PRESENT, Tables
from kschedweb.query import Form, ListOf, Term
from kschedweb.traces.selectors.lists.sources import SOURCES, Rows, Source
from kschedweb.traces.selectors.lists.sql import Parameters
from scheduler_core import typed

ROWS_AT_ONCE: Final = 500
_TYPES: Final[Mapping[Form, str]] = {
    Form.TEXT: "text",
    Form.NUMBER: "bigint",
    Form.DURATION: "bigint",
    Form.MOMENT: "timestamptz",
}
_VALUES: Final[Mapping[Form, type]] = {
    Form.TEXT: str,
    Form.NUMBER: int,
    Form.DURATION: int,
    Form.MOMENT: datetime,
}

Cell = str | int | None
Row = dict[str, Cell]
Place = Sequence[str | int]
"""Where a page ends: the values of its last row by which the list is sorted."""


@dataclass(frozen=True, slots=True)
class ListPage:
    """Rows by column, and where the next page begins; None after the last row."""

    rows: Sequence[Row]
    next: Place | None


def list_page(
    cluster_id: int,
    wanted: ListOf,
    terms: Sequence[Term],
    *,
    sort: str,
    limit: int,
    now: datetime,
    after: Place | None = None,
    tables: Tables = PRESENT,
    rows: Rows | None = None,
) -> ListPage:
    """A page in an order of `wanted.sorts`. ValueError when `after` is no place in that order."""
    parameters = SOURCES[wanted.name].parameters(cluster_id, now, rows)
    return _page(parameters, tables, wanted, terms, sort=sort, limit=limit, after=after)


def _page(
    parameters: Parameters,
    tables: Tables,
    wanted: ListOf,
    terms: Sequence[Term],
    *,
    sort: str,
    limit: int,
    after: Place | None,
) -> ListPage:
    source = SOURCES[wanted.name]
    where = source.where(terms, parameters)
    order = order_of(wanted, sort)
    keys = [source.orders.get(name, source.columns[name]) for name in order]
    if after is not None:
        values = [parameters.add(value) for value in _checked(wanted, order, after)]
        typed = (f"{value}::{_type(wanted, name)}" for name, value in zip(order, values, strict=True))
        where += f" AND ({', '.join(keys)}) {'<' if sort.startswith('-') else '>'} ({', '.join(typed)})"
    direction = " DESC" if sort.startswith("-") else ""
    shown = [source.columns[column.name] for column in wanted.columns]
    tail = f"ORDER BY {', '.join(f'{key}{direction}' for key in keys)} LIMIT {parameters.add(limit + 1)}"
    found = _read(source, tables, [*shown, *keys], where, tail, parameters)
    rows = [dict(zip((column.name for column in wanted.columns), map(_cell, row), strict=False)) for row in found]
    is_last = len(found) <= limit
    place = None if is_last else [_placed(value) for value in found[limit - 1][len(shown) :]]
    return ListPage(rows[:limit], place)


def list_rows(
    cluster_id: int,
    wanted: ListOf,
    terms: Sequence[Term],
    *,
    sort: str,
    now: datetime,
    tables: Tables = PRESENT,
    rows: Rows | None = None,
) -> Iterator[Sequence[Row]]:
    """All rows, in pages; rows that are in no table are made once for all of them."""
    given = SOURCES[wanted.name].parameters(cluster_id, now, rows)
    after: Place | None = None
    while True:
        page = _page(Parameters(given), tables, wanted, terms, sort=sort, limit=ROWS_AT_ONCE, after=after)
        yield page.rows
        if (after := page.next) is None:
            return


def list_total(
    cluster_id: int,
    wanted: ListOf,
    terms: Sequence[Term],
    *,
    now: datetime,
    tables: Tables = PRESENT,
    rows: Rows | None = None,
) -> int:
    """Count all rows."""
    source = SOURCES[wanted.name]
    parameters = source.parameters(cluster_id, now, rows)
    where = source.where(terms, parameters)
    total: int = _read(source, tables, ["count(*)"], where, "", parameters)[0][0]
    return total


def order_of(wanted: ListOf, sort: str) -> Sequence[str]:
    """The columns a list is sorted by: the one asked for, then its key."""
    first = sort.removeprefix("-")
    return [first, *(name for name in SOURCES[wanted.name].key if name != first)]


def _read(
    source: Source, tables: Tables, selected: Sequence[str], where: str, tail: str, parameters: Parameters
) -> list[tuple[Any, ...]]:
    """Join what the statement names."""
    rest = f"{', '.join(selected)} {where} {tail}"
    joins = " ".join(join for alias, join in source.joins.items() if f"{alias}." in rest)
    before = tables.before(parameters.add)
    with connection.cursor() as cursor:
        cursor.execute(
            f"{before}SELECT {', '.join(selected)} FROM {source.table} {joins} WHERE {where} {tail}", parameters
        )
        found: list[tuple[Any, ...]] = cursor.fetchall()
        return found


def _checked(wanted: ListOf, order: Sequence[str], after: Place) -> list[Any]:
    """The values of a place, each of the type of its column. ValueError."""
    if len(after) != len(order):
        raise ValueError("a place has a value for each column it is sorted by")
    try:
        values: list[Any] = [
            typed.convert(value, _VALUES[_form(wanted, name)]) for name, value in zip(order, after, strict=True)
        ]
    except msgspec.ValidationError as error:
        raise ValueError(str(error)) from None
    for value in values:
        if (isinstance(value, str) and "\0" in value) or (isinstance(value, int) and abs(value) >= 2**63):
            raise ValueError("no column has such a value")
    return values


def _form(wanted: ListOf, name: str) -> Form:
    column = wanted.column(name)
    assert column is not None
    return column.form


def _type(wanted: ListOf, name: str) -> str:
    return _TYPES[_form(wanted, name)]


def _cell(value: Any) -> Cell:
    """A value as answers have it; times of the database are in UTC."""
    cell: Cell = _placed(value).replace("+00:00", "Z") if isinstance(value, datetime) else value
    return cell


def _placed(value: Any) -> Any:
    return value.astimezone(UTC).isoformat() if isinstance(value, datetime) else value
