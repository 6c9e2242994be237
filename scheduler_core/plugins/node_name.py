"""A pod that names its node fits only there.

Source: kubernetes v1.34.1, pkg/scheduler/framework/plugins/nodename
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from scheduler_core.api.pod import Pod
from scheduler_core.config import names
from scheduler_core.framework.answers import ClusterEventWithHint, RowIndex, RowVerdicts
from scheduler_core.framework.cycle_state import CycleState
from scheduler_core.framework.handle import Handle
from scheduler_core.framework.reuse import DependsOn
from scheduler_core.model.events import NODE_ADD
from scheduler_core.model.node_info import NodeInfo
from scheduler_core.model.status import SUCCESS, Status
from scheduler_core.plugins.helpers import refuse
from scheduler_core.table.node_table import NodeTable

REASON = "node(s) didn't match the requested node name"

_OTHER_NODE = Status.unresolvable(REASON)


class NodeName:
    name = names.NODE_NAME

    def __init__(self, args: object | None, handle: Handle) -> None:
        """It takes no arguments and needs nothing of the scheduler."""

    def depends_on(self, pod: Pod) -> DependsOn:
        return DependsOn.NODE_OBJECT

    def filter(self, state: CycleState, pod: Pod, node_info: NodeInfo) -> Status:
        wanted = pod.spec.node_name
        return SUCCESS if not wanted or wanted == node_info.name else _OTHER_NODE

    def filter_nodes(self, state: CycleState, pod: Pod, table: NodeTable, rows: RowIndex) -> RowVerdicts | None:
        wanted = pod.spec.node_name
        if not wanted:
            return None
        others = np.ones(table.n_rows, dtype=np.bool_)
        row = table.row_of.get(wanted)
        if row is not None:
            others[row] = False
        return refuse(others[rows], _OTHER_NODE)

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        return (ClusterEventWithHint(NODE_ADD),)
