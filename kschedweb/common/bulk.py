"""Many rows in one statement, on Django's own connection and so inside its transaction: written by COPY, read whole.

Both are binary: no number, time or byte is spelled out as text and parsed again. A value has the type of its column:
numbers, text, bytes, times, lists; jsonb and json columns take `json_text`. A constraint that is broken raises
Django's IntegrityError, as any other write does.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import orjson
import psycopg
from django.db import connection
from django.db.backends.utils import CursorWrapper
from psycopg import sql

_JSONB_FORMAT = b"\x01"  # the version every binary jsonb begins with
_types: dict[str, dict[str, str]] = {}  # names of the columns' types, by table


def copy_rows(
    table: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    meanwhile: Callable[[], None] | None = None,
) -> None:
    """Append the rows to the table; each has a value for every column, in their order.

    `meanwhile` is called when they are on their way, and PostgreSQL is at work on them.
    """
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


def read_rows(statement: str, values: Sequence[Any]) -> Any:
    """All rows of a query, as tuples in a list.

    Its values are sent beside it: where a type is not plain the query has to name it.
    """
    with _cursor() as cursor:
        cursor.execute(statement, values)
        return cursor.fetchall()


def execute(statement: str, values: Sequence[Any]) -> None:
    """Run a statement whose values are sent beside it, long arrays (`%b`) in binary."""
    with _cursor() as cursor:
        cursor.execute(statement, values)


def json_text(value: Any) -> str:
    """A value for a jsonb column."""
    return orjson.dumps(value).decode()


def _cursor() -> CursorWrapper:
    """A cursor as Django makes it, but for values sent beside the statement and results in binary."""
    connection.close_if_health_check_failed()
    connection.ensure_connection()
    cursor: Any = psycopg.Cursor(connection.connection)
    cursor.format = psycopg.pq.Format.BINARY
    return connection.make_debug_cursor(cursor) if connection.queries_logged else connection.make_cursor(cursor)


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
