"""Pods of all nodes as columns: what rules count of them, updated as they come and go.

A pod has a slot for as long as it is on its node. Pods with equal namespace, labels and deletion share a kind; pods
with equal affinity terms share those. Kind 0 is that of free slots, terms 0 those of pods without any. A rule says
what it counts by a key that judges kinds, or terms: the first time all slots are counted, and from then on only tallies
that count a pod hear of it. The tallies least recently asked for are given up beyond a limit.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from operator import is_
from typing import Final, Generic, Protocol, TypeVar

import msgspec
import numpy as np

from scheduler_core.api.pod_affinity import NO_TERMS, AffinityTerm, AffinityTerms, TermList
from scheduler_core.api.selectors import Operator
from scheduler_core.lru import LruDict
from scheduler_core.model.types import PodInfo, PodKind
from scheduler_core.table.growth import Int32Array, Int64Array, grown
from scheduler_core.table.interning import Interner
from scheduler_core.table.tallies import RowTally

MAX_TALLIES: Final = 512  # of kinds, and as many of terms

_FIRST_CAPACITY = 64
_MAX_KNOWN: Final = 4096

Pair = tuple[str, str]

V = TypeVar("V", bound=Hashable)
V_contra = TypeVar("V_contra", contravariant=True)


class Counted(Protocol[V_contra]):
    """The key of a tally: how often it counts pods with these labels, or these terms. Equal keys count the same."""

    def times(self, value: V_contra, /) -> int: ...
    def __hash__(self) -> int: ...


class TermCount(msgspec.Struct, frozen=True, cache_hash=True):
    """How often a term is among the terms of existing pods."""

    listed: TermList
    term: AffinityTerm

    def times(self, terms: AffinityTerms, /) -> int:
        return terms.of_list(self.listed).count(self.term)


_NOBODY = PodKind("", (), True)


class PodColumns:
    """The pods of the rows; slots are in no particular order."""

    def __init__(self) -> None:
        self._capacity = _FIRST_CAPACITY
        self._rows: Int32Array = np.zeros(_FIRST_CAPACITY, dtype=np.int32)  # of slots
        self._n_slots = 0
        self._free: list[int] = []
        self._of_row: dict[int, tuple[list[PodInfo], list[int]]] = {}  # pods and their slots
        self._kinds: _Sorts[PodKind] = _Sorts(_NOBODY)
        self._terms: _Sorts[AffinityTerms] = _Sorts(NO_TERMS)
        # By identity, as pods made from one template share their terms: the number, while it stands for these.
        self._known_terms: LruDict[int, tuple[int, AffinityTerms, AffinityTerms]] = LruDict(_MAX_KNOWN)
        self._term_counts: dict[TermList, dict[AffinityTerm, tuple[TermCount, int]]] = {each: {} for each in TermList}
        # Those of them a pod may satisfy, by a label it needs for that; None: it need not have any.
        self._by_pair: dict[TermList, dict[Pair | None, dict[TermCount, None]]] = {each: {} for each in TermList}
        self.terms_version = 0
        self.lists_in_use: frozenset[TermList] = frozenset()  # in which some pod has a term

    def tally_of_kinds(self, key: Counted[PodKind]) -> RowTally:
        """How many pods of the kinds that the key counts each row holds."""
        return self._kinds.tally(key) or self._kinds.add(key, self._rows[: self._n_slots], self._capacity)

    def tally_of_terms(self, key: Counted[AffinityTerms]) -> RowTally:
        """How often the pods of each row have the terms that the key counts."""
        return self._terms.tally(key) or self._terms.add(key, self._rows[: self._n_slots], self._capacity)

    def has_terms(self, listed: TermList) -> bool:
        """Whether any pod has a term in this list."""
        return listed in self.lists_in_use

    def terms_in(self, listed: TermList, labels: Mapping[str, str]) -> Iterator[TermCount]:
        """The distinct terms pods have in this list, without most of those that cannot speak of a pod with the labels.

        They stay the same while `terms_version` does.
        """
        by_pair = self._by_pair[listed]
        for pair in (None, *labels.items()):
            yield from by_pair.get(pair, ())

    def write(self, row: int, pods: Sequence[PodInfo]) -> None:
        """The row now holds exactly these pods. A changed pod is another PodInfo."""
        held = self._of_row.get(row)
        if held is None:
            if not pods:
                return
            held = self._of_row[row] = ([], [])
        infos, slots = held
        if all(map(is_, infos, pods)):  # nothing but the end differs
            for slot in slots[len(pods) :]:
                self._release(row, slot)
            del infos[len(pods) :], slots[len(pods) :]
            for info in pods[len(infos) :]:
                infos.append(info)
                slots.append(self._take(row, info))
        else:
            left = dict(zip(map(id, infos), slots, strict=True))
            stay = [left.pop(id(info), None) for info in pods]
            for slot in left.values():
                self._release(row, slot)
            slots[:] = [self._take(row, info) if slot is None else slot for info, slot in zip(pods, stay, strict=True)]
            infos[:] = pods
        if not infos:
            del self._of_row[row]

    def show(self, n_rows: int) -> None:
        if n_rows > self._capacity:
            self._capacity = max(2 * self._capacity, n_rows)
            self._kinds.resize(self._capacity)
            self._terms.resize(self._capacity)

    def _take(self, row: int, info: PodInfo) -> int:
        if self._free:
            slot = self._free.pop()
        else:
            slot = self._n_slots
            self._n_slots += 1
            if self._n_slots > len(self._rows):
                self._rows = grown(self._rows, 2 * len(self._rows))
        self._rows[slot] = row
        self._kinds.put(slot, self._kinds.acquire(info.kind)[0], row)
        self._terms.put(slot, self._terms_of(info.terms) if info.has_affinity else 0, row)
        return slot

    def _release(self, row: int, slot: int) -> None:
        self._kinds.take_off(slot, row)
        gone = self._terms.take_off(slot, row)
        if gone is not None:
            self._note_terms(gone, -1)
        self._free.append(slot)

    def _terms_of(self, terms: AffinityTerms) -> int:
        """The number of the terms, held once more."""
        known = self._known_terms.get(id(terms))
        if known is not None and self._terms.holds(known[0], known[1]):
            return known[0]
        number, is_new = self._terms.acquire(terms)
        if is_new:
            self._note_terms(terms, 1)
        self._known_terms[id(terms)] = (number, self._terms.value(number), terms)
        return number

    def _note_terms(self, terms: AffinityTerms, amount: int) -> None:
        """These terms came, or nobody has them any more."""
        self.terms_version += 1
        self._note_counts(terms, amount)
        self.lists_in_use = frozenset(listed for listed, counts in self._term_counts.items() if counts)

    def _note_counts(self, terms: AffinityTerms, amount: int) -> None:
        for listed, counts in self._term_counts.items():
            for term in terms.of_list(listed):
                count, holders = counts.get(term) or (TermCount(listed, term), 0)
                if holders + amount:
                    counts[term] = (count, holders + amount)
                else:
                    del counts[term]
                if holders == 0:
                    for pair in _needed_pairs(term):
                        self._by_pair[listed].setdefault(pair, {})[count] = None
                elif holders + amount == 0:
                    for pair in _needed_pairs(term):
                        del self._by_pair[listed][pair][count]
                        if not self._by_pair[listed][pair]:
                            del self._by_pair[listed][pair]


def _needed_pairs(term: AffinityTerm) -> Sequence[Pair | None]:
    """Labels of which a pod needs one to be spoken of; none when nothing helps, None when it needs none."""
    if term.selector.nothing:
        return ()
    for requirement in term.selector.requirements:
        if requirement.operator == Operator.IN:
            return [(requirement.key, value) for value in dict.fromkeys(requirement.values)]
    return (None,)


class _Sorts(Generic[V]):
    """Pods by what they have in common, a number for each, and the tallies that count some of these numbers.

    Number 0 stands for nothing to count: the value it is made with.
    """

    def __init__(self, nothing: V) -> None:
        self._interner: Interner[V] = Interner()
        self._interner.acquire(nothing)
        self._of_slot: Int32Array = np.zeros(_FIRST_CAPACITY, dtype=np.int32)
        self._tallies: LruDict[Counted[V], RowTally] = LruDict(MAX_TALLIES, dropped=self._drop)
        self._counting: list[list[tuple[RowTally, int]]] = [[]]  # by number: tally, times

    def value(self, number: int) -> V:
        value = self._interner.values[number]
        assert value is not None
        return value

    def holds(self, number: int, value: V) -> bool:
        """Hold the number once more, if it still stands for this very value."""
        if self._interner.values[number] is not value:
            return False
        self._interner.hold(number)
        return True

    def acquire(self, value: V) -> tuple[int, bool]:
        """The number of the value, held once more, and whether it is new."""
        number = self._interner.acquire(value)
        if number == len(self._counting):
            self._counting.append([])
        elif self._interner.holders(number) > 1 or number == 0:
            return number, False
        counting = ((tally, key.times(value)) for key, tally in self._tallies.items())
        self._counting[number] = [(tally, times) for tally, times in counting if times]
        return number, True

    def put(self, slot: int, number: int, row: int) -> None:
        """The slot is of this sort, on this row."""
        if slot >= len(self._of_slot):
            self._of_slot = grown(self._of_slot, 2 * slot)
        self._of_slot[slot] = number
        for tally, times in self._counting[number]:
            tally.change(row, times)

    def take_off(self, slot: int, row: int) -> V | None:
        """The slot is free; the value, when it was the last of its sort."""
        number = self._of_slot.item(slot)
        if number == 0:
            return None
        self._of_slot[slot] = 0
        for tally, times in self._counting[number]:
            tally.change(row, -times)
        value = self._interner.values[number]
        self._interner.release(number)
        return value if self._interner.values[number] is None else None

    def tally(self, key: Counted[V]) -> RowTally | None:
        return self._tallies.use(key)

    def add(self, key: Counted[V], rows: Int32Array, capacity: int) -> RowTally:
        """A tally made from what all slots hold; `rows`: (n_slots,)."""
        values = self._interner.values
        times: Int64Array = np.array([key.times(value) if value is not None else 0 for value in values], dtype=np.int64)
        times[0] = 0
        by_slot = times[self._of_slot[: len(rows)]]
        counted = np.flatnonzero(by_slot)
        # bincount adds floats: exact for sums below 2^53.
        counts = np.bincount(rows[counted], weights=by_slot[counted], minlength=capacity)
        tally = self._tallies[key] = RowTally(counts.astype(np.int64))
        for number in np.flatnonzero(times).tolist():
            self._counting[number].append((tally, int(times[number])))
        return tally

    def resize(self, capacity: int) -> None:
        for tally in self._tallies.values():
            tally.resize(capacity)

    def _drop(self, gone: RowTally) -> None:
        for counting in self._counting:
            counting[:] = [each for each in counting if each[0] is not gone]
