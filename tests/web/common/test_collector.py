"""What lives when things have settled is set aside, garbage is not."""

import gc
import weakref
from collections.abc import Iterator

import pytest

from kschedweb.common.collector import settle


class _Ring:
    """Held by itself alone."""

    def __init__(self) -> None:
        self.itself = self


@pytest.fixture(autouse=True)
def everything_back() -> Iterator[None]:
    yield
    gc.unfreeze()


def test_what_lives_is_passed_over_from_now_on() -> None:
    kept = [_Ring() for _ in range(1000)]
    settle()
    assert gc.get_freeze_count() > len(kept)
    assert not any(each is kept[0] for each in gc.get_objects())


def test_what_had_been_set_aside_goes_when_nobody_holds_it_any_more() -> None:
    ring = _Ring()
    seen = weakref.ref(ring)
    settle()
    del ring
    assert seen() is not None
    settle()
    assert seen() is None
