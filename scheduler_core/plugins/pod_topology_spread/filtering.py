"""Hard constraints: no domain may have more matching pods than the emptiest one plus maxSkew.

PreFilter counts the matching pods of each domain over nodes that have all the keys and are included; a domain without
pods counts with 0. With fewer domains than minDomains the emptiest counts as 0. A node that is not included itself is
still judged, by what its domain has. What-if changes ask the selector alone: they count pods being deleted, too, and
an empty selector counts everybody, both upstream quirks.
Source: kubernetes v1.34.1, pkg/scheduler/framework/plugins/podtopologyspread/filtering.go
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from scheduler_core.api.node import Node
from scheduler_core.api.pod import Pod
from scheduler_core.framework.answers import RowIndex, RowVerdicts
from scheduler_core.model.node_info import NodeInfo
from scheduler_core.model.status import SUCCESS, Status
from scheduler_core.plugins.helpers import BoolArray, refused_at
from scheduler_core.plugins.pod_topology_spread.constraints import (
    Constraint,
    CountedRows,
    Inclusion,
    MatchingPods,
    count_matching,
    has_all_keys,
)
from scheduler_core.table.domains import Domains, DomainsByValue, TalliedDomains, sums_by_domain
from scheduler_core.table.node_table import NodeTable

REASON_SKEW = "node(s) didn't match pod topology spread constraints"
REASON_NO_LABEL = f"{REASON_SKEW} (missing required label)"

_TOO_SKEWED = Status.unschedulable(REASON_SKEW)
_NO_LABEL = Status.unresolvable(REASON_NO_LABEL)
_STATUSES = (_NO_LABEL, _TOO_SKEWED)

_ONCE = (1,)
_NO_DOMAINS = 2**31 - 1  # upstream's smallest count before any was seen; minDomains hides it unless that is below 1


@dataclass(frozen=True, slots=True, eq=False)
class HardRules:
    """The hard constraints of a pod, in order, the same for all pods like it."""

    constraints: tuple[Constraint, ...]
    inclusion: Inclusion
    itself: tuple[int, ...]  # whether the pod is one of those a constraint counts: 1 or 0
    counted: tuple[tuple[MatchingPods, CountedRows], ...]

    @staticmethod
    def of(pod: Pod, constraints: tuple[Constraint, ...]) -> HardRules:
        inclusion = Inclusion(pod)
        keys = tuple(constraint.topology_key for constraint in constraints)
        return HardRules(
            constraints,
            inclusion,
            tuple(int(constraint.selector.matches(pod.labels)) for constraint in constraints),
            tuple(
                (MatchingPods(pod.namespace, constraint.selector), CountedRows.of(constraint, inclusion, keys))
                for constraint in constraints
            ),
        )


@dataclass(frozen=True, slots=True)
class PreFilterState:
    """Of each hard constraint, in order, the matching pods by domain."""

    rules: HardRules
    domains: Sequence[Domains]

    def clone(self) -> PreFilterState:
        return PreFilterState(self.rules, [domains.clone() for domains in self.domains])

    def allowed(self) -> list[int]:
        """How many matching pods a domain may have for the pod to fit in, by constraint."""
        rules = self.rules
        return [
            constraint.max_skew + fewest - itself
            for constraint, fewest, itself in zip(rules.constraints, self.fewest(), rules.itself, strict=True)
        ]

    def fewest(self) -> list[int]:
        """How many matching pods the emptiest domain counts for, by constraint."""
        found = []
        for constraint, domains in zip(self.rules.constraints, self.domains, strict=True):
            smallest = domains.smallest()
            if len(domains) < constraint.min_domains:
                smallest = 0
            elif smallest is None:
                smallest = _NO_DOMAINS
            found.append(smallest)
        return found

    def update(self, pod: Pod, changed: Pod, node: Node, amount: int) -> None:
        """What if the changed pod came to the node (1), or left it (-1)?"""
        rules = self.rules
        if changed.namespace != pod.namespace or not has_all_keys(node.labels, rules.constraints):
            return
        for constraint, domains in zip(rules.constraints, self.domains, strict=True):
            if constraint.selector.matches(changed.labels) and rules.inclusion.includes(constraint, node):
                domains.add(node.labels[constraint.topology_key], amount)


def count_nodes(pod: Pod, rules: HardRules, node_infos: Iterable[NodeInfo]) -> PreFilterState:
    by_constraint = tuple(DomainsByValue() for _ in rules.constraints)
    for node_info in node_infos:
        node = node_info.node
        if node is None or not has_all_keys(node.labels, rules.constraints):
            continue
        for constraint, domains in zip(rules.constraints, by_constraint, strict=True):
            if rules.inclusion.includes(constraint, node):
                matching = count_matching(node_info.pods, constraint.selector, pod.namespace)
                domains.add(node.labels[constraint.topology_key], matching)
    return PreFilterState(rules, by_constraint)


def count_rows(rules: HardRules, table: NodeTable) -> PreFilterState:
    pods = table.pods
    sums = [sums_by_domain(table, pods.tally_of_kinds(matching), rows) for matching, rows in rules.counted]
    return PreFilterState(rules, [TalliedDomains((each,), _ONCE) for each in sums])


def judge_node(state: PreFilterState, labels: Mapping[str, str]) -> Status:
    for constraint, domains, allowed in zip(state.rules.constraints, state.domains, state.allowed(), strict=True):
        value = labels.get(constraint.topology_key)
        if value is None:
            return _NO_LABEL
        if domains.of(value) > allowed:
            return _TOO_SKEWED
    return SUCCESS


def judge_rows(state: PreFilterState, table: NodeTable, rows: RowIndex) -> RowVerdicts | None:
    refused: list[tuple[BoolArray | None, int]] = []
    for constraint, domains, allowed in zip(state.rules.constraints, state.domains, state.allowed(), strict=True):
        column = table.label(constraint.topology_key)
        refused.append((domains.rows_without(column), 1))
        refused.append((domains.rows_over(column, allowed), 2))
    return refused_at(rows, refused, _STATUSES)
