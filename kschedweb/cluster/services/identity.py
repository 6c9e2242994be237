"""What an object that comes from elsewhere is called, and which version it is."""

import re
import secrets

from kschedweb.cluster import adapters
from kschedweb.cluster.intake.objects import Item
from kschedweb.cluster.state import Key
from scheduler_core.api.custom import parts_of

DEFAULT_NAMESPACE = "default"
_FORMS = (
    (
        "name",
        re.compile(r"(?=.{1,253}\Z)[a-z0-9]([-a-z0-9.]*[a-z0-9])?"),
        "at most 253 lower-case letters, digits, '-' and '.'",
    ),
    ("namespace", re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"), "at most 63 lower-case letters, digits and '-'"),
    ("uid", re.compile(r"[!-~]{1,128}"), "at most 128 visible characters"),
)
# Of roles, whose names are parts of paths and no more.
_FREE_NAME = (re.compile(r"(?!\.\.?\Z)[^/%\0]{1,253}"), "at most 253 characters without '/' and '%'")
_SUFFIX_LETTERS = "bcdfghjklmnpqrstvwxz2456789"


def resource_version(item: Item) -> int:
    """The object's version in the cluster that it comes from; 0 if it says none."""
    metadata = item.manifest.get("metadata")
    text = metadata.get("resourceVersion") if isinstance(metadata, dict) else None
    return int(text) if isinstance(text, str) and re.fullmatch("[0-9]{1,19}", text) else 0


def identify(item: Item, *, namespaced: bool) -> tuple[Key, str]:
    """Make the manifest's identity complete, drop what only its former store knew; its key and uid."""
    metadata = item.manifest.get("metadata")
    if not isinstance(metadata, dict):
        raise adapters.ManifestError("metadata", "expected an object" if metadata is not None else "is required")
    metadata = {key: value for key, value in metadata.items() if key not in ("resourceVersion", "managedFields")}
    for name in ("name", "generateName", "namespace", "uid"):
        if metadata.get(name) is None:
            metadata.pop(name, None)
        elif not isinstance(metadata[name], str):
            raise adapters.ManifestError(f"metadata.{name}", "expected text")
    if not metadata.get("name"):
        if not metadata.get("generateName"):
            raise adapters.ManifestError("metadata.name", "is required")
        # Named here already: duplicates and namesakes are found by name before anything is admitted.
        metadata["name"] = metadata["generateName"] + "".join(secrets.choice(_SUFFIX_LETTERS) for _ in range(5))
    if namespaced:
        metadata["namespace"] = metadata.get("namespace") or DEFAULT_NAMESPACE
    else:
        metadata.pop("namespace", None)
    if not metadata.get("uid"):
        metadata.pop("uid", None)
    for name, form, what in _FORMS:
        if name == "name" and adapters.is_freely_named(item.kind):
            form, what = _FREE_NAME
        if name in metadata and not form.fullmatch(metadata[name]):
            raise adapters.ManifestError(f"metadata.{name}", f"expected {what}, got {metadata[name][:80]!r}")
    said = {"apiVersion": item.api_version, "kind": parts_of(item.kind)[0], "metadata": metadata}
    item.manifest = {**item.manifest, **said}
    if problem := adapters.storage_problem(item.manifest):
        raise adapters.ManifestError("", problem)
    return (item.kind, metadata.get("namespace", ""), metadata["name"]), metadata.get("uid", "")
