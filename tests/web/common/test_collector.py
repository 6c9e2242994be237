"""What lives when things have settled is set aside, garbage is not."""

import gc
import os
import weakref
from collections.abc import Iterator
from pathlib import Path

import pytest

from kschedweb.common.collector import WORTH_SETTLING, ease_child, pause, settle, settle_after


class _Ring:
    """Held by itself alone."""

    def __init__(self) -> None:
        self.itself = self


@pytest.fixture(autouse=True)
def set_aside_again() -> Iterator[None]:
    yield
    settle()


def test_what_lives_is_passed_over_from_now_on() -> None:
    kept = [_Ring() for _ in range(1000)]
    settle()
    assert gc.get_freeze_count() > len(kept)
    assert not any(each is kept[0] for each in gc.get_objects())


def test_nothing_is_looked_for_while_modules_are_loaded() -> None:
    pause()
    assert not gc.isenabled()
    settle()
    assert gc.isenabled()


def test_what_had_been_set_aside_goes_when_nobody_holds_it_any_more() -> None:
    ring = _Ring()
    seen = weakref.ref(ring)
    settle()
    del ring
    assert seen() is not None
    settle()
    assert seen() is None


def test_small_clusters_are_set_aside_together() -> None:
    settle()
    kept = [_Ring() for _ in range(1000)]
    settle_after(WORTH_SETTLING - 1)
    assert any(each is kept[0] for each in gc.get_objects())
    settle_after(1)
    assert not any(each is kept[0] for each in gc.get_objects())


def test_a_child_shares_with_its_parent_what_that_had_loaded() -> None:
    """Looking for garbage writes to objects: the pages of those the parent has loaded would be the child's own."""
    parent_read, child_write = os.pipe()
    kept = [_Ring() for _ in range(200_000)]  # some 30 MB
    settle()
    before = _own_bytes()
    if not (child := os.fork()):
        ease_child()
        settle()  # as when the first engine is made
        os.write(child_write, str(_own_bytes()).encode())
        os._exit(0)
    os.waitpid(child, 0)
    os.close(child_write)
    own = int(os.read(parent_read, 100))
    os.close(parent_read)
    assert own < before / 2, f"{own:,} bytes of {before:,}, {len(kept)} objects"


def _own_bytes() -> int:
    """Memory that no other process has."""
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Private_Dirty:"))
