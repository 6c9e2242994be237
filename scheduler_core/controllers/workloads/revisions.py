"""ControllerRevisions: the history of a workload's template, for DaemonSets and StatefulSets.

The data is a patch that replaces the template. StatefulSets name a revision by the hash of its data, FNV-1 of 32 bits
over the JSON, and DaemonSets by that of the template.
Source: kubernetes v1.34.1, pkg/controller/history/controller_history.go, pkg/controller/daemon/update.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from scheduler_core.api.go_values import map_json
from scheduler_core.api.meta import KubeObject
from scheduler_core.api.stored import ControllerRevision
from scheduler_core.api.workload import RawTemplate
from scheduler_core.controllers.workloads.hashes import fnv1, safe_text
from scheduler_core.controllers.workloads.templates import controller_reference

REVISION_HASH: Final = "controller-revision-hash"


def revision_data(template: RawTemplate) -> dict[str, Any]:
    """Return what a revision of this template holds."""
    return {"spec": {"template": {**template.manifest, "$patch": "replace"}}}


def template_of(revision: ControllerRevision) -> RawTemplate:
    """Return the template a revision holds."""
    template = dict(((revision.data or {}).get("spec") or {}).get("template") or {})
    template.pop("$patch", None)
    return RawTemplate(template)


def revision_hash(data: Mapping[str, Any], collisions: int | None = None) -> str:
    """Return the hash of a revision's data; `collisions` is how often the name it makes was taken by other data."""
    return safe_text(fnv1((map_json(data) + ("" if collisions is None else str(collisions))).encode()))


def new_revision(owner: KubeObject, template: RawTemplate, number: int, label: str, value: str) -> dict[str, Any]:
    """Return the manifest of a revision of the owner's template; the hash `value` is in its name and its label."""
    metadata = {
        "name": f"{owner.name}-{value}",
        "namespace": owner.namespace,
        "labels": {**template.labels, label: value},
        "ownerReferences": [controller_reference(owner)],
    }
    if owner.annotations:
        metadata["annotations"] = dict(owner.annotations)
    return {
        "apiVersion": ControllerRevision.api_version,
        "kind": ControllerRevision.kind,
        "metadata": metadata,
        "data": revision_data(template),
        "revision": number,
    }


def in_order(revisions: Iterable[ControllerRevision]) -> list[ControllerRevision]:
    """Return the revisions by number, older ones first among equal."""

    def order(one: ControllerRevision) -> tuple[int, str, str]:
        created = one.metadata.creation_timestamp
        return one.revision, "" if created is None else created.isoformat(), one.name

    return sorted(revisions, key=order)


def equal_revisions(revisions: Sequence[ControllerRevision], template: RawTemplate) -> list[ControllerRevision]:
    """Return the revisions that hold this template, in the order given."""
    data = revision_data(template)
    return [each for each in revisions if each.data == data]


def next_number(revisions: Sequence[ControllerRevision]) -> int:
    """Return the number of the revision that follows."""
    return max((each.revision for each in revisions), default=0) + 1
