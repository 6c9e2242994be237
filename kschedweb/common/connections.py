"""Connections of the database pool are held while something is asked of the database, and no longer.

A view's answer may take long to reach its reader, or never: until then it would keep one of a few connections.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg
from django.db import OperationalError, connection, connections
from django.http import HttpRequest, HttpResponse

Handler = Callable[[HttpRequest], HttpResponse]


def give_back() -> None:
    """Return this thread's connection to the pool; without a pool, or within a transaction, it stays."""
    for each in connections.all(initialized_only=True):
        if not each.in_atomic_block:
            each.close_if_unusable_or_obsolete()


def connections_given_back(get_response: Handler) -> Handler:
    """Middleware, the outermost: what runs after it (sending) needs no database."""

    def respond(request: HttpRequest) -> HttpResponse:
        try:
            return get_response(request)
        finally:
            give_back()

    return respond


def database_parameters() -> dict[str, Any]:
    """How psycopg reaches the database of the settings, for a connection that listens."""
    own = connection.settings_dict
    options = {name: value for name, value in own["OPTIONS"].items() if name not in ("pool", "server_side_binding")}
    place = {"dbname": own["NAME"], "user": own["USER"], "password": own["PASSWORD"]}
    place |= {"host": own["HOST"], "port": own["PORT"]}
    return options | {name: value for name, value in place.items() if value}


def prepared(statement: str, values: Sequence[Any] | Mapping[str, Any] | None = None) -> list[tuple[Any, ...]]:
    """The rows of a statement that is asked again and again on this thread's connection: it is planned but once."""
    try:
        return _rows(statement, values)
    except OperationalError:
        raw = connection.connection
        if raw is None or not raw.closed or connection.in_atomic_block:
            raise
    connection.close()  # it broke since it was used last, as after a restart of the server
    return _rows(statement, values)


def _rows(statement: str, values: Sequence[Any] | Mapping[str, Any] | None) -> list[tuple[Any, ...]]:
    with connection.wrap_database_errors, preparing(0) as raw, psycopg.Cursor(raw) as cursor:
        cursor.execute(statement, values)
        return cursor.fetchall()


@contextmanager
def preparing(after: int | None) -> Iterator[psycopg.Connection[Any]]:
    """This thread's connection, on which a statement is prepared within the block that was sent so many times before.

    None: it is not prepared. Only there: psycopg keeps the texts that it counts, and Django's own statements have their
    values in them.
    """
    connection.ensure_connection()
    raw: psycopg.Connection[Any] = connection.connection
    raw.prepare_threshold = after
    try:
        yield raw
    finally:
        raw.prepare_threshold = None


def own_pid() -> int | None:
    """The server's process for this thread's connection; None where there is none."""
    return None if connection.connection is None else int(connection.connection.info.backend_pid)
