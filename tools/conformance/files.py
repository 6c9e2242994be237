"""Reading recordings: one JSON object `{"scenario": …, "result": …}` per line, plain or gzipped.

A folder means the `*.jsonl.gz` directly in it. The family is the file's name. The first line tells what a file is,
scheduling cycles or operations on the queue; anything else, or another kind further down, raises `UnreadableError`.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from scheduler_core.errors import CoreError

_GZIP = b"\x1f\x8b"


class UnreadableError(CoreError):
    """A path that is no recording this tool reads; the text says why."""


@dataclass(frozen=True, slots=True)
class Recording:
    """One line: the scenario that was run, and what was recorded of it."""

    family: str
    scenario: dict[str, Any]
    result: dict[str, Any]

    @property
    def is_of_queue(self) -> bool:
        """Operations on the queue, not scheduling cycles."""
        return "ops" in self.scenario


def recording_files(paths: Sequence[str]) -> list[Path]:
    """The files meant by the arguments, folders opened up."""
    files: list[Path] = []
    for path in map(Path, paths):
        if path.is_dir():
            inside = sorted(path.glob("*.jsonl.gz"))
            if not inside:
                raise UnreadableError(f"{path}: no *.jsonl.gz directly in this folder")
            files += inside
        elif path.is_file():
            files.append(path)
        else:
            raise UnreadableError(f"{path}: no such file or folder")
    return files


def family_of(path: Path) -> str:
    return path.name.removesuffix(".gz").removesuffix(".jsonl")


def read_recordings(path: Path) -> Iterator[Recording]:
    """The lines of one file."""
    try:
        lines = _lines(path)
        of_queue: bool | None = None
        for number, line in enumerate(lines, start=1):
            recording = _recording(path, number, line)
            if of_queue not in (None, recording.is_of_queue):
                raise UnreadableError(f"{path}, line {number}: not of the kind the file began with")
            of_queue = recording.is_of_queue
            yield recording
    except (OSError, EOFError, zlib.error) as error:
        raise UnreadableError(f"{path}: {error}") from error


def _lines(path: Path) -> Iterator[bytes]:
    with path.open("rb") as raw:
        gzipped = raw.read(2) == _GZIP
    with gzip.open(path) if gzipped else path.open("rb") as stream:
        yield from (line for line in stream if line.strip())


def _recording(path: Path, number: int, line: bytes) -> Recording:
    try:
        read: Any = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UnreadableError(f"{path}, line {number}: {error}") from error
    scenario = read.get("scenario") if isinstance(read, dict) else None
    result = read.get("result") if isinstance(read, dict) else None
    if isinstance(scenario, dict) and isinstance(result, dict):
        for given, recorded in (("pending", "cycles"), ("ops", "steps")):
            if given in scenario and isinstance(result.get(recorded), list):
                return Recording(family_of(path), scenario, result)
    raise UnreadableError(f"{path}, line {number}: not a recorded scheduling scenario, nor one of the queue")
