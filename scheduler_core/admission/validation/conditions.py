"""What is checked of conditions that name a reason and the time of their last transition.

Source: kubernetes v1.34.1, staging/src/k8s.io/apimachinery/pkg/apis/meta/v1/validation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from scheduler_core.admission.context import Manifest, Problem, duplicate, invalid, required, too_long, unsupported
from scheduler_core.admission.validation import formats
from scheduler_core.admission.validation.formats import named

_REASON: Final = re.compile(r"[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?")
_REASON_DETAIL: Final = (
    "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric"
    " characters or '_,:', and must end with an alphanumeric character or '_' (e.g. 'my_name',  or 'MY_NAME',  or"
    f" 'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex used for validation is '{_REASON.pattern}')"
)


def condition_problems(path: str, conditions: Sequence[Manifest]) -> Iterator[Problem]:
    seen: set[str] = set()
    for index, condition in enumerate(conditions):
        at, kind = f"{path}[{index}]", condition.get("type", "")
        if kind in seen:
            yield duplicate(f"{at}.type", kind)
        seen.add(kind)
        yield from _condition(at, condition)


def _condition(path: str, condition: Manifest) -> Iterator[Problem]:
    kind, status = condition.get("type", ""), condition.get("status", "")
    yield from named(f"{path}.type", kind, formats.qualified(kind))
    if status not in ("False", "True", "Unknown"):
        yield unsupported(f"{path}.status", status, ("False", "True", "Unknown"))
    if condition.get("observedGeneration", 0) < 0:
        yield invalid(
            f"{path}.observedGeneration", condition["observedGeneration"], "must be greater than or equal to zero"
        )
    if not condition.get("lastTransitionTime"):
        yield required(f"{path}.lastTransitionTime")
    reason = condition.get("reason", "")
    if not reason:
        yield required(f"{path}.reason")
    elif not _REASON.fullmatch(reason):
        yield invalid(f"{path}.reason", reason, _REASON_DETAIL)
    for field, most in (("reason", 1024), ("message", 32768)):
        if len(condition.get(field, "")) > most:
            yield too_long(f"{path}.{field}", most)
