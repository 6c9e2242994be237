"""Answers that are made while they are sent: a few for each user, and no database connection between their parts.

How long a reader may take for a part is bounded for all answers (ops/connections.py).
"""

import threading
import weakref
from collections import Counter
from collections.abc import AsyncIterator, Callable, Hashable, Iterator, Mapping

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, StreamingHttpResponse

from kschedweb.common.connections import give_back
from kschedweb.common.errors import TooManyError

STREAMS_PER_USER = 4  # in one web process


class Streams:
    """How many streams each user has open."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._open: Counter[Hashable] = Counter()
        self._lock = threading.Lock()

    def enter(self, user: Hashable) -> None:
        """Count one more; TooManyError when the user has as many as are allowed."""
        with self._lock:
            if self._open[user] >= self._most:
                raise TooManyError(f"{self._most} downloads of yours are under way", most=self._most)
            self._open[user] += 1

    def leave(self, user: Hashable) -> None:
        with self._lock:
            self._open[user] -= 1
            if not self._open[user]:
                del self._open[user]


_streams = Streams(STREAMS_PER_USER)


class _Stream(StreamingHttpResponse):
    """An answer that makes room for another when it is over, wherever in the middle its reader went away."""

    leave: Callable[[], object]

    def close(self) -> None:
        super().close()
        self.leave()


def stream(
    request: HttpRequest, chunks: Iterator[bytes], *, user: Hashable, content_type: str, headers: Mapping[str, str]
) -> StreamingHttpResponse:
    """An answer of these chunks, each made when it is wanted; TooManyError while the user has too many of them."""
    _streams.enter(user)
    response = _Stream(content_type=content_type, headers=headers)
    # Also when nobody begins to read it.
    response.leave = weakref.finalize(response, _streams.leave, user)
    # Under ASGI an iterator that is not asynchronous would be read to its end before anything is sent.
    is_async = isinstance(request, ASGIRequest)
    response.streaming_content = off_the_loop(chunks, response.leave) if is_async else chunks
    return response


async def off_the_loop(chunks: Iterator[bytes], leave: Callable[[], object]) -> AsyncIterator[bytes]:
    """The chunks, each made in a thread, which keeps no connection in between."""

    def make() -> bytes | None:
        try:
            return next(chunks, None)
        finally:
            give_back()

    following = sync_to_async(make, thread_sensitive=True)
    try:
        while (chunk := await following()) is not None:
            yield chunk
    finally:
        leave()
