"""Durations as Go reads and prints them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler_core.config.duration import Duration


@pytest.mark.parametrize(
    ("text", "us", "printed"),
    [
        ("0", 0, "0s"),
        ("15s", 15_000_000, "15s"),
        ("1m30s", 90_000_000, "1m30s"),
        ("90s", 90_000_000, "1m30s"),
        ("1.5h", 5_400_000_000, "1h30m0s"),
        ("300ms", 300_000, "300ms"),
        ("1500ms", 1_500_000, "1.5s"),
        (".5s", 500_000, "500ms"),
        ("-10s", -10_000_000, "-10s"),
        ("7us", 7, "7µs"),
        ("7µs", 7, "7µs"),
        ("1500us", 1_500, "1.5ms"),
        ("2h", 7_200_000_000, "2h0m0s"),
        ("999us", 999, "999µs"),
        ("1000us", 1_000, "1ms"),
        ("999999us", 999_999, "999.999ms"),
        ("1000ms", 1_000_000, "1s"),
        ("60s", 60_000_000, "1m0s"),
        ("60m", 3_600_000_000, "1h0m0s"),
    ],
)
def test_parse_and_print(text: str, us: int, printed: str) -> None:
    duration = Duration.parse(text)
    assert (duration.us, str(duration)) == (us, printed)


@pytest.mark.parametrize("text", ["", "s", "15", "1 s", "1d", "1s1", "--1s", "1e3s", "9" * 30 + "h"])
def test_parse_refuses(text: str) -> None:
    with pytest.raises(ValueError, match="time: invalid duration"):
        Duration.parse(text)


@given(st.integers(-(10**15), 10**15))
def test_printed_durations_are_read_back(us: int) -> None:
    assert Duration.parse(str(Duration(us))) == Duration(us)


def test_durations_are_ordered_and_hashable() -> None:
    assert Duration(1) < Duration(2) and {Duration(1), Duration(1)} == {Duration(1)}
    assert Duration(1) != 1
