"""Check every two seconds which open WebSockets are still allowed, with one question for all of a process.

A socket closes at the next check after its session or token ended, its role was removed or its account closed. While
the database is away nothing can be decided, and no frames are read from it either.

The decision is made by a Gate, injected in asgi.py: this package stands below the one that knows users.
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
    """Authenticates the openers of sockets and authorizes them."""

    def credential(self, scope: Mapping[str, Any]) -> Hashable | None:
        """The credential of the request, unchecked; None when it has none."""
        ...

    def verdicts(self, watchers: Sequence[Watcher]) -> list[int]:
        """OK or a close code for each; blocking."""
        ...


class Guard:
    """The sockets of this process, each with how to close it; checks only while there are any."""

    def __init__(self, gate: Gate, look_seconds: float = LOOK_SECONDS) -> None:
        self._gate = gate
        self._look_seconds = look_seconds
        self._watched: dict[object, tuple[Watcher, End]] = {}
        self._task: asyncio.Task[None] | None = None
        self._ending: set[asyncio.Future[None]] = set()

    async def verdict(self, watcher: Watcher) -> int:
        """OK, or the code to refuse a new socket with."""
        code: int
        (code,) = await database_sync_to_async(self._gate.verdicts)([watcher])
        return code

    def watch(self, socket: object, watcher: Watcher, end: End) -> None:
        """Call `end` with a code once the watcher may no longer watch."""
        self._watched[socket] = (watcher, end)
        if self._task is None:
            self._task = asyncio.create_task(self._check_forever(), name="live-guard")

    def forget(self, socket: object) -> None:
        self._watched.pop(socket, None)
        if not self._watched and self._task is not None:
            self._task.cancel()
            self._task = None

    async def _check_forever(self) -> None:
        while True:
            await asyncio.sleep(self._look_seconds)
            try:
                await self._check()
            except Exception:
                # Whatever it is, the next check must come.
                log.exception("open WebSockets could not be checked")

    async def _check(self) -> None:
        watched = list(self._watched.items())
        watchers = list(dict.fromkeys(watcher for _, (watcher, _) in watched))
        verdicts = await database_sync_to_async(self._gate.verdicts)(watchers)
        codes = dict(zip(watchers, verdicts, strict=True))
        for socket, (watcher, end) in watched:
            if codes[watcher] != OK and self._watched.pop(socket, None) is not None:
                # Not awaited: a reader that does not read takes the close late or never, and others are to be checked.
                ending = asyncio.ensure_future(end(codes[watcher]))
                self._ending.add(ending)
                ending.add_done_callback(self._ended)

    def _ended(self, ending: asyncio.Future[None]) -> None:
        self._ending.discard(ending)
        if not ending.cancelled() and isinstance(ending.exception(), Exception):
            log.debug("a WebSocket had gone before it was closed: %s", ending.exception())
