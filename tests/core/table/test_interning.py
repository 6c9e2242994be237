"""Numbers are dense, shared by equal values, and given out again."""

from __future__ import annotations

from scheduler_core.table.interning import Interner


def test_equal_values_share_a_number_until_the_last_holder_is_gone() -> None:
    interner: Interner[str] = Interner()
    assert [interner.acquire(value) for value in ("a", "b", "a")] == [0, 1, 0]
    interner.release(0)
    assert interner.id_of == {"a": 0, "b": 1}
    interner.release(0)
    assert interner.id_of == {"b": 1}
    assert interner.values == [None, "b"]


def test_a_free_number_is_given_to_the_next_value() -> None:
    interner: Interner[str] = Interner()
    interner.acquire("a")
    interner.release(0)
    assert interner.acquire("c") == 0
    assert len(interner) == 1
