"""Exceptions of the core: bugs and bad input, never outcomes of scheduling (those are `Status` values).

CoreError
├── ManifestError            an object that cannot be read; names the field
├── AdmissionError           an object the API server would refuse; names the field
├── ConfigError              a scheduler configuration that cannot be used; all problems with their paths
├── CacheCorruptedError      the cache contradicts the cluster; the worker process must end (exit code 1)
├── CheckpointError          a checkpoint of another version or shape
├── ExtenderError            an extender that could not be asked, refused, or answered what cannot be read
├── WorkloadError            a file that is no workload to measure with, or none of that name
└── TraceError               a stored matrix of another layout, or damaged
"""

from __future__ import annotations


class CoreError(Exception):
    """Any error the core raises on purpose."""


class ManifestError(CoreError):
    """The manifest cannot be read: `path` says where, `detail` what was expected."""

    def __init__(self, path: str, detail: str) -> None:
        super().__init__(f"{path}: {detail}" if path else detail)
        self.path = path
        self.detail = detail


class AdmissionError(CoreError):
    """The API server would refuse the object: `path` says which field, `detail` why."""

    def __init__(self, path: str, detail: str) -> None:
        super().__init__(f"{path}: {detail}" if path else detail)
        self.path = path
        self.detail = detail


class ConfigError(CoreError):
    """The scheduler configuration cannot be used; `problems` are complete sentences with field paths."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__(problems[0] if len(problems) == 1 else "[" + ", ".join(problems) + "]")
        self.problems = problems


class CacheCorruptedError(CoreError):
    """Scheduler cache is corrupted and can badly affect scheduling decisions."""


class CheckpointError(CoreError):
    """The checkpoint has another version or shape than this engine reads."""


class ExtenderError(CoreError):
    """The extender could not be asked, refused, or gave an answer that cannot be read."""


class WorkloadError(CoreError):
    """The workload to measure with cannot be read or found; the text says which and why."""


class TraceError(CoreError):
    """The stored matrix of an attempt has another layout than this version reads, or is damaged."""
