"""A decision of another scheduler, tried on the states that it can have had; see decision 0094."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace as evolve
from itertools import chain, product
from operator import attrgetter
from typing import Final

from msgspec.structs import replace

from scheduler_core.api.meta import KubeObject
from scheduler_core.api.pod import Pod
from scheduler_core.config import names
from scheduler_core.cycle.cycle import Cycle
from scheduler_core.framework.reuse import CacheablePlugin, DependsOn
from scheduler_core.model.effects import Attempt, Behind, Comparison
from scheduler_core.scheduler.comparing import (
    EARLIER,
    PLUGIN,
    SAMPLING,
    STATE,
    UNCERTAIN,
    column_of,
    is_tied,
    may_be_sampled,
    refusal,
)
from scheduler_core.scheduler.engine import Engine, Observer
from scheduler_core.scheduler.positions import Position, Room, Verdict, is_at_or_above, least_agreeing, near_agreeing
from scheduler_core.scheduler.recent import (
    BINDING,
    LOOKS_OF_A_CHANGE,
    LOOKS_OF_A_TRY,
    MOST_LOOKS,
    Changed,
    has_a_quick_binding,
    taken_back,
)
from scheduler_core.scheduler.rewinding import decide_aside, rewound
from scheduler_core.scheduler.schedule_one import percentage_of
from scheduler_core.scheduler.watches import OpenDecision

LOOKS_TO_SETTLE: Final = 500_000  # nodes that tries of a decision look at which differs
LOOKS_TO_LEARN: Final = 15_000  # and of one that agrees at once, while there are many to spare


def settled(engine: Engine, observer: Observer, one: OpenDecision) -> Comparison:
    """The comparison of a decision that differs on the state of its binding, as all that can be tried has it."""
    trial, found = _Trial(engine, observer, one), one.found
    position, is_whole = trial.agreeing()
    tries = trial.tries
    if position is not None and not trial.needs_sampling(position):
        observer.watches.note_lateness(one, trial.changes, position)
        trial.learn(LOOKS_TO_SETTLE)
        return replace(found, outcome=EARLIER, cause=STATE, behind=tuple(trial.behind(position)), tries=tries)
    is_proven = position is None and is_whole and not observer.recent.is_cut
    if (is_proven and not trial.agrees_in_another_order()) or found.cause == PLUGIN:
        return replace(found, tries=trial.tries)
    return replace(found, outcome=UNCERTAIN, cause=STATE if position is None else SAMPLING, tries=tries)


def learn(engine: Engine, observer: Observer, one: OpenDecision) -> None:
    """Find where the watches stood at least when it was made; it agrees on the state of its binding."""
    recent = observer.recent
    most = LOOKS_OF_A_TRY + engine.cache.node_count() + LOOKS_OF_A_CHANGE * len(recent.changes)
    if recent.looks > MOST_LOOKS // 2 and most < LOOKS_TO_LEARN:
        _Trial(engine, observer, one).learn(LOOKS_TO_LEARN)


def verdict_of(engine: Engine, attempt: Attempt, cycle: Cycle, node_name: str) -> Verdict:
    """Of an attempt that looked at every node, about a choice of this node."""
    own = attempt.node_name
    if own and (own == node_name or is_tied(attempt, node_name)):
        return Verdict(True)
    if may_be_sampled(attempt, node_name, percentage_of(engine, cycle.profile)):
        return Verdict(True, needs_sampling=True)
    return Verdict(False, _turning(attempt, cycle, node_name), _touching(own, node_name))


class _Trial:
    """A decision at positions at which the other scheduler's watches can have stood. `changes`: by kind, in order."""

    def __init__(self, engine: Engine, observer: Observer, one: OpenDecision) -> None:
        self.engine, self.recent, self.watches, self.one = engine, observer.recent, observer.watches, one
        pod = one.asked.pod
        self.changes = self.recent.bearing_on(pod, one.at)
        self.tries = 0
        everything = chain(self.recent.of(pod), *self.changes.values())
        self._newest_first = sorted(everything, key=attrgetter("place"), reverse=True)
        self._looks = self._most_looks = 0
        top = dict(self.recent.counts)
        floor = {kind: self.recent.floor.get(kind, 0) for kind in top}
        if BINDING in floor:
            near = self.changes.get(BINDING)
            floor[BINDING] = near[0].number - 1 if near else top[BINDING]
        self._is_in_order = has_a_quick_binding(pod)
        least = self.watches.least_at(floor, is_in_order=self._is_in_order)
        known = {kind: one.known.get(kind, 0) for kind in top}
        self._room = Room(self.changes, top, least, known, one.at)
        self._verdicts = {self._told(known): one.verdict}

    def agreeing(self) -> tuple[Position | None, bool]:
        """A position that agrees, as late as lately or else near; and whether all were seen where none does."""
        self._most_looks = LOOKS_TO_SETTLE
        for late in self.watches.hints(self.one, self.changes):
            position = {**self._room.top, **late}
            verdict = self._judge(position) if is_at_or_above(position, self._room.least) else None
            if verdict is not None and verdict.agrees:
                return position, False
        is_whole = False
        for only_likely in (True, False):
            found = near_agreeing(self._room, self._judge, only_likely=only_likely)
            is_whole = found.is_whole
            if found.positions:
                return found.positions[0], False
        return None, is_whole

    def agrees_in_another_order(self) -> bool:
        """Whether it agrees where one binding, or one for another, did not come in the order of the decisions."""
        near, known = self.changes.get(BINDING, ()), self._room.known
        before = [each for each in near if each.number <= known[BINDING]]
        after = [each for each in near if each.number > known[BINDING]]
        swapped = [*((each,) for each in near), *product(before, after)]
        for position in (self._room.known, {**self._room.top, BINDING: known[BINDING]}):
            if not is_at_or_above(position, self._room.least):
                continue
            for those in swapped:
                verdict = self._judge_without_order(position, those)
                if verdict is None or verdict.agrees:
                    return True  # or nobody can say
        return False

    def learn(self, most_looks: int) -> None:
        """Find the least positions that agree. Of pods that are bound late nothing is learned."""
        if not self.changes or not self._is_in_order or self.recent.is_cut:
            return
        self._most_looks = most_looks
        found = least_agreeing(self._room, self._judge).positions
        if found:
            self.watches.learn(self.one.at, found)

    def needs_sampling(self, position: Position) -> bool:
        return self._verdicts[self._told(position)].needs_sampling

    def behind(self, position: Position) -> Iterator[Behind]:
        """What tells the position from the state of the binding, by kind."""
        at = self.one.at
        for kind, found in sorted(self.changes.items()):
            known, here = self._room.known[kind], position[kind]
            unknown = [each for each in found if here < each.number <= known]
            ahead = [each for each in found if known < each.number <= here]
            if unknown:
                yield Behind(kind, len(unknown), at - unknown[0].at)
            elif ahead:
                yield Behind(kind, -len(ahead), at - ahead[-1].at)

    def _judge(self, position: Position) -> Verdict | None:
        told = self._told(position)
        verdict = self._verdicts.get(told)
        if verdict is None:
            verdict = self._tried(taken_back(self._newest_first, position, self.one.asked.uid))
            if verdict is not None:
                self._verdicts[told] = verdict
        return verdict

    def _judge_without_order(self, position: Position, those: Sequence[Changed]) -> Verdict | None:
        """Where of these what is known at the position is not, and what is not is."""
        numbers = {each.place: 0 if each.number > position[each.kind] else position[each.kind] + 1 for each in those}
        changes = (evolve(each, number=numbers.get(each.place, each.number)) for each in self._newest_first)
        return self._tried(taken_back(changes, position, self.one.asked.uid))

    def _tried(self, back: Sequence[Changed]) -> Verdict | None:
        """What the engine decides without these changes; None when no more may be tried."""
        looks = LOOKS_OF_A_TRY + self.engine.cache.node_count() + LOOKS_OF_A_CHANGE * len(back)
        if self._looks + looks > self._most_looks or not self.recent.spend(looks, self.engine.now):
            return None
        self.tries, self._looks = self.tries + 1, self._looks + looks
        with rewound(self.engine, back):
            decided = decide_aside(self.engine, self.one.asked)
            node_name = self.one.found.node_name
            return Verdict(False) if decided is None else verdict_of(self.engine, *decided, node_name)

    def _told(self, position: Position) -> tuple[int, ...]:
        """How many changes of each kind are known: equal where the state is."""
        return tuple(sum(each.number <= position[kind] for each in found) for kind, found in self.changes.items())


def _turning(attempt: Attempt, cycle: Cycle, node_name: str) -> Callable[[Changed], bool]:
    """Which changes may make the node the chosen one: all, or those of nodes that are judged by themselves."""
    order = attempt.node_order.names if attempt.node_order is not None else ()
    if node_name not in order:
        return lambda change: change.node_name == node_name
    refused = refusal(attempt, order.index(node_name))
    if refused is not None:
        by = next((each for each in cycle.profile.filter if each.name == refused.plugin), None)
        if by is not None and _judges_alone(by, cycle.pod):
            return lambda change: change.node_name == node_name
    elif _are_compared_alone(attempt, cycle, attempt.node_name, node_name):
        touches = _touching(attempt.node_name, node_name)
        return lambda change: touches(change) or _has_terms(change.old) or _has_terms(change.new)
    return _anything


def _judges_alone(plugin: object, pod: Pod) -> bool:
    """Whether the plugin judges a node by itself."""
    if not isinstance(plugin, CacheablePlugin):
        return False
    level = plugin.depends_on(pod)
    return level is not None and level <= DependsOn.NODE_INFO


def _are_compared_alone(attempt: Attempt, cycle: Cycle, *node_names: str) -> bool:
    """Whether nothing but these two nodes, which both fit, decides which is the better one."""
    rows, profile, pod = attempt.score_rows, cycle.profile, cycle.pod
    columns = [column_of(attempt, name) for name in node_names]
    if rows is None or None in columns:
        return False
    skipped = attempt.skip_filter_plugins
    if not all(_judges_alone(each, pod) for each in profile.filter if each.name not in skipped):
        return False
    scorers = {each.name: each for each in profile.score}
    for index, (name, _) in enumerate(rows.plugins):
        raw = [int(rows.raw[index, column]) for column in columns if column is not None]
        if name == names.IMAGE_LOCALITY:
            is_alone = not any(raw)  # none of its images is there
        else:
            # What is set in proportion to other nodes is equal where the scores are.
            is_alone = _judges_alone(scorers[name], pod) and (name not in profile.normalizers or raw[0] == raw[1])
        if not is_alone:
            return False
    return True


def _has_terms(obj: KubeObject | None) -> bool:
    """Whether it is a pod that may mind other pods."""
    return isinstance(obj, Pod) and obj.spec.affinity is not None


def _touching(*node_names: str) -> Callable[[Changed], bool]:
    return lambda change: not change.node_name or change.node_name in node_names


def _anything(change: Changed) -> bool:
    return True
