"""A dict with a limit: what goes first, and who hears of it."""

from __future__ import annotations

import pytest

from scheduler_core.lru import LruDict


def filled(**entries: int | None) -> LruDict[str, int | None]:
    made: LruDict[str, int | None] = LruDict(3)
    for key, value in entries.items():
        made[key] = value
    return made


def test_entry_set_longest_ago_goes_first() -> None:
    cache = filled(a=1, b=2, c=3, d=4)
    assert list(cache.items()) == [("b", 2), ("c", 3), ("d", 4)]


def test_used_entry_stays_and_one_only_looked_at_does_not() -> None:
    cache = filled(a=1, b=None, c=3)
    assert (cache["a"], cache.use("b"), cache.use("gone")) == (1, None, None)
    cache["d"] = 4
    assert [*cache] == ["c", "b", "d"]


def test_setting_a_key_again_drops_nothing() -> None:
    cache = filled(a=1, b=2, c=3)
    cache["a"] = 5
    assert dict(cache) == {"a": 5, "b": 2, "c": 3}


def test_lower_limit_takes_effect_at_the_next_entry_and_each_value_that_goes_is_told() -> None:
    gone: list[int] = []
    cache: LruDict[str, int] = LruDict(3, dropped=gone.append)
    for number, key in enumerate("abc"):
        cache[key] = number
    cache.limit = 1
    assert len(cache) == 3
    cache["d"] = 3
    assert (gone, dict(cache)) == ([0, 1, 2], {"d": 3})


def test_empty_one_has_no_oldest() -> None:
    with pytest.raises(KeyError):
        LruDict[str, int](1).drop_oldest()
