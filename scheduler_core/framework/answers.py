"""What plugins answer at the extension points, and what they register for the queue.

Source: kubernetes v1.34.1, pkg/scheduler/framework/interface.go.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum

import msgspec
import numpy as np
import numpy.typing as npt

from scheduler_core.api.meta import KubeObject
from scheduler_core.api.pod import Pod
from scheduler_core.model.effects import ClaimWrite
from scheduler_core.model.events import ClusterEvent
from scheduler_core.model.status import Status

MAX_NODE_SCORE = 100

Int64Array = npt.NDArray[np.int64]
UInt16Array = npt.NDArray[np.uint16]
RowIndex = slice | npt.NDArray[np.intp]
"""Which rows of the table are asked for: ALL_ROWS or their numbers; an index into any column."""
ALL_ROWS = slice(None)


class QueueingHint(IntEnum):
    """Whether an event is worth trying the pod again."""

    SKIP = 0
    QUEUE = 1


HintFn = Callable[[Pod, KubeObject | None, KubeObject | None], QueueingHint]


@dataclass(frozen=True, slots=True)
class ClusterEventWithHint:
    """A registration; no hint means every such event is worth a try. A hint that raises counts as QUEUE."""

    event: ClusterEvent
    hint: HintFn | None = None


@dataclass(frozen=True, slots=True)
class PreFilterResult:
    """Names of the nodes worth looking at; None means all."""

    node_names: frozenset[str] | None = None


class NominatingMode(IntEnum):
    NOOP = 0
    OVERRIDE = 1


@dataclass(frozen=True, slots=True)
class NominatingInfo:
    """What to do with `status.nominatedNodeName`: leave it, or set it (empty clears)."""

    mode: NominatingMode = NominatingMode.NOOP
    nominated_node_name: str = ""


CLEAR_NOMINATION = NominatingInfo(NominatingMode.OVERRIDE, "")


class RowVerdicts(msgspec.Struct, frozen=True):
    """Answer of a filter for the rows asked for: a code is 0 for success, else 1 + index into `statuses`.

    `codes`: uint16, in the order of the rows asked for; for all rows that is (n_rows,) in row order of the table, not
    in node order. Whoever gets them only reads them: a plugin may give the same array again.
    """

    codes: UInt16Array
    statuses: Sequence[Status]

    def at(self, rows: RowIndex) -> RowVerdicts:
        """Pick the verdicts of the rows, where these are of all rows."""
        return self if isinstance(rows, slice) else RowVerdicts(self.codes[rows], self.statuses)


@dataclass(slots=True)
class PreBindWork:
    """What must be written before the pod may be bound, and whether somebody must be awaited.

    The shell carries `writes` and `claim_writes` out. When `awaits` is true the pod waits for a PreBindVerdict, or for
    its plugin to see for itself (`PreBindWatcher`), which is asked at `deadline` (engine time) at the latest.
    """

    writes: list[KubeObject] = field(default_factory=list)
    awaits: bool = False
    deadline: int | None = None
    claim_writes: list[ClaimWrite] = field(default_factory=list)


class Headroom(msgspec.Struct, frozen=True):
    """What would be left on some rows with the pod on them; it fits where nothing is below 0.

    `left`: (1 + len(resources), len(rows)) int64; line 0 counts pods, line 1 + i is of the resource whose index in the
    table is `resources[i]`. The caller may write into it: each pod less on a row adds 1 and its requests.
    """

    left: Int64Array
    resources: tuple[int, ...]
