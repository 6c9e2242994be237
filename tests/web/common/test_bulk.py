"""Rows are the same whichever way they are written, and what is sent together fails as if it had been sent alone."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from datetime import UTC, datetime
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction

from kschedweb.common import bulk

pytestmark = pytest.mark.django_db(transaction=True)

AT = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
COLUMNS = ("id", "small", "words", "content", "at", "names", "given", "told", "share")
ROWS: tuple[tuple[Any, ...], ...] = (
    (
        1,
        7,
        'a "b" \\ {c}',
        b"\0\xff\\",
        AT,
        ["x", "y,z", '"'],
        bulk.json_text({"a": ["ü", None]}),
        bulk.json_text([1]),
        0.5,
    ),
    (2**40, None, "", b"", None, [], None, None, None),
    *((number, 1, "many", b"1", AT, ["n"], "{}", "{}", 1.0) for number in range(10, 10 + bulk.FEW)),
)


@pytest.fixture(autouse=True)
def _table() -> Iterable[None]:
    with connection.cursor() as cursor:
        cursor.execute(
            "CREATE TABLE tried (id bigint PRIMARY KEY, small smallint, words varchar(40), content bytea,"
            " at timestamptz, names text[], given jsonb, told json, share double precision)"
        )
    yield
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE tried")
    bulk._types.pop("tried", None)


def written() -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT *, given::text, told::text FROM tried ORDER BY id")
        return [
            tuple(bytes(each) if isinstance(each, memoryview) else each for each in row) for row in cursor.fetchall()
        ]


def wanted(rows: Sequence[tuple[Any, ...]]) -> list[int]:
    return sorted(row[0] for row in rows)


@pytest.mark.parametrize("taken", [list, iter], ids=["known to be few", "of unknown number"])
@pytest.mark.parametrize("number", [1, 2, len(ROWS)])
@pytest.mark.parametrize("around", [nullcontext, bulk.together], ids=["alone", "together"])
def test_rows_are_those_that_were_given(around: Any, number: int, taken: Callable[[Any], Any]) -> None:
    meant = []
    with transaction.atomic(), around():
        bulk.copy_rows("tried", COLUMNS, taken(ROWS[:number]), meanwhile=lambda: meant.append("meanwhile"))
    found = written()
    assert meant == ["meanwhile"]
    assert [row[0] for row in found] == wanted(ROWS[:number])
    assert found[0][:7] == (1, 7, 'a "b" \\ {c}', b"\0\xff\\", AT, ["x", "y,z", '"'], found[0][6])
    assert found[0][8:] == (0.5, '{"a": ["ü", null]}', "[1]")
    if number > 1:
        assert found[-1] == (2**40, None, "", b"", None, [], None, None, None, None, None)


def test_what_is_sent_together_fails_as_alone_and_leaves_nothing() -> None:
    after: list[str] = []
    with pytest.raises(IntegrityError), transaction.atomic(), bulk.together():
        bulk.copy_rows("tried", COLUMNS, list(ROWS))
        bulk.copy_rows("tried", COLUMNS, [ROWS[0]])
        after.append("went on")  # without waiting for the refusal
        bulk.execute("UPDATE tried SET words = %s", ["later"])
    assert after == ["went on"]
    assert written() == []
    with transaction.atomic(), bulk.together():  # the connection is as good as before
        bulk.execute("INSERT INTO tried (id) VALUES (%s)", [5])
    assert [row[0] for row in written()] == [5]


def test_what_fails_last_is_heard_of_at_the_end() -> None:
    with pytest.raises(IntegrityError), transaction.atomic(), bulk.together():
        bulk.copy_rows("tried", COLUMNS, [ROWS[0], ROWS[0]])


def test_who_reads_waits_for_those_before_and_hears_of_their_failure() -> None:
    with transaction.atomic(), bulk.together():
        bulk.copy_rows("tried", COLUMNS, [ROWS[0]])
        assert bulk.read_rows("SELECT count(*) FROM tried", []) == [(1,)]
    with pytest.raises(IntegrityError), transaction.atomic(), bulk.together():
        bulk.copy_rows("tried", COLUMNS, [ROWS[0]])
        bulk.read_rows("SELECT count(*) FROM tried", [])
        pytest.fail("the refusal came before")


def test_many_rows_are_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    """Inserting takes several times as long; so does a transaction that was begun for many."""
    monkeypatch.setattr(bulk, "_insert", lambda *_: pytest.fail("inserted"))
    with transaction.atomic(), bulk.together(bulk.FEW_TOGETHER + 1):
        bulk.copy_rows("tried", COLUMNS, list(ROWS))
    assert len(written()) == len(ROWS)


def test_what_is_asked_again_is_prepared_and_no_text_of_djangos_is_kept() -> None:
    """psycopg keeps the texts that it counts; Django's have values in them, which may be large."""
    asked = f"SELECT %s::int + {bulk.PREPARED_AFTER}"
    for number in range(bulk.PREPARED_AFTER + 2):
        assert bulk.read_rows(asked, [number]) == [(number + bulk.PREPARED_AFTER,)]
        with connection.cursor() as cursor:
            cursor.execute("SELECT %s", ["x" * 1000 + str(number)])
    prepared = connection.connection._prepared
    assert any(b"$1::int" in text for text, _ in prepared._names)
    assert not any(b"xxx" in text for text, _ in prepared._counts)


@pytest.mark.parametrize("many", [bulk.FEW_TOGETHER + 1, 1_000])
def test_statement_with_long_arrays_is_planned_for_the_tables_as_they_are(many: int) -> None:
    """A plan that was made while the table was empty would compare each value with each row."""
    statement = "SELECT id FROM tried WHERE id IN (SELECT * FROM unnest(%b::bigint[]))"
    named = "DELETE FROM tried WHERE id IN (SELECT * FROM unnest(%(ids)b::bigint[]))"
    with transaction.atomic():
        for _ in range(3 * bulk.PREPARED_AFTER):
            bulk.read_rows(statement, [list(range(many))])
            bulk.execute(named, {"ids": list(range(many))})
        assert prepared("unnest") == 0
        for _ in range(3 * bulk.PREPARED_AFTER):
            bulk.read_rows(statement, [list(range(bulk.FEW_TOGETHER))])
        assert prepared("unnest") == 1


def prepared(word: str) -> int:
    """How many statements with this word are prepared on the connection."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE %s", [f"%{word}%"])
        return int(cursor.fetchone()[0])
