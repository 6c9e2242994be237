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
from scheduler_core.cache.cache import CacheError
from scheduler_core.cycle.cycle import Cycle
from scheduler_core.cycle.filtering import nominated_that_count
from scheduler_core.cycle.runner import Runner
from scheduler_core.cycle.view import Int32Array, PickedNodes
from scheduler_core.cycle.walk import Walk, WalkStatuses, num_feasible_nodes_to_find, with_refusals
from scheduler_core.framework.answers import CLEAR_NOMINATION, NominatingInfo, NominatingMode
from scheduler_core.framework.cycle_state import CycleState
from scheduler_core.framework.hints import EXTENDER
from scheduler_core.framework.runtime import Framework
from scheduler_core.framework.waiting_pods import WaitingPod
from scheduler_core.model.effects import Attempt, NominatedTry, PostFilterRecord, PreemptionRecord
from scheduler_core.model.node_info import NodeInfo
from scheduler_core.model.status import Code, Status
from scheduler_core.model.types import Diagnosis, FitError, NodeToStatus, QueuedPodInfo
from scheduler_core.scheduler import binding_cycle
from scheduler_core.scheduler.amounts import amounts_of
from scheduler_core.scheduler.engine import FAILED_SCHEDULING, BindingCycle, Engine
from scheduler_core.scheduler.failure import (
    Failure,
    fit_failure,
    handle_scheduling_failure,
    refused_on_node,
    requeue,
)
from scheduler_core.scheduler.select_host import select_host

NO_NODES = "no nodes available to schedule pods"


def schedule_one(engine: Engine, queued: QueuedPodInfo) -> Attempt:
    """Take a popped pod through its cycle; the attempt is among the step's effects."""
    attempt, cycle = open_cycle(engine, queued)
    if cycle is None:
        engine.queue.done(queued.uid)
        return attempt
    if engine.observer is not None:
        _propose(engine, cycle, queued)
        return attempt
    decided = decide(engine, cycle)
    chosen = decided if isinstance(decided, Failure) else _reserve_and_permit(engine, cycle, queued, decided)
    if cycle.pod.spec.resource_claims:
        _account_for_devices(cycle)
    if isinstance(chosen, Failure):
        result = "unschedulable" if chosen.status.is_rejected else "error"
        engine.measure_attempt(result, attempt.profile, cycle.started_ns)
        handle_scheduling_failure(engine, cycle.profile, queued, chosen, attempt)
        tell_amounts(engine, cycle)
    else:
        chosen.started_ns, chosen.is_sampled = cycle.started_ns, cycle.is_sampled
        attempt.result = "scheduled"
        binding_cycle.advance(engine, chosen)
        chosen.attempt = None  # whatever comes next is in moves and events
    binding_cycle.settle_permits(engine)
    return attempt


def _account_for_devices(cycle: Cycle) -> None:
    """Have the attempt say what became of devices."""
    attempt = cycle.attempt
    if attempt.node_order is None:
        return  # there were no nodes to look at
    for plugin in cycle.profile.device_accountants:
        attempt.devices = plugin.account(cycle.state, cycle.pod, attempt.filter_rows, cycle.view.infos)


def tell_amounts(engine: Engine, cycle: Cycle) -> None:
    """Have the attempt say what was asked and what there was, if it found no node and is kept by itself."""
    attempt = cycle.attempt
    fits_nowhere = attempt.filter_rows is not None and attempt.feasible is not None and not len(attempt.feasible)
    if engine.keeper is not None and fits_nowhere and engine.keeper.keeps(attempt):
        attempt.amounts = amounts_of(cycle)


def _propose(engine: Engine, cycle: Cycle, queued: QueuedPodInfo) -> None:
    """Choose a node and leave it at that: the pod waits for the scheduler that is observed, and is tried again."""
    chosen = choose_node(engine, cycle)
    if isinstance(chosen, Failure):
        handle_scheduling_failure(engine, cycle.profile, queued, chosen, cycle.attempt)
        tell_amounts(engine, cycle)
    else:
        cycle.attempt.result, cycle.attempt.node_name = "proposed", chosen
        cycle.attempt.requeued_to = requeue(engine, queued, None) or ""


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
    return attempt, Cycle(
        profile=engine.timed_frameworks[profile] if is_sampled else framework,
        state=CycleState(),
        pod=pod,
        signature=queued.signature(),
        nominated=engine.queue,
        attempt=attempt,
        diagnosis=Diagnosis(),
        stopwatch=engine.stopwatch,
        started_ns=started,
        lap_ns=started,
        is_sampled=is_sampled,
        start=engine.next_start_node_index,
    )


def decide(engine: Engine, cycle: Cycle) -> Pod | Failure:
    """The pod as it is assumed on the node chosen for it, or why there is none."""
    pod = cycle.pod
    node_name = choose_node(engine, cycle)
    if isinstance(node_name, Failure):
        return node_name
    cycle.attempt.node_name = node_name
    assumed = pod.on_node(node_name)
    try:
        engine.cache.assume_pod(assumed, cycle.signature)
    except CacheError as error:
        return Failure(Status.failed(str(error)), None, CLEAR_NOMINATION)
    engine.note_cache_move("assumed", assumed, node_name)
    engine.queue.delete_nominated_pod_if_exists(pod)
    return assumed


def _reason_to_skip(engine: Engine, pod: Pod, framework: Framework) -> str:
    if pod.is_terminating:
        text = f"skip schedule deleting pod: {pod.key}"
        engine.emit_event(FAILED_SCHEDULING, text, pod, framework.name)
        return text
    # An update during its last cycle can bring an assumed pod back into the queue.
    if engine.is_assumed(pod):
        return f"skip schedule assumed pod: {pod.key}"
    return ""


def _reserve_and_permit(engine: Engine, cycle: Cycle, queued: QueuedPodInfo, assumed: Pod) -> BindingCycle | Failure:
    """Return the binding cycle of the pod, or the status that prevents it."""
    framework = cycle.profile
    node_name = assumed.spec.node_name
    cycle.lap_ns = engine.stopwatch()
    status = framework.run_reserve(cycle.state, assumed, node_name)
    cycle.end_of("reserve")
    timeouts: dict[str, int] = {}
    if status.is_success:
        status, timeouts = framework.run_permit(cycle.state, assumed, node_name)
        cycle.end_of("permit")
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


def choose_node(engine: Engine, cycle: Cycle) -> str | Failure:
    """The name of the chosen node, or why there is none; what PostFilter has to say of that included."""
    attempt = cycle.attempt
    inconsistent = engine.snapshot.update_snapshot(engine.cache)
    if inconsistent:
        return Failure(Status.failed(inconsistent), None, CLEAR_NOMINATION)
    view = cycle.view = engine.node_view()
    attempt.node_order = view.order
    cycle.end_of("snapshot")
    if not view.order.names:
        status = Status(Code.UnschedulableAndUnresolvable, error=NO_NODES)
        return Failure(status, None, CLEAR_NOMINATION)

    runner = engine.runners[cycle.profile.name].runner_of(cycle)
    feasible = _find_nodes_that_fit(engine, cycle, runner)
    if isinstance(feasible, Status):
        return Failure(feasible, None, CLEAR_NOMINATION)
    attempt.feasible, num_feasible = feasible.nodes, len(feasible)
    attempt.evaluated_nodes = num_feasible + cycle.num_refused
    if engine.witness is not None:
        engine.witness(cycle, feasible)
    if num_feasible == 0:
        if engine.keeper is not None:
            cycle.crowded = nominated_that_count(cycle)  # PostFilter may clear nominations
        return _post_filter(cycle, FitError(len(view.order.names), cycle.diagnosis))
    if num_feasible == 1:
        return view.order.names[int(feasible.nodes[0])]
    return _prioritize_and_select(engine, cycle, runner, feasible)


def _find_nodes_that_fit(engine: Engine, cycle: Cycle, runner: Runner) -> PickedNodes | Status:
    """The feasible nodes in the order found (none: the diagnosis says why), or the error that ended the search."""
    attempt, diagnosis, pod, view = cycle.attempt, cycle.diagnosis, cycle.pod, cycle.view
    outcome = runner.pre_filter(cycle)
    cycle.end_of("pre_filter")
    attempt.pre_filter_status = outcome.status
    attempt.skip_filter_plugins = cycle.profile.filter_plan(cycle.state.skip_filter_plugins).skipped
    if outcome.node_names is not None:
        attempt.pre_filter_node_names = tuple(sorted(outcome.node_names))
    diagnosis.unschedulable_plugins.update(outcome.plugins_with_nodes)
    if not outcome.status.is_success:
        if not outcome.status.is_rejected:
            return outcome.status
        diagnosis.node_to_status = NodeToStatus(outcome.status)
        diagnosis.pre_filter_message = outcome.status.message
        diagnosis.blame(outcome.status)
        return view.pick(_no_nodes())

    if pod.status.nominated_node_name:
        feasible = _try_nominated_node(engine, cycle, pod.status.nominated_node_name)
        if len(feasible):
            cycle.num_refused = len(diagnosis.node_to_status)
            cycle.end_of("filter")
            return view.pick(feasible)
    candidates: Int32Array | None = None
    if outcome.node_names is not None:
        candidates = view.named(outcome.node_names)
        # All blamed so far, not only those that named nodes: a refusal by the nominated node counts in, as upstream.
        plugins = " ".join(sorted(diagnosis.unschedulable_plugins))
        diagnosis.node_to_status.absent = Status.unresolvable(f"node(s) didn't satisfy plugin(s) [{plugins}]")
    cycle.wanted = _num_nodes_to_find(engine, cycle, len(view.rows if candidates is None else candidates))
    walk = runner.filter(cycle, candidates)
    _take_note_of(engine, cycle, walk)
    cycle.end_of("filter")
    if walk.error is not None:
        return walk.error
    if engine.extenders:
        return _ask_extenders(engine, cycle, walk.feasible)
    return view.pick(walk.feasible, walk.feasible_rows)


def _take_note_of(engine: Engine, cycle: Cycle, walk: Walk) -> None:
    """Write what the walk came to into the attempt and the diagnosis; the next walk starts where it ended."""
    attempt, diagnosis, view = cycle.attempt, cycle.diagnosis, cycle.view
    num_feasible, cycle.num_refused = len(walk.feasible), walk.num_rejected
    if not num_feasible or attempt.nominated is not None or engine.extenders:  # else nobody reads them
        diagnosis.node_to_status = WalkStatuses(view, walk, diagnosis.node_to_status)
        cycle.num_refused = len(diagnosis.node_to_status)
    for status in walk.filter_rows.statuses:
        diagnosis.blame(status)
    processed = num_feasible + cycle.num_refused
    engine.next_start_node_index = (engine.next_start_node_index + processed) % len(view.order.names)
    attempt.num_nodes_to_find = cycle.wanted
    attempt.filter_rows = walk.filter_rows
    attempt.end_index = engine.next_start_node_index


def _ask_extenders(engine: Engine, cycle: Cycle, feasible: Int32Array) -> PickedNodes | Status:
    """The feasible nodes that the extenders leave; the attempt says of the others who refused them."""
    diagnosis, attempt, names = cycle.diagnosis, cycle.attempt, cycle.view.order.names
    left = _left_by_extenders(engine, cycle, feasible)
    cycle.end_of("extenders")
    if isinstance(left, Status):
        return left
    if len(left) != len(feasible):
        diagnosis.unschedulable_plugins.add(EXTENDER)
    refused = set(feasible.tolist()) - set(left.tolist())
    if refused and attempt.filter_rows is not None:
        statuses = {node: diagnosis.node_to_status.status_of(names[node]).by(EXTENDER) for node in refused}
        attempt.filter_rows = with_refusals(attempt.filter_rows, statuses)
    cycle.num_refused = len(diagnosis.node_to_status)
    return cycle.view.pick(left)


def _left_by_extenders(engine: Engine, cycle: Cycle, feasible: Int32Array) -> Int32Array | Status:
    """The nodes in the extenders' order. What they say of others goes into the diagnosis, without a plugin's name."""
    view = cycle.view
    nodes = view.pick(feasible)
    left = engine.extenders.filter(cycle.pod, nodes, cycle.diagnosis.node_to_status, cycle.attempt.exchanges)
    if isinstance(left, Status):
        return left
    if any(info is not view.infos[view.index[info.name]] for info in left):
        cycle.sent_back = left
    return np.array([view.index[info.name] for info in left], dtype=np.int32)


def _num_nodes_to_find(engine: Engine, cycle: Cycle, num_candidates: int) -> int:
    if cycle.is_exhaustive:
        return num_candidates
    extenders = engine.extenders
    if not cycle.profile.score and not extenders.any_prioritizes and not extenders.any_filters:
        return min(num_candidates, 1)  # whichever is found first is as good as any
    return num_feasible_nodes_to_find(num_candidates, percentage_of(engine, cycle.profile))


def percentage_of(engine: Engine, profile: Framework) -> int:
    """How many of the nodes the profile looks at before it is content; 0 adapts."""
    own = profile.percentage_of_nodes_to_score
    return engine.percentage_of_nodes_to_score if own is None else own


def _try_nominated_node(engine: Engine, cycle: Cycle, name: str) -> Int32Array:
    """The nominated node, when the pod fits there now. A refusal stays in the diagnosis, an error is swallowed."""
    node = cycle.view.index.get(name)
    if node is None:
        error = f'nodeinfo not found for node name "{name}"'
        cycle.attempt.nominated = NominatedTry(name, False, None, error)
        return _no_nodes()
    status = cycle.profile.run_filters_with_nominated_pods(
        cycle.state, cycle.pod, cycle.view.infos[node], cycle.nominated
    )
    if status.code is Code.Error:
        cycle.attempt.nominated = NominatedTry(name, False, status, status.message)
        return _no_nodes()
    feasible = np.array([node], dtype=np.int32) if status.is_success else _no_nodes()
    if not status.is_success:
        cycle.diagnosis.node_to_status.set(name, status)
        cycle.diagnosis.blame(status)
    if len(feasible) and engine.extenders:
        left = _left_by_extenders(engine, cycle, feasible)
        if isinstance(left, Status):
            cycle.attempt.nominated = NominatedTry(name, False, left, left.message)
            return _no_nodes()
        feasible = left
    refusal = None if len(feasible) else cycle.diagnosis.node_to_status.status_of(name)
    cycle.attempt.nominated = NominatedTry(name, refusal is None, refusal)
    return feasible


def _post_filter(cycle: Cycle, fit_error: FitError) -> Failure:
    """No node fits: ask the PostFilter plugins what can be done. The pod fails either way."""
    framework, attempt = cycle.profile, cycle.attempt
    if not framework.post_filter:
        return fit_failure(fit_error, NominatingInfo())
    result, status = framework.run_post_filter(cycle.state, cycle.pod, fit_error.diagnosis.node_to_status)
    cycle.end_of("post_filter")
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


def _prioritize_and_select(engine: Engine, cycle: Cycle, runner: Runner, feasible: PickedNodes) -> str | Failure:
    attempt = cycle.attempt
    if cycle.profile.score or engine.extenders:
        nodes: Sequence[NodeInfo] = feasible if cycle.sent_back is None else cycle.sent_back
        status = runner.pre_score(cycle, nodes)
        cycle.end_of("pre_score")
        if not status.is_success:
            return Failure(status, None, CLEAR_NOMINATION)
        scores, status = runner.score(cycle, nodes)
        if scores is None:
            return Failure(status, None, CLEAR_NOMINATION)
        if engine.extenders.any_prioritizes:
            cycle.end_of("score")
            added = engine.extenders.prioritize(cycle.pod, nodes, attempt.exchanges)
            cycle.end_of("extenders")
            scores = msgspec.structs.replace(scores, totals=scores.totals + added)
        attempt.score_rows = scores
        totals = scores.totals
    else:
        totals = np.ones(len(feasible), dtype=np.int64)
    position, tied = select_host(totals, engine.draws, pod_key=cycle.pod.key, attempt=attempt.attempt)
    attempt.tied = feasible.nodes[tied]
    cycle.end_of("score")
    return cycle.view.order.names[int(feasible.nodes[position])]


def _no_nodes() -> Int32Array:
    return np.zeros(0, dtype=np.int32)
