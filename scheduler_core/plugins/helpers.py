"""What several plugins share: Go's arithmetic, normalising, refusals of rows, taints, hint questions.

Integer division truncates toward zero. Vector forms take and give int64 arrays, one entry per row asked for.
Source: kubernetes v1.34.1, pkg/scheduler/framework/plugins/helper.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from scheduler_core.api.affinity import Taint, Toleration
from scheduler_core.api.meta import KubeObject
from scheduler_core.api.node import Node
from scheduler_core.api.pod import Pod
from scheduler_core.config.args_validation import validate_args
from scheduler_core.config.types import ConfigValue
from scheduler_core.errors import ConfigError
from scheduler_core.framework.answers import MAX_NODE_SCORE, Int64Array, QueueingHint, RowIndex, RowVerdicts
from scheduler_core.lru import LruDict
from scheduler_core.model.amounts import MOST_VALUES
from scheduler_core.model.node_info import NodeInfo
from scheduler_core.model.status import Status
from scheduler_core.table.labels import LabelColumn
from scheduler_core.table.node_table import NodeTable

HARD_TAINT_EFFECTS = frozenset({"NoSchedule", "NoExecute"})

Rows = npt.NDArray[np.intp]  # the type numpy gathers by without converting each time
BoolArray = npt.NDArray[np.bool_]

K = TypeVar("K")
V = TypeVar("V")


def int_div(dividend: int, divisor: int) -> int:
    """Go's `/`: toward zero."""
    quotient = abs(dividend) // abs(divisor)
    return quotient if (dividend < 0) == (divisor < 0) else -quotient


def default_normalize(scores: Int64Array, *, reverse: bool) -> None:
    """Bring scores ≥ 0 into 0..100 by the largest, in place; reversed, the smallest raw score is the best."""
    largest = scores.item(scores.argmax()) if len(scores) else 0
    if largest == 0:
        scores[:] = MAX_NODE_SCORE if reverse else 0
        return
    scores *= MAX_NODE_SCORE
    scores //= largest  # nothing is negative: floor equals truncation
    if reverse:
        np.subtract(MAX_NODE_SCORE, scores, out=scores)


def broken_linear(points: Sequence[tuple[int, int]], x: int) -> int:
    """The value at x of the line through (utilization, score) points, flat outside them."""
    for index, (right, score) in enumerate(points):
        if x <= right:
            if index == 0:
                return score
            left, score_left = points[index - 1]
            return score_left + int_div((score - score_left) * (x - left), right - left)
    return points[-1][1]


def check_args(args: ConfigValue) -> None:
    """ConfigError with every problem of a plugin's args; those of a loaded configuration have none."""
    problems = list(validate_args("args", args))
    if problems:
        raise ConfigError(problems)


# Refusals of rows


def refuse(mask: BoolArray, status: Status) -> RowVerdicts | None:
    """The marked rows are refused with the one status; None when there are none."""
    return RowVerdicts(mask.astype(np.uint16), (status,)) if np.count_nonzero(mask) else None


def refuse_all(table: NodeTable, rows: RowIndex, status: Status) -> RowVerdicts:
    """Every row asked for gets the status."""
    return RowVerdicts(np.ones(len(table.live[rows]), dtype=np.uint16), (status,))


def refused_at(
    rows: RowIndex, refused: Iterable[tuple[BoolArray | None, int]], statuses: Sequence[Status]
) -> RowVerdicts | None:
    """Verdicts of the rows, of sets of refused rows, (n_rows,) each, with 1 + index of a status.

    The first set that has a row names its status; None when none has any of them.
    """
    # Booleans are bytes of 0 and 1: arithmetic on bytes is several times as fast.
    codes: npt.NDArray[np.uint8] | None = None
    anywhere: BoolArray | None = None
    for mask, code in refused:
        if mask is None:
            continue
        here = mask if isinstance(rows, slice) else mask.take(rows)
        if anywhere is None or codes is None:
            anywhere, codes = here, here.view(np.uint8) * np.uint8(code)
        else:
            codes += (here > anywhere).view(np.uint8) * np.uint8(code)
            anywhere = anywhere | here
    if anywhere is None or codes is None or not np.count_nonzero(anywhere):
        return None
    return RowVerdicts(codes.astype(np.uint16), statuses)


# Amounts


def numbers_in(numbers: npt.NDArray[Any]) -> tuple[Rows, Rows, Rows]:
    """Each number that occurs, none below 0; how often, and at which place first: in that order. All are (n_found,)."""
    counts, first = np.bincount(numbers), np.zeros(int(numbers.max()) + 1, dtype=np.intp)
    first[numbers[::-1]] = np.arange(len(numbers) - 1, -1, -1)  # of equal indices the last one stays
    present = np.flatnonzero(counts)
    present = present[first[present].argsort()]
    return present, counts[present], first[present]


def groups_of(numbers: npt.NDArray[Any]) -> Iterator[tuple[int, int, int]]:
    """`numbers_in`, one by one."""
    yield from zip(*(each.tolist() for each in numbers_in(numbers)), strict=True)


def values_of(
    column: LabelColumn, numbers: Rows, counts: npt.NDArray[Any], *, few: bool, smallest: bool = False
) -> tuple[tuple[tuple[str, int], ...], int]:
    """Values of the label by number, with these counts; of `few` the first by count, and how many others there are.

    `numbers` and `counts` are (n_values,); the most frequent come first, or the least where `smallest`.
    """
    order = np.argsort(counts if smallest else -counts, kind="stable")
    if few:
        order = order[:MOST_VALUES]
    pairs = zip(numbers[order].tolist(), counts[order].tolist(), strict=True)
    return tuple((column.values.values[number] or "", count) for number, count in pairs), len(numbers) - len(order)


def infos_of(table: NodeTable, rows: Rows) -> Iterator[NodeInfo]:
    """The nodes of the rows, for what is asked node by node."""
    return (info for info in map(table.node_infos.__getitem__, rows.tolist()) if info is not None)


def name_at(table: NodeTable, rows: Rows, place: int) -> str:
    """The name of the node of the row at this place."""
    return table.names[rows.item(place)] or ""


# Taints


def is_tolerated(taint: Taint, tolerations: Sequence[Toleration]) -> bool:
    return any(toleration.tolerates(taint) for toleration in tolerations)


def first_untolerated(taints: Iterable[Taint], tolerations: Sequence[Toleration]) -> Taint | None:
    """The first taint that keeps a pod with these tolerations off its node."""
    for taint in taints:
        if taint.effect in HARD_TAINT_EFFECTS and not is_tolerated(taint, tolerations):
            return taint
    return None


# Hints


class IdentityMemo(Generic[K, V]):
    """What was worked out of an immutable argument, by its identity; arguments it holds are kept alive.

    One event is a question to each of thousands of waiting pods, and the next event asks them all again.
    """

    _LIMIT = 16_384

    def __init__(self, work_out: Callable[[K], V]) -> None:
        self._work_out = work_out
        self._known: LruDict[int, tuple[K, V]] = LruDict(self._LIMIT)

    def __call__(self, argument: K) -> V:
        known = self._known.get(id(argument))
        if known is None:
            known = self._known[id(argument)] = (argument, self._work_out(argument))
        return known[1]


def queue_if(worth_it: bool) -> QueueingHint:
    return QueueingHint.QUEUE if worth_it else QueueingHint.SKIP


def queue_if_same_pod(pod: Pod, _old: KubeObject | None, new: KubeObject | None) -> QueueingHint:
    """The event is about the waiting pod itself."""
    return queue_if(new is not None and new.uid == pod.uid)


def as_pod(obj: KubeObject | None) -> Pod | None:
    """The pod of a pod event; TypeError, which queues the pod, when it is none."""
    if obj is not None and not isinstance(obj, Pod):
        raise TypeError(f"expected a Pod, got {obj.kind}")
    return obj


def as_node(obj: KubeObject | None) -> Node | None:
    """The node of a node event; TypeError, which queues the pod, when it is none."""
    if obj is not None and not isinstance(obj, Node):
        raise TypeError(f"expected a Node, got {obj.kind}")
    return obj


def had_a_place(pod: Pod) -> bool:
    """Whether a deleted pod was bound or nominated: only then does it free something."""
    return pod.is_assigned or bool(pod.status.nominated_node_name)
