"""What keeps a workload from being run, or from coming to its end."""

from __future__ import annotations

from scheduler_core.errors import CoreError


class NotSupported(CoreError):
    """The workload asks for something that does not exist here; the text names it."""


class WorkloadFailed(CoreError):
    """The workload did not come to its end; the text says where it stood."""
