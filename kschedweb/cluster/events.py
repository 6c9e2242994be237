"""Events as the dashboard shows them: rows of the scheduler, and objects that controllers and clients wrote."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from kschedweb import views
from kschedweb.cluster.adapters import milliseconds
from kschedweb.cluster.models import ApiObject, Event
from kschedweb.cluster.models.objects import ABOUT_FREQUENT_KINDS, FREQUENT_KINDS

KIND: Final = "Event"

Manifest = Mapping[str, Any]


def event_view(manifest: Manifest) -> views.EventView:
    """An event that is an object; clients may leave out any of it."""
    about, metadata = manifest.get("involvedObject") or {}, manifest["metadata"]
    series = manifest.get("series") or {}
    times = (
        series.get("lastObservedTime"),
        manifest.get("lastTimestamp"),
        manifest.get("eventTime"),
        metadata.get("creationTimestamp"),
    )
    seen = next((time for time in times if time), None)
    return views.EventView(
        seq=0,
        type=manifest.get("type") or "Normal",
        reason=manifest.get("reason") or "",
        note=manifest.get("message") or "",
        key=_key(about.get("namespace") or "", about.get("name") or ""),
        at_ms=milliseconds(datetime.fromisoformat(seen)) if seen else 0,
        count=series.get("count") or manifest.get("count") or 1,
        kind=about.get("kind") or "",
        name=_key(metadata.get("namespace") or "", metadata["name"]),
    )


def newest(cluster_id: int, limit: int) -> list[views.EventView]:
    """The newest events about objects of FREQUENT_KINDS, and about others, at most `limit` of each, oldest first.

    If all were one list, what happens to nodes and Deployments would soon be gone from it.
    """
    rows = Event.objects.filter(cluster_id=cluster_id).order_by("-id")[:limit]
    objects = _objects(cluster_id).order_by("-rv")
    frequent, others = objects.filter(ABOUT_FREQUENT_KINDS), objects.exclude(ABOUT_FREQUENT_KINDS)
    manifests = [each for some in (frequent, others) for each in some.values_list("manifest", flat=True)[:limit]]
    return mixed([row_view(row) for row in rows], list(map(event_view, manifests)), limit)


def mixed(told: Sequence[views.EventView], objects: Sequence[views.EventView], limit: int) -> list[views.EventView]:
    """The newest of the scheduler's and of those that are objects, about frequent kinds and others, oldest first.

    Both are given with the newest first, of objects those that were written last.
    """
    found = list(told)
    for is_frequent in (True, False):
        found += [event for event in objects if (event.kind in FREQUENT_KINDS) is is_frequent][:limit]
    found.sort(key=lambda event: (event.at_ms, event.seq))
    of_frequent = [event for event in found if event.kind in FREQUENT_KINDS][-limit:]
    of_others = [event for event in found if event.kind not in FREQUENT_KINDS][-limit:]
    return sorted([*of_frequent, *of_others], key=lambda event: (event.at_ms, event.seq))


def about(cluster_id: int, kind: str, namespace: str, name: str, uid: str, limit: int) -> list[views.EventView]:
    """The newest events about an object, newest first. `uid` of a pod: those about earlier ones of its name are not."""
    objects = _objects(cluster_id).filter(manifest__involvedObject__kind=kind, manifest__involvedObject__name=name)
    if namespace:
        objects = objects.filter(namespace=namespace, manifest__involvedObject__namespace=namespace)
    found: list[views.EventView] = []
    if uid:
        objects = objects.filter(manifest__involvedObject__uid=uid)
        rows = Event.objects.filter(cluster_id=cluster_id, regarding_uid=uid).order_by("-id")
        found += map(row_view, rows[:limit])
    found += map(event_view, objects.order_by("-rv").values_list("manifest", flat=True)[:limit])
    found.sort(key=lambda event: (event.at_ms, event.seq), reverse=True)
    return found[:limit]


def _objects(cluster_id: int) -> Any:
    return ApiObject.objects.filter(cluster_id=cluster_id, kind=KIND)


def row_view(row: Event) -> views.EventView:
    """An event of the scheduler."""
    return views.EventView(
        seq=row.seq,
        type=row.type,
        reason=row.reason,
        note=row.note,
        key=_key(row.regarding_namespace, row.regarding_name),
        at_ms=milliseconds(row.last_at),
        count=row.count,
        kind=row.regarding_kind,
    )


def _key(namespace: str, name: str) -> str:
    return f"{namespace}/{name}" if namespace else name
