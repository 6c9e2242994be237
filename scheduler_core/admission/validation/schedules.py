"""What is checked of cron jobs: their schedules, time zones and the jobs they would make.

Source: kubernetes v1.34.1, pkg/apis/batch/validation; vendor/github.com/robfig/cron/v3/parser.go.
"""

from __future__ import annotations

import re
import zoneinfo
from collections.abc import Iterator, Mapping
from functools import lru_cache
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
from scheduler_core.api.schema import json_text

_LONGEST_NAME: Final = 52  # a job's name has eleven characters more
_POLICIES: Final = ("Allow", "Forbid", "Replace")
_ZONE_PART: Final = re.compile(r"[A-Za-z.\-_0-9+]{1,14}", re.ASCII)
_MONTHS: Final = {
    name: number
    for number, name in enumerate(
        ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"], 1
    )
}
_DAYS: Final = {name: number for number, name in enumerate(["sun", "mon", "tue", "wed", "thu", "fri", "sat"])}
# The fields of a schedule: least and greatest value, and names.
_FIELDS: Final[tuple[tuple[int, int, Mapping[str, int]], ...]] = (
    (0, 59, {}), (0, 23, {}), (1, 31, {}), (1, 12, _MONTHS), (0, 6, _DAYS),
)  # fmt: skip
_DESCRIPTORS: Final = ("@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly")
_EVERY: Final = "@every "
_DURATION: Final = re.compile(r"[+-]?((\d+(\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h))+|[+-]?0", re.ASCII)
_INTEGER: Final = re.compile(r"[+-]?\d+", re.ASCII)


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
    if schedule.startswith(("TZ=", "CRON_TZ=")):
        named, _, schedule = schedule.partition(" ")
        zone = named.partition("=")[2]
        if not _is_zone(zone):
            return f"provided bad location {zone}: unknown time zone {zone}"
        schedule = schedule.strip()
    if schedule.startswith("@"):
        return _descriptor_problem(schedule)
    fields = schedule.split()
    if len(fields) != len(_FIELDS):
        return f"expected exactly {len(_FIELDS)} fields, found {len(fields)}: [{' '.join(fields)}]"
    for text, (least, most, names) in zip(fields, _FIELDS, strict=True):
        for part in filter(None, text.split(",")):
            try:
                _range(part, least, most, names)
            except ValueError as error:
                return str(error)
    return ""


def _descriptor_problem(text: str) -> str:
    if text in _DESCRIPTORS:
        return ""
    if not text.startswith(_EVERY):
        return f"unrecognized descriptor: {text}"
    duration = text.removeprefix(_EVERY)
    if _DURATION.fullmatch(duration):
        return ""
    return f'failed to parse duration {text}: time: invalid duration "{duration}"'


def _range(text: str, least: int, most: int, names: Mapping[str, int]) -> None:
    """Raise ValueError when the text is no range of values."""
    span, *steps = text.split("/")
    low, *rest = span.split("-")
    if low in ("*", "?"):
        first, last = least, most
    else:
        first = _number(low, names)
        if len(rest) > 1:
            raise ValueError(f"too many hyphens: {text}")
        last = _number(rest[0], names) if rest else first
    step = 1
    if len(steps) > 1:
        raise ValueError(f"too many slashes: {text}")
    if steps:
        step = _number(steps[0], {})
        if not rest:
            last = most
    if first < least:
        raise ValueError(f"beginning of range ({first}) below minimum ({least}): {text}")
    if last > most:
        raise ValueError(f"end of range ({last}) above maximum ({most}): {text}")
    if first > last:
        raise ValueError(f"beginning of range ({first}) beyond end of range ({last}): {text}")
    if not step:
        raise ValueError(f"step of range should be a positive number: {text}")


def _number(text: str, names: Mapping[str, int]) -> int:
    if text.lower() in names:
        return names[text.lower()]
    if not _INTEGER.fullmatch(text):
        raise ValueError(f'failed to parse int from {text}: strconv.Atoi: parsing "{text}": invalid syntax')
    if len(text) > 18:
        raise ValueError(f'failed to parse int from {text}: strconv.Atoi: parsing "{text}": value out of range')
    number = int(text)
    if number < 0:
        raise ValueError(f"negative number ({number}) not allowed: {text}")
    return number


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
    if zone != "Local" and not _is_zone(zone):
        yield invalid(path, zone, f"unknown time zone {zone}")


@lru_cache(maxsize=1)
def _zones() -> frozenset[str]:
    """The zones this machine knows; none on one without a database of them, where every name is taken."""
    return frozenset(zoneinfo.available_timezones())


def _is_zone(name: str) -> bool:
    return name in ("", "UTC") or name in _zones() or not _zones()
