"""From a chosen node to a binding: wait for Permit, PreBind, ask for the binding, hear the verdict.

A cycle advances as far as it can and then rests in `engine.bindings` until a change or a deadline moves it.
Undoing it runs Unreserve, forgets the assumed pod and tells the queue that resources came free.
Source: kubernetes v1.34.1, pkg/scheduler/schedule_one.go (bindingCycle, handleBindingCycleError).
"""

from __future__ import annotations

from scheduler_core.api.pod import Pod
from scheduler_core.cache.cache import CacheError
from scheduler_core.framework.answers import CLEAR_NOMINATION
from scheduler_core.framework.cycle_state import CycleState
from scheduler_core.framework.points import PreBindPlugin, PreBindWatcher
from scheduler_core.framework.waiting_pods import REMOVED
from scheduler_core.model.changes import BindingVerdict, PermitVerdict, PreBindVerdict
from scheduler_core.model.effects import BindingRequest
from scheduler_core.model.events import ASSIGNED_POD_DELETE
from scheduler_core.model.status import SUCCESS, Code, Status
from scheduler_core.model.types import QueuedPodInfo
from scheduler_core.scheduler.engine import SCHEDULED, BindingCycle, BindingStage, Engine
from scheduler_core.scheduler.failure import Failure, handle_scheduling_failure, refused_on_node

NANOSECONDS = 1000  # of a microsecond
MOST_ATTEMPTS = 15  # that a metric distinguishes


def advance(engine: Engine, cycle: BindingCycle) -> None:
    """Take the cycle as far as it gets without anybody else."""
    if cycle.stage is BindingStage.PERMIT:
        verdict = _permit_verdict(engine, cycle.pod.uid)
        if verdict is None:
            return
        if not verdict.is_success:
            _fail(engine, cycle, refused_on_node(cycle.node_name, verdict))
            return
        # From here on no events are collected for the pod: whatever fails now is no plugin's refusal.
        engine.queue.done(cycle.pod.uid)
        cycle.stage = BindingStage.PRE_BIND
    if cycle.stage is BindingStage.PRE_BIND and not _pre_bind(engine, cycle):
        return
    if cycle.stage is BindingStage.BIND:
        _bind(engine, cycle)


def _permit_verdict(engine: Engine, uid: str) -> Status | None:
    """Success when the pod does not wait; None while it does."""
    waiting = engine.waiting_pods.get(uid)
    if waiting is None:
        return Status(Code.Success)
    if waiting.verdict is not None:
        engine.waiting_pods.remove(uid)
        if engine.recorder is not None:
            waited = (engine.now - waiting.since) * NANOSECONDS
            engine.recorder.duration("permit_wait_duration", (waiting.verdict.code.name,), waited)
    return waiting.verdict


def _pre_bind(engine: Engine, cycle: BindingCycle) -> bool:
    """Run the PreBind plugins that are left; whether all are through."""
    framework = engine.framework_of(cycle)
    if cycle.awaited_plugin:
        return False
    started = engine.stopwatch()
    while cycle.next_pre_bind < len(framework.pre_bind):
        plugin = framework.pre_bind[cycle.next_pre_bind]
        cycle.next_pre_bind += 1
        if plugin.name in cycle.state.skip_pre_bind_plugins:
            continue
        status, work = plugin.pre_bind(cycle.state, cycle.pod, cycle.node_name)
        status = framework.pre_bind_result(plugin, status)
        if not status.is_success:
            engine.measure_point("PreBind", status, cycle.profile, started)
            _fail(engine, cycle, Failure(status, None, CLEAR_NOMINATION))
            return False
        if work is not None:
            engine.effects.writes.extend(work.writes)
            engine.effects.claim_writes.extend(work.claim_writes)
            if work.awaits:
                cycle.awaited_plugin = plugin.name
                cycle.deadline = work.deadline
                return False
    engine.measure_point("PreBind", SUCCESS, cycle.profile, started)
    cycle.stage = BindingStage.BIND
    return True


def _bind(engine: Engine, cycle: BindingCycle) -> None:
    framework = engine.framework_of(cycle)
    done = _bind_by_extender(engine, cycle)
    if done is not None:
        _finish_binding(engine, cycle)
        if done.is_success:
            _bound(engine, cycle)
        else:
            _fail(engine, cycle, Failure(done, None, CLEAR_NOMINATION))
        return
    started = engine.stopwatch()
    status, plugin = framework.run_bind(cycle.state, cycle.pod, cycle.node_name)
    engine.measure_point("Bind", status, cycle.profile, started)
    if not status.is_success:
        _finish_binding(engine, cycle)
        _fail(engine, cycle, Failure(status, None, CLEAR_NOMINATION))
        return
    cycle.bind_plugin = plugin
    pod = cycle.pod
    engine.effects.bindings.append(
        BindingRequest(pod.uid, pod.namespace, pod.name, cycle.node_name, cycle.queued.attempts)
    )


def _bind_by_extender(engine: Engine, cycle: BindingCycle) -> Status | None:
    """The result of an extender's binding: the extender has set the pod's node itself."""
    if not engine.extenders:
        return None
    exchanges = cycle.attempt.exchanges if cycle.attempt is not None else []
    status = engine.extenders.bind(cycle.pod, cycle.node_name, exchanges)
    if cycle.attempt is None:
        engine.effects.exchanges += [(cycle.pod.uid, exchange) for exchange in exchanges]
    return status


def restore(engine: Engine, pod: Pod, node_name: str, attempts: int) -> None:
    """Restore the state of an engine after it asked for this binding, at this attempt number."""
    assumed = pod.on_node(node_name)
    engine.cache.assume_pod(assumed)
    engine.note_cache_move("assumed", assumed, node_name)
    framework = engine.frameworks[pod.spec.scheduler_name]
    queued = QueuedPodInfo(pod, engine.now, attempts=max(attempts, 1), initial_attempt_timestamp=engine.now)
    cycle = BindingCycle(queued, assumed, framework.name, CycleState(), node_name, BindingStage.BIND)
    cycle.bind_plugin = framework.bind[0].name
    engine.bindings[pod.uid] = cycle


def on_permit_verdict(engine: Engine, verdict: PermitVerdict) -> None:
    waiting = engine.waiting_pods.get(verdict.pod_uid)
    cycle = engine.bindings.get(verdict.pod_uid)
    if waiting is None or cycle is None:
        return  # decided before this verdict came
    if verdict.allowed:
        waiting.allow(verdict.plugin)
    else:
        waiting.reject(verdict.plugin, verdict.message)
    advance(engine, cycle)


def settle_permits(engine: Engine) -> None:
    """Move on the waiting pods that are decided: by a time-out, or by a plugin on behalf of another pod.

    Undoing one may decide others, whichever came first: a step never ends with a verdict nobody has heard.
    """
    while decided := [waiting.uid for waiting in engine.waiting_pods if waiting.verdict is not None]:
        for uid in decided:
            advance(engine, engine.bindings[uid])


def on_waiting_pod_removed(engine: Engine, uid: str) -> bool:
    """The pod was deleted: if it waits for Permit, reject it. Whether it did."""
    waiting = engine.waiting_pods.get(uid)
    if waiting is None:
        return False
    waiting.reject("", REMOVED)
    advance(engine, engine.bindings[uid])
    return True


def on_pre_bind_verdict(engine: Engine, verdict: PreBindVerdict) -> None:
    cycle = engine.bindings.get(verdict.pod_uid)
    if cycle is None or not cycle.awaited_plugin or cycle.awaited_plugin != verdict.plugin:
        return  # an answer to a cycle that has ended
    if verdict.done:
        _go_on(engine, cycle)
        return
    text = f'running PreBind plugin "{verdict.plugin}": {verdict.message}'
    _fail(engine, cycle, Failure(Status.failed(text), None, CLEAR_NOMINATION))


def on_objects_changed(engine: Engine) -> None:
    """Ask the plugins that watch objects whether what they wait for is there."""
    for cycle in list(engine.bindings.values()):
        if cycle.awaited_plugin:
            _ask_watcher(engine, cycle)


def on_pre_bind_deadlines(engine: Engine) -> None:
    """Ask the plugins whose time is over."""
    for cycle in list(engine.bindings.values()):
        if cycle.deadline is not None and cycle.deadline <= engine.now:
            cycle.deadline = None
            _ask_watcher(engine, cycle)


def next_pre_bind_deadline(engine: Engine) -> int | None:
    deadlines = [cycle.deadline for cycle in engine.bindings.values() if cycle.deadline is not None]
    return min(deadlines, default=None)


def _ask_watcher(engine: Engine, cycle: BindingCycle) -> None:
    framework = engine.frameworks[cycle.profile]
    plugin = framework.instances[cycle.awaited_plugin]
    if not isinstance(plugin, PreBindWatcher):
        return
    status = plugin.pre_bind_done(cycle.pod, cycle.node_name)
    if status.is_success:
        _go_on(engine, cycle)
    elif not status.is_wait:
        assert isinstance(plugin, PreBindPlugin)
        _fail(engine, cycle, Failure(framework.pre_bind_result(plugin, status), None, CLEAR_NOMINATION))


def _go_on(engine: Engine, cycle: BindingCycle) -> None:
    """The awaited work is done."""
    cycle.awaited_plugin = ""
    cycle.deadline = None
    advance(engine, cycle)


def on_binding_verdict(engine: Engine, verdict: BindingVerdict) -> None:
    engine.restored_bindings.pop(verdict.pod_uid, None)  # settled before its pod was seen
    cycle = engine.bindings.get(verdict.pod_uid)
    if cycle is None or cycle.stage is not BindingStage.BIND or cycle.node_name != verdict.node_name:
        return  # heard before, or an answer to a cycle that has ended
    _finish_binding(engine, cycle)
    if not verdict.bound:
        if verdict.rejected:
            status = Status.unschedulable(verdict.message, plugin=cycle.bind_plugin)
        else:
            status = Status.failed(f'running Bind plugin "{cycle.bind_plugin}": {verdict.message}')
        _fail(engine, cycle, Failure(status, None, CLEAR_NOMINATION))
        return
    _bound(engine, cycle)


def _bound(engine: Engine, cycle: BindingCycle) -> None:
    """The pod is on its node for good."""
    del engine.bindings[cycle.pod.uid]
    if engine.store.pod_by_uid(cycle.pod.uid) is None and engine.is_assumed(cycle.pod):
        _forget(engine, cycle)  # bound and gone before this was heard: nobody else will take it off the node
        engine.move_all(ASSIGNED_POD_DELETE, cycle.pod, None)
    framework = engine.framework_of(cycle)
    _measure_bound(engine, cycle)
    note = f"Successfully assigned {cycle.pod.key} to {cycle.node_name}"
    engine.emit_event(SCHEDULED, note, cycle.pod, framework.name)
    started = engine.stopwatch()
    framework.run_post_bind(cycle.state, cycle.pod, cycle.node_name)
    engine.measure_point("PostBind", SUCCESS, cycle.profile, started)
    engine.activate(cycle.state.pods_to_activate)


def _measure_bound(engine: Engine, cycle: BindingCycle) -> None:
    engine.measure_attempt("scheduled", cycle.profile, cycle.started_ns)
    if engine.recorder is None or cycle.started_ns is None:
        return
    attempts, first = cycle.queued.attempts, cycle.queued.initial_attempt_timestamp
    engine.recorder.value("pod_scheduling_attempts", (), attempts)
    if first is not None:
        label = str(attempts) if attempts < MOST_ATTEMPTS else f"{MOST_ATTEMPTS}+"
        engine.recorder.duration("pod_scheduling_sli_duration", (label,), (engine.now - first) * NANOSECONDS)


def _finish_binding(engine: Engine, cycle: BindingCycle) -> None:
    engine.cache.finish_binding(cycle.pod, engine.now)
    engine.note_cache_move("finished", cycle.pod, cycle.node_name)


def _fail(engine: Engine, cycle: BindingCycle, failure: Failure) -> None:
    """Undo the cycle. Room freed by a rejection is offered to the others only; after an error, to all."""
    pod, framework = cycle.pod, engine.framework_of(cycle)
    del engine.bindings[pod.uid]
    started = engine.stopwatch()
    framework.run_unreserve(cycle.state, pod, cycle.node_name)
    engine.measure_point("Unreserve", SUCCESS, cycle.profile, started)
    forgotten = _forget(engine, cycle, failure.status.message)
    rejected = failure.status.is_rejected
    engine.measure_attempt("unschedulable" if rejected else "error", cycle.profile, cycle.started_ns)
    if forgotten and not rejected:
        engine.move_all(ASSIGNED_POD_DELETE, pod, None)
    handle_scheduling_failure(engine, framework, cycle.queued, failure, cycle.attempt)
    if forgotten and rejected:
        engine.move_all(ASSIGNED_POD_DELETE, pod, None, lambda other: other.uid != pod.uid)


def _forget(engine: Engine, cycle: BindingCycle, message: str = "") -> bool:
    """Take the assumed pod off its node; False when it was confirmed or removed meanwhile: nothing came free then."""
    try:
        engine.cache.forget_pod(cycle.pod)
    except CacheError:
        return False
    engine.note_cache_move("forgotten", cycle.pod, cycle.node_name, message)
    return True
