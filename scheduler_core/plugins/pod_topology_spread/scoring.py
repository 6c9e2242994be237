"""Soft constraints: the fewer matching pods a node's domains have, the better the node.

A constraint adds `count * ln(number of domains + 2) + maxSkew - 1`; the sum is rounded, and normalising turns it round.
Domains are those of the feasible nodes, counts are over all nodes. A node without all the keys is ignored and gets 0,
except with the built-in default constraints: there it only lacks what the missing key would have added. Under the
hostname key each node is its own domain.
Source: kubernetes v1.34.1, pkg/scheduler/framework/plugins/podtopologyspread/scoring.go
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from scheduler_core.api.derived import HOSTNAME
from scheduler_core.api.pod import Pod
from scheduler_core.framework.interface import MAX_NODE_SCORE, Int64Array
from scheduler_core.model.node_info import NodeInfo
from scheduler_core.plugins.helpers import BoolArray, Rows
from scheduler_core.plugins.pod_topology_spread.constraints import (
    Constraint,
    Inclusion,
    count_matching,
    count_matching_by_row,
    has_all_keys,
    rows_with_all_keys,
)
from scheduler_core.table.domains import Domains, DomainsByNumber, DomainsByValue
from scheduler_core.table.labels import NO_VALUE
from scheduler_core.table.node_table import NodeTable


@dataclass(frozen=True, slots=True)
class SoftConstraint:
    """`domains`: matching pods by domain; None under the hostname key, where the node itself is asked."""

    constraint: Constraint
    domains: Domains | None
    weight: float

    def score(self, count: int) -> float:
        return count * self.weight + (self.constraint.max_skew - 1)


@dataclass(frozen=True, slots=True)
class PreScoreState:
    """`ignored`: (n_feasible,) bool, in the order of the feasible nodes."""

    constraints: tuple[SoftConstraint, ...]
    require_all: bool
    ignored: BoolArray

    def ignores(self, labels: Mapping[str, str]) -> bool:
        return self.require_all and not has_all_keys(labels, [soft.constraint for soft in self.constraints])


def count_nodes(
    pod: Pod,
    constraints: Sequence[Constraint],
    feasible: Sequence[NodeInfo],
    all_nodes: Iterable[NodeInfo],
    *,
    require_all: bool,
) -> PreScoreState:
    def is_ignored(labels: Mapping[str, str]) -> bool:
        return require_all and not has_all_keys(labels, constraints)

    ignored = [is_ignored(_labels(info)) for info in feasible]
    by_constraint: list[DomainsByValue | None] = []
    for constraint in constraints:
        domains: DomainsByValue | None = None
        if constraint.topology_key != HOSTNAME:
            domains = DomainsByValue()
            for info, is_out in zip(feasible, ignored, strict=True):
                if not is_out:
                    domains.add(_labels(info).get(constraint.topology_key, ""), 0)
        by_constraint.append(domains)

    inclusion = Inclusion(pod)
    for info in all_nodes:
        if info.node is None or is_ignored(info.node.labels):
            continue
        for constraint, domains in zip(constraints, by_constraint, strict=True):
            value = info.node.labels.get(constraint.topology_key, "")
            if domains is not None and value in domains.amounts and inclusion.includes(constraint, info.node):
                domains.add(value, count_matching(info.pods, constraint.selector, pod.namespace))
    num_scored = len(feasible) - sum(ignored)
    return PreScoreState(
        tuple(
            SoftConstraint(constraint, domains, _weight(num_scored if domains is None else len(domains)))
            for constraint, domains in zip(constraints, by_constraint, strict=True)
        ),
        require_all,
        np.array(ignored, dtype=np.bool_),
    )


def count_rows(
    pod: Pod, constraints: Sequence[Constraint], table: NodeTable, rows: Rows, *, require_all: bool
) -> PreScoreState:
    counted = rows_with_all_keys(table, constraints) if require_all else table.live
    scored = counted[rows]
    inclusion = Inclusion(pod)
    soft = []
    for constraint in constraints:
        if constraint.topology_key == HOSTNAME:
            soft.append(SoftConstraint(constraint, None, _weight(int(np.count_nonzero(scored)))))
            continue
        column = table.label(constraint.topology_key)
        n_values = len(column.values)
        # A missing label is the value "" where missing labels are let pass.
        numbers = np.where(column.ids == NO_VALUE, column.values.id_of.get("", n_values), column.ids)
        is_domain = np.zeros(n_values + 1, dtype=np.bool_)
        is_domain[numbers[rows[scored]]] = True
        included = counted & is_domain[numbers] & inclusion.rows(constraint, table)
        matching = count_matching_by_row(table, constraint.selector, pod.namespace)
        domains = DomainsByNumber.counted(column, numbers[included], matching[included])
        soft.append(SoftConstraint(constraint, domains, _weight(int(np.count_nonzero(is_domain)))))
    return PreScoreState(tuple(soft), require_all, ~scored)


def score_node(state: PreScoreState, pod: Pod, node_info: NodeInfo) -> int:
    labels = _labels(node_info)
    if state.ignores(labels):
        return 0
    score = 0.0
    for soft in state.constraints:
        value = labels.get(soft.constraint.topology_key)
        if value is None:
            continue
        if soft.domains is not None:
            score += soft.score(soft.domains.of(value))
        else:
            score += soft.score(count_matching(node_info.pods, soft.constraint.selector, pod.namespace))
    return int(_round_half_away(np.array([score]))[0])


def score_rows(state: PreScoreState, pod: Pod, table: NodeTable, rows: Rows) -> Int64Array:
    scores = np.zeros(len(rows), dtype=np.float64)
    for soft in state.constraints:
        constraint = soft.constraint
        column = table.label(constraint.topology_key)
        if soft.domains is not None:
            counts = soft.domains.of_rows(column)
        else:
            counts = count_matching_by_row(table, constraint.selector, pod.namespace)
        added = counts[rows] * soft.weight + (constraint.max_skew - 1)
        scores += np.where(column.has_key[rows], added, 0.0)
    rounded = _round_half_away(scores)
    if state.require_all:
        rounded[~rows_with_all_keys(table, [soft.constraint for soft in state.constraints])[rows]] = 0
    return rounded


def normalize(state: PreScoreState, scores: Int64Array) -> None:
    """The fewest pods get 100; ignored nodes get 0."""
    scored = ~state.ignored
    smallest = scores[scored].min(initial=np.iinfo(np.int64).max)
    largest = scores[scored].max(initial=0)
    if largest == 0:
        scores[scored] = MAX_NODE_SCORE
    else:
        # Nothing is negative: floor equals truncation.
        scores[scored] = MAX_NODE_SCORE * (largest + smallest - scores[scored]) // largest
    scores[state.ignored] = 0


def _weight(num_domains: int) -> float:
    return math.log(num_domains + 2)


def _labels(node_info: NodeInfo) -> Mapping[str, str]:
    return node_info.node.labels if node_info.node is not None else {}


def _round_half_away(values: npt.NDArray[np.float64]) -> Int64Array:
    """To the nearest whole number, halves away from zero; nothing is negative."""
    whole = np.floor(values)
    return (whole + (values - whole >= 0.5)).astype(np.int64)
