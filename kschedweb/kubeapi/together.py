"""Writes of one token to one cluster that arrive while another commits: they share the next transaction.

A commit costs the same for one object as for twenty, so clients that write at the same time wait for one commit and
not for each other's. Each gets its own answer, and gets it after the commit. The next transaction waits a moment for
those who were answered, or else they and those who wait now would take turns, each half with transactions of its own.
Clients that send when they have something, and not when they were answered, do not come: they are not waited for again.
When a transaction fails, each call is carried out alone, so that one that cannot be carried out takes no other with it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

import msgspec
from django.db import OperationalError

from kschedweb.kubeapi import answering
from kschedweb.kubeapi.access import Principal
from kschedweb.kubeapi.answering import Asked, Begun
from kschedweb.kubeapi.exchange import Answer, RefusedError, Request
from scheduler_core.apiserver import grouping
from scheduler_core.apiserver.answers import Status
from scheduler_core.apiserver.requests import ObjectKey

MOST_CALLS: Final = 32  # of one transaction
MOST_BYTES: Final = 256 * 1024  # of their bodies, but for the first
LINGER_SECONDS: Final = 0.01  # at most, when there are several clients, for all of them to come with the next
IN_VAIN_SECONDS: Final = 1.0  # after they did not, nobody is waited for
WAIT_SECONDS: Final = 30.0  # until its transaction begins; after that its end is waited for
Result = Answer | Begun | Exception
# Makes a blocking call when it is the token's turn.
Work = Callable[
    [Callable[[Sequence[Request], Principal], list[Result]], Sequence[Request], Principal], Awaitable[list[Result]]
]

log = logging.getLogger(__name__)


class _Waiting(msgspec.Struct, eq=False):
    request: Request
    result: asyncio.Future[Result]


class _Line:
    """Who waits. `is_long` is set once as many wait as are `expected`."""

    def __init__(self) -> None:
        self.waiting: deque[_Waiting] = deque()
        self.is_long = asyncio.Event()
        self._expected = 0

    def append(self, each: _Waiting) -> None:
        self.waiting.append(each)
        if len(self.waiting) >= self._expected:
            self.is_long.set()

    async def grow(self, expected: int) -> bool:
        """Wait for so many, not for long; whether at least half of those that were missing came."""
        self._expected = min(expected, MOST_CALLS)
        missing = self._expected - len(self.waiting)
        if missing > 0:
            self.is_long.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LINGER_SECONDS):
                    await self.is_long.wait()
        return 2 * (self._expected - len(self.waiting)) <= missing


class Regulars:
    """Whose clients come again as soon as they are answered, as far as is known; for all of a process."""

    def __init__(self) -> None:
        self._in_vain_until: dict[Principal, float] = {}  # by the loop's clock

    def may_come(self, who: Principal) -> bool:
        """Whether to wait for them: it was not in vain lately."""
        return asyncio.get_running_loop().time() >= self._in_vain_until.get(who, 0.0)

    def stayed_away(self, who: Principal) -> None:
        """They were waited for in vain."""
        now = asyncio.get_running_loop().time()
        lasting = {other: until for other, until in self._in_vain_until.items() if until > now}
        self._in_vain_until = lasting | {who: now + IN_VAIN_SECONDS}


class Together:
    """The writes that wait, by who made them; for the holder of one token, while any of its requests is answered."""

    def __init__(self, regulars: Regulars) -> None:
        self._regulars = regulars
        self._lines: dict[Principal, _Line] = {}

    async def answer(self, request: Request, who: Principal, work: Work) -> Answer | Begun:
        """The answer to one request, when its transaction has been committed; raises what it raises alone."""
        own = _Waiting(request, asyncio.get_running_loop().create_future())
        line = self._lines.get(who)
        if line is None:
            line = self._lines[who] = _Line()
            asyncio.get_running_loop().create_task(self._answer_all(line, who, work))
        line.append(own)
        await asyncio.wait([own.result], timeout=WAIT_SECONDS)
        if not own.result.done() and own in line.waiting:
            line.waiting.remove(own)
            message = "too many writes of this token are under way, please try again later"
            raise RefusedError(Status(429, "TooManyRequests", message, retry_after_seconds=1))
        result = await own.result
        if isinstance(result, Exception):
            raise result
        return result

    async def _answer_all(self, line: _Line, who: Principal, work: Work) -> None:
        """Answer until nothing waits."""
        while line.waiting:
            together = _first(line.waiting)
            try:
                results = await work(answer_all, [each.request for each in together], who)
            except Exception as error:
                results = [error] * len(together)
            for each, result in zip(together, results, strict=True):
                if not each.result.done():  # its client may have gone
                    each.result.set_result(result)
            clients = len(together) + len(line.waiting)
            if clients > 1 and self._regulars.may_come(who) and not await line.grow(clients):
                self._regulars.stayed_away(who)
        del self._lines[who]


def _first(waiting: deque[_Waiting]) -> list[_Waiting]:
    """Take what waits longest, as far as it belongs into one transaction."""
    found = [waiting.popleft()]
    size = len(found[0].request.body)
    while waiting and len(found) < MOST_CALLS:
        size += len(waiting[0].request.body)
        if size > MOST_BYTES:
            break
        found.append(waiting.popleft())
    return found


def answer_all(requests: Sequence[Request], who: Principal) -> list[Result]:
    """The answers of writes, or what each raises. Blocking."""
    results = _written_together(requests, who) if len(requests) > 1 else {}
    for place, request in enumerate(requests):
        if place not in results:
            try:
                results[place] = answering.answer(request, who)
            except Exception as error:
                results[place] = error
    return [results[place] for place in range(len(requests))]


def _written_together(requests: Sequence[Request], who: Principal) -> dict[int, Result]:
    """The results of those that go together, by their place among the requests."""
    results: dict[int, Result] = {}
    together: dict[ObjectKey | int, tuple[int, Asked]] = {}
    for place, request in enumerate(requests):
        try:
            asked = answering.read(request, who)
        except Exception as error:
            results[place] = error
            continue
        key = None if isinstance(asked, Answer) else grouping.object_of(asked.call)
        if key is not None and key not in together:
            assert isinstance(asked, Asked)
            together[key if key.name else place] = place, asked
    try:
        answers: list[Result] = []
        if len(together) > 1:
            answers += answering.write([asked for _, asked in together.values()], who)
    except OperationalError as error:
        # Whether the transaction was committed may be unknown, so nothing is tried again.
        answers = [error] * len(together)
    except Exception as error:
        # Whose fault it is shows when each is alone.
        log.info("%s writes are carried out one by one: %s", len(together), error)
    return results | {place: answer for (place, _), answer in zip(together.values(), answers, strict=False)}
