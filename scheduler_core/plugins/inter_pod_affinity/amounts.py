"""Amounts of refusals for required terms: how many pods there are to be near to, and a pod that stands against it.

Subjects are topology keys with what the pod's terms of that key select. The pod that is named is in the domain of the
first node: on that node if there is one, else the first by row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from scheduler_core.framework.roles import Refused
from scheduler_core.model.amounts import AmountKind, Amounts
from scheduler_core.model.node_info import NodeInfo
from scheduler_core.model.types import PodInfo
from scheduler_core.plugins.helpers import name_at
from scheduler_core.plugins.inter_pod_affinity.filtering import (
    REASON_AFFINITY,
    REASON_ANTI_AFFINITY,
    REASON_EXISTING_ANTI_AFFINITY,
    PreFilterState,
)
from scheduler_core.table.domains import Domains, DomainsByValue
from scheduler_core.table.labels import NO_VALUE
from scheduler_core.table.node_table import NodeTable

_NOWHERE = DomainsByValue()
_MOST_SCANNED = 5_000  # pods; nobody is named when none of so many stands against it


def amounts_on(state: PreFilterState, table: NodeTable, node_info: NodeInfo, reason: str) -> Iterator[Amounts]:
    """Of one node; `table` has the others."""
    assert node_info.node is not None
    labels, name = node_info.node.labels, node_info.name
    if reason == REASON_AFFINITY:
        for key in _keys(state):
            value, domains = labels.get(key), state.affinity.get(key, _NOWHERE)
            if value is None or not (domains.of(value) > 0 or state.may_be_first):
                yield _near(state, key, 1, name, int(value is None))
        return
    for kind, key, domains in _against(state, reason):
        value = labels.get(key)
        if value is not None and domains.of(value) > 0:
            pod = _pod_against(state, kind, key, table, value, node_info)
            yield Amounts(kind, subject_of(state, kind, key), node=name, pod=pod)


def amounts(state: PreFilterState, table: NodeTable, refused: Refused) -> Iterator[Amounts]:
    """Of all these rows."""
    rows = refused.rows
    if refused.reason == REASON_AFFINITY:
        may_be_first = state.may_be_first
        for key in _keys(state):
            column = table.label(key)
            numbers = column.ids.take(rows)
            lacking = numbers == NO_VALUE
            far = lacking.copy()
            if not may_be_first:
                far |= state.affinity.get(key, _NOWHERE).of_numbers(column, numbers) <= 0
            places = np.flatnonzero(far)
            if len(places):
                name = name_at(table, rows, int(places[0]))
                yield _near(state, key, len(places), name, int(np.count_nonzero(lacking)))
        return
    for kind, key, domains in _against(state, refused.reason):
        column = table.label(key)
        places = np.flatnonzero(domains.of_numbers(column, column.ids.take(rows)) > 0)
        if not len(places):
            continue
        first = rows.item(int(places[0]))
        node_info, value = table.node_infos[first], column.values.values[column.ids.item(first)]
        pod = "" if node_info is None else _pod_against(state, kind, key, table, value or "", node_info)
        yield Amounts(
            kind, subject_of(state, kind, key), len(places), node=name_at(table, rows, int(places[0])), pod=pod
        )


def _keys(state: PreFilterState) -> list[str]:
    """Of the required terms, each once."""
    return list(dict.fromkeys(term.topology_key for term in state.incoming.terms.required))


def _against(state: PreFilterState, reason: str) -> Iterator[tuple[AmountKind, str, Domains]]:
    """What the reason may come from: kind, topology key, and pods that stand against it by domain."""
    if reason == REASON_ANTI_AFFINITY:
        yield from ((AmountKind.APART, key, domains) for key, domains in state.anti.items())
    elif reason == REASON_EXISTING_ANTI_AFFINITY:
        yield from ((AmountKind.KEPT_APART, key, domains) for key, domains in state.existing_anti.items())


def _near(state: PreFilterState, key: str, nodes: int, name: str, without: int) -> Amounts:
    terms = sum(term.topology_key == key for term in state.incoming.terms.required)
    # A pod counts once for each term of the key.
    there = state.affinity[key].total() // terms if key in state.affinity else 0
    return Amounts(AmountKind.NEAR, subject_of(state, AmountKind.NEAR, key), nodes, None, there, name, without=without)


def subject_of(state: PreFilterState, kind: AmountKind, key: str) -> str:
    """The key, and what the pod's terms of the key select."""
    if kind is AmountKind.KEPT_APART:
        return key
    terms = state.incoming.terms
    listed = terms.required if kind is AmountKind.NEAR else terms.required_anti
    return f"{key} ({'; '.join(str(term.selector) for term in listed if term.topology_key == key)})"


def _pod_against(
    state: PreFilterState, kind: AmountKind, key: str, table: NodeTable, value: str, node_info: NodeInfo
) -> str:
    """The key of a pod in the domain of the node that the terms are about, or whose terms are about the pod."""
    stands = _speaks_of_it(state, key) if kind is AmountKind.KEPT_APART else _spoken_of(state, key)
    number = table.label(key).values.id_of.get(value, NO_VALUE)
    others = (table.node_infos[row] for row in np.flatnonzero(table.label(key).ids == number).tolist())
    scanned = 0
    for info in (node_info, *others):
        for existing in info.pods if info is not None else ():
            scanned += 1
            if stands(existing):
                return existing.pod.key
            if scanned == _MOST_SCANNED:
                return ""
    return ""


def _spoken_of(state: PreFilterState, key: str) -> Callable[[PodInfo], bool]:
    terms = [term for term in state.incoming.terms.required_anti if term.topology_key == key]
    return lambda existing: any(term.matches_pod(existing.pod) for term in terms)


def _speaks_of_it(state: PreFilterState, key: str) -> Callable[[PodInfo], bool]:
    return lambda existing: any(
        term.topology_key == key and state.incoming.is_spoken_of(term) for term in existing.terms.required_anti
    )
