"""Claims without a class get the default one, and grow only where their class allows it.

Source: kubernetes v1.34.1, plugin/pkg/admission/storage/{storageclass,persistentvolume/resize}.
"""

from __future__ import annotations

from typing import Final

from scheduler_core.admission.context import AdmissionContext, Manifest, refused
from scheduler_core.api.quantity import parse
from scheduler_core.api.storage import StorageClass

DEFAULT_MARKS: Final = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)
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
    classes = context.storage_classes.values()
    defaults = [one for one in classes if any(one.annotations.get(mark) == "true" for mark in DEFAULT_MARKS)]

    def newest_first(one: StorageClass) -> tuple[float, str]:
        created = one.metadata.creation_timestamp
        return (-created.timestamp() if created is not None else 0.0, one.name)

    return min(defaults, key=newest_first, default=None)


def class_of_claim(claim: Manifest) -> str:
    """The name of the claim's class, the old annotation first; empty for none."""
    annotations = claim["metadata"].get("annotations") or {}
    name: str = annotations.get(BETA_CLASS, claim["spec"].get("storageClassName", ""))
    return name


def admit_expansion(claim: Manifest, old: Manifest, context: AdmissionContext) -> None:
    """Only a bound claim of a class that allows it may ask for more than it has."""
    asked, before = (parse(one["spec"]["resources"].get("requests", {}).get("storage", "0")) for one in (claim, old))
    if asked <= before:
        return
    if old["status"].get("phase") != "Bound":
        raise refused("spec.resources", "Only bound persistent volume claims can be expanded")
    name = class_of_claim(claim)
    chosen = context.storage_classes.get(name) if name == class_of_claim(old) else None
    if chosen is None or not chosen.allow_volume_expansion:
        detail = "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must"
        raise refused("spec.resources", f"{detail} support resize")
