"""What makes pods."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from scheduler_core.apiserver.printing.texts import (
    NONE,
    UNSET,
    Cells,
    Manifest,
    Printed,
    age,
    age_of,
    is_going,
    name_of,
    pairs,
    part,
)
from scheduler_core.apiserver.scale import selector_text


def _containers(spec: Manifest) -> Cells:
    containers = (spec.get("template") or {}).get("spec", {}).get("containers") or ()
    return [",".join(one["name"] for one in containers), ",".join(one.get("image", "") for one in containers)]


def _pod_template(manifest: Manifest, now: int) -> Cells:
    return [name_of(manifest), *_containers(manifest), pairs(manifest["template"]["metadata"].get("labels"))]


def _selector(selector: Manifest | None) -> str:
    return (selector_text(selector) if selector is not None else "") or NONE


def _counted(manifest: Manifest, now: int) -> Cells:
    spec, status = manifest["spec"], part(manifest, "status")
    return [
        name_of(manifest), spec.get("replicas") or 0, status.get("replicas") or 0, status.get("readyReplicas") or 0,
        age_of(manifest, now), *_containers(spec),
    ]  # fmt: skip


def _replica_set(manifest: Manifest, now: int) -> Cells:
    return [*_counted(manifest, now), _selector(manifest["spec"].get("selector"))]


def _replication_controller(manifest: Manifest, now: int) -> Cells:
    return [*_counted(manifest, now), pairs(manifest["spec"].get("selector"))]


def _deployment(manifest: Manifest, now: int) -> Cells:
    spec, status = manifest["spec"], part(manifest, "status")
    return [
        name_of(manifest), f"{status.get('readyReplicas') or 0}/{spec.get('replicas') or 0}",
        status.get("updatedReplicas") or 0, status.get("availableReplicas") or 0, age_of(manifest, now),
        *_containers(spec), selector_text(spec.get("selector") or {}),
    ]  # fmt: skip


def _stateful_set(manifest: Manifest, now: int) -> Cells:
    spec, status = manifest["spec"], part(manifest, "status")
    ready = f"{status.get('readyReplicas') or 0}/{spec.get('replicas') or 0}"
    return [name_of(manifest), ready, age_of(manifest, now), *_containers(spec)]


def _daemon_set(manifest: Manifest, now: int) -> Cells:
    spec, status = manifest["spec"], part(manifest, "status")
    counts = (
        "desiredNumberScheduled", "currentNumberScheduled", "numberReady", "updatedNumberScheduled", "numberAvailable",
    )  # fmt: skip
    return [
        name_of(manifest), *(status.get(name) or 0 for name in counts),
        pairs(spec["template"]["spec"].get("nodeSelector")), age_of(manifest, now), *_containers(spec),
        _selector(spec.get("selector")),
    ]  # fmt: skip


def _job(job: Manifest, now: int) -> Cells:
    spec, status = job["spec"], part(job, "status")
    done, parallelism = status.get("succeeded") or 0, spec.get("parallelism") or 0
    completions = f"{done}/1 of {parallelism}" if parallelism > 1 else f"{done}/1"
    if spec.get("completions") is not None:
        completions = f"{done}/{spec['completions']}"
    started, ended, took = status.get("startTime"), status.get("completionTime"), ""
    if started:
        until = int(datetime.fromisoformat(ended).timestamp() * 1_000_000) if ended else now
        took = age(started, until)
    return [
        name_of(job), _job_word(job), completions, took, age_of(job, now), *_containers(spec),
        _selector(spec.get("selector")),
    ]  # fmt: skip


def _job_word(job: Manifest) -> str:
    conditions = part(job, "status").get("conditions") or ()
    true = {one["type"] for one in conditions if one["status"] == "True"}
    for condition in ("Complete", "Failed"):
        if condition in true:
            return condition
    if is_going(job):
        return "Terminating"
    return next((one for one in ("Suspended", "FailureTarget", "SuccessCriteriaMet") if one in true), "Running")


def _cron_job(manifest: Manifest, now: int) -> Cells:
    spec, status = manifest["spec"], part(manifest, "status")
    last, template = status.get("lastScheduleTime"), spec["jobTemplate"]["spec"]
    suspend = spec.get("suspend")
    return [
        name_of(manifest), spec["schedule"], spec.get("timeZone", NONE),
        UNSET if suspend is None else "True" if suspend else "False",
        len(status.get("active") or ()), age(last, now) if last else NONE, age_of(manifest, now),
        *_containers(template), _selector(template.get("selector")),
    ]  # fmt: skip


def _controller_revision(manifest: Manifest, now: int) -> Cells:
    owners = manifest["metadata"].get("ownerReferences") or ()
    owner = next((one for one in owners if one.get("controller")), None)
    shown = NONE
    if owner is not None:
        group = owner["apiVersion"].rpartition("/")[0]
        shown = f"{owner['kind']}{'.' if group else ''}{group}/".lower() + owner["name"]
    return [name_of(manifest), shown, manifest.get("revision") or 0, age_of(manifest, now)]


PRINTED: Final[dict[str, Printed]] = {
    "ReplicationController": (
        "Name|Desired:integer|Current:integer|Ready:integer|Age|!Containers|!Images|!Selector",
        _replication_controller,
    ),
    "ReplicaSet": (
        "Name|Desired:integer|Current:integer|Ready:integer|Age|!Containers|!Images|!Selector",
        _replica_set,
    ),
    "Deployment": ("Name|Ready|Up-to-date|Available|Age|!Containers|!Images|!Selector", _deployment),
    "PodTemplate": ("Name|Containers|Images|Pod Labels", _pod_template),
    "StatefulSet": ("Name|Ready|Age|!Containers|!Images", _stateful_set),
    "DaemonSet": (
        "Name|Desired:integer|Current:integer|Ready:integer|Up-to-date:integer|Available:integer"
        "|Node Selector|Age|!Containers|!Images|!Selector",
        _daemon_set,
    ),
    "Job": ("Name|Status|Completions|Duration|Age|!Containers|!Images|!Selector", _job),
    "CronJob": (
        "Name|Schedule|Timezone|Suspend:boolean|Active:integer|Last Schedule|Age|!Containers|!Images|!Selector",
        _cron_job,
    ),
    "ControllerRevision": ("Name|Controller|Revision|Age", _controller_revision),
}
