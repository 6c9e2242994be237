"""What the allocator says of nodes: of one, and of many rows with answers kept for claims that ask for the same.

Nodes with like pools, of whose devices the same are taken, get the same answer: one search tells for all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from scheduler_core.api.node import Node
from scheduler_core.api.resource_claims import AllocationResult, ResourceClaim
from scheduler_core.framework.answers import UInt16Array
from scheduler_core.framework.handle import Lister
from scheduler_core.model.status import SUCCESS, Code, Status
from scheduler_core.plugins.dynamic_resources.allocator import Allocation, Allocator, TimedOutError
from scheduler_core.plugins.dynamic_resources.pools import Pool, PoolError
from scheduler_core.plugins.dynamic_resources.requests import AllocationError
from scheduler_core.plugins.dynamic_resources.results import results_of
from scheduler_core.plugins.dynamic_resources.rows import UNKNOWN, RowAnswers
from scheduler_core.plugins.dynamic_resources.tracker import ClaimTracker
from scheduler_core.table.node_table import NodeTable

CANNOT_ALLOCATE: Final = "cannot allocate all claims"
TIMED_OUT: Final = "timed out trying to allocate devices"
REFUSALS: Final = (Status.unresolvable(CANNOT_ALLOCATE), Status.unresolvable(TIMED_OUT))
"""What is kept of a row is 0 or 1 + the index of one of these."""
_NOT_ALLOCATED, _TIMED_OUT = REFUSALS

Claims = tuple[ResourceClaim, ...]
"""Those to be allocated."""


class NodeVerdicts:
    """The allocator's answers for one plugin. `max_steps`: how long a search may take, None for ever."""

    def __init__(self, lister: Lister, tracker: ClaimTracker, max_steps: int | None) -> None:
        self._lister = lister
        self._tracker = tracker
        self._max_steps = max_steps
        self._answers = RowAnswers()

    def of_node(self, claims: Claims, node: Node) -> Status:
        """Whether the allocator finds devices for the claims."""
        try:
            # Slices for several nodes may have selectors that cannot be joined.
            search = self.results_on if self._tracker.pools().shared else self._chosen
            return SUCCESS if search(claims, node) is not None else _NOT_ALLOCATED
        except TimedOutError:
            return _TIMED_OUT
        except (AllocationError, PoolError) as error:
            return Status.failed(str(error))

    def of_rows(
        self, claims: Claims, table: NodeTable, rows: npt.NDArray[np.intp], statuses: list[Status]
    ) -> UInt16Array:
        """Codes of the rows, 0 or 1 + the index of a status; `statuses` begin with REFUSALS, failures are added."""
        pools = self._tracker.pools()
        answers = self._answers.known(claims, self._tracker, table, self._lister)
        kept, by_kind = answers.codes, answers.by_kind
        codes = kept[rows].astype(np.uint16)
        for place in np.flatnonzero(codes == UNKNOWN).tolist():
            node_info = table.node_infos[rows[place]]
            codes[place] = 0
            if node_info is None or node_info.node is None:
                continue
            kind = None if pools.shared else self._kind_of(pools.of(node_info.node))
            if kind is not None and kind in by_kind:
                codes[place] = kept[rows[place]] = by_kind[kind]
                continue
            status = self.of_node(claims, node_info.node)
            if status.code is Code.Error:
                statuses.append(status)
                codes[place] = len(statuses)
                continue
            code = 0 if status.is_success else REFUSALS.index(status) + 1
            codes[place] = kept[rows[place]] = code
            if kind is not None:
                by_kind[kind] = code
        return codes

    def results_on(self, claims: Claims, node: Node) -> tuple[AllocationResult, ...] | None:
        """The allocations there, None when there are too few devices.

        Raises AllocationError, PoolError and TimedOutError.
        """
        allocation = self._chosen(claims, node)
        return None if allocation is None else results_of(allocation, claims, node.name)

    def _chosen(self, claims: Claims, node: Node) -> Allocation | None:
        tracker = self._tracker
        pools = tracker.pools().of(node)
        return Allocator(claims, pools, tracker.allocated, tracker.class_of, self._max_steps).allocate()

    def _kind_of(self, pools: Sequence[Pool]) -> tuple[object, ...]:
        """All that the answer depends on beside the claims and classes; names of pools and devices do not matter."""
        allocated = self._tracker.allocated
        return tuple(
            (pool.kind, *(place for place, device in enumerate(pool.devices) if device.id in allocated))
            for pool in pools
        )
