"""Answers to calls, before the shell has given them a form.

`RefusedError` ends a call wherever it is found to be wrong.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from scheduler_core.apiserver.answers import Refused, Status
from scheduler_core.apiserver.lists import Page
from scheduler_core.apiserver.requests import Request


class Reply(msgspec.Struct, frozen=True):
    """The answer. `page` is set for a list and `stored` for an object, so that the shell can show tables of them."""

    code: int
    body: Mapping[str, Any]
    warnings: tuple[str, ...] = ()
    retry_after_seconds: int = 0
    page: Page | None = None
    stored: Mapping[str, Any] | None = None
    kind: str = ""


class Asked(msgspec.Struct, frozen=True):
    """What a call asks of the rules: one request, and what its answer says besides. `code` is that of success."""

    request: Request
    code: int
    is_dry_run: bool = False
    warnings: Sequence[str] = ()


class RefusedError(Exception):
    """The call is answered with a refusal."""

    def __init__(self, refused: Refused) -> None:
        super().__init__(refused.status.message)
        self.refused = refused


def status_reply(status: Status) -> Reply:
    """Return the status as an answer."""
    return Reply(status.code, status.manifest(), retry_after_seconds=status.retry_after_seconds)
