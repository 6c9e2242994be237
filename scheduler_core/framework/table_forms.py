"""The second form of hot rules: over all rows of the node table at once.

A plugin without it runs node by node, with equal results; one with it has the node form as well.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from scheduler_core.api.pod import Pod
from scheduler_core.framework.answers import Headroom, Int64Array, PreFilterResult, RowIndex, RowVerdicts
from scheduler_core.framework.cycle_state import CycleState
from scheduler_core.model.status import Status
from scheduler_core.table.node_table import NodeTable


@runtime_checkable
class TablePreFilterPlugin(Protocol):
    name: str

    def pre_filter_table(self, state: CycleState, pod: Pod, table: NodeTable) -> tuple[PreFilterResult | None, Status]:
        """The answer of `pre_filter`, and a state that says the same, from the columns of all rows."""
        ...


@runtime_checkable
class TableFilterPlugin(Protocol):
    name: str

    def filter_nodes(self, state: CycleState, pod: Pod, table: NodeTable, rows: RowIndex) -> RowVerdicts | None:
        """Verdicts of the rows asked for; None when all of them pass."""
        ...


@runtime_checkable
class TablePreScorePlugin(Protocol):
    name: str

    def pre_score_table(self, state: CycleState, pod: Pod, table: NodeTable, rows: npt.NDArray[np.intp]) -> Status:
        """The answer of `pre_score`, and a state that says the same; `rows` are those of the feasible nodes."""
        ...


@runtime_checkable
class TableScorePlugin(Protocol):
    name: str

    def score_nodes(
        self, state: CycleState, pod: Pod, table: NodeTable, rows: npt.NDArray[np.intp]
    ) -> Int64Array | None:
        """Raw scores of the given rows, in their order, shape (len(rows),); None: ask node by node (it will fail)."""
        ...


@runtime_checkable
class HeadroomPlugin(Protocol):
    """Not an extension point: a filter that looks at the pods of a node only to add up their number and requests."""

    name: str

    def headroom(self, state: CycleState, pod: Pod, table: NodeTable, rows: npt.NDArray[np.intp]) -> Headroom | None:
        """None: only asking node by node tells."""
        ...

    def headroom_verdicts(
        self, state: CycleState, pod: Pod, table: NodeTable, rows: npt.NDArray[np.intp], left: Int64Array
    ) -> RowVerdicts | None:
        """What `filter` says of the rows when this is left; None when all of them pass."""
        ...
