"""Work that takes memory, a core or a connection for long is done by a few requests of a process at a time.

Who waits for a turn holds no database connection: else a few who wait would leave none to those who only read.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from kschedweb.common.connections import give_back
from kschedweb.common.errors import TooManyError

WAIT_SECONDS = 60.0


class Turns:
    """So many at a time."""

    def __init__(self, most: int) -> None:
        self._places = threading.BoundedSemaphore(most)

    @contextmanager
    def within(self, seconds: float) -> Iterator[bool]:
        """Whether a turn came in time; it lasts as long as the block."""
        give_back()
        has_turn = self._places.acquire(timeout=seconds)
        try:
            yield has_turn
        finally:
            if has_turn:
                self._places.release()

    @contextmanager
    def one(self, seconds: float = WAIT_SECONDS) -> Iterator[None]:
        """A turn; TooManyError when none comes in time."""
        with self.within(seconds) as has_turn:
            if not has_turn:
                raise TooManyError("too many requests like this one are under way, try again later")
            yield
