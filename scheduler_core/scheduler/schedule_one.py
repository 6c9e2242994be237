"""One pod through its scheduling cycle: filter, score, choose, assume, reserve, permit.

Every step of the decision is written into the Attempt as it is made. A chosen pod goes on to its binding
cycle at once; any other ends in the failure handler.
Source: kubernetes v1.34.1, pkg/scheduler/schedule_one.go (ScheduleOne, schedulingCycle, schedulePod).
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from scheduler_core.api.pod import Pod
from scheduler_core.api.signature import Signature
from scheduler_core.cache.cache import CacheError
from scheduler_core.framework.cycle_state import CycleState
from scheduler_core.framework.hints import EXTENDER
from scheduler_core.framework.interface import CLEAR_NOMINATION, NominatingInfo, NominatingMode
from scheduler_core.framework.reuse import SchedulingClass
from scheduler_core.framework.run_nodes import (
    find_nodes_that_pass_filters,
    num_feasible_nodes_to_find,
    with_refusals,
)
from scheduler_core.framework.run_scores import run_pre_score, run_score
from scheduler_core.framework.runtime import Framework
from scheduler_core.framework.waiting_pods import WaitingPod
from scheduler_core.framework.walk import Int32Array, Rows, SnapshotView, WalkStatuses, nodes_named
from scheduler_core.model.effects import Attempt, NominatedTry, PostFilterRecord, PreemptionRecord
from scheduler_core.model.node_info import NodeInfo
from scheduler_core.model.status import Code, Status
from scheduler_core.model.types import Diagnosis, FitError, NodeToStatus, QueuedPodInfo
from scheduler_core.scheduler import binding_cycle
from scheduler_core.scheduler.engine import BindingCycle, Engine
from scheduler_core.scheduler.failure import Failure, fit_failure, handle_scheduling_failure, refused_on_node
from scheduler_core.scheduler.select_host import select_host

NO_NODES = "no nodes available to schedule pods"


class Cycle(msgspec.Struct):
    """What the parts of one scheduling cycle share."""

    engine: Engine
    framework: Framework
    state: CycleState
    pod: Pod
    signed: Signature  # of the pod
    attempt: Attempt
    diagnosis: Diagnosis
    started_ns: int  # by the stopwatch
    is_sampled: bool  # its plugins are timed one by one
    kept: SchedulingClass | None = None
    feasible_rows: Rows | None = None  # of the nodes a walk found, unless extenders had a say
    # The feasible nodes as an extender sent them back, when it did: what is scored instead of the snapshot's.
    sent_back: Sequence[NodeInfo] | None = None

    def use(self, kept: SchedulingClass | None) -> None:
        """Take part in what pods like this one have left."""
        self.kept = kept
        if kept is not None:
            self.state.memo = kept.memo

    def timed(self, phase: str, since: int) -> int:
        """Add the time since `since` to the phase; the time now."""
        now = self.engine.stopwatch()
        durations = self.attempt.durations_ns
        durations[phase] = durations.get(phase, 0) + now - since
        return now


def schedule_one(engine: Engine, queued: QueuedPodInfo) -> Attempt:
    """Take a popped pod through its cycle; the attempt is among the step's effects."""
    attempt, cycle = open_cycle(engine, queued)
    if cycle is None:
        engine.queue.done(queued.uid)
        return attempt
    decided = decide(cycle)
    chosen = decided if isinstance(decided, Failure) else _reserve_and_permit(cycle, queued, decided)
    if isinstance(chosen, Failure):
        result = "unschedulable" if chosen.status.is_rejected else "error"
        engine.measure_attempt(result, attempt.profile, cycle.started_ns)
        handle_scheduling_failure(engine, cycle.framework, queued, chosen, attempt)
    else:
        chosen.started_ns, chosen.is_sampled = cycle.started_ns, cycle.is_sampled
        attempt.result = "scheduled"
        binding_cycle.advance(engine, chosen)
        chosen.attempt = None  # whatever comes next is told by moves and events
    binding_cycle.settle_permits(engine)
    return attempt


def open_cycle(engine: Engine, queued: QueuedPodInfo) -> tuple[Attempt, Cycle | None]:
    """The attempt, among the step's effects from now on, and its cycle; None when the pod is not to be scheduled."""
    pod = queued.pod
    profile = pod.spec.scheduler_name
    attempt = Attempt(pod_key=pod.key, pod_uid=pod.uid, attempt=queued.attempts, profile=profile, started_at=engine.now)
    attempt.start_index = attempt.end_index = engine.next_start_node_index
    engine.effects.log.append(attempt)
    framework = engine.frameworks.get(profile)
    if framework is None:
        attempt.result = "noProfile"
        attempt.message = f'profile not found for scheduler name "{profile}"'
        return attempt, None
    skip = _reason_to_skip(engine, pod, framework)
    if skip:
        attempt.result = "skipped"
        attempt.message = skip
        return attempt, None
    started = engine.stopwatch()
    is_sampled = engine.recorder is not None and engine.recorder.samples_plugins()
    if is_sampled:
        framework = engine.timed_frameworks[profile]
    signed = queued.signature()
    return attempt, Cycle(engine, framework, CycleState(), pod, signed, attempt, Diagnosis(), started, is_sampled)


def decide(cycle: Cycle) -> Pod | Failure:
    """The pod as it is assumed on the node chosen for it, or why there is none."""
    engine, pod = cycle.engine, cycle.pod
    node_name = _schedule_pod(cycle)
    if isinstance(node_name, Failure):
        return node_name
    cycle.attempt.node_name = node_name
    assumed = pod.on_node(node_name)
    try:
        engine.cache.assume_pod(assumed, cycle.signed)
    except CacheError as error:
        return Failure(Status.failed(str(error)), None, CLEAR_NOMINATION)
    engine.note_cache_move("assumed", assumed, node_name)
    engine.queue.delete_nominated_pod_if_exists(pod)
    return assumed


def _reason_to_skip(engine: Engine, pod: Pod, framework: Framework) -> str:
    if pod.is_terminating:
        text = f"skip schedule deleting pod: {pod.key}"
        engine.emit_event("Warning", "FailedScheduling", "Scheduling", text, pod, framework.name)
        return text
    # An update during its last cycle can bring an assumed pod back into the queue.
    if engine.is_assumed(pod):
        return f"skip schedule assumed pod: {pod.key}"
    return ""


def _reserve_and_permit(cycle: Cycle, queued: QueuedPodInfo, assumed: Pod) -> BindingCycle | Failure:
    """The binding cycle the pod goes on to, or who does not let it."""
    engine, framework = cycle.engine, cycle.framework
    node_name = assumed.spec.node_name
    started = engine.stopwatch()
    status = framework.run_reserve(cycle.state, assumed, node_name)
    started = cycle.timed("reserve", started)
    timeouts: dict[str, int] = {}
    if status.is_success:
        status, timeouts = framework.run_permit(cycle.state, assumed, node_name)
        cycle.timed("permit", started)
    if not status.is_success and not status.is_wait:
        framework.run_unreserve(cycle.state, assumed, node_name)
        engine.cache.forget_pod(assumed)
        engine.note_cache_move("forgotten", assumed, node_name, status.message)
        return refused_on_node(node_name, status)

    if status.is_wait:
        waiting = WaitingPod(assumed.uid, engine.now, timeouts)
        engine.waiting_pods.add(waiting)
        engine.note_wait(assumed, node_name, waiting)
    engine.activate(cycle.state.pods_to_activate)
    cycle.state.pods_to_activate.clear()
    binding = BindingCycle(queued, assumed, framework.name, cycle.state, node_name, attempt=cycle.attempt)
    engine.bindings[assumed.uid] = binding
    return binding


def _schedule_pod(cycle: Cycle) -> str | Failure:
    """The name of the chosen node, or why there is none."""
    engine, attempt = cycle.engine, cycle.attempt
    started = engine.stopwatch()
    inconsistent = engine.snapshot.update_snapshot(engine.cache)
    if inconsistent:
        return Failure(Status.failed(inconsistent), None, CLEAR_NOMINATION)
    view = engine.node_view()
    attempt.node_order = view.order
    cycle.timed("snapshot", started)
    if not view.order.names:
        status = Status(Code.UnschedulableAndUnresolvable, error=NO_NODES)
        return Failure(status, None, CLEAR_NOMINATION)

    feasible = _find_nodes_that_fit(cycle, view)
    if isinstance(feasible, Status):
        return Failure(feasible, None, CLEAR_NOMINATION)
    attempt.feasible = feasible
    attempt.evaluated_nodes = len(feasible) + len(cycle.diagnosis.node_to_status)
    if len(feasible) == 0:
        return _post_filter(cycle, FitError(len(view.order.names), cycle.diagnosis))
    if len(feasible) == 1:
        return view.order.names[int(feasible[0])]
    return _prioritize_and_select(cycle, view, feasible)


def _find_nodes_that_fit(cycle: Cycle, view: SnapshotView) -> Int32Array | Status:
    """The feasible nodes in the order found (none: the diagnosis says why), or the error that ended the search."""
    engine, attempt, diagnosis, pod = cycle.engine, cycle.attempt, cycle.diagnosis, cycle.pod
    started = engine.stopwatch()
    if cycle.framework.reuse is not None:
        cycle.use(cycle.framework.reuse.class_of(pod, cycle.signed, view.table))
    outcome = cycle.framework.run_pre_filter(cycle.state, pod, view.infos, view.table, cycle.kept)
    started = cycle.timed("pre_filter", started)
    attempt.pre_filter_status = outcome.status
    attempt.skip_filter_plugins = cycle.framework.filter_plan(cycle.state.skip_filter_plugins).skipped
    if outcome.node_names is not None:
        attempt.pre_filter_node_names = tuple(sorted(outcome.node_names))
    diagnosis.unschedulable_plugins.update(outcome.plugins_with_nodes)
    if not outcome.status.is_success:
        if not outcome.status.is_rejected:
            return outcome.status
        diagnosis.node_to_status = NodeToStatus(outcome.status)
        diagnosis.pre_filter_message = outcome.status.message
        diagnosis.blame(outcome.status)
        return np.zeros(0, dtype=np.int32)

    if pod.status.nominated_node_name:
        feasible = _try_nominated_node(cycle, view, pod.status.nominated_node_name)
        if len(feasible):
            cycle.timed("filter", started)
            return feasible
    if outcome.node_names is None:
        candidates, num_candidates = None, len(view.order.names)
    else:
        candidates = nodes_named(view, outcome.node_names)
        num_candidates = len(candidates)
        # All blamed so far, not only those that named nodes: a refusal by the nominated node counts in, as upstream.
        plugins = " ".join(sorted(diagnosis.unschedulable_plugins))
        diagnosis.node_to_status.absent = Status.unresolvable(f"node(s) didn't satisfy plugin(s) [{plugins}]")
    count = _num_nodes_to_find(cycle, num_candidates)
    walk = find_nodes_that_pass_filters(
        cycle.framework,
        cycle.state,
        pod,
        view,
        candidates,
        start=engine.next_start_node_index,
        count=count,
        nominated=engine.queue,
        kept=cycle.kept,
    )
    diagnosis.node_to_status = WalkStatuses(view, walk, diagnosis.node_to_status)
    for status in walk.filter_rows.statuses:
        diagnosis.blame(status)
    processed = len(walk.feasible) + len(diagnosis.node_to_status)
    engine.next_start_node_index = (engine.next_start_node_index + processed) % len(view.order.names)
    attempt.num_nodes_to_find = count
    attempt.filter_rows = walk.filter_rows
    attempt.end_index = engine.next_start_node_index
    cycle.timed("filter", started)
    if walk.error is not None or not engine.extenders:
        cycle.feasible_rows = walk.feasible_rows
        return walk.error if walk.error is not None else walk.feasible
    return _ask_extenders(cycle, view, walk.feasible)


def _ask_extenders(cycle: Cycle, view: SnapshotView, feasible: Int32Array) -> Int32Array | Status:
    """Those of the feasible nodes that the extenders leave; the attempt says of the others who refused them."""
    diagnosis, attempt = cycle.diagnosis, cycle.attempt
    started = cycle.engine.stopwatch()
    left = _left_by_extenders(cycle, view, feasible)
    cycle.timed("extenders", started)
    if isinstance(left, Status):
        return left
    if len(left) != len(feasible):
        diagnosis.unschedulable_plugins.add(EXTENDER)
    refused = set(feasible.tolist()) - set(left.tolist())
    if refused and attempt.filter_rows is not None:
        statuses = {node: diagnosis.node_to_status.status_of(view.order.names[node]).by(EXTENDER) for node in refused}
        attempt.filter_rows = with_refusals(attempt.filter_rows, statuses)
    return left


def _left_by_extenders(cycle: Cycle, view: SnapshotView, feasible: Int32Array) -> Int32Array | Status:
    """The nodes in the extenders' order. What they say of others goes into the diagnosis, without a plugin's name."""
    nodes = view.pick(feasible)
    left = cycle.engine.extenders.filter(cycle.pod, nodes, cycle.diagnosis.node_to_status, cycle.attempt.exchanges)
    if isinstance(left, Status):
        return left
    if any(info is not view.infos[view.index[info.name]] for info in left):
        cycle.sent_back = left
    return np.array([view.index[info.name] for info in left], dtype=np.int32)


def _num_nodes_to_find(cycle: Cycle, num_candidates: int) -> int:
    extenders = cycle.engine.extenders
    if not cycle.framework.score and not extenders.any_prioritizes and not extenders.any_filters:
        return min(num_candidates, 1)  # whichever is found first is as good as any
    percentage = cycle.framework.percentage_of_nodes_to_score
    if percentage is None:
        percentage = cycle.engine.percentage_of_nodes_to_score
    return num_feasible_nodes_to_find(num_candidates, percentage)


def _try_nominated_node(cycle: Cycle, view: SnapshotView, name: str) -> Int32Array:
    """The nominated node, when the pod fits there now. A refusal stays in the diagnosis, an error is swallowed."""
    nobody: Int32Array = np.zeros(0, dtype=np.int32)
    node = view.index.get(name)
    if node is None:
        error = f'nodeinfo not found for node name "{name}"'
        cycle.attempt.nominated = NominatedTry(name, False, None, error)
        return nobody
    status = cycle.framework.run_filters_with_nominated_pods(
        cycle.state, cycle.pod, view.infos[node], cycle.engine.queue
    )
    if status.code is Code.Error:
        cycle.attempt.nominated = NominatedTry(name, False, status, status.message)
        return nobody
    feasible = np.array([node], dtype=np.int32) if status.is_success else nobody
    if not status.is_success:
        cycle.diagnosis.node_to_status.set(name, status)
        cycle.diagnosis.blame(status)
    if len(feasible) and cycle.engine.extenders:
        left = _left_by_extenders(cycle, view, feasible)
        if isinstance(left, Status):
            cycle.attempt.nominated = NominatedTry(name, False, left, left.message)
            return nobody
        feasible = left
    refusal = None if len(feasible) else cycle.diagnosis.node_to_status.status_of(name)
    cycle.attempt.nominated = NominatedTry(name, refusal is None, refusal)
    return feasible


def _post_filter(cycle: Cycle, fit_error: FitError) -> Failure:
    """No node fits: ask the PostFilter plugins what can be done. The pod fails either way."""
    framework, attempt = cycle.framework, cycle.attempt
    if not framework.post_filter:
        return fit_failure(fit_error, NominatingInfo())
    started = cycle.engine.stopwatch()
    result, status = framework.run_post_filter(cycle.state, cycle.pod, fit_error.diagnosis.node_to_status)
    cycle.timed("post_filter", started)
    fit_error.diagnosis.post_filter_message = status.message
    nominating = result or NominatingInfo()
    attempt.post_filter = PostFilterRecord(
        code=status.code.name,
        plugin=status.plugin,
        message=status.message,
        nominated_node_name=(nominating.nominated_node_name if nominating.mode is NominatingMode.OVERRIDE else None),
        preemption=cycle.state.find(PreemptionRecord),
    )
    return fit_failure(fit_error, nominating)


def _prioritize_and_select(cycle: Cycle, view: SnapshotView, feasible: Int32Array) -> str | Failure:
    framework, attempt, engine = cycle.framework, cycle.attempt, cycle.engine
    started = engine.stopwatch()
    if framework.score or engine.extenders:
        picked = view.pick(feasible, cycle.feasible_rows)
        nodes: Sequence[NodeInfo] = picked if cycle.sent_back is None else cycle.sent_back
        table = view.table if cycle.sent_back is None else None
        kept = cycle.kept
        status = run_pre_score(framework, cycle.state, cycle.pod, nodes, table, picked.rows, kept)
        started = cycle.timed("pre_score", started)
        if not status.is_success:
            return Failure(status, None, CLEAR_NOMINATION)
        rows, status = run_score(framework, cycle.state, cycle.pod, nodes, table, picked.rows, kept)
        if rows is None:
            return Failure(status, None, CLEAR_NOMINATION)
        if engine.extenders.any_prioritizes:
            started = cycle.timed("score", started)
            added = engine.extenders.prioritize(cycle.pod, nodes, attempt.exchanges)
            started = cycle.timed("extenders", started)
            rows = msgspec.structs.replace(rows, totals=rows.totals + added)
        attempt.score_rows = rows
        totals = rows.totals
    else:
        totals = np.ones(len(feasible), dtype=np.int64)
    position, tied = select_host(totals, engine.draws, pod_key=cycle.pod.key, attempt=attempt.attempt)
    attempt.tied = feasible[tied]
    cycle.timed("score", started)
    return view.order.names[int(feasible[position])]
