"""Events have two forms, core/v1 and events.k8s.io/v1, of one stored object: the first.

Source: kubernetes v1.34.1, pkg/apis/events/v1/conversion.go and pkg/apis/core/validation/events.go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from scheduler_core.admission.context import Manifest, Problem, Shown, invalid, required
from scheduler_core.admission.validation import formats
from scheduler_core.api.schema import internal_text

GROUP: Final = "events.k8s.io"
API_VERSION: Final = f"{GROUP}/v1"
# By field of events.k8s.io: the field of core.
_NAMES: Final = {
    "regarding": "involvedObject",
    "note": "message",
    "reportingController": "reportingComponent",
    "deprecatedSource": "source",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedCount": "count",
}
_CORE_NAMES: Final = {core: name for name, core in _NAMES.items()}
_LONGEST_NOTE: Final = 1024


def to_core(event: Mapping[str, Any]) -> Manifest:
    """An event of events.k8s.io as it is stored."""
    return {**{_NAMES.get(name, name): value for name, value in event.items()}, "apiVersion": "v1"}


def from_core(event: Mapping[str, Any]) -> Manifest:
    """A stored event as events.k8s.io shows it."""
    shown = {_CORE_NAMES.get(name, name): value for name, value in event.items()}
    for name in ("reportingController", "reportingInstance"):
        if not shown.get(name):
            shown.pop(name, None)
    return {**shown, "apiVersion": API_VERSION}


def event_problems(event: Manifest, *, is_new_form: bool) -> Iterator[Problem]:
    """Of an event in its stored form; the newer form is checked fully when it is created."""
    yield from _legacy(event, "reportingController" if is_new_form else "reportingComponent")
    if not is_new_form:
        return
    yield from _series(event)
    if not event.get("eventTime"):
        yield required("eventTime")
    if event.get("type") not in ("Normal", "Warning"):
        yield invalid("type", "", f"has invalid value: {event.get('type', '')}")
    for field in ("firstTimestamp", "lastTimestamp", "count", "source"):
        if event.get(field):
            yield invalid(field, "", "needs to be unset")


def _series(event: Manifest) -> Iterator[Problem]:
    series = event.get("series")
    if series is None:
        return
    if series.get("count", 0) < 2:
        yield invalid("series.count", "", "should be at least 2")
    if not series.get("lastObservedTime"):
        yield required("series.lastObservedTime")


def _legacy(event: Manifest, controller_field: str) -> Iterator[Problem]:
    namespace, involved = event["metadata"].get("namespace", ""), event["involvedObject"].get("namespace", "")
    mismatch = invalid("involvedObject.namespace", involved, "does not match event.namespace")
    if not event.get("eventTime"):
        if (not involved and namespace not in ("", "default")) or (involved and namespace != involved):
            yield mismatch
        return
    if not involved and namespace not in ("default", "kube-system"):
        yield mismatch
    controller = event.get("reportingComponent", "")
    if not controller:
        yield required(controller_field)
    yield from formats.named(controller_field, controller, formats.qualified(controller))
    for field, longest in (("reportingInstance", 128), ("action", 128), ("reason", 128)):
        text = event.get(field, "")
        if not text:
            yield required(field)
        if len(text) > longest:
            yield invalid(field, "", f"can have at most {longest} characters")
    if len(event.get("message", "")) > _LONGEST_NOTE:
        yield invalid("message", "", f"can have at most {_LONGEST_NOTE} characters")


def event_change_problems(new: Manifest, old: Manifest, *, is_new_form: bool) -> Iterator[Problem]:
    """Of a change: in the newer form a series may go on, and what happened stays."""
    yield from _legacy(new, "reportingController" if is_new_form else "reportingComponent")
    if not is_new_form:
        return
    if new.get("series") != old.get("series"):
        yield from _series(new)
    for field in _FIXED:
        if new.get(field) != old.get(field):
            yield invalid(_CONTROLLER.get(field, field), _shown(new.get(field), field), formats.IMMUTABLE)


def _shown(value: Any, field: str) -> Any:
    if field in _INTERNAL and value is not None:
        return Shown(internal_text(value, _INTERNAL[field]))
    return _EMPTY.get(field, "") if value is None else value


# As the API server looks at them: the reason twice.
_FIXED: Final = (
    "involvedObject", "reason", "message", "source", "firstTimestamp", "lastTimestamp", "count", "reason", "type",
    "eventTime", "action", "related", "reportingComponent", "reportingInstance",
)  # fmt: skip
_CONTROLLER: Final = {"reportingComponent": "reportingController"}
_INTERNAL: Final = {
    "involvedObject": "core.ObjectReference", "related": "core.ObjectReference", "source": "core.EventSource"
}  # fmt: skip
_EMPTY: Final = {"count": 0, "firstTimestamp": None, "lastTimestamp": None, "eventTime": None, "related": None}
