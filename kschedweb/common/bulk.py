"""Many rows in one statement: COPY through Django's own connection, so inside its transaction.

Values are what psycopg knows how to write: numbers, text, bytes, times, lists; jsonb columns take `json_text`.
A constraint that is broken raises Django's IntegrityError, as any other write does.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import orjson
from django.db import connection
from psycopg import sql


def copy_rows(table: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Append the rows to the table; each has a value for every column, in their order."""
    statement = sql.SQL("COPY {} ({}) FROM STDIN").format(
        sql.Identifier(table), sql.SQL(", ").join(map(sql.Identifier, columns))
    )
    with connection.cursor() as cursor, connection.wrap_database_errors, cursor.copy(statement) as copy:
        for row in rows:
            copy.write_row(row)


def json_text(value: Any) -> str:
    """A value for a jsonb column."""
    return orjson.dumps(value).decode()
