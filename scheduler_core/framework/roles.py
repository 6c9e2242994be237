"""What a plugin may be beside its extension points: one that hears of evictions, tells of amounts, remembers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol, runtime_checkable

import msgspec
import numpy as np
import numpy.typing as npt

from scheduler_core.api.pod import Pod
from scheduler_core.framework.cycle_state import CycleState
from scheduler_core.model.amounts import Amounts
from scheduler_core.model.changes import EvictionVerdict
from scheduler_core.model.effects import DeviceRecord, FilterRows
from scheduler_core.model.node_info import NodeInfo
from scheduler_core.model.observed import DomainCounts
from scheduler_core.table.node_table import NodeTable


@runtime_checkable
class EvictionObserver(Protocol):
    """Not an extension point: a plugin that asked for evictions hears what came of them."""

    name: str

    def evictions_done(self, verdict: EvictionVerdict) -> None: ...


@runtime_checkable
class DeviceAccountant(Protocol):
    """Not an extension point: a plugin that tells, for the record of an attempt, what became of devices."""

    name: str

    def account(
        self, state: CycleState, pod: Pod, rows: FilterRows | None, infos: Sequence[NodeInfo]
    ) -> DeviceRecord | None:
        """Called when all is decided; `rows` are indices into `infos`. None when devices played no part."""
        ...


class Refused(msgspec.Struct, frozen=True):
    """The rows of the table, in walk order, that a plugin refused for a reason; `alone` where it gave no other.

    `rows` is (n_refused,) intp, `alone` (n_refused,) bool.
    `are_all`: no other nodes will be added to what is told of these, so that only the first values are wanted.
    """

    reason: str
    rows: npt.NDArray[np.intp]
    alone: npt.NDArray[np.bool_]
    are_all: bool


@runtime_checkable
class AmountsTeller(Protocol):
    """Not an extension point: a plugin that tells, of nodes it refused, how much was asked and how much there was.

    Both forms are asked in the cycle that refused and say the same: `amounts` what those of the single nodes add up to
    (`model.amounts.merged`), with all subjects and values. They say nothing of reasons for which no amounts are known.
    """

    name: str

    def amounts_on(
        self, state: CycleState, pod: Pod, node_info: NodeInfo, reason: str, alone: bool
    ) -> Iterable[Amounts]:
        """Of one node that was refused for the reason, and for no other where `alone`."""
        ...

    def amounts(self, state: CycleState, pod: Pod, table: NodeTable, refused: Refused) -> Iterable[Amounts]:
        """Of all these rows; there is at least one."""
        ...


@runtime_checkable
class DomainTeller(Protocol):
    """Not an extension point: a plugin that tells how many pods it counted in each domain, for who looks at a cycle."""

    name: str

    def domain_counts(self, state: CycleState, infos: Sequence[NodeInfo]) -> Iterable[DomainCounts]:
        """What the node form left in the state; `infos` are the feasible nodes."""
        ...


@runtime_checkable
class StatefulPlugin(Protocol):
    """Not an extension point: a plugin that remembers something between steps writes it into checkpoints."""

    name: str

    def dump_state(self) -> Any:
        """Plain values, as MessagePack takes them."""
        ...

    def load_state(self, state: Any) -> None:
        """Take over what `dump_state` gave; the plugin is fresh."""
        ...
