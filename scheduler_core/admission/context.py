"""What admission looks up and how it refuses: the classes and ranges of a cluster, and problems with their paths."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from scheduler_core.api.go_values import quoted, shown
from scheduler_core.api.policy import LimitRange, PriorityClass, RuntimeClass
from scheduler_core.api.quantity import Quantity
from scheduler_core.api.storage import StorageClass
from scheduler_core.errors import AdmissionError

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
class Shown:
    """A value that is printed in a way of its own."""

    text: str


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
    return AdmissionError(path, f"Forbidden: {message}", is_forbidden=True)


def _text(value: Any) -> str:
    if isinstance(value, Shown):
        return value.text
    return shown(str(value) if isinstance(value, Quantity) else value)


def invalid(path: str, value: Any, detail: str) -> Problem:
    return Problem(path, f"Invalid value: {_text(value)}: {detail}")


def required(path: str, detail: str = "") -> Problem:
    return Problem(path, "Required value" + (f": {detail}" if detail else ""))


def duplicate(path: str, value: Any) -> Problem:
    return Problem(path, f"Duplicate value: {_text(value)}")


def unsupported(path: str, value: Any, supported: Iterable[str]) -> Problem:
    """The supported ones in the order given: upstream sorts most sets, but not all."""
    names = ", ".join(map(quoted, supported))
    return Problem(path, f"Unsupported value: {_text(value)}" + (f": supported values: {names}" if names else ""))


def forbidden(path: str, detail: str) -> Problem:
    return Problem(path, f"Forbidden: {detail}")


def admin_access_problem(path: str) -> Problem:
    """A claim asks for devices in use by others, and its namespace does not let it."""
    detail = f"admin access to devices requires the `{ADMIN_ACCESS}: true` label on the containing namespace"
    return forbidden(path, detail)


def not_found(path: str, value: Any) -> Problem:
    return Problem(path, f"Not found: {_text(value)}")


def too_long(path: str, most: int) -> Problem:
    return Problem(path, f"Too long: may not be more than {most} bytes")


def too_many(path: str, count: int, most: int) -> Problem:
    return Problem(path, f"Too many: {count}: must have at most {most} items")
