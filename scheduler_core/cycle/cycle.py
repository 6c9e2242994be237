"""The one argument of a scheduling cycle's functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from scheduler_core.api.pod import Pod
from scheduler_core.api.signature import Signature
from scheduler_core.cycle.view import EMPTY_VIEW, SnapshotView
from scheduler_core.framework.cycle_state import CycleState
from scheduler_core.framework.handle import NominatedPods
from scheduler_core.framework.runtime import Framework
from scheduler_core.model.effects import Attempt
from scheduler_core.model.node_info import NodeInfo
from scheduler_core.model.types import Diagnosis, PodInfo
from scheduler_core.ports import Stopwatch


class Cycle(msgspec.Struct):
    """The plugins that decide, the pod they decide about, the nodes as they are now, and the record of the decision.

    `start`: the node at which the walk begins. `wanted`: how many feasible nodes end it. `num_refused`: nodes of which
    the diagnosis has, or would have, a status. `sent_back`: the feasible nodes as an extender returned them, when it
    did; they are scored instead of the snapshot's. `is_exhaustive`: all nodes are looked at, whatever the profile says.
    `crowded`: where no node fits, the nominated pods that counted against the pod, by node.
    """

    profile: Framework
    state: CycleState
    pod: Pod
    signature: Signature  # of the pod
    nominated: NominatedPods
    attempt: Attempt
    diagnosis: Diagnosis
    stopwatch: Stopwatch
    started_ns: int  # by the stopwatch
    lap_ns: int  # when the last phase ended
    is_sampled: bool  # its plugins are timed one by one
    view: SnapshotView = EMPTY_VIEW
    start: int = 0
    wanted: int = 0
    num_refused: int = 0
    sent_back: Sequence[NodeInfo] | None = None
    is_exhaustive: bool = False
    crowded: Mapping[int, Sequence[PodInfo]] = msgspec.field(default_factory=dict)

    def end_of(self, phase: str) -> None:
        """Add the time since the last phase ended to this phase of the attempt."""
        now = self.stopwatch()
        durations = self.attempt.durations_ns
        durations[phase] = durations.get(phase, 0) + now - self.lap_ns
        self.lap_ns = now
