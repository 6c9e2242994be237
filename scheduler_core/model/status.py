"""What a plugin answers: a code, reasons in order, and who said it.

A missing status never travels: success is the constant `SUCCESS`.
Source: kubernetes v1.34.1, pkg/scheduler/framework (Status).
"""

from __future__ import annotations

from enum import IntEnum

import msgspec


class Code(IntEnum):
    """The numeric order is upstream's; names are metric labels and `code` in traces."""

    Success = 0
    Error = 1
    Unschedulable = 2
    UnschedulableAndUnresolvable = 3
    Wait = 4
    Skip = 5
    Pending = 6


CODE_NAMES = tuple(code.name for code in Code)
"""By code: `code.name` takes a microsecond, which counts where every pod is measured."""

_REJECTED = frozenset({Code.Unschedulable, Code.UnschedulableAndUnresolvable, Code.Pending})


class Status(msgspec.Struct, frozen=True, cache_hash=True, gc=False):
    """`error` is the text of a failure; it comes first among the reasons. `plugin` is who caused it."""

    code: Code
    reasons_given: tuple[str, ...] = ()
    error: str | None = None
    plugin: str = ""

    @staticmethod
    def failed(error: str, *, plugin: str = "") -> Status:
        """An internal failure: the pod is retried after error backoff, no plugin is blamed."""
        return Status(Code.Error, error=error, plugin=plugin)

    @staticmethod
    def unschedulable(*reasons: str, plugin: str = "") -> Status:
        """Does not fit now; evicting pods might help."""
        return Status(Code.Unschedulable, reasons, plugin=plugin)

    @staticmethod
    def unresolvable(*reasons: str, plugin: str = "") -> Status:
        """Does not fit now, and evicting pods cannot help."""
        return Status(Code.UnschedulableAndUnresolvable, reasons, plugin=plugin)

    @staticmethod
    def pending(*reasons: str, plugin: str = "") -> Status:
        """Decided, but somebody outside must act first."""
        return Status(Code.Pending, reasons, plugin=plugin)

    @property
    def is_success(self) -> bool:
        return self.code is Code.Success

    @property
    def is_wait(self) -> bool:
        return self.code is Code.Wait

    @property
    def is_skip(self) -> bool:
        return self.code is Code.Skip

    @property
    def is_rejected(self) -> bool:
        return self.code in _REJECTED

    @property
    def reasons(self) -> tuple[str, ...]:
        return self.reasons_given if self.error is None else (self.error, *self.reasons_given)

    @property
    def message(self) -> str:
        return ", ".join(self.reasons)

    def by(self, plugin: str) -> Status:
        """Copy the status, blamed on `plugin`."""
        return self if self.plugin == plugin else Status(self.code, self.reasons_given, self.error, plugin)


SUCCESS = Status(Code.Success)
SKIP = Status(Code.Skip)
WAIT = Status(Code.Wait)
