"""Who owns the fields of objects after the requests of clients: what `ownership` says, for requests.

Only requests with a `manager` are tracked. Source: kubernetes v1.34.1,
staging/src/k8s.io/apiserver/pkg/endpoints/handlers/{create,update,patch}.go and fieldmanager/equality.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scheduler_core.admission.defaults import default
from scheduler_core.admission.strategies import TEMPLATE_GENERATION
from scheduler_core.api.schema import read
from scheduler_core.api.times import time_text
from scheduler_core.apiserver import events
from scheduler_core.apiserver.kinds import KINDS
from scheduler_core.apiserver.ownership import tracking
from scheduler_core.apiserver.ownership.managers import Entry, Writer, decoded, encode
from scheduler_core.apiserver.ownership.scales import from_scale, to_scale
from scheduler_core.apiserver.requests import Apply, Create, Patch, Update
from scheduler_core.apiserver.scale import GROUP as SCALE_GROUP
from scheduler_core.apiserver.scale import KIND as SCALE_KIND
from scheduler_core.apiserver.scale import scale_of
from scheduler_core.apiserver.store import Stored

SCALE_VERSION = f"{SCALE_GROUP}/v1"


def of_new(manifest: Mapping[str, Any], request: Create, now: int) -> list[Entry]:
    """The entries of an object that is created from this manifest."""
    kind = str(manifest["kind"])
    given = (manifest.get("metadata") or {}).get("managedFields")
    by = _writer(request, kind, "")
    return tracking.created(_in_form(_defaulted(manifest, kind), request), given, by, time_text(now))


def of_changed(stored: Stored, new: Mapping[str, Any], request: Update | Patch | Apply, now: int) -> list[Entry]:
    """The entries of an object, or through its Scale, that a request replaces by the new manifest."""
    before: list[Entry] = stored["metadata"].get("managedFields") or []
    if not request.manager:
        return before
    given, kind, time = (new.get("metadata") or {}).get("managedFields"), str(stored["kind"]), time_text(now)
    if request.subresource == "scale":
        scale, _ = read(new, SCALE_VERSION, SCALE_KIND)
        by = tracking.writer(request.manager, SCALE_VERSION, SCALE_KIND, "scale")
        entries = tracking.updated(owned_scale_of(stored), scale, given, by, time)
        return of_parent(stored, entries)
    live, changed = _in_form(stored, request), _in_form(_defaulted(new, kind), request)
    return tracking.updated(live, changed, given, _writer(request, kind, request.subresource), time)


def owned_scale_of(stored: Stored) -> Stored:
    """The object's Scale with the entries of its own."""
    scale = scale_of(stored)
    seen = to_scale(decoded(stored["metadata"].get("managedFields")), str(stored["apiVersion"]), SCALE_VERSION)
    if seen:
        scale["metadata"]["managedFields"] = encode(seen)
    return scale


def of_parent(stored: Stored, entries: list[Entry]) -> list[Entry]:
    """The object's entries after its Scale has got these."""
    before = decoded(stored["metadata"].get("managedFields"))
    return encode(from_scale(before, decoded(entries), str(stored["apiVersion"])))


def without_new_times(stored: Stored, written: Stored) -> Stored:
    """The written object with the entries it had, when nothing but their times is new."""
    before, after = stored["metadata"].get("managedFields"), written["metadata"].get("managedFields")
    if not after or before == after or tracking.without_times(before) != tracking.without_times(after):
        return written
    unchanged = {**written, "metadata": {**written["metadata"], "managedFields": before}}
    return unchanged if unchanged == stored else written


def _writer(request: Create | Update | Patch | Apply, kind: str, subresource: str) -> Writer:
    version = events.API_VERSION if request.is_new_form else KINDS[kind].cls.api_version
    return tracking.writer(request.manager, version, kind, subresource, has_status=KINDS[kind].has_status)


def _in_form(manifest: Mapping[str, Any], request: Create | Update | Patch | Apply) -> Mapping[str, Any]:
    return events.from_core(manifest) if request.is_new_form else manifest


def _defaulted(manifest: Mapping[str, Any], kind: str) -> dict[str, Any]:
    made, _ = read(manifest, KINDS[kind].cls.api_version, kind)
    default(made, kind)
    if kind == "DaemonSet":  # the server's own field, which is an annotation outside
        annotations = {TEMPLATE_GENERATION: "0", **(made["metadata"].get("annotations") or {})}
        made["metadata"] = {**made["metadata"], "annotations": annotations}
    return made
