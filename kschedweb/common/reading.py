"""Reads that have to agree with each other: one transaction which sees one state of the database."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, transaction


@contextmanager
def one_state() -> Iterator[None]:
    """A read-only REPEATABLE READ transaction; it must be the outermost one."""
    with transaction.atomic(durable=True):
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        yield
