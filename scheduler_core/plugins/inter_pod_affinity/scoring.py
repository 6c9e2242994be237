"""Preferred terms, of the pod and of those already there: the weights of all that match, added up per domain.

A term of the incoming pod that matches an existing pod, or a preferred term of an existing pod that matches the
incoming one, adds its weight to the domain of the existing pod's node, an anti-affinity term takes it off. A required
affinity term of an existing pod counts as preferred with hardPodAffinityWeight. A node's score is the sum over its
domains; normalising stretches lowest..highest to 0..100.
Source: kubernetes v1.34.1, pkg/scheduler/framework/plugins/interpodaffinity/scoring.go
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import msgspec
import numpy as np

from scheduler_core.api.pod_affinity import AffinityTerm, AffinityTerms, TermList
from scheduler_core.framework.answers import MAX_NODE_SCORE, Int64Array
from scheduler_core.model.node_info import NodeInfo
from scheduler_core.plugins.helpers import Rows
from scheduler_core.plugins.inter_pod_affinity.incoming import Incoming, rows_with_key
from scheduler_core.table.domains import Domains, DomainsByValue, TalliedDomains, sums_by_domain
from scheduler_core.table.node_table import NodeTable
from scheduler_core.table.tallies import DomainSums, RowTally

_LISTS = (TermList.PREFERRED, TermList.PREFERRED_ANTI, TermList.REQUIRED)


@dataclass(frozen=True, slots=True)
class PreScoreState:
    """Weights by topology key and domain; only keys something was added to, be it 0 in the end."""

    weights: Mapping[str, Domains]


class Wishes(msgspec.Struct, frozen=True):
    """What the incoming pod prefers, and what is needed to judge what existing pods think of it."""

    incoming: Incoming
    hard_weight: int

    def of_existing(self, terms: AffinityTerms) -> Iterator[tuple[str, int]]:
        """(topology key, weight) of those terms of an existing pod that match the incoming one."""
        for listed in lists_with_a_say(self.hard_weight):
            for term in terms.of_list(listed):
                if self.incoming.is_spoken_of(term):
                    yield term.topology_key, self.weight_of(listed, term)

    def weight_of(self, listed: TermList, term: AffinityTerm) -> int:
        """What a term in this list of an existing pod weighs."""
        if listed is TermList.REQUIRED:
            return self.hard_weight
        return term.weight if listed is TermList.PREFERRED else -term.weight


def lists_with_a_say(hard_weight: int) -> tuple[TermList, ...]:
    """The lists of existing pods that score."""
    return _LISTS if hard_weight > 0 else _LISTS[:2]


def count_nodes(wishes: Wishes, node_infos: Iterable[NodeInfo]) -> PreScoreState:
    """`node_infos`: all nodes; those without pods that have terms may be left out when the pod has no wishes."""
    by_key: dict[str, DomainsByValue] = {}

    def add(labels: Mapping[str, str], key: str, weight: int) -> None:
        value = labels.get(key)
        if value is not None:
            by_key.setdefault(key, DomainsByValue()).add(value, weight)

    for node_info in node_infos:
        labels = node_info.node.labels if node_info.node is not None else {}
        for existing in node_info.pods:
            for term, weight in wishes.incoming.weighted:
                if term.matches_pod(existing.pod):
                    add(labels, term.topology_key, weight)
            for key, weight in wishes.of_existing(existing.terms):
                add(labels, key, weight)
    return PreScoreState(by_key)


def count_rows(wishes: Wishes, table: NodeTable) -> PreScoreState:
    pods = table.pods
    by_key: dict[str, tuple[list[DomainSums], list[int]]] = {}

    def add(key: str, weight: int, tally: RowTally) -> None:
        sums = sums_by_domain(table, tally, rows_with_key(key))
        if sums.total:
            domains, weights = by_key.setdefault(key, ([], []))
            domains.append(sums)
            weights.append(weight)

    for spoken_of, key, weight in wishes.incoming.wishes:
        add(key, weight, pods.tally_of_kinds(spoken_of))
    for listed in lists_with_a_say(wishes.hard_weight):
        for key, counts in wishes.incoming.speaking(pods, listed).items():
            for count in counts:
                add(key, wishes.weight_of(listed, count.term), pods.tally_of_terms(count))
    return PreScoreState({key: TalliedDomains(domains, weights) for key, (domains, weights) in by_key.items()})


def score_node(state: PreScoreState, labels: Mapping[str, str]) -> int:
    return sum(domains.of(labels[key]) for key, domains in state.weights.items() if key in labels)


def score_rows(state: PreScoreState, table: NodeTable, rows: Rows) -> Int64Array:
    scores: Int64Array | None = None
    for key, domains in state.weights.items():
        column = table.label(key)
        added = domains.of_numbers(column, column.ids.take(rows))
        scores = added if scores is None else scores + added
    return np.zeros(len(rows), dtype=np.int64) if scores is None else scores


def normalize(scores: Int64Array) -> None:
    """Lowest..highest becomes 0..100, truncated; all equal becomes 0."""
    lowest = scores.item(scores.argmin())
    spread = scores.item(scores.argmax()) - lowest
    if spread == 0:
        scores[:] = 0
        return
    # Divided first, in floats: 29 of 50 becomes 57, as upstream.
    part = (scores - lowest) / float(spread)
    part *= float(MAX_NODE_SCORE)
    scores[:] = part  # truncated
