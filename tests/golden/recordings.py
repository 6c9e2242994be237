"""The recorded decisions: a few of our own, which are part of the project, and those beside it where they are there."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from tests.recordings.record import CYCLES, QUEUE
from tools.conformance.files import Recording, read_recordings

GOLDEN = Path(__file__).resolve().parents[2].parent / "shared" / "golden"


@cache
def recordings(family: str) -> tuple[Recording, ...]:
    """All lines of one family, our own first."""
    name = f"{family}.jsonl.gz"
    beside = tuple(read_recordings(GOLDEN / name)) if GOLDEN.is_dir() else ()
    return (*own_recordings(family), *beside)


def own_recordings(family: str) -> tuple[Recording, ...]:
    """The lines of one family which are part of the project."""
    return tuple(read_recordings(CYCLES / f"{family}.jsonl.gz"))


def queue_recordings(family: str) -> Iterator[dict[str, Any]]:
    """Scenarios and results of one family of operations on the queue, our own first."""
    for folder in (QUEUE, GOLDEN / "queue"):
        if folder.is_dir():
            with gzip.open(folder / f"{family}.jsonl.gz") as lines:
                yield from map(msgspec.json.decode, lines)
