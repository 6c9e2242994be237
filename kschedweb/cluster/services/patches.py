"""Objects changed in part, by controllers and the scheduler: JSON merge patches on what is stored.

The function returns entries, which the caller hands to `changes_commit` as the last statement of its transaction.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kschedweb.cluster.changes import ChangeEntry
from kschedweb.cluster.choices import Operation
from kschedweb.cluster.models import ApiObject


@dataclass(frozen=True, slots=True)
class ObjectPatch:
    """A patch of an object that is neither pod nor node. A `resource_version` must be that of the stored object."""

    kind: str
    namespace: str
    name: str
    uid: str
    patch: Mapping[str, Any]
    resource_version: str = ""


def objects_patch(*, cluster_id: int, patches: Sequence[ObjectPatch], actor: str) -> list[ChangeEntry]:
    """Patch what is still there and, where it matters, unchanged; the rest is passed over, whose log tells it."""
    if not patches:
        return []
    rows = {
        (row.kind, row.namespace, row.name): row
        for row in ApiObject.objects.select_for_update()
        .filter(
            cluster_id=cluster_id,
            kind__in={patch.kind for patch in patches},
            name__in={patch.name for patch in patches},
        )
        .order_by("id")
    }
    changed: dict[int, ApiObject] = {}
    for patch in patches:
        row = rows.get((patch.kind, patch.namespace, patch.name))
        if row is None or row.uid != patch.uid:
            continue
        if patch.resource_version and (row.pk in changed or str(row.rv) != patch.resource_version):
            continue
        manifest = merged(row.manifest, patch.patch)
        if manifest != row.manifest:
            row.manifest = manifest
            changed[row.pk] = row
    ApiObject.objects.bulk_update(changed.values(), ["manifest"])
    return [
        ChangeEntry(row.kind, row.namespace, row.name, row.uid, Operation.UPDATED, row.manifest, actor)
        for row in changed.values()
    ]


def merged(target: Any, patch: Any) -> Any:
    """RFC 7386: maps are merged, null removes, everything else replaces."""
    if not isinstance(patch, Mapping):
        return patch
    result = dict(target) if isinstance(target, Mapping) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), value)
    return result
