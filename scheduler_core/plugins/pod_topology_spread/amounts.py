"""Amounts of refusals for hard constraints: the pods that domains count, the fewest of any domain, and maxSkew."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from scheduler_core.framework.roles import Refused
from scheduler_core.model.amounts import AmountKind, Amounts
from scheduler_core.model.node_info import NodeInfo
from scheduler_core.plugins.helpers import name_at, numbers_in, values_of
from scheduler_core.plugins.pod_topology_spread.constraints import Constraint
from scheduler_core.plugins.pod_topology_spread.filtering import REASON_NO_LABEL, REASON_SKEW, PreFilterState
from scheduler_core.table.labels import NO_VALUE
from scheduler_core.table.node_table import NodeTable


def amounts_on(state: PreFilterState, node_info: NodeInfo, reason: str) -> Iterator[Amounts]:
    """Of one node."""
    assert node_info.node is not None
    labels, name = node_info.node.labels, node_info.name
    limits = zip(state.rules.constraints, state.domains, state.allowed(), state.fewest(), strict=True)
    for constraint, domains, allowed, fewest in limits:
        value = labels.get(constraint.topology_key)
        if value is None:
            if reason == REASON_NO_LABEL:
                yield Amounts(AmountKind.NO_KEY, constraint.topology_key, node=name)
        elif reason == REASON_SKEW and (count := domains.of(value)) > allowed:
            yield Amounts(
                AmountKind.SPREAD, _subject(constraint), 1, constraint.max_skew, fewest, name, values=((value, count),)
            )


def amounts(state: PreFilterState, table: NodeTable, refused: Refused) -> Iterator[Amounts]:
    """Of all these rows."""
    limits = zip(state.rules.constraints, state.domains, state.allowed(), state.fewest(), strict=True)
    for constraint, domains, allowed, fewest in limits:
        column = table.label(constraint.topology_key)
        numbers = column.ids.take(refused.rows)
        if refused.reason == REASON_NO_LABEL:
            lacking = np.flatnonzero(numbers == NO_VALUE)
            if len(lacking):
                node = name_at(table, refused.rows, int(lacking[0]))
                yield Amounts(AmountKind.NO_KEY, constraint.topology_key, len(lacking), node=node)
        elif refused.reason == REASON_SKEW:
            over = np.flatnonzero((numbers != NO_VALUE) & (domains.of_numbers(column, numbers) > allowed))
            if len(over):
                present, _, _ = numbers_in(numbers[over])
                values, others = values_of(
                    column, present, domains.of_numbers(column, present), few=refused.are_all, smallest=True
                )
                node = name_at(table, refused.rows, int(over[0]))
                asked = (constraint.max_skew, fewest)
                yield Amounts(
                    AmountKind.SPREAD, _subject(constraint), len(over), *asked, node, values=values, others=others
                )


def _subject(constraint: Constraint) -> str:
    """The key, and which pods are counted."""
    return f"{constraint.topology_key} ({constraint.selector})"
