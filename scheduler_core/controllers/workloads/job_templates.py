"""The pods that a job makes from its template: names, finalizer, and what tells a pod of an Indexed job its index.

Source: kubernetes v1.34.1, pkg/controller/job/{job_controller,indexed_job_utils}.go.
"""

from __future__ import annotations

from typing import Any, Final

from scheduler_core.api.batch import Job
from scheduler_core.controllers.workloads.job_indexes import (
    COMPLETION_INDEX,
    FAILURE_COUNT,
    IGNORED_FAILURE_COUNT,
    ignored_failures,
    index_failures,
)
from scheduler_core.controllers.workloads.job_plan import NewPod
from scheduler_core.controllers.workloads.job_pods import TRACKING
from scheduler_core.controllers.workloads.job_policies import failure_verdict
from scheduler_core.controllers.workloads.templates import pod_of_template

INDEX_VARIABLE: Final = "JOB_COMPLETION_INDEX"
_LONGEST_PREFIX: Final = 58  # five characters follow


def pod_of_job(job: Job, new: NewPod) -> dict[str, Any]:
    """Return the manifest of a pod of the job."""
    assert job.spec.template is not None
    pod = pod_of_template(job, job.spec.template)
    metadata, spec = pod["metadata"], pod["spec"]
    metadata["finalizers"] = list(dict.fromkeys((*metadata.get("finalizers", ()), TRACKING)))
    if new.index is None:
        return pod
    suffix = f"-{new.index}-"
    metadata["generateName"] = job.name[: _LONGEST_PREFIX - len(suffix)] + suffix
    metadata["labels"] = {**metadata["labels"], COMPLETION_INDEX: str(new.index)}
    annotations = {**metadata.get("annotations", {}), COMPLETION_INDEX: str(new.index)}
    if job.spec.backoff_limit_per_index is not None:
        annotations |= _failure_counts(job, new)
    metadata["annotations"] = annotations
    spec["hostname"] = f"{job.name}-{new.index}"
    for field in ("initContainers", "containers"):
        if field in spec:
            spec[field] = [_with_index(container) for container in spec[field]]
    return pod


def _failure_counts(job: Job, new: NewPod) -> dict[str, str]:
    """What the pod's successor is to know of failures."""
    if new.replaced is None:
        return {FAILURE_COUNT: "0"}
    counts = failure_verdict(job, new.replaced).counts
    ignored = ignored_failures(new.replaced) + (not counts)
    told = {FAILURE_COUNT: str(index_failures(new.replaced) + counts)}
    return told | ({IGNORED_FAILURE_COUNT: str(ignored)} if ignored else {})


def _with_index(container: dict[str, Any]) -> dict[str, Any]:
    variables = container.get("env") or []
    if any(variable.get("name") == INDEX_VARIABLE for variable in variables):
        return container
    source = {"fieldRef": {"fieldPath": f"metadata.labels['{COMPLETION_INDEX}']"}}
    return {**container, "env": [*variables, {"name": INDEX_VARIABLE, "valueFrom": source}]}
