"""Pods of all nodes as columns: how many pods of some sort each row holds, without walking over the pods.

A pod has a slot for as long as it is on its node. Pods alike in namespace, labels and being deleted share a kind; pods
alike in their affinity terms share those. A rule judges each distinct kind, or set of terms, once and adds up slots.
`rows`, `kind_ids`, `terms_ids`: (n_slots,) int32; kind 0 is that of free slots, terms 0 those of pods without any.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from scheduler_core.api.pod import Pod
from scheduler_core.api.pod_affinity import NO_TERMS, AffinityTerms
from scheduler_core.model.types import PodInfo
from scheduler_core.table.growth import Int32Array, Int64Array, grown
from scheduler_core.table.interning import Interner

_FIRST_CAPACITY = 64


@dataclass(frozen=True, slots=True)
class PodKind:
    """What selectors of pods look at; `labels` are the pairs once more."""

    namespace: str
    label_pairs: tuple[tuple[str, str], ...]
    is_terminating: bool
    labels: Mapping[str, str] = field(compare=False)

    @staticmethod
    def of(pod: Pod) -> PodKind:
        return PodKind(pod.namespace, tuple(sorted(pod.labels.items())), pod.is_terminating, pod.labels)


_NOBODY = PodKind("", (), True, {})


class PodColumns:
    """The pods of the rows; slots are in no particular order."""

    def __init__(self) -> None:
        self._n_rows = 0
        self._kinds: Interner[PodKind] = Interner()
        self._kinds.acquire(_NOBODY)
        self._terms: Interner[AffinityTerms] = Interner()
        self._terms.acquire(NO_TERMS)
        self._slots: Int32Array = np.zeros((3, _FIRST_CAPACITY), dtype=np.int32)
        self._n_slots = 0
        self._free: list[int] = []
        # By row, then by identity: a changed pod is another PodInfo. The PodInfo is held so that its id stays its own.
        self._of_row: dict[int, dict[int, tuple[int, PodInfo]]] = {}
        self._show_slots()

    @property
    def terms(self) -> Sequence[AffinityTerms | None]:
        """The distinct affinity terms by number; None where a number is not in use."""
        return self._terms.values

    def count(self, accepts: Callable[[PodKind], bool]) -> Int64Array:
        """How many pods of an accepted kind each row holds, shape (n_rows,)."""
        accepted = np.array([kind is not None and accepts(kind) for kind in self._kinds.values])
        accepted[0] = False
        if not accepted.any():
            return np.zeros(self._n_rows, dtype=np.int64)
        return np.bincount(self.rows[accepted[self.kind_ids]], minlength=self._n_rows)

    def sum_by_terms(self, amounts: Int64Array) -> Int64Array:
        """The amounts of the pods of each row, added up, shape (n_rows,); `amounts`: (len(terms),), 0 for number 0."""
        by_slot = amounts[self.terms_ids]
        counted = np.flatnonzero(by_slot)
        # bincount adds floats: exact for sums below 2^53.
        sums = np.bincount(self.rows[counted], weights=by_slot[counted], minlength=self._n_rows)
        return sums.astype(np.int64)

    def write(self, row: int, pods: Sequence[PodInfo]) -> None:
        """The row now holds exactly these pods."""
        held = self._of_row.setdefault(row, {})
        now = {id(info): info for info in pods}
        for gone in [key for key in held if key not in now]:
            self._release(held.pop(gone)[0])
        for key, info in now.items():
            if key not in held:
                held[key] = (self._take(row, info), info)
        if not held:
            del self._of_row[row]

    def show(self, n_rows: int) -> None:
        self._n_rows = n_rows

    def _take(self, row: int, info: PodInfo) -> int:
        if self._free:
            slot = self._free.pop()
        else:
            slot = self._n_slots
            self._n_slots += 1
            if self._n_slots > self._slots.shape[1]:
                self._slots = grown(self._slots, 2 * self._slots.shape[1])
            self._show_slots()
        terms = self._terms.acquire(info.terms) if info.has_affinity else 0
        self._slots[:, slot] = row, self._kinds.acquire(PodKind.of(info.pod)), terms
        return slot

    def _release(self, slot: int) -> None:
        _, kind, terms = self._slots[:, slot].tolist()
        self._kinds.release(kind)
        if terms:
            self._terms.release(terms)
        self._slots[:, slot] = 0
        self._free.append(slot)

    def _show_slots(self) -> None:
        self.rows, self.kind_ids, self.terms_ids = self._slots[:, : self._n_slots]
