"""An attempt's matrix as it is read back: what each node was told and scored, and how the search went.

Arrays are those of `model.effects`, indices into `node_names`; `rows()` gives them node by node.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import numpy as np
import numpy.typing as npt

from scheduler_core.model.effects import (
    Attempt,
    ExtenderExchange,
    FilterRows,
    NominatedTry,
    PostFilterRecord,
    ScoreRows,
)
from scheduler_core.model.status import SUCCESS, Status


class PluginScore(msgspec.Struct, frozen=True):
    """One plugin's score of one node; `normalized` in 0..100, `weighted` = normalized times weight."""

    plugin: str
    raw: int
    normalized: int
    weighted: int


class NodeVerdict(msgspec.Struct, frozen=True):
    """What became of one node: passed or refused by `status`, and its scores when it was scored."""

    node_name: str
    status: Status
    feasible: bool  # passed, and within the wanted number
    total: int | None = None
    scores: tuple[PluginScore, ...] = ()


class AttemptMatrix(msgspec.Struct, frozen=True):
    """The parts of an attempt that its row does not hold."""

    node_names: tuple[str, ...]
    pre_filter_status: Status | None
    pre_filter_node_names: tuple[str, ...] | None
    skip_filter_plugins: tuple[str, ...]
    nominated: NominatedTry | None
    num_nodes_to_find: int | None
    start_index: int
    end_index: int
    filter_rows: FilterRows | None
    feasible: npt.NDArray[np.int32] | None
    score_rows: ScoreRows | None
    tied: npt.NDArray[np.int32] | None
    post_filter: PostFilterRecord | None = None
    exchanges: tuple[ExtenderExchange, ...] = ()

    @staticmethod
    def of(attempt: Attempt) -> AttemptMatrix:
        """The matrix of an attempt that was never stored."""
        return AttemptMatrix(
            node_names=attempt.node_order.names if attempt.node_order is not None else (),
            pre_filter_status=attempt.pre_filter_status,
            pre_filter_node_names=attempt.pre_filter_node_names,
            skip_filter_plugins=attempt.skip_filter_plugins,
            nominated=attempt.nominated,
            num_nodes_to_find=attempt.num_nodes_to_find,
            start_index=attempt.start_index,
            end_index=attempt.end_index,
            filter_rows=attempt.filter_rows,
            feasible=attempt.feasible,
            score_rows=attempt.score_rows,
            tied=attempt.tied,
            post_filter=attempt.post_filter,
            exchanges=tuple(attempt.exchanges),
        )

    def rows(self) -> Iterator[NodeVerdict]:
        """Every node looked at: in walk order, then feasible ones that no filter walk met (a nominated node)."""
        columns = {} if self.feasible is None else {node: place for place, node in enumerate(self.feasible.tolist())}
        walked = self.filter_rows
        if walked is not None:
            for node, code in zip(walked.nodes.tolist(), walked.codes.tolist(), strict=True):
                yield self._verdict(node, walked.statuses[code - 1] if code else SUCCESS, columns.pop(node, None))
        for node, place in columns.items():
            yield self._verdict(node, SUCCESS, place)

    def num_rows(self) -> int:
        """How many nodes `rows()` gives."""
        walked = np.empty(0, np.int32) if self.filter_rows is None else self.filter_rows.nodes
        return len(walked) if self.feasible is None else len(np.union1d(walked, self.feasible))

    def refused_by(self) -> dict[str, int]:
        """How many nodes each plugin refused: the first that did for the node, which ends its filters."""
        counted: dict[str, int] = {}
        walked = self.filter_rows
        if walked is not None:
            counts = np.bincount(walked.codes, minlength=len(walked.statuses) + 1)[1:].tolist()
            for status, count in zip(walked.statuses, counts, strict=True):
                if count and not status.is_success:
                    counted[status.plugin] = counted.get(status.plugin, 0) + count
        return counted

    def _verdict(self, node: int, status: Status, place: int | None) -> NodeVerdict:
        name, scored = self.node_names[node], self.score_rows
        if place is None or scored is None:
            return NodeVerdict(name, status, place is not None)
        scores = tuple(
            PluginScore(plugin, raw, normalized, normalized * weight)
            for (plugin, weight), raw, normalized in zip(
                scored.plugins, scored.raw[:, place].tolist(), scored.normalized[:, place].tolist(), strict=True
            )
        )
        return NodeVerdict(name, status, True, int(scored.totals[place]), scores)
