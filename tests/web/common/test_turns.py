"""A few at a time, and who waits keeps nothing that others need."""

import threading

import pytest

from kschedweb.common import turns
from kschedweb.common.errors import TooManyError
from kschedweb.common.turns import Turns

pytestmark = pytest.mark.django_db  # who waits gives the connection back


def test_no_more_than_so_many_have_a_turn() -> None:
    both = Turns(2)
    with both.within(0) as first, both.within(0) as second, both.within(0) as third:
        assert (first, second, third) == (True, True, False)
        with pytest.raises(TooManyError), both.one(0):
            pytest.fail("a third has a turn")
    with both.one(0), both.one(0):
        pass


def test_turn_is_over_when_the_work_fails() -> None:
    single = Turns(1)
    for _ in range(2):
        with pytest.raises(ValueError), single.one(0):
            raise ValueError


def test_connection_is_given_back_before_a_turn_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    single, given_back = Turns(1), threading.Event()
    monkeypatch.setattr(turns, "give_back", given_back.set)
    with single.one(0):
        given_back.clear()
        with single.within(0) as has_turn:
            assert not has_turn and given_back.is_set()
