"""Amounts of requirements on the labels of nodes: how many nodes fail each, and what values they have instead."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import numpy as np

from scheduler_core.api.node import Node
from scheduler_core.api.selectors import NAME_FIELD, Operator, RequiredNodeAffinity, Requirement
from scheduler_core.model.amounts import AmountKind, Amounts
from scheduler_core.plugins.helpers import BoolArray, Rows, name_at, numbers_in, values_of
from scheduler_core.table.labels import NO_VALUE
from scheduler_core.table.node_table import NodeTable
from scheduler_core.table.selection import rows_accepted, rows_with_field


class AskedLabels(msgspec.Struct, frozen=True):
    """Requirements, each once. `all_count`: a node needs all of them; else there are alternatives among them."""

    labels: tuple[Requirement, ...]
    fields: tuple[Requirement, ...]
    all_count: bool

    @staticmethod
    def of(required: RequiredNodeAffinity) -> AskedLabels:
        by_map = (Requirement(key, Operator.IN, (value,)) for key, value in required.node_selector.items())
        listed = required.affinity.terms if required.affinity is not None else ()
        terms = [term for term in listed if not term.errors and not term.is_empty]  # the others match nothing
        labels = (*by_map, *(each for term in terms for each in term.requirements))
        fields = (each for term in terms for each in term.fields)
        all_count = required.affinity is None or len(listed) == len(terms) == 1
        return AskedLabels(tuple(dict.fromkeys(labels)), tuple(dict.fromkeys(fields)), all_count)


def label_amounts_on(asked: AskedLabels, node: Node) -> Iterator[Amounts]:
    """Of one node."""
    failed = [each for each in asked.labels if not each.matches(node.labels)]
    failed_fields = [each for each in asked.fields if not each.accepts(node.name if each.key == NAME_FIELD else "")]
    only = int(asked.all_count and len(failed) + len(failed_fields) == 1)
    for each in failed:
        value = node.labels.get(each.key)
        values = () if value is None else ((value, 1),)
        yield Amounts(
            AmountKind.LABEL, str(each), 1, node=node.name, only=only, values=values, without=int(value is None)
        )
    for each in failed_fields:
        yield Amounts(AmountKind.LABEL, str(each), 1, node=node.name, only=only)


def label_amounts(asked: AskedLabels, table: NodeTable, rows: Rows, *, few: bool) -> Iterator[Amounts]:
    """Of all these rows, (n_rows,) intp; of `few` values only the first."""
    failed: list[tuple[Requirement, BoolArray]] = [(each, ~rows_accepted(table, each)[rows]) for each in asked.labels]
    failed += ((each, ~rows_with_field(table, each)[rows]) for each in asked.fields)
    times = np.zeros(len(rows), dtype=np.int64)
    for _, places in failed:
        times += places
    for place, (each, fails) in enumerate(failed):
        at = np.flatnonzero(fails)
        if not len(at):
            continue
        only = int(np.count_nonzero(times[at] == 1)) if asked.all_count else 0
        told = Amounts(AmountKind.LABEL, str(each), len(at), node=name_at(table, rows, int(at[0])), only=only)
        if place < len(asked.labels):
            told = _with_values(told, each.key, table, rows[at], few)
        yield told


def _with_values(told: Amounts, key: str, table: NodeTable, rows: Rows, few: bool) -> Amounts:
    """With the values that these rows have of the label."""
    column = table.label(key)
    numbers, counts, _ = numbers_in(column.ids.take(rows) - NO_VALUE)
    has, numbers = numbers != 0, numbers + NO_VALUE
    values, others = values_of(column, numbers[has], counts[has], few=few)
    return msgspec.structs.replace(told, values=values, others=others, without=int(counts[~has].sum()))
