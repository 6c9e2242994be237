"""How far a workload is: its counts of pods, and one word for them, from its spec and status alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from kschedweb import views
from kschedweb.cluster.adapters import milliseconds, moment_of

Manifest = Mapping[str, Any]
Counts = dict[str, int | None]


def workload_view(manifest: Manifest) -> views.Workload:
    """A workload with its counts and its state."""
    metadata = manifest["metadata"]
    counts = _COUNTS[manifest["kind"]](manifest)
    state, said = _state(manifest, counts)
    created = moment_of(metadata.get("creationTimestamp"))
    return views.Workload(
        kind=manifest["kind"],
        namespace=metadata["namespace"],
        name=metadata["name"],
        created_ms=milliseconds(created) if created is not None else 0,
        state="deleting" if "deletionTimestamp" in metadata else state,
        said=said,
        **{name: counts.get(name) for name in _FIELDS},
    )


def _status(manifest: Manifest) -> Manifest:
    status: Manifest = manifest.get("status") or {}
    return status


def _replicated(manifest: Manifest) -> Counts:
    spec, status = manifest["spec"], _status(manifest)
    wanted = spec.get("replicas")
    return {
        "wanted": 1 if wanted is None else wanted,
        "current": status.get("replicas") or 0,
        "ready": status.get("readyReplicas") or 0,
        "available": status.get("availableReplicas") or 0,
    }


def _updated(manifest: Manifest) -> Counts:
    return {**_replicated(manifest), "updated": _status(manifest).get("updatedReplicas") or 0}


def _daemon_set(manifest: Manifest) -> Counts:
    status = _status(manifest)
    return {
        "wanted": status.get("desiredNumberScheduled") or 0,
        "current": status.get("currentNumberScheduled") or 0,
        "updated": status.get("updatedNumberScheduled") or 0,
        "ready": status.get("numberReady") or 0,
        "available": status.get("numberAvailable") or 0,
    }


def _job(manifest: Manifest) -> Counts:
    status = _status(manifest)
    return {
        "wanted": manifest["spec"].get("completions"),
        "ready": status.get("ready") or 0,
        "succeeded": status.get("succeeded") or 0,
        "failed": status.get("failed") or 0,
        "active": status.get("active") or 0,
    }


def _cron_job(manifest: Manifest) -> Counts:
    return {"active": len(_status(manifest).get("active") or ())}


_COUNTS: Final[Mapping[str, Callable[[Manifest], Counts]]] = {
    "Deployment": _updated,
    "StatefulSet": _updated,
    "DaemonSet": _daemon_set,
    "ReplicaSet": _replicated,
    "ReplicationController": _replicated,
    "Job": _job,
    "CronJob": _cron_job,
}
KINDS: Final = tuple(_COUNTS)
_FIELDS: Final = ("wanted", "current", "updated", "ready", "available", "succeeded", "failed", "active")


def _state(manifest: Manifest, counts: Counts) -> tuple[views.WorkloadState, str]:
    """The state, and what the object's conditions say of it where it is not as it should be."""
    kind, spec = manifest["kind"], manifest["spec"]
    if kind == "Job":
        return _job_state(manifest)
    if kind == "CronJob":
        return ("suspended" if spec.get("suspend") else "scheduled"), ""
    conditions = {one["type"]: one for one in _status(manifest).get("conditions") or ()}
    for name, status in (("Progressing", "False"), ("ReplicaFailure", "True")):
        one = conditions.get(name) or {}
        if one.get("status") == status:
            return "stalled", str(one.get("message") or one.get("reason") or name)
    if spec.get("paused"):
        return "paused", ""
    if _is_progressing(manifest, counts):
        return "progressing", ""
    available, wanted = counts["available"] or 0, counts["wanted"] or 0
    return ("unavailable" if available < wanted else "available"), ""


def _is_progressing(manifest: Manifest, counts: Counts) -> bool:
    """Whether its controller has not seen the spec yet, or pods are still to be made, updated or deleted."""
    generation = manifest["metadata"].get("generation") or 0
    if generation > (_status(manifest).get("observedGeneration") or 0):
        return True
    current, wanted = counts["current"] or 0, counts["wanted"] or 0
    updated = counts.get("updated")
    if current != wanted:
        return True
    return updated is not None and updated < min(wanted, _to_update(manifest, wanted))


def _to_update(manifest: Manifest, wanted: int) -> int:
    """How many pods get the newest template by themselves."""
    strategy = manifest["spec"].get("updateStrategy") or {}
    if strategy.get("type") == "OnDelete":
        return 0
    return wanted - ((strategy.get("rollingUpdate") or {}).get("partition") or 0)


def _job_state(job: Manifest) -> tuple[views.WorkloadState, str]:
    true = {one["type"]: one for one in _status(job).get("conditions") or () if one.get("status") == "True"}
    if "Complete" in true:
        return "complete", ""
    if failed := true.get("Failed") or true.get("FailureTarget"):
        return "failed", str(failed.get("message") or failed.get("reason") or "")
    return ("suspended" if job["spec"].get("suspend") else "running"), ""
