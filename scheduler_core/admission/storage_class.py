"""Claims without a class get the default one. Source: kubernetes v1.34.1, plugin/pkg/admission/storage/storageclass."""

from __future__ import annotations

from typing import Final

from scheduler_core.admission.context import AdmissionContext, Manifest
from scheduler_core.api.storage import StorageClass

IS_DEFAULT: Final = "storageclass.kubernetes.io/is-default-class"
BETA_CLASS: Final = "volume.beta.kubernetes.io/storage-class"


def admit_storage_class(claim: Manifest, context: AdmissionContext) -> None:
    """An empty class name is a choice, an absent one is not; the old annotation counts as a choice too."""
    spec = claim.setdefault("spec", {})
    if "storageClassName" in spec or BETA_CLASS in claim["metadata"].get("annotations", {}):
        return
    chosen = default_storage_class(context)
    if chosen is not None:
        spec["storageClassName"] = chosen.name


def default_storage_class(context: AdmissionContext) -> StorageClass | None:
    """Of several defaults the newest, then the first by name."""
    defaults = [one for one in context.storage_classes.values() if one.annotations.get(IS_DEFAULT) == "true"]

    def newest_first(one: StorageClass) -> tuple[float, str]:
        created = one.metadata.creation_timestamp
        return (-created.timestamp() if created is not None else 0.0, one.name)

    return min(defaults, key=newest_first, default=None)
