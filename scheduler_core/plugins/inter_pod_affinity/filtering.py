"""Required terms: near pods that match, apart from others, and not where an existing pod wants to be apart.

PreFilter counts by (topology key, value of the node): existing pods whose required anti-affinity speaks of the incoming
pod; existing pods that match all its required affinity terms; those that match a required anti-affinity term. Terms of
the incoming pod have the names of the namespaces they select; terms of existing pods ask the labels of its namespace.
When no pod at all matches the affinity, a pod that matches its own terms may be the first of its group.
Source: kubernetes v1.34.1, pkg/scheduler/framework/plugins/interpodaffinity/filtering.go
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from scheduler_core.api.pod import Pod
from scheduler_core.api.pod_affinity import NO_LABELS, TermList, match_all
from scheduler_core.framework.answers import RowIndex, RowVerdicts
from scheduler_core.model.node_info import NodeInfo
from scheduler_core.model.status import SUCCESS, Status
from scheduler_core.model.types import PodInfo
from scheduler_core.plugins.helpers import BoolArray, refused_at
from scheduler_core.plugins.inter_pod_affinity.incoming import Incoming, rows_with_key
from scheduler_core.table.domains import Domains, DomainsByValue, TalliedDomains, sums_by_domain
from scheduler_core.table.node_table import NodeTable
from scheduler_core.table.tallies import DomainSums

REASON_AFFINITY = "node(s) didn't match pod affinity rules"
REASON_ANTI_AFFINITY = "node(s) didn't match pod anti-affinity rules"
REASON_EXISTING_ANTI_AFFINITY = "node(s) didn't satisfy existing pods anti-affinity rules"

# Pods that are not there cannot be evicted, hence "unresolvable".
_NOT_NEAR = Status.unresolvable(REASON_AFFINITY)
_NOT_APART = Status.unschedulable(REASON_ANTI_AFFINITY)
_NOT_WANTED = Status.unschedulable(REASON_EXISTING_ANTI_AFFINITY)
_STATUSES = (_NOT_NEAR, _NOT_APART, _NOT_WANTED)

Pairs = dict[str, Domains]
"""Pods by topology key and, below that, by domain."""

_NOWHERE = DomainsByValue()


@dataclass(frozen=True, slots=True)
class PreFilterState:
    incoming: Incoming
    existing_anti: Pairs = field(default_factory=dict)
    affinity: Pairs = field(default_factory=dict)
    anti: Pairs = field(default_factory=dict)

    @property
    def concerns_nobody(self) -> bool:
        return not (self.existing_anti or self.incoming.terms.required or self.incoming.terms.required_anti)

    @property
    def may_be_first(self) -> bool:
        """Nobody matches the pod's affinity anywhere, but the pod itself does."""
        return self.incoming.is_near_itself and not any(each.has_any() for each in self.affinity.values())

    def clone(self) -> PreFilterState:
        return PreFilterState(self.incoming, _clone(self.existing_anti), _clone(self.affinity), _clone(self.anti))

    def count_its_terms(self, existing: PodInfo, node_labels: Mapping[str, str], amount: int = 1) -> None:
        """What the existing pod wants to be apart from."""
        for term in existing.terms.required_anti:
            if self.incoming.is_spoken_of(term):
                _add(self.existing_anti, term.topology_key, node_labels, amount)

    def count_it(self, existing: Pod, node_labels: Mapping[str, str], amount: int = 1) -> None:
        """What the incoming pod says of the existing one."""
        terms = self.incoming.terms
        if match_all(terms.required, existing):
            for term in terms.required:
                _add(self.affinity, term.topology_key, node_labels, amount)
        for term in terms.required_anti:
            if term.matches_pod(existing):
                _add(self.anti, term.topology_key, node_labels, amount)


def count_nodes(
    state: PreFilterState, all_nodes: Iterable[NodeInfo], with_required_anti_affinity: Iterable[NodeInfo]
) -> None:
    for node_info in with_required_anti_affinity:
        for existing in node_info.pods_with_required_anti_affinity:
            state.count_its_terms(existing, _labels(node_info))
    terms = state.incoming.terms
    if terms.required or terms.required_anti:
        for node_info in all_nodes:
            for existing in node_info.pods:
                state.count_it(existing.pod, _labels(node_info))


def count_rows(state: PreFilterState, table: NodeTable) -> None:
    pods, terms = table.pods, state.incoming.terms
    for key, counts in state.incoming.speaking(pods, TermList.REQUIRED_ANTI).items():
        domains = [sums_by_domain(table, pods.tally_of_terms(count), rows_with_key(key)) for count in counts]
        with_pods = [sums for sums in domains if sums.total]
        if with_pods:
            state.existing_anti[key] = TalliedDomains(with_pods, [1] * len(with_pods))
    if terms.required:
        tally = pods.tally_of_kinds(state.incoming.near)
        for key, times in Counter(term.topology_key for term in terms.required).items():
            state.affinity[key] = TalliedDomains((sums_by_domain(table, tally, rows_with_key(key)),), (times,))
    apart: dict[str, list[DomainSums]] = {}
    for term, spoken_of in zip(terms.required_anti, state.incoming.apart, strict=True):
        sums = sums_by_domain(table, pods.tally_of_kinds(spoken_of), rows_with_key(term.topology_key))
        apart.setdefault(term.topology_key, []).append(sums)
    for key, of_terms in apart.items():
        state.anti[key] = TalliedDomains(of_terms, [1] * len(of_terms))


def judge_node(state: PreFilterState, labels: Mapping[str, str]) -> Status:
    if not _near(state, labels):
        return _NOT_NEAR
    if any(_holds(state.anti, term.topology_key, labels) for term in state.incoming.terms.required_anti):
        return _NOT_APART
    if any(_holds(state.existing_anti, key, labels) for key in state.existing_anti):
        return _NOT_WANTED
    return SUCCESS


def judge_rows(state: PreFilterState, table: NodeTable, rows: RowIndex) -> RowVerdicts | None:
    refused: list[tuple[BoolArray | None, int]] = [(rows, 1) for rows in _far_rows(state, table)]
    for pairs, code in ((state.anti, 2), (state.existing_anti, 3)):
        for key, domains in pairs.items():
            refused.append((domains.rows_over(table.label(key), 0), code))
    return refused_at(rows, refused, _STATUSES)


def _near(state: PreFilterState, labels: Mapping[str, str]) -> bool:
    """All the keys are there, and pods that match in every domain, unless the pod may be the first of its group."""
    if not all(term.topology_key in labels for term in state.incoming.terms.required):
        return False
    if all(_holds(state.affinity, term.topology_key, labels) for term in state.incoming.terms.required):
        return True
    return state.may_be_first


def _far_rows(state: PreFilterState, table: NodeTable) -> Iterable[BoolArray | None]:
    """For each key of the required terms the rows that are not near for its sake."""
    terms = state.incoming.terms.required
    if not terms:
        return
    may_be_first = state.may_be_first
    for key in dict.fromkeys(term.topology_key for term in terms):
        column = table.label(key)
        domains = state.affinity.get(key, _NOWHERE)
        yield domains.rows_without(column) if may_be_first else domains.rows_at_most(column, 0)


def _holds(pairs: Pairs, key: str, labels: Mapping[str, str]) -> bool:
    """Whether pods were counted in the node's domain of the key."""
    domains, value = pairs.get(key), labels.get(key)
    return domains is not None and value is not None and domains.of(value) > 0


def _add(pairs: Pairs, key: str, labels: Mapping[str, str], amount: int) -> None:
    value = labels.get(key)
    if value is not None:
        pairs.setdefault(key, DomainsByValue()).add(value, amount)


def _clone(pairs: Pairs) -> Pairs:
    return {key: domains.clone() for key, domains in pairs.items()}


def _labels(node_info: NodeInfo) -> Mapping[str, str]:
    return node_info.node.labels if node_info.node is not None else NO_LABELS
