"""Suggestions for a pod that no node has room for: one change that is enough, else two, the cheapest first.

Everything that is suggested was tried by a cycle of the engine, which gave the pod the node that is named. The engine
has to be the caller's own meanwhile, and is afterwards as it was, but for caches that are warm.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, islice
from typing import Final

from scheduler_core.api.pod import Pod
from scheduler_core.explain.fits import claims, evictions, nodes, pod_fields
from scheduler_core.explain.fits.changes import COSTS, Change, Kind, Place, Suggestion, World, cost_of
from scheduler_core.explain.fits.pod_fields import Relaxation
from scheduler_core.explain.fits.tries import Tries
from scheduler_core.model.node_info import NodeInfo
from scheduler_core.scheduler.engine import Engine

MOST_PAIRS: Final = 200  # that are tried
ENOUGH_PAIRS: Final = 12  # after which no further ones are
MOST_WITH_EVICTIONS: Final = 6  # relaxations that are tried together with evictions

_ORDER: Final = {kind: place for place, kind in enumerate(Kind)}


@dataclass(frozen=True, slots=True)
class Preemption:
    """What preemption would take for the pod as it is; it would then be nominated, and not placed at once."""

    node: str
    victims: tuple[str, ...]
    violations: int


@dataclass(frozen=True, slots=True)
class Fits:
    """`node`: that the pod gets as it is, empty where it gets none; then what would make it fit, the cheapest first.

    `is_gated`: it is not even tried. `nodes`: how many there are; `tried`: cycles that were made for all this.
    `places`: of several pods the nodes that they get as they are, one after another, until one gets none.
    """

    node: str
    is_gated: bool
    nodes: int
    preemption: Preemption | None
    suggestions: tuple[Suggestion, ...]
    tried: int
    places: tuple[Place, ...] = ()


def fits(
    engine: Engine,
    pod: Pod,
    others: Sequence[Pod] = (),
    *,
    needed: tuple[Change, ...] = (),
    costs: Mapping[str, int] = COSTS,
    limit: int = 20,
) -> Fits | None:
    """What would make the pod fit, or it and others of its owner, which are placed after it, all together.

    None where one of them is not tried by this scheduler: it is of no profile, or leaving. `needed`: what has to be
    changed before they are tried at all, besides gates. `costs`: the whole table.
    """
    tries, given = Tries(engine), World(pod, tuple(others))
    if any(each.spec.scheduler_name not in engine.frameworks or each.is_terminating for each in given.pods):
        return None
    with tries.without_extenders():
        gates = pod_fields.gates(given.pods)
        ungated = given
        for gate in gates:
            ungated = gate.edit(ungated)
        places, infos = tries.places(ungated), tries.infos
        node = places[0][1] if len(places) == len(given.pods) else ""
        first = (*needed, *gates)
        search = _Search(engine, tries, first, ungated, infos, costs)
        chosen = None if node or others else tries.preempting(ungated)
        if node:
            found = [search.suggestion((), node)] if first else []
        else:
            found = list(search.singles(preempts=chosen is not None)) or list(search.pairs())
    found.sort(key=_rank)
    return Fits(
        node="" if first else node,
        is_gated=bool(gates),
        nodes=len(infos),
        preemption=None
        if chosen is None
        else Preemption(
            chosen.best.node_name,
            tuple(victim.key for victim in chosen.best.victims),
            chosen.best.num_pdb_violations,
        ),
        suggestions=tuple(found[:limit]),
        tried=tries.count,
        places=places if others and not first else (),
    )


@dataclass(frozen=True, slots=True)
class _Search:
    engine: Engine
    tries: Tries
    first: tuple[Change, ...]  # quotas and gates
    world: World  # the pod without gates
    infos: Sequence[NodeInfo]
    costs: Mapping[str, int]

    def suggestion(
        self, changes: tuple[Change, ...], node: str, victims: tuple[str, ...] = (), violations: int = 0
    ) -> Suggestion:
        changes = (*self.first, *changes)
        world = self._with(changes)
        going = (*(pod.key for pod in world.gone), *victims)
        places = self.tries.places(world) if world.others else ()
        feasible = len({each for _, each in places}) or (1 if victims else len(self.tries.feasible(world)))
        cost = cost_of(changes, len(going), violations, self.costs)
        return Suggestion(changes, node, feasible, cost, going, violations, places)

    def singles(self, *, preempts: bool) -> Iterator[Suggestion]:
        """One change; no priority where preemption finds victims as it is, and none of several pods."""
        for relaxation in self._relaxations():
            if self.tries.feasible(relaxation.edit(self.world)):
                for change in relaxation.refine(self.tries, self.world):
                    yield from self._tried((change,))
        if not preempts and not self.world.others:
            yield from self._preempting()
        for change in evictions.evictions(self.engine, self.tries, self.world):
            yield from self._tried((change,))
        for change in nodes.additions(self.tries, self.world, self.infos):
            yield from self._tried((change,))

    def pairs(self) -> Iterator[Suggestion]:
        """Two relaxations that lift all that keeps the pod from some node; then one of them with evictions."""
        relaxations, kept = list(self._relaxations()), self.tries.keeping(self.world)
        helping = [
            pair
            for pair in combinations(relaxations, 2)
            if any(each <= pair[0].plugins | pair[1].plugins for each in kept)
        ]
        yield from islice(self._of_pairs(helping[:MOST_PAIRS]), ENOUGH_PAIRS)
        for one in relaxations[:MOST_WITH_EVICTIONS]:
            for change in evictions.evictions(self.engine, self.tries, one.edit(self.world))[:1]:
                for first in one.refine(self.tries, change.edit(self.world))[:1]:
                    yield from self._tried((first, change))

    def _of_pairs(self, pairs: Sequence[tuple[Relaxation, Relaxation]]) -> Iterator[Suggestion]:
        for one, other in pairs:
            if self.tries.feasible(other.edit(one.edit(self.world))):
                yield from list(self._both(one, other)) or self._both(other, one)

    def _both(self, one: Relaxation, other: Relaxation) -> Iterator[Suggestion]:
        """The first as small as it may be with all of the other, then the other as small as it may be with that."""
        for first in one.refine(self.tries, other.edit(self.world))[:1]:
            for second in other.refine(self.tries, first.edit(self.world))[:1]:
                yield from self._tried((first, second))

    def _relaxations(self) -> Iterator[Relaxation]:
        yield from pod_fields.relaxations(self.world.pod, self.infos)
        yield from claims.relaxations(self.engine.store, self.world)
        yield from nodes.relaxations(self.world.pod, self.infos)

    def _with(self, changes: Sequence[Change]) -> World:
        world = self.world
        for change in changes:
            world = change.edit(world)
        return world

    def _tried(self, changes: tuple[Change, ...]) -> Iterator[Suggestion]:
        node = self.tries.placed(self._with(changes))
        if node:
            yield self.suggestion(changes, node)

    def _preempting(self) -> Iterator[Suggestion]:
        for change, chosen in evictions.priorities(self.engine, self.tries, self.world, self.infos):
            best = chosen.best
            victims = tuple(victim.key for victim in best.victims)
            yield self.suggestion((change,), best.node_name, victims, best.num_pdb_violations)


def _rank(found: Suggestion) -> tuple[object, ...]:
    """Of equal ones the order in which they were found stays."""
    return found.cost, len(found.changes), [(_ORDER[each.kind], each.share) for each in found.changes]
