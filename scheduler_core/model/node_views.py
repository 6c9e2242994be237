"""Things said of many nodes, held as arrays of node indices and spelled out with names only when somebody reads them.

A view equals any other sequence with the same items. `nodes`: (n,) int32, indices into `names`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TypeVar, overload

import numpy as np
import numpy.typing as npt

from scheduler_core.api.pod import Pod
from scheduler_core.model.effects import PreemptionCandidate
from scheduler_core.model.status import Status

T = TypeVar("T")
Nodes = npt.NDArray[np.int32]


class NodeView(Sequence[T], Generic[T]):
    """One item per node of `nodes`, in their order."""

    __slots__ = ("names", "nodes")

    def __init__(self, nodes: Nodes, names: Sequence[str]) -> None:
        self.nodes = nodes
        self.names = names

    def _item(self, place: int) -> T:
        raise NotImplementedError

    @overload
    def __getitem__(self, place: int) -> T: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[T, ...]: ...
    def __getitem__(self, place: int | slice) -> T | tuple[T, ...]:
        places = range(len(self.nodes))[place]
        return self._item(places) if isinstance(places, int) else tuple(self._item(each) for each in places)

    def __len__(self) -> int:
        return len(self.nodes)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))


class NodeNames(NodeView[str]):
    """The nodes by name."""

    __slots__ = ()

    def _item(self, place: int) -> str:
        return self.names[int(self.nodes[place])]


class NodeStatuses(NodeView[tuple[str, Status]]):
    """Each node with its status: `statuses[codes[place]]`."""

    __slots__ = ("codes", "statuses")

    def __init__(
        self, nodes: Nodes, names: Sequence[str], codes: npt.NDArray[np.integer], statuses: Sequence[Status]
    ) -> None:
        super().__init__(nodes, names)
        self.codes = codes
        self.statuses = statuses

    def _item(self, place: int) -> tuple[str, Status]:
        return self.names[int(self.nodes[place])], self.statuses[int(self.codes[place])]


class NodeCandidates(NodeView[PreemptionCandidate]):
    """Each node with the pods that would have to go; `num_pdb_violations`: (n,) int64."""

    __slots__ = ("num_pdb_violations", "victims")

    def __init__(
        self,
        nodes: Nodes,
        names: Sequence[str],
        victims: Sequence[tuple[Pod, ...]] | npt.NDArray[np.object_],
        num_pdb_violations: npt.NDArray[np.int64],
    ) -> None:
        super().__init__(nodes, names)
        self.victims = victims
        self.num_pdb_violations = num_pdb_violations

    def _item(self, place: int) -> PreemptionCandidate:
        return PreemptionCandidate(
            node_name=self.names[int(self.nodes[place])],
            victims=tuple(pod.key for pod in self.victims[place]),
            num_pdb_violations=int(self.num_pdb_violations[place]),
        )
