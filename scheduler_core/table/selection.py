"""Node selectors asked of all rows at once; equal to asking `selectors.py` node by node.

Answers are bool arrays of shape (n_rows,). A requirement is asked once per distinct value of its label.
"""

from __future__ import annotations

import numpy as np

from scheduler_core.api.selectors import (
    NAME_FIELD,
    NodeSelectorMatcher,
    NodeTermMatcher,
    Operator,
    RequiredNodeAffinity,
    Requirement,
)
from scheduler_core.table.growth import BoolArray
from scheduler_core.table.node_table import NodeTable


def rows_accepted(table: NodeTable, requirement: Requirement) -> BoolArray:
    """Rows whose label passes the requirement."""
    column = table.label(requirement.key)
    match requirement.operator:
        case Operator.IN:
            return column.holds_any(requirement.values)
        case Operator.NOT_IN:
            return ~column.holds_any(requirement.values)
        case Operator.EXISTS:
            return column.has_key
        case Operator.DOES_NOT_EXIST:
            return ~column.has_key
    by_value = [value is not None and requirement.accepts(value) for value in column.values.values]
    return column.gather(np.array([*by_value, False]))


def rows_matching_term(table: NodeTable, term: NodeTermMatcher) -> BoolArray:
    """Rows that fulfil everything the term asks."""
    if term.errors or term.is_empty:
        return np.zeros(table.n_rows, dtype=np.bool_)
    matching = np.ones(table.n_rows, dtype=np.bool_)
    for requirement in term.requirements:
        matching &= rows_accepted(table, requirement)
    for field in term.fields:
        matching &= rows_with_field(table, field)
    return matching


def rows_matching(table: NodeTable, selector: NodeSelectorMatcher) -> BoolArray:
    """Rows that fulfil any of the terms."""
    matching = np.zeros(table.n_rows, dtype=np.bool_)
    for term in selector.terms:
        matching |= rows_matching_term(table, term)
    return matching


def rows_meeting(table: NodeTable, required: RequiredNodeAffinity) -> BoolArray | None:
    """Rows that meet what a pod requires of its node; None when it requires nothing."""
    matching: BoolArray | None = None
    for key, value in required.node_selector.items():
        holds = table.label(key).holds_any((value,))
        matching = holds if matching is None else matching & holds
    if required.affinity is not None:
        fulfilled = rows_matching(table, required.affinity)
        matching = fulfilled if matching is None else matching & fulfilled
    return matching


def rows_with_field(table: NodeTable, field: Requirement) -> BoolArray:
    """Rows whose node has the field the requirement asks for."""
    if field.key != NAME_FIELD:
        return np.full(table.n_rows, field.accepts(""))
    named = np.zeros(table.n_rows, dtype=np.bool_)
    for name in field.values:
        row = table.row_of.get(name)
        if row is not None:
            named[row] = True
    return named if field.operator is Operator.IN else ~named
