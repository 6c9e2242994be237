"""What a plugin may be beside its extension points: one that hears of evictions, tells of devices, remembers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

from scheduler_core.api.pod import Pod
from scheduler_core.framework.cycle_state import CycleState
from scheduler_core.model.changes import EvictionVerdict
from scheduler_core.model.effects import DeviceRecord, FilterRows
from scheduler_core.model.node_info import NodeInfo


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
