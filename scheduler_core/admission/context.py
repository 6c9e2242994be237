"""What admission looks up and how it refuses: the classes and ranges of a cluster, and problems with their paths."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from scheduler_core.api import field_errors
from scheduler_core.api.field_errors import OMITTED, Shown
from scheduler_core.api.policy import LimitRange, PriorityClass, RuntimeClass
from scheduler_core.api.quantity import Quantity
from scheduler_core.api.storage import StorageClass
from scheduler_core.errors import AdmissionError

__all__ = [
    "OMITTED",
    "AdmissionContext",
    "Manifest",
    "Problem",
    "Shown",
    "admin_access_problem",
    "duplicate",
    "forbidden",
    "internal_error",
    "invalid",
    "not_found",
    "refuse",
    "refused",
    "required",
    "too_long",
    "too_many",
    "unsupported",
]

Manifest = dict[str, Any]
ADMIN_ACCESS: Final = "resource.kubernetes.io/admin-access"


@dataclass(frozen=True, slots=True)
class AdmissionContext:
    """The cluster as admission sees it, by name; limit ranges and labels by namespace. `new_uid` names what is created.

    `is_simulated`: nodes are Ready from the start and containers need no image, because nothing runs here; otherwise
    everything is as on a real API server. `allocate` gives a service (new, old) its addresses and ports. `pods_in` has
    the pods of a namespace, and `warn` tells the client of what is let through.
    """

    new_uid: Callable[[], str]
    priority_classes: Mapping[str, PriorityClass] = field(default_factory=dict)
    runtime_classes: Mapping[str, RuntimeClass] = field(default_factory=dict)
    limit_ranges: Mapping[str, Sequence[LimitRange]] = field(default_factory=dict)
    storage_classes: Mapping[str, StorageClass] = field(default_factory=dict)
    namespace_labels: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    is_simulated: bool = True
    allocate: Callable[[Manifest, Manifest | None], None] | None = None
    plugins: frozenset[str] = frozenset()  # those of `optional` that are on
    pods_in: Callable[[str], Sequence[Manifest]] = lambda namespace: ()
    warn: Callable[[str], None] = lambda text: None

    def allows_admin_access(self, namespace: str) -> bool:
        """Whether claims of the namespace may ask for devices in use; where labels are not known, they may."""
        labels = self.namespace_labels.get(namespace)
        return self.is_simulated if labels is None else labels.get(ADMIN_ACCESS) == "true"


@dataclass(frozen=True, slots=True)
class Problem:
    """Which field, and what the API server says about it."""

    path: str
    detail: str

    def error(self) -> AdmissionError:
        return AdmissionError(self.path, self.detail)


def refuse(problems: Iterable[Problem]) -> None:
    """Raise AdmissionError for the problems, if there are any."""
    found = [(problem.path, problem.detail) for problem in problems]
    if found:
        raise AdmissionError(*found[0], problems=found)


def refused(path: str, message: str) -> AdmissionError:
    """An admission plugin does not let the request pass (403)."""
    return AdmissionError(path, field_errors.forbidden(message), is_forbidden=True)


def invalid(path: str, value: Any, detail: str) -> Problem:
    return Problem(path, field_errors.invalid(_printed(value), detail))


def required(path: str, detail: str = "") -> Problem:
    return Problem(path, field_errors.required(detail))


def duplicate(path: str, value: Any, detail: str = "") -> Problem:
    return Problem(path, field_errors.duplicate(_printed(value), detail))


def unsupported(path: str, value: Any, supported: Iterable[str], *, is_plain: bool = False) -> Problem:
    return Problem(path, field_errors.unsupported(_printed(value), supported, is_plain=is_plain))


def forbidden(path: str, detail: str) -> Problem:
    return Problem(path, field_errors.forbidden(detail))


def internal_error(path: str, detail: str) -> Problem:
    return Problem(path, field_errors.internal(detail))


def admin_access_problem(path: str) -> Problem:
    """A claim asks for devices in use by others, and its namespace does not let it."""
    detail = f"admin access to devices requires the `{ADMIN_ACCESS}: true` label on the containing namespace"
    return forbidden(path, detail)


def not_found(path: str, value: Any, detail: str = "") -> Problem:
    return Problem(path, field_errors.not_found(_printed(value), detail))


def too_long(path: str, most: int) -> Problem:
    return Problem(path, field_errors.too_long(most))


def too_many(path: str, count: int, most: int) -> Problem:
    return Problem(path, field_errors.too_many(count, most))


def _printed(value: Any) -> Any:
    return str(value) if isinstance(value, Quantity) else value
