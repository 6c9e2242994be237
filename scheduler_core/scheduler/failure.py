"""What happens to a pod whose attempt failed: back to the queue, nomination, event, condition.

The event's note is cut to 1024 bytes, the condition carries the whole message. Nothing is written when the
pod already says the same.
Source: kubernetes v1.34.1, pkg/scheduler/schedule_one.go (handleSchedulingFailure).
"""

from __future__ import annotations

from dataclasses import dataclass

from scheduler_core.api.pod import Pod
from scheduler_core.framework.answers import CLEAR_NOMINATION, NominatingInfo, NominatingMode
from scheduler_core.framework.runtime import Framework
from scheduler_core.model.effects import Attempt, PodStatusPatch
from scheduler_core.model.status import Code, Status
from scheduler_core.model.types import Diagnosis, FitError, QueuedPodInfo
from scheduler_core.scheduler.engine import FAILED_SCHEDULING, Engine

POD_SCHEDULED = "PodScheduled"
REASON_UNSCHEDULABLE = "Unschedulable"
REASON_SCHEDULER_ERROR = "SchedulerError"
MAX_NOTE_BYTES = 1024
CUT_MARK = " ..."


@dataclass(frozen=True, slots=True)
class Failure:
    """Why the pod was not scheduled. With a FitError its plugins are blamed; without, it is an error's backoff."""

    status: Status
    fit_error: FitError | None
    nominating: NominatingInfo


def fit_failure(fit_error: FitError, nominating: NominatingInfo, *, code: Code = Code.Unschedulable) -> Failure:
    """The failure of a pod that fits nowhere, or was refused on the node chosen."""
    return Failure(Status(code, error=fit_error.message()), fit_error, nominating)


def refused_on_node(node_name: str, status: Status) -> Failure:
    """Failure after a node had been chosen: a rejection blames its plugin, anything else stands as it is."""
    if not status.is_rejected:
        return Failure(status, None, CLEAR_NOMINATION)
    diagnosis = Diagnosis()
    diagnosis.node_to_status.set(node_name, status)
    diagnosis.blame(status)
    if not status.plugin:
        # A pod removed while it waited is blamed on the empty name, as upstream: blamed all the same.
        diagnosis.unschedulable_plugins.add("")
    return fit_failure(FitError(1, diagnosis), CLEAR_NOMINATION, code=status.code)


def handle_scheduling_failure(
    engine: Engine, framework: Framework, queued: QueuedPodInfo, failure: Failure, attempt: Attempt | None
) -> None:
    """Requeue the pod, keep its nomination, tell the user. `attempt` is the record to complete, if still open."""
    status, nominating = failure.status, failure.nominating
    message = status.message
    popped = queued.pod
    if engine.observer is not None:
        nominating = NominatingInfo()  # by its status: the scheduler that is observed nominates
    requeued_to = requeue(engine, queued, failure.fit_error)
    engine.queue.add_nominated_pod(queued.pod, nominating)
    if requeued_to is None:
        engine.queue.done(popped.uid)
    # A namesake created since is what goes back to the queue, as upstream; it is not what failed.
    is_same = queued.uid == popped.uid
    pod = queued.pod if is_same else popped
    engine.emit_event(FAILED_SCHEDULING, cut_note(message), pod, framework.name)
    reason = REASON_UNSCHEDULABLE if status.is_rejected else REASON_SCHEDULER_ERROR
    patch = None if engine.observer is not None else status_patch(pod, reason, message, nominating)
    if patch is not None and is_same and engine.store.pod(pod.key) is not None:
        engine.effects.status_patches.append(patch)
    if attempt is None:
        return
    attempt.result = "unschedulable" if status.is_rejected else "error"
    attempt.message = message
    attempt.requeued_to = requeued_to or ""
    if failure.nominating.mode is NominatingMode.OVERRIDE:
        attempt.nominated_node_name = failure.nominating.nominated_node_name
    if failure.fit_error is not None:
        diagnosis = failure.fit_error.diagnosis
        attempt.unschedulable_plugins = tuple(sorted(diagnosis.unschedulable_plugins))
        attempt.pending_plugins = tuple(sorted(diagnosis.pending_plugins))


def requeue(engine: Engine, queued: QueuedPodInfo, fit_error: FitError | None) -> str | None:
    """Put the pod back as it is stored now; the sub-queue, None when it is gone or assigned.

    Without a FitError no plugin is blamed, and the pod is tried again after its backoff.
    """
    if fit_error is not None:
        queued.unschedulable_plugins = set(fit_error.diagnosis.unschedulable_plugins)
        queued.pending_plugins = set(fit_error.diagnosis.pending_plugins)
    stored = engine.store.pod(queued.key)
    if stored is None or stored.is_assigned:
        return None
    queued.pod = stored
    requeued = engine.queue.add_unschedulable_if_not_present(queued, engine.queue.scheduling_cycle, engine.now)
    if requeued.error:
        engine.log("Error occurred", {"pod": queued.key, "err": requeued.error})
    return requeued.to


def status_patch(pod: Pod, reason: str, message: str, nominating: NominatingInfo) -> PodStatusPatch | None:
    """What to write into the pod's status; None when it says so already."""
    nominated: str | None = None
    if nominating.mode is NominatingMode.OVERRIDE and nominating.nominated_node_name != pod.status.nominated_node_name:
        nominated = nominating.nominated_node_name
    current = next((c for c in pod.status.conditions or () if c.type == POD_SCHEDULED), None)
    unchanged = current is not None and (current.status, current.reason, current.message) == (
        "False",
        reason,
        message,
    )
    if unchanged and nominated is None:
        return None
    return PodStatusPatch(pod.uid, pod.namespace, pod.name, "False", reason, message, nominated)


def cut_note(message: str) -> str:
    """The message in at most 1024 bytes of UTF-8, the cut marked."""
    data = message.encode()
    if len(data) <= MAX_NOTE_BYTES:
        return message
    return data[: MAX_NOTE_BYTES - len(CUT_MARK)].decode(errors="ignore") + CUT_MARK
