"""What nodes would have left with a pod on them, where that alone decides how the pods there count.

Where exactly one filter at work looks at a node's pods, and only to add up their number and requests
(`HeadroomPlugin`), a pod more or less on a node is a number more or less in that filter's sums; all other verdicts
stay as they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from scheduler_core.api.pod import Pod
from scheduler_core.cycle.cycle import Cycle
from scheduler_core.cycle.fast.refusals import FirstRefusals
from scheduler_core.cycle.view import Int32Array, Rows
from scheduler_core.framework.cycle_state import CycleState
from scheduler_core.framework.handle import ProfileRunner
from scheduler_core.framework.reuse import DependsOn
from scheduler_core.framework.table_forms import HeadroomPlugin, TableFilterPlugin
from scheduler_core.model.types import PodInfo
from scheduler_core.table.resources import MAX_AMOUNT

FilterAtWork = tuple[TableFilterPlugin, HeadroomPlugin | None]
"""A filter, and once more where it looks at pods only for the headroom they leave."""


def filters_at_work(profile: ProfileRunner, state: CycleState, pod: Pod) -> list[FilterAtWork] | None:
    """The filters not skipped, in running order, when exactly one of them looks at pods and only to add them up."""
    skipped = state.skip_filter_plugins
    if any(plugin.name not in skipped for plugin in profile.pre_filter_extensions):
        return None
    filters: list[FilterAtWork] = []
    with_headroom = 0
    for plugin in profile.filter:
        name = plugin.name
        if name in skipped:
            continue
        in_table, headroom = profile.table_filters.get(name), profile.headroom_filters.get(name)
        if in_table is None:
            return None
        if headroom is not None:
            with_headroom += 1
        else:
            cacheable = profile.cacheable.get(name)
            level = cacheable.depends_on(pod) if cacheable is not None else None
            if level is None or level > DependsOn.NODE_OBJECT:
                return None
        filters.append((in_table, headroom))
    return filters if with_headroom == 1 else None


class NominatedHeadroom:
    """Nodes with nominated pods that count against a pod: it has to fit there with them, which is harder than without.

    `index`: of the filter that adds up pods. `nominated`: the pods that count, by node.
    """

    def __init__(self, plugin: HeadroomPlugin, index: int, nominated: Mapping[int, Sequence[PodInfo]]) -> None:
        self._plugin = plugin
        self._index = index
        self._nominated = nominated
        self._nodes = np.array(sorted(nominated), dtype=np.int32)

    @staticmethod
    def of(cycle: Cycle, nominated: Mapping[int, Sequence[PodInfo]]) -> NominatedHeadroom | None:
        """None when the nodes have to be asked one by one."""
        filters = filters_at_work(cycle.profile, cycle.state, cycle.pod)
        plugin = next((headroom for _, headroom in filters or () if headroom is not None), None)
        nowhere = np.zeros(0, dtype=np.intp)
        if plugin is None or plugin.headroom(cycle.state, cycle.pod, cycle.view.table, nowhere) is None:
            return None
        names = [each.name for each in cycle.profile.filter]
        return NominatedHeadroom(plugin, names.index(plugin.name), nominated)

    def add_to(self, refusals: FirstRefusals, cycle: Cycle, nodes: Int32Array, rows: Rows) -> None:
        """Refuse those of the nodes, whose rows and refusals these are, that cannot take all."""
        state, pod, table = cycle.state, cycle.pod, cycle.view.table
        wanted = np.isin(nodes, self._nodes)
        wanted &= refusals.refused_by >= self._index
        places = np.flatnonzero(wanted)
        there = rows[places]
        headroom = self._plugin.headroom(state, pod, table, there)
        assert headroom is not None  # asked before
        names = list(table.resources.index_of)
        resources = [names[index] for index in headroom.resources]
        taken = np.array(
            [_sums(self._nominated[node], resources) for node in nodes[places].tolist()], dtype=np.int64
        ).reshape(len(places), len(headroom.left))
        # Skip rows already below zero: subtracting again could overflow int64.
        np.subtract(headroom.left, taken.T, out=headroom.left, where=headroom.left >= 0)
        if (headroom.left < 0).any():
            verdicts = self._plugin.headroom_verdicts(state, pod, table, there, headroom.left)
            if verdicts is not None:
                refusals.put_verdicts(places, self._index, self._plugin.name, verdicts)


def _sums(infos: Sequence[PodInfo], resources: Sequence[str]) -> list[int]:
    """How many pods these are, and what they ask of each resource."""
    amounts = (sum(info.request.amount_of(name) for info in infos) for name in resources)
    return [len(infos), *(min(amount, MAX_AMOUNT) for amount in amounts)]
