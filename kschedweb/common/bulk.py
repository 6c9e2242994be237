"""Rows in as few exchanges as possible, on Django's own connection and so inside its transaction.

Many are written by COPY, and read whole. Both are binary: no number, time or byte is spelled out as text and parsed
again. A few are inserted, since a COPY is two exchanges; what writes little sends its statements `together`; and what
comes again and again is planned once for a connection.

A value has the type of its column: numbers, text, bytes, times, lists; jsonb and json columns take `json_text`. A
constraint that is broken raises Django's IntegrityError, as any other write does.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

import orjson
import psycopg
from django.db import connection
from django.db.backends.utils import CursorWrapper
from psycopg import sql
from psycopg.pq import PipelineStatus

from kschedweb.common.connections import preparing

FEW: Final = 8  # rows that are quicker inserted than copied
FEW_TOGETHER: Final = 32  # so many cost less than the exchanges that are saved with them
PREPARED_AFTER: Final = 5  # times that a connection was asked the same
_JSONB_FORMAT = b"\x01"  # the version every binary jsonb begins with
_types: dict[str, dict[str, str]] = {}  # names of the columns' types, by table


@contextmanager
def together(rows: int = 0) -> Iterator[None]:
    """Within the block no statement waits for the answers of those before it, unless it reads.

    So what a statement raises may come from one after it, or from the end of the block. For a transaction that has
    begun, and writes about so many rows: of many, COPY is quicker.
    """
    if rows > FEW_TOGETHER:
        yield
        return
    connection.ensure_connection()
    with connection.wrap_database_errors, connection.connection.pipeline():
        yield


def copy_rows(
    table: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    meanwhile: Callable[[], None] | None = None,
) -> None:
    """Append the rows to the table; each has a value for every column, in their order.

    They are taken one by one, unless they come in a sequence and are few.
    `meanwhile` is called when they are on their way, and PostgreSQL is at work on them.
    """
    if _is_together() or (isinstance(rows, Sequence) and len(rows) <= FEW):
        _insert(table, columns, rows)
        if meanwhile is not None:
            meanwhile()
        return
    statement = sql.SQL("COPY {} ({}) FROM STDIN (FORMAT BINARY)").format(
        sql.Identifier(table), sql.SQL(", ").join(map(sql.Identifier, columns))
    )
    types = _column_types(table)
    of_columns = [types[column] for column in columns]
    jsonb = [place for place, name in enumerate(of_columns) if name == "jsonb"]
    with connection.cursor() as cursor, connection.wrap_database_errors, cursor.copy(statement) as copy:
        # On the wire json is text, and jsonb is text behind its version.
        copy.set_types([{"json": "text", "jsonb": "bytea"}.get(name, name) for name in of_columns])
        if jsonb:
            rows = _with_jsonb(rows, jsonb)
        for row in rows:
            copy.write_row(row)
        if meanwhile is not None:
            meanwhile()


def _insert(table: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """One prepared statement, carried out for each row; all of it is one exchange."""
    with _cursor() as cursor:
        cursor.executemany(
            f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join(['%s'] * len(columns))})", list(rows)
        )


def _is_together() -> bool:
    return connection.connection is not None and connection.connection.pgconn.pipeline_status != PipelineStatus.OFF


def read_rows(statement: str, values: Sequence[Any]) -> Any:
    """All rows of a query, as tuples in a list.

    Its values are sent beside it: where a type is not plain the query has to name it.
    """
    with _cursor(values) as cursor:
        cursor.execute(statement, values)
        return cursor.fetchall()


def execute(statement: str, values: Sequence[Any] | Mapping[str, Any]) -> None:
    """Run a statement whose values are sent beside it, long arrays (`%b`) in binary."""
    with _cursor(values) as cursor:
        cursor.execute(statement, values)


def _are_many(values: Sequence[Any] | Mapping[str, Any]) -> bool:
    each = values.values() if isinstance(values, Mapping) else values
    return any(isinstance(value, list) and len(value) > FEW_TOGETHER for value in each)


def json_text(value: Any) -> str:
    """A value for a jsonb column."""
    return orjson.dumps(value).decode()


@contextmanager
def _cursor(values: Sequence[Any] | Mapping[str, Any] = ()) -> Iterator[CursorWrapper]:
    """A cursor as Django makes it, but for values sent beside the statement and results in binary.

    With long arrays no statement is prepared: PostgreSQL would keep the plan that it made for tables of another size,
    as when they were empty, and compare each value of the array with each row.
    """
    connection.close_if_health_check_failed()
    with preparing(None if _are_many(values) else PREPARED_AFTER) as raw:
        cursor: Any = psycopg.Cursor(raw)
        cursor.format = psycopg.pq.Format.BINARY
        with (
            connection.make_debug_cursor(cursor)
            if connection.queries_logged
            else connection.make_cursor(cursor) as made
        ):
            yield made


def _column_types(table: str) -> dict[str, str]:
    """What PostgreSQL calls the types of a table's columns; asked once in a process."""
    if table not in _types:
        found = read_rows(
            "SELECT attname::text, format_type(atttypid, NULL) FROM pg_attribute"
            " WHERE attrelid = %s::text::regclass AND attnum > 0 AND NOT attisdropped",
            [table],
        )
        _types[table] = dict(found)
    return _types[table]


def _with_jsonb(rows: Iterable[Sequence[Any]], places: Sequence[int]) -> Iterable[Sequence[Any]]:
    for row in rows:
        written = list(row)
        for place in places:
            if written[place] is not None:
                written[place] = _JSONB_FORMAT + written[place].encode()
        yield written
