"""Answers to calls, before the shell has given them a form.

`RefusedError` ends a call wherever it is found to be wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from scheduler_core.apiserver.answers import Refused, Status
from scheduler_core.apiserver.lists import Page
from scheduler_core.apiserver.requests import Request


class Shown(msgspec.Struct, frozen=True):
    """How objects of a kind that a cluster defines are shown: as clients see a stored one, and several as a table.

    The table is of objects as clients see them, at a time.
    """

    view: Callable[[Mapping[str, Any]], dict[str, Any]]
    table: Callable[[Sequence[Mapping[str, Any]], int], Table]


class Table(msgspec.Struct, frozen=True):
    """Columns as kubectl is told of them, and the cells of each object."""

    columns: list[dict[str, Any]]
    rows: list[list[Any]]


class Reply(msgspec.Struct, frozen=True):
    """The answer. `page` is set for a list and `stored` for an object, so that the shell can show tables of them.

    `shown`: how, of a kind that a cluster defines.
    """

    code: int
    body: Mapping[str, Any]
    warnings: tuple[str, ...] = ()
    retry_after_seconds: int = 0
    page: Page | None = None
    stored: Mapping[str, Any] | None = None
    kind: str = ""
    shown: Shown | None = None


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
