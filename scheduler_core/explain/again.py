"""One cycle of a recorded step, run again with everything observed: node by node, nodes never looked at among them.

The cycle is the engine's own and runs as it ran. Between its filters and what follows from them the same is asked once
more in the plain form, of every node, on a state of its own: nothing is changed by it, and nothing is drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import msgspec
import numpy as np

from scheduler_core.cycle.cycle import Cycle
from scheduler_core.cycle.filtering import PreFilterOutcome, nominated_that_count
from scheduler_core.cycle.runner import PlainRunner
from scheduler_core.cycle.view import PickedNodes
from scheduler_core.errors import UnansweredError
from scheduler_core.explain.trials import Trials
from scheduler_core.framework.cycle_state import CycleState
from scheduler_core.framework.hints import EXTENDER
from scheduler_core.framework.roles import DomainTeller
from scheduler_core.framework.runtime import refusal
from scheduler_core.model.amounts import Amounts, merged
from scheduler_core.model.effects import Attempt, Effects, ScoreRows
from scheduler_core.model.node_info import NodeInfo
from scheduler_core.model.observed import DomainCounts, Observation, ObservedNode
from scheduler_core.model.status import SUCCESS, Code, Status
from scheduler_core.model.types import Diagnosis, PodInfo
from scheduler_core.scheduler import recorded
from scheduler_core.scheduler.engine import Engine
from scheduler_core.scheduler.recorded import RecordedStep
from scheduler_core.scheduler.scheduler import Scheduler

_RUNNER = PlainRunner()


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which nodes are told of one by one: those of these names, else a page of all in the order of the walk."""

    names: frozenset[str] | None = None
    offset: int = 0
    limit: int = 100


def attempt_again(
    scheduler: Scheduler, step: RecordedStep, place: int, wanted: Wanted
) -> tuple[Effects, Observation | None]:
    """Make a recorded step again up to its attempt at this place, the first being 0, and observe that one.

    The engine is afterwards within the step. Nothing was observed where the attempt ended before its filters did.
    """
    engine = scheduler.engine
    seen: list[Observation] = []
    effects = cycle_witnessed(
        scheduler, step, place, lambda cycle, feasible: seen.append(observed(engine, cycle, feasible, wanted))
    )
    return effects, seen[0] if seen else None


def cycle_witnessed(
    scheduler: Scheduler, step: RecordedStep, place: int, look: Callable[[Cycle, PickedNodes], None]
) -> Effects:
    """Make a recorded step again up to its attempt at this place, with somebody who looks on once its filters ran."""
    engine = scheduler.engine

    def witness(cycle: Cycle, feasible: PickedNodes) -> None:
        if len(engine.effects.attempts) == place + 1:
            look(cycle, feasible)

    engine.witness = witness
    try:
        return recorded.repeat(scheduler, replace(step, cycles=place + 1))
    finally:
        engine.witness = None


def attempt_with(scheduler: Scheduler, step: RecordedStep, place: int, plugin: str, weight: int) -> Attempt:
    """Make the attempt at this place again with another weight of a plugin; 0: its scores do not count at all.

    Only what it says of the node it chose, and those tied with it, is of use: another node may be refused afterwards by
    who was never asked about it. The engine is afterwards within the step.
    """
    engine = scheduler.engine

    def weigh(cycle: Cycle, feasible: PickedNodes) -> None:
        if len(engine.effects.attempts) == place + 1:
            cycle.profile = cycle.profile.reweighted(plugin, weight)

    engine.witness = weigh
    try:
        recorded.repeat(scheduler, replace(step, cycles=place + 1))
    except UnansweredError:
        if len(engine.effects.attempts) <= place:
            raise
    finally:
        engine.witness = None
    return engine.effects.attempts[place]


def observed(engine: Engine, cycle: Cycle, feasible: PickedNodes, wanted: Wanted) -> Observation:
    """What is to be seen of a cycle whose filters have run, and which has found these nodes."""
    plain = msgspec.structs.replace(cycle, state=CycleState(), diagnosis=Diagnosis())
    outcome = _RUNNER.pre_filter(plain)
    looked_at = _looked_at(cycle)
    named = None if outcome.node_names is None else set(cycle.view.named(outcome.node_names).tolist())
    statuses = [
        _with_extenders(_verdict(plain, outcome, named, cycle, node), looked_at.get(node))
        for node in range(len(cycle.view.infos))
    ]
    order = [*looked_at, *(node for node in cycle.view.walk_from(cycle.start)[0].tolist() if node not in looked_at)]
    scored = cycle.sent_back if cycle.sent_back is not None else feasible
    compares = len(feasible) > 1 and bool(cycle.profile.score or engine.extenders)
    scores = _scores(plain, scored) if compares else None
    counts = _counts(plain, scored)
    fitting = [node for node in order if statuses[node].is_success]
    chosen = feasible.nodes.tolist()
    all_scores = scores
    if set(fitting) == set(chosen) and scores is not None:
        fitting = chosen  # normalising takes the nodes in their order
    elif fitting:
        all_scores = _scores(plain, cycle.view.pick(np.array(fitting, dtype=np.int32)))
        counts = counts if compares else _counts(plain, plain.view.pick(np.array(fitting, dtype=np.int32)))
    picked = _picked(cycle, order, wanted)
    trials = Trials(engine, plain, cycle.diagnosis) if not len(feasible) else None
    is_judged = outcome.status.is_success
    return Observation(
        statuses=statuses,
        order=order,
        looked_at=len(looked_at),
        found=len(order) if wanted.names is None else len(picked),
        nodes=[
            _node(
                plain, node, node in looked_at, statuses[node], trials, is_judged and (named is None or node in named)
            )
            for node in picked
        ],
        feasible=chosen,
        fitting=fitting,
        scores=scores,
        all_scores=all_scores,
        counts=counts,
    )


def contradiction(seen: Observation, attempt: Attempt) -> tuple[str, object, object] | None:
    """The first thing that the attempt says otherwise than what was observed: what, as attempted, as observed."""
    return next(_contradictions(seen, attempt), None)


def _contradictions(seen: Observation, attempt: Attempt) -> Iterator[tuple[str, object, object]]:
    names = attempt.node_order.names if attempt.node_order is not None else ()
    rows, scores = attempt.filter_rows, attempt.score_rows
    for node, code in zip(rows.nodes.tolist(), rows.codes.tolist(), strict=True) if rows is not None else ():
        status = rows.statuses[code - 1] if code and rows is not None else SUCCESS
        if status != seen.statuses[node]:
            yield f"verdict on {names[node]}", _words(status), _words(seen.statuses[node])
    if attempt.feasible is not None and attempt.feasible.tolist() != list(seen.feasible):
        yield "feasible nodes", len(attempt.feasible), len(seen.feasible)
    if (scores is None) != (seen.scores is None):
        yield "scores", "none" if scores is None else "some", "none" if seen.scores is None else "some"
    elif scores is not None and seen.scores is not None:
        yield from _of_scores(scores, seen.scores, [names[node] for node in seen.feasible], _adds_nothing(attempt))
    search = attempt.post_filter.preemption if attempt.post_filter is not None else None
    tried = {each.name: each.trial for each in seen.nodes}
    for candidate in search.candidates if search is not None else ():
        trial = tried.get(candidate.node_name)
        if candidate.node_name in tried and (trial is None or trial.victims != candidate.victims):
            yield f"victims on {candidate.node_name}", candidate.victims, None if trial is None else trial.victims
    for name, status in search.not_candidates if search is not None else ():
        trial = tried.get(name)
        if name in tried and (trial is None or trial.status != status):
            yield f"trial of {name}", _words(status), None if trial is None else _words(trial.status or SUCCESS)


def _of_scores(
    scores: ScoreRows, seen: ScoreRows, names: Sequence[str], with_totals: bool
) -> Iterator[tuple[str, object, object]]:
    if scores.plugins != seen.plugins:
        yield "plugins that score", scores.plugins, seen.plugins
        return
    for what, then, again in (
        ("raw score", scores.raw, seen.raw),
        ("normalized score", scores.normalized, seen.normalized),
    ):
        if not np.array_equal(then, again):
            line, column = (int(each) for each in np.argwhere(then != again)[0])
            where = f"{what} of {scores.plugins[line][0]} on {names[column]}"
            yield where, int(then[line, column]), int(again[line, column])
    if with_totals and not np.array_equal(scores.totals, seen.totals):
        column = int(np.flatnonzero(scores.totals != seen.totals)[0])
        yield f"total of {names[column]}", int(scores.totals[column]), int(seen.totals[column])


def _adds_nothing(attempt: Attempt) -> bool:
    """Whether no extender had a say in totals."""
    return all(exchange.point != "prioritize" for exchange in attempt.exchanges)


def _words(status: Status) -> str:
    return f"{status.code.name} by {status.plugin}: {status.message}" if not status.is_success else "Success"


def _looked_at(cycle: Cycle) -> dict[int, Status]:
    """What became of the nodes that the cycle looked at, in its order: the nominated one first."""
    attempt, found = cycle.attempt, {}
    if attempt.nominated is not None and (node := cycle.view.index.get(attempt.nominated.node_name)) is not None:
        found[node] = attempt.nominated.status or SUCCESS
    rows = attempt.filter_rows
    for node, code in zip(rows.nodes.tolist(), rows.codes.tolist(), strict=True) if rows is not None else ():
        found[node] = rows.statuses[code - 1] if code and rows is not None else SUCCESS
    return found


def _verdict(plain: Cycle, outcome: PreFilterOutcome, named: set[int] | None, cycle: Cycle, node: int) -> Status:
    """What the plugins say of a node; extenders are not asked."""
    if not outcome.status.is_success:
        return outcome.status
    if named is not None and node not in named:
        return cycle.diagnosis.node_to_status.absent
    return plain.profile.run_filters_with_nominated_pods(
        plain.state, plain.pod, plain.view.infos[node], plain.nominated
    )


def _with_extenders(status: Status, then: Status | None) -> Status:
    """An extender's refusal is known of the nodes it was asked about then."""
    return then if then is not None and status.is_success and then.plugin == EXTENDER else status


def _scores(plain: Cycle, nodes: Sequence[NodeInfo]) -> ScoreRows | None:
    if not _RUNNER.pre_score(plain, nodes).is_success:
        return None
    return _RUNNER.score(plain, nodes)[0]


def _counts(plain: Cycle, nodes: Sequence[NodeInfo]) -> list[DomainCounts]:
    tellers = [each for each in plain.profile.instances.values() if isinstance(each, DomainTeller)]
    return [told for teller in tellers for told in teller.domain_counts(plain.state, nodes)]


def _picked(cycle: Cycle, order: Sequence[int], wanted: Wanted) -> Sequence[int]:
    if wanted.names is None:
        return order[wanted.offset : wanted.offset + wanted.limit]
    names = cycle.view.order.names
    return [node for node in order if names[node] in wanted.names]


def _node(
    plain: Cycle, node: int, looked_at: bool, status: Status, trials: Trials | None, is_judged: bool
) -> ObservedNode:
    info = plain.view.infos[node]
    there = nominated_that_count(plain).get(node, ())
    return ObservedNode(
        place=node,
        name=info.name,
        labels=info.node.labels if info.node is not None else {},
        looked_at=looked_at,
        status=status,
        filters=tuple(filters_of(plain, info, there)) if is_judged else (),
        amounts=amounts_of(plain, info, there, status) if is_judged and status.is_rejected else None,
        trial=trials.of(info) if trials is not None else None,
    )


def filters_of(plain: Cycle, info: NodeInfo, nominated: Sequence[PodInfo]) -> Iterator[tuple[str, Status]]:
    """Each filter by itself: with the pods nominated to the node, then without them."""
    ways = [(plain.state, info)]
    if nominated:
        state, crowded, status = plain.profile.with_pods(plain.state, plain.pod, info, nominated)
        ways = [(state, crowded), *ways] if status.is_success else ways
    for plugin in plain.profile.filter:
        if plugin.name in plain.state.skip_filter_plugins:
            continue
        said = SUCCESS
        for state, there in ways:
            said = plugin.filter(state, plain.pod, there)
            if not said.is_success:
                break
        yield plugin.name, said if said.is_success else refusal(plugin.name, said)


def amounts_of(
    plain: Cycle, info: NodeInfo, nominated: Sequence[PodInfo], status: Status
) -> tuple[Amounts, ...] | None:
    """What was asked of the node and what there was, of the plugin that refused it; with those nominated to it."""
    teller = plain.profile.amounts_tellers.get(status.plugin)
    if teller is None or status.code is Code.Error:
        return None
    state = plain.state
    if nominated:
        crowded_state, crowded, added = plain.profile.with_pods(state, plain.pod, info, nominated)
        if added.is_success and not plain.profile.run_filters(crowded_state, plain.pod, crowded).is_success:
            state, info = crowded_state, crowded
    alone = len(status.reasons) == 1
    return merged(
        each for reason in status.reasons for each in teller.amounts_on(state, plain.pod, info, reason, alone)
    )
