"""Reads that have to agree with each other: one transaction which sees one state of the database.

And reads of what tables once held: a query that begins with WITH is put under others of the same names as the tables.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from django.db import connection, transaction


@contextmanager
def one_state() -> Iterator[None]:
    """A read-only REPEATABLE READ transaction; it must be the outermost one."""
    with transaction.atomic(durable=True):
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        yield


@dataclass(frozen=True, slots=True)
class Tables:
    """What a query finds under the names of tables: common table expressions with their values; none: the tables."""

    expressions: Sequence[str] = ()
    values: Sequence[Any] = ()

    def under(self, query: str) -> str:
        """The query, which begins with WITH, asked of these."""
        text = query.lstrip()
        return f"WITH {''.join(f'{each}, ' for each in self.expressions)}{text.removeprefix('WITH ')}"

    def before(self, add: Callable[[Any], str]) -> str:
        """What a query that begins with SELECT begins with instead; `add` gives each value the name it has there."""
        text, *rest = ", ".join(self.expressions).split("%s")
        named = "".join(f"{add(value)}{part}" for value, part in zip(self.values, rest, strict=True))
        return f"WITH {text}{named} " if self.expressions else ""


PRESENT = Tables()
