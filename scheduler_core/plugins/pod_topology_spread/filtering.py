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

import numpy as np

from scheduler_core.api.node import Node
from scheduler_core.api.pod import Pod
from scheduler_core.framework.interface import RowVerdicts
from scheduler_core.model.node_info import NodeInfo
from scheduler_core.model.status import SUCCESS, Status
from scheduler_core.plugins.pod_topology_spread.constraints import (
    Constraint,
    Inclusion,
    count_matching,
    count_matching_by_row,
    has_all_keys,
    rows_with_all_keys,
)
from scheduler_core.table.domains import Domains, DomainsByNumber, DomainsByValue
from scheduler_core.table.node_table import NodeTable

REASON_SKEW = "node(s) didn't match pod topology spread constraints"
REASON_NO_LABEL = f"{REASON_SKEW} (missing required label)"

_TOO_SKEWED = Status.unschedulable(REASON_SKEW)
_NO_LABEL = Status.unresolvable(REASON_NO_LABEL)
_STATUSES = (_NO_LABEL, _TOO_SKEWED)

_NO_DOMAINS = 2**31 - 1  # upstream's smallest count before any was seen; minDomains hides it unless that is below 1


@dataclass(frozen=True, slots=True)
class PreFilterState:
    """Of each hard constraint, in order, the matching pods by domain."""

    constraints: tuple[Constraint, ...]
    domains: tuple[Domains, ...]
    inclusion: Inclusion

    def clone(self) -> PreFilterState:
        return PreFilterState(self.constraints, tuple(domains.clone() for domains in self.domains), self.inclusion)

    def allowed(self, pod: Pod) -> list[int]:
        """How many matching pods a domain may have for the pod to fit in, by constraint."""
        found = []
        for constraint, domains in zip(self.constraints, self.domains, strict=True):
            smallest = domains.smallest()
            if len(domains) < constraint.min_domains:
                smallest = 0
            elif smallest is None:
                smallest = _NO_DOMAINS
            itself = int(constraint.selector.matches(pod.labels))
            found.append(constraint.max_skew + smallest - itself)
        return found

    def update(self, pod: Pod, changed: Pod, node: Node, amount: int) -> None:
        """What if the changed pod came to the node (1), or left it (-1)?"""
        if changed.namespace != pod.namespace or not has_all_keys(node.labels, self.constraints):
            return
        for constraint, domains in zip(self.constraints, self.domains, strict=True):
            if constraint.selector.matches(changed.labels) and self.inclusion.includes(constraint, node):
                domains.add(node.labels[constraint.topology_key], amount)


def count_nodes(pod: Pod, constraints: tuple[Constraint, ...], node_infos: Iterable[NodeInfo]) -> PreFilterState:
    inclusion = Inclusion(pod)
    by_constraint = tuple(DomainsByValue() for _ in constraints)
    for node_info in node_infos:
        node = node_info.node
        if node is None or not has_all_keys(node.labels, constraints):
            continue
        for constraint, domains in zip(constraints, by_constraint, strict=True):
            if inclusion.includes(constraint, node):
                matching = count_matching(node_info.pods, constraint.selector, pod.namespace)
                domains.add(node.labels[constraint.topology_key], matching)
    return PreFilterState(constraints, by_constraint, inclusion)


def count_rows(pod: Pod, constraints: tuple[Constraint, ...], table: NodeTable) -> PreFilterState:
    inclusion = Inclusion(pod)
    with_keys = rows_with_all_keys(table, constraints)
    by_constraint = []
    for constraint in constraints:
        included = with_keys & inclusion.rows(constraint, table)
        matching = count_matching_by_row(table, constraint.selector, pod.namespace)
        column = table.label(constraint.topology_key)
        by_constraint.append(DomainsByNumber.counted(column, column.ids[included], matching[included]))
    return PreFilterState(constraints, tuple(by_constraint), inclusion)


def judge_node(state: PreFilterState, pod: Pod, labels: Mapping[str, str]) -> Status:
    for constraint, domains, allowed in zip(state.constraints, state.domains, state.allowed(pod), strict=True):
        value = labels.get(constraint.topology_key)
        if value is None:
            return _NO_LABEL
        if domains.of(value) > allowed:
            return _TOO_SKEWED
    return SUCCESS


def judge_rows(state: PreFilterState, pod: Pod, table: NodeTable) -> RowVerdicts | None:
    codes = np.zeros(len(table), dtype=np.uint16)
    # The first constraint that refuses a row names the reason: later ones are written first.
    rules: Sequence[tuple[Constraint, Domains, int]] = list(
        zip(state.constraints, state.domains, state.allowed(pod), strict=True)
    )
    for constraint, domains, allowed in reversed(rules):
        column = table.label(constraint.topology_key)
        codes[domains.of_rows(column) > allowed] = 2
        codes[~column.has_key] = 1
    return RowVerdicts(codes, _STATUSES) if codes.any() else None
