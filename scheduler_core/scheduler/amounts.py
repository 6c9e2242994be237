"""What was asked of the nodes that refused a pod, and what there was, by who refused and why.

The plugins tell it from the table, of all nodes a reason is about at once. Where nominated pods counted against the pod
on a node, a plugin that looks at pods is asked about that node by itself, with these pods on it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

import numpy as np
import numpy.typing as npt

from scheduler_core.cycle.cycle import Cycle
from scheduler_core.cycle.view import Int32Array, Rows
from scheduler_core.framework.reuse import DependsOn
from scheduler_core.framework.roles import AmountsTeller, Refused
from scheduler_core.model.amounts import Amounts, RefusalKey, merged
from scheduler_core.model.effects import Attempt, FilterRows

BoolArray = npt.NDArray[np.bool_]

_MEMO_KEY = "amounts"


class Keeper(Protocol):
    """Says of which attempts the amounts are kept; they reach no decision."""

    def keeps(self, attempt: Attempt) -> bool:
        """Whether an attempt that found no node, and is decided, is kept by itself: a repetition is only counted."""
        ...


def amounts_of(cycle: Cycle) -> dict[RefusalKey, tuple[Amounts, ...]]:
    """The amounts of the attempt's refusals as far as they are known; nothing is decided by them."""
    rows, memo = cycle.attempt.filter_rows, cycle.state.memo
    assert rows is not None
    _, last = memo.get(_MEMO_KEY, (None, None))
    if last is not None and last[0] is rows:
        return last[1]  # type: ignore[no-any-return]
    found = _asked(cycle, rows)
    if not cycle.crowded:
        # An equivalent pod has the same walk as long as nothing changed.
        memo[_MEMO_KEY] = (None, (rows, found))
    return found


def _asked(cycle: Cycle, rows: FilterRows) -> dict[RefusalKey, tuple[Amounts, ...]]:
    found: dict[RefusalKey, tuple[Amounts, ...]] = {}
    for key, codes in _codes_by_refusal(rows).items():
        teller = cycle.profile.amounts_tellers.get(key[0])
        if teller is None:
            continue
        places = np.flatnonzero(_marked(codes, rows)[rows.codes])
        alone = [code for code in codes if len(rows.statuses[code - 1].reasons) == 1]
        told = _of_nodes(cycle, teller, key[1], rows.nodes[places], _marked(alone, rows)[rows.codes[places]])
        if amounts := merged(told):
            found[key] = amounts
    return found


def _codes_by_refusal(rows: FilterRows) -> dict[RefusalKey, list[int]]:
    """The codes of the rows that stand for a status with this plugin, reason and code."""
    found: dict[RefusalKey, list[int]] = {}
    for code, status in enumerate(rows.statuses, start=1):
        for reason in dict.fromkeys(status.reasons) if status.is_rejected else ():
            found.setdefault((status.plugin, reason, status.code.name), []).append(code)
    return found


def _marked(codes: Iterable[int], rows: FilterRows) -> BoolArray:
    """Which codes of the rows these are, shape (1 + len(statuses),)."""
    marks: BoolArray = np.zeros(len(rows.statuses) + 1, dtype=np.bool_)
    marks[list(codes)] = True
    return marks


def _of_nodes(
    cycle: Cycle, teller: AmountsTeller, reason: str, nodes: Int32Array, alone: BoolArray
) -> Iterator[Amounts]:
    state, pod, view = cycle.state, cycle.pod, cycle.view
    crowded: list[int] = []
    if cycle.crowded and _looks_at_pods(cycle, teller):
        apart = np.isin(nodes, np.array(list(cycle.crowded), dtype=np.int32))
        crowded = np.flatnonzero(apart).tolist()
    for place in crowded:
        node = int(nodes[place])
        with_pods, node_info, status = cycle.profile.with_pods(state, pod, view.infos[node], cycle.crowded[node])
        if status.is_success:
            yield from teller.amounts_on(with_pods, pod, node_info, reason, bool(alone[place]))
    if crowded:
        nodes, alone = nodes[~apart], alone[~apart]
    if len(nodes):
        rows: Rows = view.rows[nodes]
        yield from teller.amounts(state, pod, view.table, Refused(reason, rows, alone, not crowded))


def _looks_at_pods(cycle: Cycle, teller: AmountsTeller) -> bool:
    cacheable = cycle.profile.cacheable.get(teller.name)
    level = cacheable.depends_on(cycle.pod) if cacheable is not None else None
    return level is None or level > DependsOn.NODE_OBJECT
