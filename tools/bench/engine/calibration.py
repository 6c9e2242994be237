"""A fixed piece of work, so that figures taken at different times, or on different machines, can be compared.

Half of it is Python (numbers, a dict, a sorted list), half numpy over columns as long as a cluster of 5,000 nodes: what
the engine's own time is made of. The same work for ever: a changed loop makes old figures worthless.
"""

from __future__ import annotations

import numpy as np

from scheduler_core.ports import Stopwatch

_PYTHON_ROUNDS = 150_000
_NUMPY_ROUNDS = 400
_ROWS, _COLUMNS = 8, 5_000


def calibrate(clock: Stopwatch) -> int:
    """Nanoseconds of the fixed work, the better of two rounds."""
    return min(_timed(clock), _timed(clock))


def _timed(clock: Stopwatch) -> int:
    started = clock()
    _python()
    _numpy()
    return clock() - started


def _python() -> int:
    value, counts = 1, dict.fromkeys(range(256), 0)
    for _ in range(_PYTHON_ROUNDS):
        value = (value * 1_103_515_245 + 12_345) & 0x7FFFFFFF
        counts[value & 255] += 1
    return sorted(counts.values())[128]


def _numpy() -> int:
    columns = np.arange(_ROWS * _COLUMNS, dtype=np.int64).reshape(_ROWS, _COLUMNS)
    scratch = np.empty_like(columns)
    total = 0
    for round_ in range(_NUMPY_ROUNDS):
        np.subtract(columns, round_, out=scratch)
        np.multiply(scratch, 100, out=scratch)
        total += int((scratch >= 50_000).all(axis=0).sum())
    return total
