"""Filters that look at the pods of a node only for the room they take, and what that says without asking node by node.

Where exactly one filter at work looks at pods, and only to add up their number and requests (`RoomPlugin`), a pod more
or less on a node is a number more or less in that filter's sums; all other verdicts stay as they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from scheduler_core.api.pod import Pod
from scheduler_core.framework.cycle_state import CycleState
from scheduler_core.framework.interface import (
    ProfileRunner,
    ReadingPlugin,
    Reads,
    RoomPlugin,
    TableFilterPlugin,
)
from scheduler_core.framework.refusals import FirstRefusals
from scheduler_core.model.types import PodInfo, Resource
from scheduler_core.table.node_table import NodeTable
from scheduler_core.table.resources import CPU, EPHEMERAL_STORAGE, MAX_AMOUNT, MEMORY

Filter = tuple[TableFilterPlugin, RoomPlugin | None]
"""A filter, and once more where it looks at pods only for the room they take."""


class FiltersByRoom:
    """The filters of a profile, sorted once: what a protocol asks of a plugin takes long to find out."""

    def __init__(self, runner: ProfileRunner) -> None:
        self.runner = runner
        self._by_name: dict[str, Filter] = {
            plugin.name: (plugin, plugin if isinstance(plugin, RoomPlugin) else None)
            for plugin in runner.filter
            if isinstance(plugin, TableFilterPlugin)
        }
        self._reading = {plugin.name: plugin for plugin in runner.filter if isinstance(plugin, ReadingPlugin)}

    def at_work(self, state: CycleState, pod: Pod) -> list[Filter] | None:
        """Those at work, in running order, when exactly one of them looks at pods and only at the room they take."""
        skipped, runner = state.skip_filter_plugins, self.runner
        if not runner.use_table or any(plugin.name not in skipped for plugin in runner.pre_filter_extensions):
            return None
        filters: list[Filter] = []
        with_room = 0
        for plugin in runner.filter:
            if plugin.name in skipped:
                continue
            known, reading = self._by_name.get(plugin.name), self._reading.get(plugin.name)
            if known is None:
                return None
            if known[1] is not None:
                with_room += 1
            else:
                reads = reading.reads(pod) if reading is not None else None
                if reads is None or reads > Reads.NODE:
                    return None
            filters.append(known)
        return filters if with_room == 1 else None

    def crowding(
        self, state: CycleState, pod: Pod, table: NodeTable, nominated: Mapping[int, Sequence[PodInfo]]
    ) -> Crowding | None:
        """The nodes with these nominated pods as a question of room; None where each has to be asked."""
        filters = self.at_work(state, pod)
        plugin = next((room for _, room in filters if room is not None), None) if filters is not None else None
        if plugin is None or plugin.room(state, pod, table, np.zeros(0, dtype=np.intp)) is None:
            return None
        names = [each.name for each in self.runner.filter]
        return Crowding(plugin, names.index(plugin.name), nominated)


class Crowding:
    """Nodes with nominated pods that count against a pod: it has to fit there with them, which is harder than without.

    `index`: of the filter that looks at the room.
    """

    def __init__(self, plugin: RoomPlugin, index: int, nominated: Mapping[int, Sequence[PodInfo]]) -> None:
        """`nominated`: the pods that count, by node."""
        self._plugin = plugin
        self._index = index
        self._nominated = nominated
        self._nodes = np.array(sorted(nominated), dtype=np.int32)

    def add_to(
        self,
        refusals: FirstRefusals,
        walk: npt.NDArray[np.int32],
        rows: npt.NDArray[np.intp],
        state: CycleState,
        pod: Pod,
        table: NodeTable,
    ) -> None:
        """Refuse those nodes of the walk, whose rows and refusals these are, that have no room for all."""
        crowded = np.isin(walk, self._nodes)
        crowded &= refusals.refused_by >= self._index
        places = np.flatnonzero(crowded)
        there = rows[places]
        room = self._plugin.room(state, pod, table, there)
        assert room is not None  # asked before
        names = list(table.resources.index_of)
        taken = np.array(
            [_sums(self._nominated[node], room.resources, names) for node in walk[places].tolist()], dtype=np.int64
        ).reshape(len(places), len(room.left))
        np.subtract(room.left, taken.T, out=room.left, where=room.left >= 0)  # no sum below 64 bits
        if (room.left < 0).any():
            verdicts = self._plugin.room_verdicts(state, pod, table, there, room.left)
            if verdicts is not None:
                refusals.put_verdicts(places, self._index, self._plugin.name, verdicts)


def _sums(infos: Sequence[PodInfo], resources: Sequence[int], names: Sequence[str]) -> list[int]:
    """How many pods these are, and what they ask of each resource."""
    amounts = (sum(_amount(info.request, resource, names) for info in infos) for resource in resources)
    return [len(infos), *(min(amount, MAX_AMOUNT) for amount in amounts)]


def _amount(request: Resource, index: int, names: Sequence[str]) -> int:
    if index == CPU:
        return request.milli_cpu
    if index == MEMORY:
        return request.memory
    if index == EPHEMERAL_STORAGE:
        return request.ephemeral_storage
    return request.scalar.get(names[index], 0)
