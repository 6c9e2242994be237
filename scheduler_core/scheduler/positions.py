"""Where the watches of another scheduler can have stood: a position for each kind, and the search among them.

A position is the number of the newest change of its kind that is known; a kind that is not named is known in full. No
watch goes back, so a decision was made at or above the positions of the one before it. What is known of them is a set
of least positions: they stood at or above one of these.

Between two positions a verdict is the same unless a change lies between them that may turn it; what may is said by the
verdict. So both searches pass from one such change to the next, and see all positions nevertheless.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Final

from scheduler_core.scheduler.recent import Changed

MOST_LEAST: Final = 8  # positions of a set; more become one below them all

Position = Mapping[str, int]
Changes = Mapping[str, Sequence[Changed]]
"""By kind, in order."""


def _nothing(change: Changed) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the engine decides at a position. `turns`: whether a change may turn a verdict that does not agree;
    `likely`: whether it is one of those that mostly do. `needs_sampling`: it agrees if the other scheduler did not look
    at the better nodes."""

    agrees: bool
    turns: Callable[[Changed], bool] = _nothing
    likely: Callable[[Changed], bool] = _nothing
    needs_sampling: bool = False


Judge = Callable[[Position], Verdict | None]
"""None: no more may be tried."""


@dataclass(frozen=True, slots=True)
class Found:
    """What a search came to. `is_whole`: everything was tried that could have turned out otherwise."""

    positions: Sequence[Position]
    is_whole: bool


@dataclass(frozen=True, slots=True)
class Room:
    """All positions of the kinds of `changes` up to `top`, at or above one of `least`; `known`: what was, `at` the time
    of the binding."""

    changes: Changes
    top: Position
    least: Sequence[Position]
    known: Position
    at: int

    def distance(self, position: Position) -> tuple[int, int, int]:
        """The longest time by which a kind is behind or ahead of what was known; the sum of all; how many changes."""
        longest, total, count = 0, 0, 0
        for kind, of_kind in self.changes.items():
            low, high = sorted((position[kind], self.known[kind]))
            off = [abs(self.at - each.at) for each in of_kind if low < each.number <= high]
            if off:
                longest, total, count = max(longest, *off), total + max(off), count + len(off)
        return longest, total, count


def near_agreeing(room: Room, judge: Judge, *, only_likely: bool = False) -> Found:
    """A position that agrees; those that are near to what was known are tried first."""
    kinds, top = sorted(room.changes), room.top
    todo = [(room.distance(top), _told(top), dict(top))]
    seen = {_told(top)}
    while todo:
        _, _, position = heappop(todo)
        verdict = judge(position)
        if verdict is None:
            return Found((), False)
        if verdict.agrees:
            return Found((position,), True)
        turns = verdict.likely if only_likely else verdict.turns
        for kind in kinds:
            upto = position[kind]
            turning = next((c for c in reversed(room.changes[kind]) if c.number <= upto and turns(c)), None)
            if turning is None:
                continue
            lower = {**position, kind: turning.number - 1}
            told = _told(lower)
            if told not in seen and is_at_or_above(lower, room.least):
                seen.add(told)
                heappush(todo, (room.distance(lower), told, lower))
    return Found((), not only_likely)


def least_agreeing(room: Room, judge: Judge) -> Found:
    """The least positions at which the verdict agrees. Where not all was tried, those that may are at or above them."""
    kinds = sorted(room.changes)
    todo = [(sum(each.values()), _told(each), dict(each)) for each in room.least]
    seen = {told for _, told, _ in todo}
    todo.sort()
    found: list[Position] = []
    while todo:
        _, _, position = heappop(todo)
        if is_at_or_above(position, found):
            continue
        verdict = judge(position)
        if verdict is None:
            return Found(minima([*found, position, *(each for _, _, each in todo)]), False)
        if verdict.agrees:
            found.append(position)
            continue
        for kind in kinds:
            known, upto = position[kind], room.top[kind]
            turning = next((c for c in room.changes[kind] if known < c.number <= upto and verdict.turns(c)), None)
            if turning is None:
                continue
            higher = {**position, kind: turning.number}
            told = _told(higher)
            if told not in seen:
                seen.add(told)
                heappush(todo, (sum(higher.values()), told, higher))
    return Found(found, True)


def joined(ours: Iterable[Position], theirs: Sequence[Position]) -> list[Position]:
    """The least positions that are at or above one of each."""
    return minima({kind: max(one.get(kind, 0), other.get(kind, 0)) for kind in one.keys() | other.keys()}
                  for one in ours for other in theirs)  # fmt: skip


def is_at_or_above(position: Position, least: Iterable[Position]) -> bool:
    """Whether it is nowhere below one of these; what they do not name is no bound."""
    return any(all(position.get(kind, bound) >= bound for kind, bound in each.items()) for each in least)


def minima(positions: Iterable[Position]) -> list[Position]:
    """Those that are above no other; one below all of them where they are too many."""
    found: list[Position] = []
    for each in sorted(positions, key=lambda p: (sum(p.values()), _told(p))):
        if not is_at_or_above(each, found):
            found.append(each)
    if len(found) > MOST_LEAST:
        return [{kind: min(each.get(kind, 0) for each in found) for kind in found[0]}]
    return found


def _told(position: Position) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(position.items()))
