"""What an upload gives of an object: whether it is kept or admitted, and how it is laid over a namesake."""

import uuid
from typing import Any

from kschedweb.cluster import adapters
from kschedweb.cluster.intake.objects import Item
from kschedweb.cluster.state import Stored
from scheduler_core.api.times import time_text

AUTO, ALWAYS, NEVER = "auto", "always", "never"
# Where the scheduler and the volume controller put an object.
_PLACES = {"Pod": "nodeName", "PersistentVolumeClaim": "volumeName", "PersistentVolume": "claimRef"}
# What the API server alone writes into metadata.
_COUNTED = ("generation", "deletionTimestamp", "deletionGracePeriodSeconds")
_WRITTEN_BY_OTHERS = ("finalizers", "ownerReferences")


def is_admitted(item: Item, choice: str) -> bool:
    """Whether it goes through what creations do; what comes from a cluster does so by choice only, and forgets it."""
    metadata = item.manifest["metadata"]
    if choice == ALWAYS:
        dropped = ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation")
        kept = {key: value for key, value in metadata.items() if key not in dropped}
        item.manifest = {**item.manifest, "metadata": kept}
        return True
    return choice == AUTO and not (metadata.get("uid") and metadata.get("creationTimestamp"))


def with_others_fields(metadata: dict[str, Any], old: Stored) -> dict[str, Any]:
    """The metadata with what others write there and nobody writes by hand."""
    before = old.manifest["metadata"]
    return {name: before[name] for name in _WRITTEN_BY_OTHERS if name in before} | metadata


def laid_over(
    manifest: dict[str, Any], given: dict[str, Any], old: Stored, admission: adapters.Admission, now: int
) -> dict[str, Any]:
    """A manifest written by hand, as an update of what the cluster already has under this name.

    `manifest` is what creating it would store, `given` what was sent. What others write into an object and nobody
    writes by hand stays; a pod that cannot become so is replaced and scheduled anew.
    """
    before = old.manifest
    metadata, spec = with_others_fields(manifest["metadata"], old), dict(manifest.get("spec") or {})
    place = _PLACES.get(old.kind)
    if place is not None and place in before.get("spec", {}):
        spec.setdefault(place, before["spec"][place])
    wanted = {**manifest, "metadata": metadata, **({"spec": spec} if "spec" in manifest else {})}
    kept = {name: before["metadata"][name] for name in _COUNTED if name in before["metadata"]}
    if "status" not in given or old.kind == "Pod":
        same = {**wanted, "metadata": {**metadata, **kept}, "status": before.get("status")}
        if same == {**before, "status": before.get("status")}:
            return before
    try:
        changed = admission.update(before, wanted, now)
    except adapters.AdmissionError:
        if old.kind != "Pod":
            raise
        anew = {"uid": str(uuid.uuid4()), "creationTimestamp": time_text(now)}
        return {**manifest, "metadata": {**manifest["metadata"], **anew}}
    if old.kind == "Pod" or not given.get("status"):
        return changed
    status = {**(manifest.get("status") or {}), **given["status"]}
    return admission.update(changed, {**changed, "status": status}, now, "status")
