"""A deadline for each key: the last one set, until it is dropped or given."""

from __future__ import annotations

from scheduler_core.controllers.deadlines import Deadlines


def test_key_has_the_deadline_set_last() -> None:
    deadlines = Deadlines()
    deadlines.set("a", 5)
    deadlines.set("a", 9)
    assert (deadlines.first(), list(deadlines.pop_due(8))) == (9, [])
    deadlines.set("a", 2)
    assert (deadlines.first(), "a" in deadlines) == (2, True)
    assert list(deadlines.pop_due(100)) == ["a"]
    assert (deadlines.first(), "a" in deadlines) == (None, False)


def test_dropped_deadline_never_comes() -> None:
    deadlines = Deadlines()
    deadlines.set("a", 5)
    deadlines.set("b", 6)
    deadlines.drop("a")
    deadlines.drop("nobody")
    assert deadlines.first() == 6
    assert list(deadlines.pop_due(100)) == ["b"]


def test_deadline_strikes_at_its_time_and_not_before() -> None:
    deadlines = Deadlines()
    deadlines.set("a", 5)
    assert list(deadlines.pop_due(4)) == []
    assert list(deadlines.pop_due(5)) == ["a"]


def test_equal_deadlines_come_in_the_order_of_setting_and_one_set_again_keeps_its_turn() -> None:
    deadlines = Deadlines()
    for key in ("b", "a", "c"):
        deadlines.set(key, 5)
    deadlines.set("b", 5)
    deadlines.set("a", 7)
    deadlines.set("a", 5)  # it was another meanwhile: last now
    assert list(deadlines.pop_due(5)) == ["b", "c", "a"]
