"""How many pods the constraints count in each domain, as far as they were counted node by node."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from scheduler_core.config import names
from scheduler_core.framework.cycle_state import CycleState
from scheduler_core.model.node_info import NodeInfo
from scheduler_core.model.observed import DomainCounts
from scheduler_core.plugins.pod_topology_spread import filtering, scoring
from scheduler_core.plugins.pod_topology_spread.constraints import Constraint, count_matching
from scheduler_core.table.domains import DomainsByValue


def domain_counts(state: CycleState, infos: Sequence[NodeInfo]) -> Iterator[DomainCounts]:
    """Of the hard constraints, then of the soft ones; under the hostname key the latter count on nodes themselves."""
    hard, soft = state.find(filtering.PreFilterState), state.find(scoring.PreScoreState)
    if hard is not None:
        for constraint, domains, most in zip(hard.rules.constraints, hard.domains, hard.allowed(), strict=True):
            if isinstance(domains, DomainsByValue):
                yield _told("spread", constraint, dict(domains.amounts), most)
    for each in soft.constraints if soft is not None else ():
        if isinstance(each.domains, DomainsByValue):
            yield _told("softSpread", each.constraint, dict(each.domains.amounts))
        elif each.domains is None:
            matching, key = each.matching, each.constraint.topology_key
            labelled = ((info.node.labels.get(key), info) for info in infos if info.node is not None)
            yield _told(
                "softSpread",
                each.constraint,
                {
                    value: count_matching(info.pods, matching.selector, matching.namespace)
                    for value, info in labelled
                    if value is not None
                },
            )


def _told(rule: str, constraint: Constraint, domains: dict[str, int], most: int | None = None) -> DomainCounts:
    key = constraint.topology_key
    return DomainCounts(names.POD_TOPOLOGY_SPREAD, rule, key, f"{key} ({constraint.selector})", domains, most)
