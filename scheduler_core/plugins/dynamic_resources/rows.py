"""What the allocator says of the rows of the node table, kept for claims that ask for the same.

An answer depends on what the claims ask for, on classes and slices, on the node object where slices select nodes, and
on which devices of the node are taken. A device that is taken or given back makes its node's row unknown again; one of
a pool that several nodes share makes all rows so. Failures are not kept.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Final

import msgspec
import numpy as np
import numpy.typing as npt

from scheduler_core.api.resource_claims import DeviceClass, ResourceClaim
from scheduler_core.framework.handle import Lister
from scheduler_core.lru import LruDict
from scheduler_core.plugins.dynamic_resources.pools import Pools
from scheduler_core.plugins.dynamic_resources.tracker import ClaimTracker
from scheduler_core.table.node_table import NodeTable

UNKNOWN: Final = 255
_MOST_KINDS: Final = 64  # of which answers are kept; 5 KB each for 5,000 nodes
_MOST_KINDS_OF_NODES: Final = 1_000

_encoder = msgspec.msgpack.Encoder()


class Answers:
    """For claims of one kind: `codes` by row, UNKNOWN where nothing is known, `by_kind` of nodes, and what both depend
    on. Whoever asks writes what it finds out."""

    __slots__ = ("by_kind", "codes", "made_for", "position")

    def __init__(self, made_for: tuple[Any, ...], n_rows: int, position: int) -> None:
        self.made_for = made_for
        self.codes: npt.NDArray[np.uint8] = np.full(n_rows, UNKNOWN, dtype=np.uint8)
        self.by_kind: LruDict[Hashable, int] = LruDict(_MOST_KINDS_OF_NODES)
        self.position = position


class RowAnswers:
    """The answers of one plugin."""

    def __init__(self) -> None:
        self._kinds: LruDict[bytes, Answers] = LruDict(_MOST_KINDS)

    def known(
        self, claims: Sequence[ResourceClaim], tracker: ClaimTracker, table: NodeTable, lister: Lister
    ) -> Answers:
        """What is known for such claims."""
        pools = tracker.pools()
        # The slots of rows stay as long as the nodes; what selectors say of nodes as long as their objects.
        made_for = (pools, lister.version(DeviceClass.kind), table, table.nodes_version, table.n_rows)
        key = _encoder.encode([claim.spec for claim in claims])
        answers = self._kinds.use(key)
        if answers is not None and not all(map(_same, answers.made_for, made_for)):
            answers = None
        if answers is not None and answers.position != tracker.position:
            changed = tracker.changed_since(answers.position)
            if changed is None or not self._forget(answers, changed, pools, table):
                answers = None
            else:
                answers.position = tracker.position
        if answers is None:
            answers = self._kinds[key] = Answers(made_for, table.n_rows, tracker.position)
        return answers

    @staticmethod
    def _forget(answers: Answers, changed: Sequence[tuple[str, str, str]], pools: Pools, table: NodeTable) -> bool:
        """Make the rows unknown that see these devices; False when that may be any."""
        for device in changed:
            if pools.is_shared(device):
                return False
            for name in pools.places.get(device, ()):
                row = table.row_of.get(name)
                if row is not None:
                    answers.codes[row] = UNKNOWN
        return True


def _same(one: Any, other: Any) -> bool:
    return one is other or (isinstance(one, int) and one == other)
