"""An engine that observes: when another scheduler binds a pod, decide about it too, on the state just before.

The attempt looks at every node, so that the other one's choice is among them, and leaves queue and cache as they are.
Where the two differ, the decision stays open until all is here that it can have been made on, and is then tried on the
states that the other scheduler can have had: see trying.py.
"""

from __future__ import annotations

from scheduler_core.api.pod import Pod
from scheduler_core.model.effects import Comparison
from scheduler_core.model.types import QueuedPodInfo
from scheduler_core.scheduler.comparing import DIFFERED, OTHER, UNCERTAIN, Circumstances, compare
from scheduler_core.scheduler.engine import Engine
from scheduler_core.scheduler.failure import Failure
from scheduler_core.scheduler.schedule_one import choose_node, open_cycle, percentage_of
from scheduler_core.scheduler.trying import learn, settled, verdict_of
from scheduler_core.scheduler.watches import OpenDecision


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
    asked = QueuedPodInfo(pod, engine.now, attempts=attempts)
    attempt, cycle = open_cycle(engine, asked)
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
    found = compare(attempt, node_name, around)
    is_told = found.outcome != DIFFERED
    if is_told:
        engine.effects.comparisons.append(found)
    if found.outcome != UNCERTAIN:
        verdict, known = verdict_of(engine, attempt, cycle, node_name), dict(observer.recent.counts)
        observer.watches.open.append(OpenDecision(engine.now, known, asked, found, verdict, is_told))
        observer.recent.held_at = observer.watches.open[0].at


def next_settling(engine: Engine) -> int | None:
    """When a decision is to be judged, whether or not anything happens."""
    return None if engine.observer is None else engine.observer.watches.next_settling()


def settle_decisions(engine: Engine) -> None:
    """Judge the decisions of which all is here that they can have been made on."""
    observer = engine.observer
    while observer is not None and (one := observer.watches.settles(engine.now)) is not None:
        observer.watches.rise()
        observer.recent.forget(engine.now)  # what was kept for the decisions before it
        if one.is_told:
            learn(engine, observer, one)
        else:
            engine.effects.comparisons.append(settled(engine, observer, one))
        observer.watches.open.popleft()
        observer.recent.held_at = observer.watches.open[0].at if observer.watches.open else None
