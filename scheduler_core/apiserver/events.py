"""Events have two forms, core/v1 and events.k8s.io/v1, of one stored object: the first.

Source: kubernetes v1.34.1, pkg/apis/events/v1/conversion.go and pkg/apis/core/validation/events.go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from scheduler_core.admission.context import Manifest, Problem, invalid, required
from scheduler_core.admission.validation import formats

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
    if not event.get("eventTime"):
        yield required("eventTime")
        return
    if event.get("type") not in ("Normal", "Warning"):
        yield invalid("type", "", f"has invalid value: {event.get('type', '')}")
    for field in ("firstTimestamp", "lastTimestamp", "count", "source"):
        if event.get(field):
            yield invalid(field, "", "needs to be unset")


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
    yield from formats.named(controller_field, controller, formats.qualified_all(controller))
    for field, longest in (("reportingInstance", 128), ("action", 128), ("reason", 128)):
        text = event.get(field, "")
        if not text:
            yield required(field)
        if len(text) > longest:
            yield invalid(field, "", f"can have at most {longest} characters")
    if len(event.get("message", "")) > _LONGEST_NOTE:
        yield invalid("message", "", f"can have at most {_LONGEST_NOTE} characters")


def event_change_problems(new: Manifest, old: Manifest) -> Iterator[Problem]:
    """Of a change in the newer form: a series may go on, what happened stays."""
    for field in (
        "involvedObject", "reason", "message", "source", "firstTimestamp", "lastTimestamp", "count", "type",
        "eventTime", "action", "related", "reportingComponent", "reportingInstance",
    ):  # fmt: skip
        if new.get(field) != old.get(field):
            yield invalid(_CONTROLLER.get(field, field), new.get(field), formats.IMMUTABLE)


_CONTROLLER: Final = {"reportingComponent": "reportingController"}
