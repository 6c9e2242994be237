"""An engine that observes: when another scheduler binds a pod, decide about it too, on the state just before.

The attempt looks at every node, so that the other one's choice is among them, and leaves queue and cache as they are.
"""

from __future__ import annotations

from scheduler_core.api.pod import Pod
from scheduler_core.model.effects import Comparison
from scheduler_core.model.types import QueuedPodInfo
from scheduler_core.scheduler.comparing import OTHER, Circumstances, compare
from scheduler_core.scheduler.engine import Engine
from scheduler_core.scheduler.failure import Failure
from scheduler_core.scheduler.schedule_one import choose_node, open_cycle, percentage_of


def compare_binding(engine: Engine, pod: Pod, node_name: str) -> None:
    """Compare: the pod, as it was while it waited, has been bound to the node. Both decisions are among the effects."""
    observer = engine.observer
    if observer is None or not observer.compares:
        return
    profile = pod.spec.scheduler_name
    queued = engine.queue.get(pod.key)
    attempts = 1 + (queued.attempts if queued is not None and queued.uid == pod.uid else 0)
    if profile not in engine.frameworks:
        other = Comparison(pod.key, pod.uid, 0, profile, OTHER, node_name, "", engine.now)
        engine.effects.comparisons.append(other)
        return
    attempt, cycle = open_cycle(engine, QueuedPodInfo(pod, engine.now, attempts=attempts))
    if cycle is None:
        return  # it is being deleted: nobody should have bound it
    cycle.is_exhaustive = True
    start = engine.next_start_node_index
    chosen = choose_node(engine, cycle)
    engine.next_start_node_index = start
    if isinstance(chosen, Failure):
        attempt.result = "unschedulable" if chosen.status.is_rejected else "error"
        attempt.message = chosen.status.message
        if chosen.fit_error is not None:
            attempt.unschedulable_plugins = tuple(sorted(chosen.fit_error.diagnosis.unschedulable_plugins))
            attempt.pending_plugins = tuple(sorted(chosen.fit_error.diagnosis.pending_plugins))
    else:
        attempt.result, attempt.node_name = "proposed", chosen
    around = Circumstances(
        observer, percentage_of(engine, cycle.profile), engine.now, cycle.diagnosis.unschedulable_plugins
    )
    engine.effects.comparisons.append(compare(attempt, node_name, around))
