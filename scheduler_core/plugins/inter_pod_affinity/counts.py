"""How many pods the terms count in each domain, and their weights, as far as they were counted node by node."""

from __future__ import annotations

from collections.abc import Iterator

from scheduler_core.config import names
from scheduler_core.framework.cycle_state import CycleState
from scheduler_core.model.amounts import AmountKind
from scheduler_core.model.observed import DomainCounts
from scheduler_core.plugins.inter_pod_affinity import filtering, scoring
from scheduler_core.plugins.inter_pod_affinity.amounts import subject_of
from scheduler_core.table.domains import Domains, DomainsByValue

_KINDS = (AmountKind.NEAR, AmountKind.APART, AmountKind.KEPT_APART)


def domain_counts(state: CycleState) -> Iterator[DomainCounts]:
    """Of required terms, of those of existing pods, then the weights of preferred ones."""
    required, preferred = state.find(filtering.PreFilterState), state.find(scoring.PreScoreState)
    if required is not None:
        for kind, pairs in zip(_KINDS, (required.affinity, required.anti, required.existing_anti), strict=True):
            for key, domains in pairs.items():
                yield from _told(kind.value, key, subject_of(required, kind, key), domains)
    for key, domains in preferred.weights.items() if preferred is not None else ():
        yield from _told("preferred", key, key, domains)


def _told(rule: str, key: str, subject: str, domains: Domains) -> Iterator[DomainCounts]:
    if isinstance(domains, DomainsByValue):
        yield DomainCounts(names.INTER_POD_AFFINITY, rule, key, subject, dict(domains.amounts))
