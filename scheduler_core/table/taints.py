"""Taints of all nodes as sets: a rule judges each distinct set once and gathers by `set_ids`.

Sets are equal when keys, values and effects are, in order; when a taint was added does not matter.
`set_ids`: (n_rows,) int32; set 0 is the empty one.
"""

from __future__ import annotations

import numpy as np

from scheduler_core.api.affinity import Taint
from scheduler_core.table.growth import Int32Array, grown
from scheduler_core.table.interning import Interner


class TaintSets:
    """`sets[id]` are the taints of a set, in the order of the node; a number not in use holds no taints."""

    set_ids: Int32Array

    def __init__(self, capacity: int) -> None:
        self.sets: list[tuple[Taint, ...]] = [()]
        self._interner: Interner[tuple[tuple[str, str, str], ...]] = Interner()
        self._interner.acquire(())
        self._set_ids: Int32Array = np.zeros(capacity, dtype=np.int32)
        self.show(0)

    def write(self, row: int, taints: tuple[Taint, ...]) -> None:
        old = int(self._set_ids[row])
        if not taints and old == 0:
            return
        new = 0
        if taints:
            new = self._interner.acquire(tuple((taint.key, taint.value, taint.effect) for taint in taints))
            if new == len(self.sets):
                self.sets.append(taints)
            else:
                self.sets[new] = taints
        self._set_ids[row] = new
        if old:
            self._interner.release(old)
            if self._interner.values[old] is None:
                self.sets[old] = ()

    def resize(self, capacity: int) -> None:
        self._set_ids = grown(self._set_ids, capacity)

    def show(self, n_rows: int) -> None:
        self.set_ids = self._set_ids[:n_rows]
