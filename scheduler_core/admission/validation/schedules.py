"""What is checked of cron jobs: their schedules, time zones and the jobs they would make.

Source: kubernetes v1.34.1, pkg/apis/batch/validation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from scheduler_core.admission.context import (
    Manifest,
    Problem,
    Shown,
    invalid,
    required,
    unsupported,
)
from scheduler_core.admission.validation import jobs
from scheduler_core.admission.validation.formats import not_negative
from scheduler_core.api.cron import ScheduleError, is_zone, parse_schedule
from scheduler_core.api.schema import json_text

_LONGEST_NAME: Final = 52  # a job's name has eleven characters more
_POLICIES: Final = ("Allow", "Forbid", "Replace")
_ZONE_PART: Final = re.compile(r"[A-Za-z.\-_0-9+]{1,14}", re.ASCII)


def cron_job_problems(manifest: Manifest) -> Iterator[Problem]:
    """Of a new cron job."""
    yield from cron_job_spec_problems(manifest["spec"], None)
    name = manifest["metadata"].get("name", "")
    if len(name) > _LONGEST_NAME:
        yield invalid("metadata.name", name, f"must be no more than {_LONGEST_NAME} characters")


def cron_job_spec_problems(spec: Manifest, before: Manifest | None) -> Iterator[Problem]:
    """Of a cron job's spec, which replaces another one unless it is new."""
    schedule = spec["schedule"]
    if not schedule:
        yield required("spec.schedule")
    else:
        yield from _schedule(spec, "TZ" in (before or {}).get("schedule", ""))
    yield from not_negative("spec.startingDeadlineSeconds", spec.get("startingDeadlineSeconds"))
    if before is None or before.get("timeZone") != spec.get("timeZone"):
        yield from _time_zone(spec.get("timeZone"))
    policy = spec.get("concurrencyPolicy")
    if not policy:
        yield required("spec.concurrencyPolicy")
    elif policy not in _POLICIES:
        yield unsupported("spec.concurrencyPolicy", policy, _POLICIES)
    yield from _template(spec["jobTemplate"]["spec"])
    for field in ("successfulJobsHistoryLimit", "failedJobsHistoryLimit"):
        yield from not_negative(f"spec.{field}", spec.get(field))


def _template(spec: Manifest) -> Iterator[Problem]:
    path = "spec.jobTemplate.spec"
    for problem in jobs.plain_spec_problems({"spec": spec}):
        yield Problem(path + problem.path.removeprefix("spec"), problem.detail)
    if "selector" in spec:
        shown = Shown(json_text(spec["selector"], "meta.LabelSelector"))
        yield invalid(f"{path}.selector", shown, "`selector` will be auto-generated")
    if spec.get("manualSelector"):
        yield unsupported(f"{path}.manualSelector", True, ("nil", "false"))


def _schedule(spec: Manifest, may_name_zone: bool) -> Iterator[Problem]:
    schedule = spec["schedule"]
    problem = schedule_problem(schedule)
    if problem:
        yield invalid("spec.schedule", schedule, problem)
    if "TZ" not in schedule:
        return
    if not may_name_zone:
        yield invalid("spec.schedule", schedule, "cannot use TZ or CRON_TZ in schedule, use timeZone field instead")
    elif "timeZone" in spec:
        yield invalid("spec.schedule", schedule, "cannot use both timeZone field and TZ or CRON_TZ in schedule")


def schedule_problem(schedule: str) -> str:
    """Why a text is no schedule of five fields or a descriptor; empty when it is one."""
    try:
        parse_schedule(schedule)
    except ScheduleError as error:
        return str(error)
    return ""


def _time_zone(zone: str | None) -> Iterator[Problem]:
    path = "spec.timeZone"
    if zone is None:
        return
    if not zone:
        yield invalid(path, zone, "timeZone must be nil or non-empty string")
        return
    for part in zone.split("/"):
        if part in (".", "..") or part.startswith("-") or not _ZONE_PART.fullmatch(part):
            yield invalid(path, zone, f"unknown time zone {zone}")
            return
    if zone.lower() == "local":
        detail = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
        yield invalid(path, zone, detail)
    if zone != "Local" and not is_zone(zone):
        yield invalid(path, zone, f"unknown time zone {zone}")
