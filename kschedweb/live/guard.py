"""Looks again, every two seconds, whether the open WebSockets may still be open; one question for all of a process.

A session that ends, a token that is revoked or runs out, a role that is taken away, an account that is closed: the
socket closes at the next look. While the database is away nothing can be decided, and nothing is read from it either.

Who decides is a Gate, given from above (asgi.py): this package stands below the one that knows users.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from typing import Any, Protocol

from channels.db import database_sync_to_async

LOOK_SECONDS = 2.0
OK = 0

log = logging.getLogger(__name__)

Watcher = tuple[Hashable, int]  # who, by what they brought; and the cluster they watch
End = Callable[[int], Awaitable[None]]


class Gate(Protocol):
    """Knows who somebody is and what they may watch."""

    def credential(self, scope: Mapping[str, Any]) -> Hashable | None:
        """What the opener of a socket brought, without looking whether it is worth anything; None: nothing at all."""
        ...

    def verdicts(self, watchers: Sequence[Watcher]) -> list[int]:
        """For each OK or the code to close with; blocking."""
        ...


class Guard:
    """The sockets of this process, each with how to end it; looks only while there are any."""

    def __init__(self, gate: Gate, look_seconds: float = LOOK_SECONDS) -> None:
        self._gate = gate
        self._look_seconds = look_seconds
        self._watched: dict[object, tuple[Watcher, End]] = {}
        self._task: asyncio.Task[None] | None = None
        self._ending: set[asyncio.Future[None]] = set()

    async def verdict(self, watcher: Watcher) -> int:
        """Whether one may come in."""
        code: int
        (code,) = await database_sync_to_async(self._gate.verdicts)([watcher])
        return code

    def watch(self, socket: object, watcher: Watcher, end: End) -> None:
        """Call `end` with a code once the watcher may no longer watch."""
        self._watched[socket] = (watcher, end)
        if self._task is None:
            self._task = asyncio.create_task(self._look_forever(), name="live-guard")

    def forget(self, socket: object) -> None:
        self._watched.pop(socket, None)
        if not self._watched and self._task is not None:
            self._task.cancel()
            self._task = None

    async def _look_forever(self) -> None:
        while True:
            await asyncio.sleep(self._look_seconds)
            try:
                await self._look()
            except Exception:
                # Whatever it is, the next look must come.
                log.exception("open WebSockets could not be checked")

    async def _look(self) -> None:
        watched = list(self._watched.items())
        watchers = list(dict.fromkeys(watcher for _, (watcher, _) in watched))
        verdicts = await database_sync_to_async(self._gate.verdicts)(watchers)
        codes = dict(zip(watchers, verdicts, strict=True))
        for socket, (watcher, end) in watched:
            if codes[watcher] != OK and self._watched.pop(socket, None) is not None:
                # Not waited for: whoever does not read takes the close late or never, and others are to be looked at.
                ending = asyncio.ensure_future(end(codes[watcher]))
                self._ending.add(ending)
                ending.add_done_callback(self._ended)

    def _ended(self, ending: asyncio.Future[None]) -> None:
        self._ending.discard(ending)
        if not ending.cancelled() and isinstance(ending.exception(), Exception):
            log.debug("a WebSocket had gone before it was closed: %s", ending.exception())
