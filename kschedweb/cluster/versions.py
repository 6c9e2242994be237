"""Resource versions: one order of what the Kubernetes API shows, objects and events of the scheduler alike.

A *place* says how far both logs of a cluster have come: (rv, seq). Its version is `rv * PER_CHANGE`, and one more for
each entry of the engine log since the change log came to `rv`. So the version of a change follows from its position
alone, and the events of a step stand between the change before the step and the step's own changes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

# More entries than an engine writes while not one object changes: should it, the last version is that of all the rest.
PER_CHANGE: Final = 100_000_000


@dataclass(frozen=True, slots=True)
class Place:
    """How far both logs have come; `seq_at_rv` is where the engine log ended when the change log came to `rv`."""

    rv: int
    seq: int
    seq_at_rv: int

    @property
    def version(self) -> int:
        return version_of(self.rv, self.seq - self.seq_at_rv)


def version_of(rv: int, entries: int = 0) -> int:
    """The version of the change at `rv`, or of a place so many entries of the engine log after it."""
    return rv * PER_CHANGE + min(entries, PER_CHANGE - 1)


def version_text(rv: int) -> str:
    """The resourceVersion of an object whose last change is at `rv`."""
    return str(version_of(rv))


def rv_of(version: int) -> int:
    """How far the change log had come at a version."""
    return version // PER_CHANGE


def entries_of(version: int) -> int:
    """How many entries of the engine log are counted in a version."""
    return version % PER_CHANGE
