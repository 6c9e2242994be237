"""Times that clients send: brought to UTC whatever their year, or refused in Go's words."""

import pytest

from scheduler_core.api.schema.moments import in_utc
from tests.cases import cases


@cases(
    "text, digits, utc",
    ("of a zone", "2030-01-01T01:00:00+01:00", 0, "2030-01-01T00:00:00Z"),
    ("with decimals that are cut off", "2030-01-01T00:00:00.987Z", 0, "2030-01-01T00:00:00Z"),
    ("with all decimals", "2030-01-01T00:00:00.000123Z", 6, "2030-01-01T00:00:00.000123Z"),
    ("of a year that begins with zero", "0999-05-05T00:00:00Z", 0, "0999-05-05T00:00:00Z"),
    ("the first of all", "0001-01-01T00:00:00Z", 0, "0001-01-01T00:00:00Z"),
)
def test_time_is_brought_to_utc_and_can_be_read_again(text: str, digits: int, utc: str) -> None:
    assert in_utc(text, digits=digits) == utc == in_utc(utc, digits=digits)


@cases(
    "text, digits, problem",
    ("no such day", "2030-02-30T00:00:00Z", 0, "day out of range"),
    ("before the first year", "0001-01-01T00:00:00+14:00", 0, "year outside of range"),
    ("after the last year", "9999-12-31T23:59:59-14:00", 0, "year outside of range"),
    ("digits of another script", "2030-01-01T00:00:00.١٢٣٤٥٦Z", 6, 'as ".000000"'),
)
def test_time_that_is_none_is_refused(text: str, digits: int, problem: str) -> None:
    with pytest.raises(ValueError, match=problem) as refused:
        in_utc(text, digits=digits)
    assert f'parsing time "{text}"' in str(refused.value)
