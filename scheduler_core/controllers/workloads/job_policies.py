"""What a job's policies make of its pods: which failures count, and which successes are enough.

Source: kubernetes v1.34.1, pkg/controller/job/{pod_failure_policy,success_policy}.go.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from scheduler_core.api.batch import ExitCodes, Job, PodConditionPattern
from scheduler_core.api.pod import ContainerStatus, Pod
from scheduler_core.controllers.workloads.job_indexes import Indexes

IGNORE: Final = "Ignore"
FAIL_JOB: Final = "FailJob"
FAIL_INDEX: Final = "FailIndex"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a failed pod means; `message` is why the whole job fails."""

    action: str = ""
    message: str = ""

    @property
    def counts(self) -> bool:
        """True when the failure counts against the job's limits."""
        return self.action != IGNORE


def failure_verdict(job: Job, pod: Pod) -> Verdict:
    """Return what the first rule that fits says of a failed pod."""
    policy = job.spec.pod_failure_policy
    for number, rule in enumerate(policy.rules or () if policy is not None else ()):
        where = f"matching {rule.action} rule at index {number}"
        if rule.on_exit_codes is not None:
            found = _ended_with(pod, rule.on_exit_codes)
            if found is not None:
                name, code = found
                text = f"Container {name} for pod {pod.key} failed with exit code {code} {where}"
                return Verdict(rule.action, text if rule.action == FAIL_JOB else "")
        elif rule.on_pod_conditions is not None:
            condition = _condition_of(pod, rule.on_pod_conditions)
            if condition:
                text = f"Pod {pod.key} has condition {condition} {where}"
                return Verdict(rule.action, text if rule.action == FAIL_JOB else "")
    return Verdict()


def success_message(job: Job, succeeded: Indexes) -> str:
    """Return which rule of the success policy is met; empty when none is."""
    policy, completions = job.spec.success_policy, job.spec.completions or 0
    if policy is None or not succeeded.spans:
        return ""
    for number, rule in enumerate(policy.rules or ()):
        if rule.succeeded_indexes is not None:
            wanted = Indexes.parse(rule.succeeded_indexes, completions)
            if not wanted.spans:
                continue
            count = wanted.common(succeeded)
            is_met = count == len(wanted)
        else:
            count, is_met = len(succeeded), False
        if is_met or (rule.succeeded_count is not None and count >= rule.succeeded_count):
            return f"Matched rules at index {number}"
    return ""


def _ended_with(pod: Pod, codes: ExitCodes) -> tuple[str, int] | None:
    """The first container with an exit code that the rule names, and the code."""
    statuses: Iterable[ContainerStatus] = (
        *(pod.status.container_statuses or ()),
        *(pod.status.init_container_statuses or ()),
    )
    for status in statuses:
        ended = status.state.terminated if status.state is not None else None
        if ended is None or not ended.exit_code or codes.container_name not in (None, status.name):
            continue
        is_named = ended.exit_code in (codes.values or ())
        if (codes.operator == "In" and is_named) or (codes.operator == "NotIn" and not is_named):
            return status.name, ended.exit_code
    return None


def _condition_of(pod: Pod, patterns: Iterable[PodConditionPattern]) -> str:
    wanted = {(pattern.type, pattern.status) for pattern in patterns}
    conditions = pod.status.conditions or ()
    return next((one.type for one in conditions if (one.type, one.status) in wanted), "")
