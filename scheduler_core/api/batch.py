"""Jobs and cron jobs, as their controllers read them. Templates stay the manifests they are made from.

Source: batch/v1 of Kubernetes 1.34.
"""

from __future__ import annotations

from typing import Any, ClassVar

from scheduler_core.api.meta import Int32, Int64, KubeObject, LabelSelector, Time, Value
from scheduler_core.api.workload import RawTemplate


class ExitCodes(Value, frozen=True):
    """Containers that ended with one of `values`, or with none of them; None means any container."""

    container_name: str | None = None
    operator: str = ""
    values: tuple[Int32, ...] | None = None


class PodConditionPattern(Value, frozen=True):
    type: str = ""
    status: str = ""


class PodFailureRule(Value, frozen=True):
    """What a failed pod that fits means: `action` is Ignore, Count, FailIndex or FailJob."""

    action: str = ""
    on_exit_codes: ExitCodes | None = None
    on_pod_conditions: tuple[PodConditionPattern, ...] | None = None


class PodFailurePolicy(Value, frozen=True):
    rules: tuple[PodFailureRule, ...] | None = None


class SuccessRule(Value, frozen=True):
    """Indexes such as `0,2-5`, and how many of them are enough."""

    succeeded_indexes: str | None = None
    succeeded_count: Int32 | None = None


class SuccessPolicy(Value, frozen=True):
    rules: tuple[SuccessRule, ...] | None = None


class JobSpec(Value, frozen=True):
    parallelism: Int32 | None = None
    completions: Int32 | None = None
    active_deadline_seconds: Int64 | None = None
    pod_failure_policy: PodFailurePolicy | None = None
    success_policy: SuccessPolicy | None = None
    backoff_limit: Int32 | None = None
    backoff_limit_per_index: Int32 | None = None
    max_failed_indexes: Int32 | None = None
    selector: LabelSelector | None = None
    manual_selector: bool | None = None
    template: RawTemplate | None = None
    ttl_seconds_after_finished: Int32 | None = None
    completion_mode: str | None = None
    suspend: bool | None = None
    pod_replacement_policy: str | None = None
    managed_by: str | None = None


class JobCondition(Value, frozen=True):
    type: str
    status: str = ""
    reason: str = ""
    message: str = ""
    last_probe_time: Time | None = None
    last_transition_time: Time | None = None


class UncountedPods(Value, frozen=True):
    """uids of pods that ended, still have the job's finalizer and are not in its counts."""

    succeeded: tuple[str, ...] | None = None
    failed: tuple[str, ...] | None = None


class JobStatus(Value, frozen=True):
    conditions: tuple[JobCondition, ...] | None = None
    start_time: Time | None = None
    completion_time: Time | None = None
    active: Int32 = 0
    succeeded: Int32 = 0
    failed: Int32 = 0
    terminating: Int32 | None = None
    completed_indexes: str = ""
    failed_indexes: str | None = None
    uncounted_terminated_pods: UncountedPods | None = None
    ready: Int32 | None = None


class Job(KubeObject, frozen=True, kw_only=True):
    api_version: ClassVar[str] = "batch/v1"
    kind: ClassVar[str] = "Job"
    plural: ClassVar[str] = "jobs"

    spec: JobSpec = JobSpec()
    status: JobStatus = JobStatus()

    @property
    def is_indexed(self) -> bool:
        return self.spec.completion_mode == "Indexed"

    @property
    def is_suspended(self) -> bool:
        return self.spec.suspend is True

    @property
    def finished_condition(self) -> JobCondition | None:
        """Complete or Failed, once the job is over."""
        return next((each for each in self.status.conditions or () if _is_end(each)), None)


def _is_end(condition: JobCondition) -> bool:
    return condition.type in ("Complete", "Failed") and condition.status == "True"


class JobReference(Value, frozen=True):
    """A job of a cron job that runs."""

    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""
    api_version: str = ""
    resource_version: str = ""


class CronJobSpec(Value, frozen=True):
    """`schedule` as `api.cron` reads it; `concurrency_policy` is Allow, Forbid or Replace."""

    schedule: str = ""
    time_zone: str | None = None
    starting_deadline_seconds: Int64 | None = None
    concurrency_policy: str = ""
    suspend: bool | None = None
    job_template: dict[str, Any] | None = None
    successful_jobs_history_limit: Int32 | None = None
    failed_jobs_history_limit: Int32 | None = None


class CronJobStatus(Value, frozen=True):
    active: tuple[JobReference, ...] | None = None
    last_schedule_time: Time | None = None
    last_successful_time: Time | None = None


class CronJob(KubeObject, frozen=True, kw_only=True):
    api_version: ClassVar[str] = "batch/v1"
    kind: ClassVar[str] = "CronJob"
    plural: ClassVar[str] = "cronjobs"

    spec: CronJobSpec = CronJobSpec()
    status: CronJobStatus = CronJobStatus()
