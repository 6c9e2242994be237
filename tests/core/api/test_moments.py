"""Times that clients send: brought to UTC whatever their year, or refused in Go's words."""

import pytest

from scheduler_core.api.schema.moments import in_utc


@pytest.mark.parametrize(
    ("text", "digits", "utc"),
    [
        pytest.param("2030-01-01T01:00:00+01:00", 0, "2030-01-01T00:00:00Z", id="of a zone"),
        pytest.param("2030-01-01T00:00:00.987Z", 0, "2030-01-01T00:00:00Z", id="with decimals that are cut off"),
        pytest.param("2030-01-01T00:00:00.000123Z", 6, "2030-01-01T00:00:00.000123Z", id="with all decimals"),
        pytest.param("0999-05-05T00:00:00Z", 0, "0999-05-05T00:00:00Z", id="of a year that begins with zero"),
        pytest.param("0001-01-01T00:00:00Z", 0, "0001-01-01T00:00:00Z", id="the first of all"),
    ],
)
def test_time_is_brought_to_utc_and_can_be_read_again(text: str, digits: int, utc: str) -> None:
    assert in_utc(text, digits=digits) == utc == in_utc(utc, digits=digits)


@pytest.mark.parametrize(
    ("text", "digits", "problem"),
    [
        pytest.param("2030-02-30T00:00:00Z", 0, "day out of range", id="no such day"),
        pytest.param("0001-01-01T00:00:00+14:00", 0, "year outside of range", id="before the first year"),
        pytest.param("9999-12-31T23:59:59-14:00", 0, "year outside of range", id="after the last year"),
        pytest.param("2030-01-01T00:00:00.١٢٣٤٥٦Z", 6, 'as ".000000"', id="digits of another script"),
    ],
)
def test_time_that_is_none_is_refused(text: str, digits: int, problem: str) -> None:
    with pytest.raises(ValueError, match=problem) as refused:
        in_utc(text, digits=digits)
    assert f'parsing time "{text}"' in str(refused.value)
