"""Why a moment cannot be had, or steps cannot be made again."""

from __future__ import annotations

from datetime import datetime

from kschedweb.common.errors import ApplicationError, GoneError, InvalidError


class HistoryCutError(GoneError):
    """The position lies before what retention has left; `extra` says where history begins, and when if known."""

    def __init__(self, rv: int, seq: int, *, since: datetime | None = None) -> None:
        when = "" if since is None else f" ({since.isoformat()})"
        extra = {} if since is None else {"since": since.isoformat()}
        text = f"history begins at {rv}.{seq}{when}: what was before has been cleared away"
        super().__init__(text, rv=rv, seq=seq, **extra)


class FutureError(InvalidError):
    """The position has not come yet."""

    def __init__(self, asked: str, rv: int, seq: int) -> None:
        super().__init__(f"{asked} has not come yet: the logs end at {rv}.{seq}", rv=rv, seq=seq)


class NotReplayableError(ApplicationError):
    """The record of a step does not suffice to make it again; the message says what is missing."""

    code = "not_replayable"
    status_code = 409


class DamagedError(NotReplayableError):
    """What is kept of the past cannot be read back: it has changed since it was written."""

    code = "damaged"
