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
from scheduler_core.framework.answers import MAX_NODE_SCORE, Int64Array
from scheduler_core.model.node_info import NodeInfo
from scheduler_core.plugins.helpers import BoolArray, Rows
from scheduler_core.plugins.pod_topology_spread.constraints import (
    Constraint,
    CountedRows,
    Inclusion,
    MatchingPods,
    count_matching,
    has_all_keys,
)
from scheduler_core.table.domains import Domains, DomainsByValue, TalliedDomains, sums_by_domain
from scheduler_core.table.growth import Int32Array
from scheduler_core.table.labels import NO_VALUE
from scheduler_core.table.node_table import NodeTable

_ONCE = (1,)


@dataclass(frozen=True, slots=True, eq=False)
class SoftRules:
    """The soft constraints of a pod, in order, the same for all pods like it."""

    constraints: tuple[Constraint, ...]
    require_all: bool
    inclusion: Inclusion
    counted: tuple[tuple[MatchingPods, CountedRows], ...]

    @staticmethod
    def of(pod: Pod, constraints: tuple[Constraint, ...], *, require_all: bool) -> SoftRules:
        inclusion = Inclusion(pod)
        # A missing label is the value "" where missing labels are let pass.
        keys = tuple(constraint.topology_key for constraint in constraints) if require_all else ()
        return SoftRules(
            constraints,
            require_all,
            inclusion,
            tuple(
                (
                    MatchingPods(pod.namespace, constraint.selector),
                    CountedRows.of(constraint, inclusion, keys, counts_missing=not require_all),
                )
                for constraint in constraints
            ),
        )

    def ignores(self, labels: Mapping[str, str]) -> bool:
        return self.require_all and not has_all_keys(labels, self.constraints)


@dataclass(frozen=True, slots=True)
class SoftConstraint:
    """`domains`: matching pods by domain; None under the hostname key, where the node itself is asked."""

    constraint: Constraint
    matching: MatchingPods
    domains: Domains | None
    weight: float


@dataclass(frozen=True, slots=True)
class PreScoreState:
    """`ignored`: (n_feasible,) bool, in the order of the feasible nodes, None where none is; `numbers`: by constraint
    those of the domains of `rows`, where rows were asked for."""

    rules: SoftRules
    constraints: Sequence[SoftConstraint]
    ignored: BoolArray | None
    rows: Rows | None = None
    numbers: Sequence[Int32Array] = ()


def count_nodes(
    pod: Pod, rules: SoftRules, feasible: Sequence[NodeInfo], all_nodes: Iterable[NodeInfo]
) -> PreScoreState:
    ignored = [rules.ignores(_labels(info)) for info in feasible]
    by_constraint: list[DomainsByValue | None] = []
    for constraint in rules.constraints:
        domains: DomainsByValue | None = None
        if constraint.topology_key != HOSTNAME:
            domains = DomainsByValue()
            for info, is_out in zip(feasible, ignored, strict=True):
                if not is_out:
                    domains.add(_labels(info).get(constraint.topology_key, ""), 0)
        by_constraint.append(domains)

    for info in all_nodes:
        if info.node is None or rules.ignores(info.node.labels):
            continue
        for constraint, domains in zip(rules.constraints, by_constraint, strict=True):
            value = info.node.labels.get(constraint.topology_key, "")
            if domains is not None and value in domains.amounts and rules.inclusion.includes(constraint, info.node):
                domains.add(value, count_matching(info.pods, constraint.selector, pod.namespace))
    num_scored = len(feasible) - sum(ignored)
    return PreScoreState(
        rules,
        [
            SoftConstraint(constraint, matching, domains, _weight(num_scored if domains is None else len(domains)))
            for constraint, (matching, _), domains in zip(rules.constraints, rules.counted, by_constraint, strict=True)
        ],
        np.array(ignored, dtype=np.bool_) if any(ignored) else None,
    )


def count_rows(rules: SoftRules, table: NodeTable, rows: Rows) -> PreScoreState:
    columns = [table.label(constraint.topology_key) for constraint in rules.constraints]
    numbers: list[Int32Array] = [column.ids.take(rows) for column in columns]
    ignored: BoolArray | None = None
    if rules.require_all:
        for each in numbers:
            if each.min(initial=0) == NO_VALUE:
                lacking = each == NO_VALUE
                ignored = lacking if ignored is None else ignored | lacking
    soft = []
    for index, (constraint, (matching, counted)) in enumerate(zip(rules.constraints, rules.counted, strict=True)):
        scored = numbers[index] if ignored is None else numbers[index][~ignored]
        if constraint.topology_key == HOSTNAME:
            soft.append(SoftConstraint(constraint, matching, None, _weight(len(scored))))
            continue
        column = columns[index]
        is_domain = np.zeros(len(column.values) + 1, dtype=np.bool_)
        is_domain[scored] = True
        empty = column.values.id_of.get("")
        if empty is not None and is_domain[NO_VALUE]:
            is_domain[NO_VALUE], is_domain[empty] = False, True
        sums = sums_by_domain(table, table.pods.tally_of_kinds(matching), counted)
        domains = TalliedDomains((sums,), _ONCE)
        soft.append(SoftConstraint(constraint, matching, domains, _weight(int(np.count_nonzero(is_domain)))))
    return PreScoreState(rules, soft, ignored, rows, numbers)


def score_node(state: PreScoreState, node_info: NodeInfo) -> int:
    labels = _labels(node_info)
    if state.rules.ignores(labels):
        return 0
    score = 0.0
    for soft in state.constraints:
        value = labels.get(soft.constraint.topology_key)
        if value is None:
            continue
        if soft.domains is not None:
            count = soft.domains.of(value)
        else:
            count = count_matching(node_info.pods, soft.matching.selector, soft.matching.namespace)
        score += count * soft.weight + (soft.constraint.max_skew - 1)
    return int(_round_half_away(np.array([score]))[0])


def score_rows(state: PreScoreState, table: NodeTable, rows: Rows) -> Int64Array:
    scores: npt.NDArray[np.float64] | None = None
    ignored: BoolArray | None = None
    for index, soft in enumerate(state.constraints):
        column = table.label(soft.constraint.topology_key)
        numbers = state.numbers[index] if rows is state.rows else column.ids.take(rows)
        if soft.domains is not None:
            counts = soft.domains.of_numbers(column, numbers)
        else:
            counts = table.pods.tally_of_kinds(soft.matching).counts.take(rows)
        added: npt.NDArray[np.float64] = np.multiply(counts, soft.weight, dtype=np.float64)
        added += soft.constraint.max_skew - 1
        if numbers.min(initial=0) == NO_VALUE:
            lacking = numbers == NO_VALUE
            added[lacking] = 0.0
            ignored = lacking if ignored is None else ignored | lacking
        if scores is None:
            scores = added
        else:
            scores += added
    if scores is None:
        return np.zeros(len(rows), dtype=np.int64)
    rounded = _round_half_away(scores)
    if state.rules.require_all and ignored is not None:
        rounded[ignored] = 0
    return rounded


def normalize(state: PreScoreState, scores: Int64Array) -> None:
    """The fewest pods get 100; ignored nodes get 0."""
    if state.ignored is None:
        _normalize(scores)
        return
    scored = scores[~state.ignored]
    _normalize(scored)
    scores[~state.ignored] = scored
    scores[state.ignored] = 0


def _normalize(scores: Int64Array) -> None:
    if not len(scores):
        return
    largest = scores.item(scores.argmax())
    if largest == 0:
        scores[:] = MAX_NODE_SCORE
        return
    np.subtract(largest + scores.item(scores.argmin()), scores, out=scores)
    scores *= MAX_NODE_SCORE
    scores //= largest  # nothing is negative: floor equals truncation


def _weight(num_domains: int) -> float:
    return math.log(num_domains + 2)


def _labels(node_info: NodeInfo) -> Mapping[str, str]:
    return node_info.node.labels if node_info.node is not None else {}


def _round_half_away(values: npt.NDArray[np.float64]) -> Int64Array:
    """To the nearest whole number, halves away from zero; nothing is negative."""
    whole = np.floor(values)
    return (whole + (values - whole >= 0.5)).astype(np.int64)
