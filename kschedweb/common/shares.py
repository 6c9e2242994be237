"""Whoever has logged in has a share of a web process, and not all of it, however much they ask for at once.

A few requests of each session or token are worked on at a time, so that they leave database connections, and the turns
of the interpreter, to others; they count from the end of their body to the beginning of their answer. A few more are
open at a time, because an answer that nobody takes is kept. The rest waits, in the event loop, where waiting costs
nothing. Strangers have no share: what they may ask for is little, and behind a proxy all of them look alike.
"""

import asyncio
from collections.abc import Callable, Hashable
from dataclasses import dataclass

from kschedweb.common.asgi import Application, Message, Receive, Scope, Send
from kschedweb.common.bodies import Refused

AT_WORK = 3
OPEN = 8
WAIT_SECONDS = 30.0


@dataclass(slots=True)
class _Share:
    """`requests`: how many hold it or wait for it."""

    at_work: asyncio.Semaphore
    open: asyncio.Semaphore
    requests: int = 0


class Shares:
    """An HTTP application in front of another, behind Bodies; `holder` tells whose share a request takes from."""

    def __init__(
        self, application: Application, holder: Callable[[Scope], Hashable | None], seconds: float = WAIT_SECONDS
    ) -> None:
        self._application = application
        self._holder = holder
        self._seconds = seconds
        self._shares: dict[Hashable, _Share] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        holder = self._holder(scope)
        if holder is None:
            await self._application(scope, receive, send)
            return
        share = self._shares.setdefault(holder, _Share(asyncio.Semaphore(AT_WORK), asyncio.Semaphore(OPEN)))
        share.requests += 1
        try:
            try:
                await asyncio.wait_for(share.open.acquire(), self._seconds)
            except TimeoutError:
                raise Refused(429, "too_many", f"{OPEN} requests of yours are under way", most=OPEN) from None
            try:
                await self._work(share, scope, receive, send)
            finally:
                share.open.release()
        finally:
            share.requests -= 1
            if not share.requests:
                del self._shares[holder]

    async def _work(self, share: _Share, scope: Scope, receive: Receive, send: Send) -> None:
        is_read = is_at_work = False

        async def received() -> Message:
            nonlocal is_read, is_at_work
            message = await receive()
            if not is_read and not message.get("more_body"):
                is_read = True
                await share.at_work.acquire()
                is_at_work = True
            return message

        def leave() -> None:
            nonlocal is_at_work
            if is_at_work:
                is_at_work = False
                share.at_work.release()

        async def sent(message: Message) -> None:
            leave()
            await send(message)

        try:
            await self._application(scope, received, sent)
        finally:
            leave()
