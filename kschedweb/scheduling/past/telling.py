"""An attempt made again, why it chose its node, and why a pod has none, as views tell it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from kschedweb import views
from kschedweb.scheduling.past import changed
from kschedweb.scheduling.past.attempts import Again
from kschedweb.scheduling.past.behind import Behind
from kschedweb.scheduling.past.comparing import Difference
from kschedweb.scheduling.past.evicted import Evicted, Preempting
from kschedweb.scheduling.past.fitting import FitsTold
from kschedweb.scheduling.past.pending import PodTold, Preempted, Waiting
from kschedweb.scheduling.past.why import Told
from kschedweb.traces import adapters
from scheduler_core.api.times import moment_of
from scheduler_core.explain.evicted import Cost, Evicting, LowerPod
from scheduler_core.explain.fits.changes import Place, Suggestion
from scheduler_core.explain.pending import Judged
from scheduler_core.model.amounts import Amounts
from scheduler_core.model.effects import PreemptionRecord, ScoreRows
from scheduler_core.model.events import action_texts
from scheduler_core.model.observed import DomainCounts, Observation, Trial

MOST_DOMAINS = 200  # of one rule


def again_view(seq: int, again: Again) -> views.AttemptAgain:
    """All of it; the parts that were not observed are empty."""
    made, seen = again.attempt, again.observation
    order = made.node_order if made is not None else None
    rows = (seen.scores or seen.all_scores) if seen is not None else None
    labels = [each.labels for each in seen.nodes] if seen is not None else []
    return views.AttemptAgain(
        seq=seq,
        difference=_difference(again.difference),
        result=None if made is None else made.result,  # type: ignore[arg-type]
        node_name="" if made is None else made.node_name,
        message="" if made is None else made.message,
        nodes_total=0 if order is None else len(order.names),
        looked_at=0 if seen is None else seen.looked_at,
        fitting=0 if seen is None else len(seen.fitting),
        plugins=adapters.score_plugins(rows),
        counts=[] if seen is None else [_counts(each, labels) for each in seen.counts],
        nodes=[] if seen is None else list(_nodes(seen, _search(again))),
        found=0 if seen is None else seen.found,
    )


def why_view(seq: int, told: Told) -> views.NodeWhy:
    """Why an attempt chose its node."""
    why = told.why
    return views.NodeWhy(
        seq=seq,
        node=why.node,
        other=why.other,
        by=why.by.value,
        tied=why.tied,
        drawn=why.drawn,
        feasible=why.feasible,
        looked_at=why.looked_at,
        nodes_total=why.nodes_total,
        standing=why.standing.value,
        status=adapters.status_view(why.status),
        amounts=_amounts(why.amounts),
        totals=None if why.totals is None else views.view_of(views.NodeTotals, why.totals),
        made_again=why.is_observed,
        turn=None if why.turn is None else views.view_of(views.WeightTurn, why.turn),
        without=why.without,
        difference=_difference(told.difference),
    )


def pod_why_view(told: PodTold) -> views.PodWhy:
    """Why a pod has no node."""
    waiting, judged = told.waiting, told.judged
    return views.PodWhy(
        uid=told.pod.uid,
        attempt=None if told.attempt is None else told.attempt.seq,
        since=None if told.since is None else views.view_of(views.PendingSince, told.since),
        waits=None if waiting is None else _waits(waiting),
        preemption=None if told.preempted is None else _preemption(told.preempted),
        rv=told.rv,
        judged=None if judged is None else _judged(judged, told.made_again),
        turning=None if told.turning is None else views.view_of(views.Turning, told.turning),
        difference=_difference(told.difference),
    )


def pod_evicted_view(told: Evicted, limit: int) -> views.PodEvicted:
    """Why a pod was evicted."""
    entry, preempting = told.entry, told.preempting
    return views.PodEvicted(
        uid=told.uid,
        node=told.node,
        priority=told.priority,
        by=told.cause,  # type: ignore[arg-type]
        message=told.message,
        entry=views.EvictingEntry(entry.rv, entry.operation, entry.actor, entry.at),
        is_cut=told.is_cut,
        gone_at=told.gone,
        cause=None if told.behind is None else _behind(told.behind),
        budgets=[views.view_of(views.SpentBudget, each) for each in told.spent],
        preemptor=told.preemptor,
        preemption=None if preempting is None else _preempting(preempting, limit),
        difference=_difference(told.difference),
    )


def _behind(told: Behind) -> views.EvictionCause:
    entry = told.entry
    return views.EvictionCause(
        entry.rv, entry.operation, entry.actor, entry.at, taint=told.taint, seconds=told.seconds, is_cut=told.is_cut
    )


def _preempting(told: Preempting, limit: int) -> views.Preempting:
    record, found = told.record, told.found
    tried = len(record.candidates) + len(record.not_candidates)
    return views.Preempting(
        attempt=told.attempt.seq,
        number=told.attempt.attempt,
        at=told.attempt.started_at,
        node=record.chosen,
        priority=None if found is None else found.priority,
        potential=len(record.potential_nodes),
        refusals=[views.PreemptionRefusal(reason, nodes) for reason, nodes in told.refusals],
        untried=len(record.potential_nodes) - tried,
        candidates=len(record.candidates),
        criterion=record.decided_by,  # type: ignore[arg-type]
        tied=len(record.tied),
        asks_extenders=bool(told.exchanges),
        made_again=found is not None,
        costs=_costs(record, found)[:limit],
        pods=[] if found is None else list(map(_tried_pod, found.pods)),
    )


def _costs(record: PreemptionRecord, found: Evicting | None) -> list[views.NodeCost]:
    """The chosen node first; then the best of the others, or as they were found where it was not made again."""
    if found is not None:
        in_turn = sorted(found.costs, key=lambda cost: (cost.node != record.chosen, cost.left_out, cost.values))
        return list(map(_cost, in_turn))
    return [
        views.NodeCost(
            node=each.node_name,
            victims=each.victims,
            pdb_violations=each.num_pdb_violations,
            highest_priority=None,
            sum_of_priorities=None,
            number_of_victims=len(each.victims),
            latest_start=None,
            falls_by="",
            left_out=False,
        )
        for each in sorted(record.candidates, key=lambda each: each.node_name != record.chosen)
    ]


def _cost(cost: Cost) -> views.NodeCost:
    violations, highest, total, number, latest = cost.values
    return views.NodeCost(
        node=cost.node,
        victims=cost.victims,
        pdb_violations=violations,
        highest_priority=highest,
        sum_of_priorities=total,
        number_of_victims=number,
        latest_start=moment_of(-latest),
        falls_by=cost.falls_by,  # type: ignore[arg-type]
        left_out=cost.left_out,
    )


def _tried_pod(pod: LowerPod) -> views.TriedPod:
    return views.TriedPod(
        pod=pod.key,
        priority=pod.priority,
        started_at=None if pod.started is None else moment_of(pod.started),
        budgets=[views.view_of(views.BudgetCount, each) for each in pod.budgets],
        violates=pod.violates,
        spared=pod.spared,
        status=adapters.status_view(pod.status),
        amounts=_amounts(pod.amounts) or [],
        alone=pod.alone,
        needless=pod.needless,
    )


def changed_view(told: changed.Told, limit: int) -> views.AttemptChanged:
    """What changed between two attempts."""
    by_rv = Counter(each.entry.rv for each in told.turned if each.entry is not None)
    entries = {each.entry.rv: each.entry for each in told.turned if each.entry is not None}
    return views.AttemptChanged(
        seq=told.attempt.seq,
        since=told.since.seq,
        number=told.attempt.attempt,
        since_number=told.since.attempt,
        rv=told.attempt.rv,
        since_rv=told.since.rv,
        nodes=told.nodes,
        changed=len(told.turned),
        rows=[
            views.ChangedNode(
                node=each.node,
                was_there=each.before is not None,
                is_there=each.after is not None,
                before=adapters.status_view(each.before),
                after=adapters.status_view(each.after),
                by=each.cause.value,
                rv=None if each.entry is None else each.entry.rv,
            )
            for each in told.turned[:limit]
        ],
        entries=[
            views.ChangingEntry(
                rv, entry.kind, entry.namespace, entry.name, entry.operation, entry.actor, entry.at, by_rv[rv]
            )
            for rv, entry in sorted(entries.items())
        ],
        runs=told.runs,
        difference=_difference(told.difference),
    )


def fits_view(told: FitsTold) -> views.PodFits:
    """What would make a pod fit."""
    found = told.fits
    return views.PodFits(
        namespace=told.namespace,
        name=told.name,
        uid=told.uid,
        pods=told.pods,
        rv=told.rv,
        nodes=found.nodes,
        node=found.node,
        places=_places(found.places),
        is_gated=found.is_gated,
        preemption=None if found.preemption is None else views.view_of(views.FitPreemption, found.preemption),
        suggestions=list(map(_suggestion, found.suggestions)),
        costs=told.costs,
        tried=found.tried,
    )


def _suggestion(found: Suggestion) -> views.FitSuggestion:
    return views.FitSuggestion(
        changes=[
            views.FitChange(
                each.kind.value, each.field, each.old, each.new, each.node, each.step, each.pods, each.more, each.of
            )
            for each in found.changes
        ],
        node=found.node,
        feasible=found.feasible,
        cost=found.cost,
        victims=found.victims,
        violations=found.violations,
        places=_places(found.places),
    )


def _places(found: Sequence[Place]) -> list[views.FitPlace]:
    return [views.FitPlace(pod, node) for pod, node in found]


def _waits(waiting: Waiting) -> views.PodWaits:
    row = waiting.row
    return views.PodWaits(
        queue=cast(views.QueueName, str(row.queue)),
        since=row.since,
        plugins=row.plugins,
        retried_at=waiting.retried_at,
        wakers=[
            views.Waker(each.plugin, each.event.resource.value, action_texts(each.event.action), each.has_hint)
            for each in waiting.wakers
        ],
    )


def _preemption(found: Preempted) -> views.PreemptionTold:
    return views.PreemptionTold(
        outcome=found.outcome,  # type: ignore[arg-type]
        message=found.message,
        potential=found.potential,
        candidates=found.candidates,
        node=found.node,
        victims=found.victims,
        refusals=[views.PreemptionRefusal(reason, nodes) for reason, nodes in found.refusals],
    )


def _judged(judged: Judged, made_again: bool) -> views.PodJudged:
    return views.PodJudged(
        made_again=made_again,
        nodes=judged.nodes,
        fitting=judged.fitting,
        reasons=[views.view_of(views.KeepingReason, each) for each in judged.reasons],
        near=[
            views.NearNode(each.node, each.plugin, each.reason, _amounts(each.amounts) or []) for each in judged.near
        ],
        num_near=judged.num_near,
    )


def _difference(found: Difference | None) -> views.HistoryDifference | None:
    return None if found is None else views.view_of(views.HistoryDifference, found)


def _search(again: Again) -> PreemptionRecord | None:
    post_filter = again.attempt.post_filter if again.attempt is not None else None
    return None if post_filter is None else post_filter.preemption


def _nodes(seen: Observation, search: PreemptionRecord | None) -> Iterable[views.NodeAgain]:
    then = {node: column for column, node in enumerate(seen.feasible)}
    all_of = {node: column for column, node in enumerate(seen.fitting)}
    candidates = {each.node_name for each in search.candidates} if search is not None else set()
    refused = {name for name, _ in search.not_candidates} if search is not None else set()
    for node in seen.nodes:
        total, scores = _scores(seen.scores, then.get(node.place))
        total_of_all, scores_of_all = _scores(seen.all_scores, all_of.get(node.place))
        outcome = "candidate" if node.name in candidates else "refused" if node.name in refused else "untried"
        yield views.NodeAgain(
            node=node.name,
            looked_at=node.looked_at,
            feasible=node.place in then,
            status=adapters.status_view(node.status),
            filters=[views.AskedFilter(plugin, adapters.status_view(status)) for plugin, status in node.filters],
            amounts=_amounts(node.amounts),
            total=total,
            scores=scores,
            total_of_all=total_of_all,
            scores_of_all=scores_of_all,
            trial=None if node.trial is None else _trial(node.trial, outcome),
        )


def _amounts(amounts: Sequence[Amounts] | None) -> list[views.Amounts] | None:
    return None if amounts is None else list(map(adapters.amounts_view, amounts))


def _scores(rows: ScoreRows | None, column: int | None) -> tuple[int | None, Mapping[str, views.Score]]:
    if rows is None or column is None:
        return None, {}
    found = {}
    for line, (plugin, weight) in enumerate(rows.plugins):
        normalized = int(rows.normalized[line, column])
        found[plugin] = views.Score(int(rows.raw[line, column]), normalized, normalized * weight)
    return int(rows.totals[column]), found


def _trial(trial: Trial, outcome: Any) -> views.VictimTrial:
    return views.VictimTrial(outcome, adapters.status_view(trial.status), trial.victims, trial.num_pdb_violations)


def _counts(counts: DomainCounts, labels: Sequence[Mapping[str, str]]) -> views.DomainCounts:
    """`labels`: of the nodes that are told of, whose domains come first."""
    near = dict.fromkeys(value for each in labels if (value := each.get(counts.key)) in counts.domains)
    order = [*near, *(value for value in counts.domains if value not in near)][:MOST_DOMAINS]
    return views.DomainCounts(
        plugin=counts.plugin,
        rule=counts.rule,  # type: ignore[arg-type]
        key=counts.key,
        subject=counts.subject,
        most=counts.most,
        domains=[views.CountedDomain(value, counts.domains[value]) for value in order if value is not None],
        found=len(counts.domains),
    )
