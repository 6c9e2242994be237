"""How one collection is followed: listed page by page, then watched from the list's version on.

    LIST ── a page with a continue token ──▶ LIST (next page)
         └─ the last page ──▶ WATCH: what was stored of the collection and not listed is gone
    WATCH ── events and bookmarks move the position; its end, or an error ──▶ WATCH from the position
          └─ 410 (Expired), as status or as event ──▶ LIST from the beginning

Failures are followed by a pause that doubles up to half a minute, with jitter; something good ends the row of them.
After 429 and 503 the server's Retry-After is kept to. A collection that may not be read (403) or is not served (404) is
asked for again now and then.
Source of the pauses: kubernetes v1.34.1, client-go/tools/cache/reflector.go.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

import msgspec

FIRST_PAUSE: Final = 0.8  # seconds
LONGEST_PAUSE: Final = 30.0
FORBIDDEN_PAUSE: Final = 60.0
ABSENT_PAUSE: Final = 300.0
GONE: Final = 410
_BUSY: Final = (429, 503)


class State(StrEnum):
    """Where a collection stands."""

    LISTING = "listing"
    WATCHING = "watching"
    WAITING = "waiting"  # for the end of a pause after a failure
    FORBIDDEN = "forbidden"
    ABSENT = "absent"  # its kind is not served


class Ask(msgspec.Struct, frozen=True):
    """What to ask next, after a pause of seconds: a page of the list, or a watch from `version` on."""

    is_watch: bool
    version: str = ""
    token: str = ""  # of the page
    pause: float = 0.0


class Stream:
    """One collection being followed. `position` is the version up to which everything is known; empty: nothing is."""

    def __init__(self, position: str = "") -> None:
        self.position = position
        self.state = State.WATCHING if position else State.LISTING
        self.problem = ""
        self._token = ""
        self._pause = 0.0
        self._failures = 0

    @property
    def is_settled(self) -> bool:
        """Whether all of the collection that can be had is known."""
        return bool(self.position) or self.state in (State.FORBIDDEN, State.ABSENT)

    def next(self) -> Ask:
        pause, self._pause = self._pause, 0.0
        if self.position:
            return Ask(True, self.position, pause=pause)
        return Ask(False, token=self._token, pause=pause)

    def on_page(self, version: str, token: str) -> bool:
        """A page came; whether it was the last one."""
        self._well(State.LISTING)
        self._token = token
        if token:
            return False
        self.position = version
        self.state = State.WATCHING
        return True

    def on_begin(self) -> None:
        """The watch is answered; whether it is any good only its events say."""
        self.state, self.problem = State.WATCHING, ""

    def on_version(self, version: str) -> None:
        """An event, or a bookmark, says that everything up to this version is known."""
        self._well(State.WATCHING)
        if version:
            self.position = version

    def on_end(self, *, was_useful: bool) -> None:
        """The watch ended, as they do; one that ends at once, without an event, is a failure."""
        if was_useful:
            self._failures = 0
        else:
            self.on_failure(0, "the watch ended at once", 0.5)

    def on_failure(self, code: int, problem: str, chance: float, retry_after: float = 0.0) -> None:
        """An HTTP status of 400 or above, or 0 for a connection that failed; `chance` is in [0, 1)."""
        self.problem = problem
        if code == GONE:
            # The first time at once: it is what a long absence leads to. A server that always says so is left in peace.
            self.position = self._token = ""
            self.state = State.LISTING
            self._pause = self._backoff(chance) if self._failures else 0.0
            self._failures += 1
            return
        if code in (403, 404):
            self.state = State.FORBIDDEN if code == 403 else State.ABSENT
            self._pause = (FORBIDDEN_PAUSE if code == 403 else ABSENT_PAUSE) * (1 + chance)
            self._token = ""
            return
        self.state = State.WAITING
        self._failures += 1
        self._pause = self._backoff(chance)
        if code in _BUSY:
            self._pause = max(self._pause, retry_after * (1 + chance / 4))

    def _backoff(self, chance: float) -> float:
        longest = min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** min(self._failures - 1, 16)) if self._failures else FIRST_PAUSE
        return longest * (1 + chance) / 2

    def _well(self, state: State) -> None:
        self.state, self.problem, self._failures = state, "", 0
