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
from functools import partial

import numpy as np

from scheduler_core.api.pod import Pod
from scheduler_core.api.pod_affinity import AffinityTerm, AffinityTerms
from scheduler_core.framework.interface import MAX_NODE_SCORE, Int64Array
from scheduler_core.model.node_info import NodeInfo
from scheduler_core.plugins.helpers import BoolArray, Rows
from scheduler_core.plugins.inter_pod_affinity.filtering import speaks_of
from scheduler_core.table.domains import Domains, DomainsByNumber, DomainsByValue
from scheduler_core.table.node_table import NodeTable


@dataclass(frozen=True, slots=True)
class PreScoreState:
    """Weights by topology key and domain; only keys something was added to, be it 0 in the end."""

    weights: Mapping[str, Domains]


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the incoming pod prefers, and what is needed to judge what existing pods think of it."""

    pod: Pod
    terms: AffinityTerms
    namespace_labels: Mapping[str, str]
    hard_weight: int

    @property
    def own(self) -> Iterator[tuple[AffinityTerm, int]]:
        """(term, weight) of the incoming pod."""
        yield from ((term, term.weight) for term in self.terms.preferred)
        yield from ((term, -term.weight) for term in self.terms.preferred_anti)

    def of_existing(self, terms: AffinityTerms) -> Iterator[tuple[str, int]]:
        """(topology key, weight) of those terms of an existing pod that match the incoming one."""
        weighted = [(term, term.weight) for term in terms.preferred]
        weighted += [(term, -term.weight) for term in terms.preferred_anti]
        if self.hard_weight > 0:
            weighted += [(term, self.hard_weight) for term in terms.required]
        for term, weight in weighted:
            if term.matches_pod(self.pod, self.namespace_labels):
                yield term.topology_key, weight


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
            for term, weight in wishes.own:
                if term.matches_pod(existing.pod):
                    add(labels, term.topology_key, weight)
            for key, weight in wishes.of_existing(existing.terms):
                add(labels, key, weight)
    return PreScoreState(by_key)


def count_rows(wishes: Wishes, table: NodeTable) -> PreScoreState:
    pods = table.pods
    by_row: dict[str, Int64Array] = {}
    touched: dict[str, BoolArray] = {}  # rows with a pod that adds something

    def add(key: str, weights: Int64Array, rows: BoolArray) -> None:
        if key in by_row:
            by_row[key] += weights
            touched[key] |= rows
        else:
            by_row[key], touched[key] = weights, rows

    for term, weight in wishes.own:
        matching = pods.count(partial(speaks_of, term))
        add(term.topology_key, matching * weight, matching > 0)

    amounts: dict[str, Int64Array] = {}
    speaking: dict[str, Int64Array] = {}
    for number, terms in enumerate(pods.terms):
        for key, weight in wishes.of_existing(terms) if terms is not None else ():
            if key not in amounts:
                amounts[key], speaking[key] = np.zeros((2, len(pods.terms)), dtype=np.int64)
            amounts[key][number] += weight
            speaking[key][number] = 1
    for key in amounts:
        add(key, pods.sum_by_terms(amounts[key]), pods.sum_by_terms(speaking[key]) > 0)

    weights: dict[str, Domains] = {}
    for key, rows in touched.items():
        column = table.label(key)
        if (rows & column.has_key).any():
            weights[key] = DomainsByNumber.counted(column, column.ids, by_row[key])
    return PreScoreState(weights)


def score_node(state: PreScoreState, labels: Mapping[str, str]) -> int:
    return sum(domains.of(labels[key]) for key, domains in state.weights.items() if key in labels)


def score_rows(state: PreScoreState, table: NodeTable, rows: Rows) -> Int64Array:
    scores = np.zeros(len(rows), dtype=np.int64)
    for key, domains in state.weights.items():
        scores += domains.of_rows(table.label(key))[rows]
    return scores


def normalize(scores: Int64Array) -> None:
    """Lowest..highest becomes 0..100, truncated; all equal becomes 0."""
    lowest = scores.min()
    spread = scores.max() - lowest
    if spread == 0:
        scores[:] = 0
        return
    # Divided first, in floats: 29 of 50 becomes 57, as upstream.
    scores[:] = (float(MAX_NODE_SCORE) * ((scores - lowest) / float(spread))).astype(np.int64)
