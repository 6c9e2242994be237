"""Exceptions of the core: bugs and bad input, never outcomes of scheduling (those are `Status` values).

CoreError
├── ManifestError            an object that cannot be read; names the field
├── AdmissionError           an object the API server would refuse; names the field
├── YamlError                a YAML text that cannot be read, or is larger than allowed; names document and line
├── ConfigError              a scheduler configuration that cannot be used; all problems with their paths
├── CacheCorruptedError      the cache contradicts the cluster; the worker process must end (exit code 1)
├── CheckpointError          a checkpoint of another version or shape
├── ExtenderError            an extender that could not be asked, refused, or answered what cannot be read
├── UnansweredError          an extender that is asked what the record of a step has no answer to
├── WorkloadError            a file that is no workload to measure with, or none of that name
└── TraceError               a stored matrix of another layout, or damaged
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

MAX_EXTENDER_BYTES: Final = 1024  # as notes of events; an index over reasons takes no more than 2,700


class CoreError(Exception):
    """Any error the core raises on purpose."""


class ManifestError(CoreError):
    """The manifest cannot be read: `path` says where, `detail` what was expected."""

    def __init__(self, path: str, detail: str) -> None:
        super().__init__(f"{path}: {detail}" if path else detail)
        self.path = path
        self.detail = detail


class AdmissionError(CoreError):
    """The API server would refuse the object: `path` says which field, `detail` why.

    `problems` are all of them as (path, detail), the first one first. `is_forbidden`: an admission plugin refuses the
    request (403), and `detail` is its message; otherwise the object is invalid (422).
    """

    def __init__(
        self, path: str, detail: str, *, problems: Sequence[tuple[str, str]] = (), is_forbidden: bool = False
    ) -> None:
        super().__init__(f"{path}: {detail}" if path else detail)
        self.path = path
        self.detail = detail
        self.problems = tuple(problems) or ((path, detail),)
        self.is_forbidden = is_forbidden


class YamlError(CoreError):
    """The text cannot be read: `document` (from 1) and `line` (0: unknown) say where, `detail` what is wrong.

    `limit` is the bound that was exceeded, 0 when it was none; `key` one that stands twice.
    """

    def __init__(self, detail: str, *, document: int, line: int = 0, limit: int = 0, key: str | None = None) -> None:
        super().__init__(f"line {line}: {detail}" if line else detail)
        self.detail = detail
        self.document = document
        self.line = line
        self.limit = limit
        self.key = key


@dataclass(frozen=True, slots=True)
class ConfigProblem:
    """One problem of a configuration: `path` leads to the field, `message` says what is wrong without naming it again.

    `line` is the line of the text, 0 where there is no text. `item`: of the list at `path` the item of that name is
    meant. `also`: paths of other fields that the problem depends on. `sentence` is set where the complete sentence is
    not the path with the message. `help` has lines on how to put it right.
    """

    path: str
    message: str
    found: str = ""
    expected: str = ""
    line: int = 0
    item: str = ""
    also: tuple[str, ...] = ()
    sentence: str = ""
    help: str = ""

    def __str__(self) -> str:
        if self.sentence:
            return self.sentence
        return f"{self.path}: {self.message}" if self.path else self.message


class ConfigError(CoreError):
    """The scheduler configuration cannot be used; `problems` are complete sentences, `details` the same in parts."""

    def __init__(self, problems: Sequence[ConfigProblem | str]) -> None:
        self.details = tuple(
            problem if isinstance(problem, ConfigProblem) else ConfigProblem("", problem) for problem in problems
        )
        self.problems = [str(problem) for problem in self.details]
        super().__init__(self.problems[0] if len(self.problems) == 1 else "[" + ", ".join(self.problems) + "]")


class CacheCorruptedError(CoreError):
    """Scheduler cache is corrupted and can badly affect scheduling decisions."""


class CheckpointError(CoreError):
    """The checkpoint has another version or shape than this engine reads."""


class ExtenderError(CoreError):
    """The extender could not be asked, refused, or gave an answer that cannot be read.

    The text may quote what a stranger sent: `extender_text` makes it one that can be stored.
    """

    def __init__(self, text: str) -> None:
        super().__init__(extender_text(text))


class UnansweredError(CoreError):
    """An extender is asked what the record has no answer to: the step goes another way than it went."""

    def __init__(self, extender: str) -> None:
        super().__init__(f'extender "{extender}" is asked what it was not asked then')
        self.extender = extender


def extender_text(text: str) -> str:
    """What an extender says, as it is kept: at most 1,024 bytes of UTF-8, and no character of code 0."""
    data = text.encode(errors="replace")
    if len(data) > MAX_EXTENDER_BYTES:
        data = data[: MAX_EXTENDER_BYTES - len("…".encode())] + "…".encode()
    return data.decode(errors="ignore").replace("\0", "\ufffd")


class WorkloadError(CoreError):
    """The workload to measure with cannot be read or found; the text says which and why."""


class TraceError(CoreError):
    """The stored matrix of an attempt has another layout than this version reads, or is damaged."""
