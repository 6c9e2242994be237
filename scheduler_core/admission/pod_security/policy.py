"""The policy of a namespace, read from its labels: a level and a version each to enforce and to warn of.

Audits are not kept, so their labels are only checked.
Source: kubernetes v1.34.1, staging/src/k8s.io/pod-security-admission/api.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from scheduler_core.admission.context import Problem, invalid

PRIVILEGED: Final = "privileged"
BASELINE: Final = "baseline"
RESTRICTED: Final = "restricted"
_LEVELS: Final = (PRIVILEGED, BASELINE, RESTRICTED)  # by strictness
_PREFIX: Final = "pod-security.kubernetes.io/"
_VERSION: Final = re.compile(r"v1\.([0-9]|[1-9][0-9]*)")
LATEST_MINOR: Final = 34


@dataclass(frozen=True, slots=True)
class Standard:
    """A level as of a minor version; None is the latest."""

    level: str = PRIVILEGED
    minor: int | None = None

    def __str__(self) -> str:
        return f"{self.level}:{'latest' if self.minor is None else f'v1.{self.minor}'}"

    @property
    def strictness(self) -> int:
        return _LEVELS.index(self.level)


@dataclass(frozen=True, slots=True)
class Policy:
    """What a namespace demands. `problems` are labels that cannot be read, which count as the strictest to enforce."""

    enforce: Standard = Standard()
    warn: Standard = Standard()
    problems: tuple[Problem, ...] = field(default=())

    @property
    def asks_nothing(self) -> bool:
        return not self.problems and self.enforce.level == self.warn.level == PRIVILEGED


def policy_of(labels: Mapping[str, str] | None) -> Policy:
    """The policy these labels of a namespace ask for."""
    if not labels or not any(label.startswith(_PREFIX) for label in labels):
        return Policy()
    problems: list[Problem] = []
    enforce = _standard(labels, "enforce", RESTRICTED, problems)
    _standard(labels, "audit", PRIVILEGED, problems)
    warn = _standard(labels, "warn", PRIVILEGED, problems)
    says_only_what_to_enforce = f"{_PREFIX}warn" not in labels and labels.get(f"{_PREFIX}enforce") in _LEVELS
    if says_only_what_to_enforce and enforce.strictness > warn.strictness:
        warn = Standard(enforce.level, warn.minor if f"{_PREFIX}warn-version" in labels else enforce.minor)
    return Policy(enforce, warn, tuple(problems))


def _standard(labels: Mapping[str, str], mode: str, otherwise: str, problems: list[Problem]) -> Standard:
    """The level and version of a mode; `otherwise` is the level when it cannot be read."""
    level, minor = PRIVILEGED, None
    label = f"{_PREFIX}{mode}"
    if label in labels:
        level = labels[label]
        if level not in _LEVELS:
            problems.append(_problem(label, level, f"must be one of {', '.join(_LEVELS)}"))
            level = otherwise
    label = f"{_PREFIX}{mode}-version"
    if label in labels and labels[label] != "latest":
        found = _VERSION.fullmatch(labels[label])
        if found is None:
            problems.append(_problem(label, labels[label], 'must be "latest" or "v1.x"'))
        else:
            minor = int(found[1])
    return Standard(level, minor)


def _problem(label: str, value: str, detail: str) -> Problem:
    return invalid(f"metadata.labels[{label}]", value, detail)
