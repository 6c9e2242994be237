"""What is known of another scheduler's watches: the least positions they can stand at, and how late they were."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from scheduler_core.model.effects import Comparison
from scheduler_core.model.types import QueuedPodInfo
from scheduler_core.scheduler.positions import Changes, Position, Verdict, joined, minima
from scheduler_core.scheduler.recent import BINDING, SETTLED_US

MOST_HINTS: Final = 3


@dataclass(frozen=True, slots=True)
class OpenDecision:
    """A decision of the other scheduler whose binding came `at` this time, and all that was known here then, by kind.

    `verdict` and `found` are of that state; `is_told`: it agreed, and only teaches where the watches stood.
    """

    at: int
    known: Position
    asked: QueuedPodInfo
    found: Comparison
    verdict: Verdict
    is_told: bool


@dataclass(slots=True)
class Watches:
    """`least`: positions of which the watches are at or above one, by decisions up to those of 0.1 s before the oldest
    open one: within that time bindings may come in another order than that of the decisions."""

    open: deque[OpenDecision] = field(default_factory=deque)
    least: Sequence[Position] = ({},)
    _learned: deque[tuple[int, Sequence[Position]]] = field(default_factory=deque)
    _late: deque[Mapping[str, int]] = field(default_factory=lambda: deque(maxlen=MOST_HINTS))  # by kind

    def next_settling(self) -> int | None:
        """When a decision can be judged; what agreed at once can wait for the next step."""
        return next((each.at + SETTLED_US for each in self.open if not each.is_told), None)

    def settles(self, now: int) -> OpenDecision | None:
        """The oldest open decision, when all is here that it can have been made on."""
        return self.open[0] if self.open and self.open[0].at + SETTLED_US <= now else None

    def rise(self) -> None:
        """Take over what was learned of decisions that are surely before the oldest open one."""
        while self._learned and self._learned[0][0] <= self.open[0].at - SETTLED_US:
            self.least = joined(self.least, self._learned.popleft()[1])

    def learn(self, at: int, positions: Sequence[Position]) -> None:
        """Of a decision whose binding came at that time: it was made at or above one of these."""
        known = ({kind: number for kind, number in each.items() if kind != BINDING} for each in positions)
        self._learned.append((at, minima(known)))

    def least_at(self, floor: Position, *, is_in_order: bool) -> Sequence[Position]:
        """The least positions of a decision, none of them below the floor, of all the kinds that it names."""
        least = self.least if is_in_order else ({},)
        return minima({kind: max(each.get(kind, 0), number) for kind, number in floor.items()} for each in least)

    def note_lateness(self, one: OpenDecision, changes: Changes, position: Position) -> None:
        """Remember how late they were when they stood there."""
        late = dict(self._late[0]) if self._late else {}
        for kind, found in changes.items():
            if kind != BINDING:
                unknown = (one.at - each.at for each in found if position[kind] < each.number <= one.known.get(kind, 0))
                late[kind] = max(unknown, default=-1)
        if late in self._late:
            self._late.remove(late)
        self._late.appendleft(late)

    def hints(self, one: OpenDecision, changes: Changes) -> Iterator[Position]:
        """Where they stood if they were as late as lately, in these kinds."""
        for late in self._late:
            yield {
                kind: max(
                    (each.number for each in found if one.at - each.at > late.get(kind, -1)
                     and each.number <= one.known.get(kind, 0)),
                    default=found[0].number - 1,
                )
                for kind, found in changes.items()
            }  # fmt: skip
