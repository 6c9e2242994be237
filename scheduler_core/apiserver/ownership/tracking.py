"""What a write of a client does to `metadata.managedFields`, for whole manifests.

Manifests are read and defaulted, and have not been through admission: what admission and the server itself write
belongs to nobody. An object that nobody tracks, because the service itself made it, stays so until somebody applies to
it; then all it has belongs to `before-first-apply`.

Source: kubernetes v1.34.1, staging/src/k8s.io/apimachinery/pkg/util/managedfields and pkg/registry/*/strategy.go.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final

from scheduler_core.api.schema import read
from scheduler_core.apiserver.ownership import sets
from scheduler_core.apiserver.ownership.comparing import compare, fields_of
from scheduler_core.apiserver.ownership.managers import (
    BEFORE_FIRST_APPLY,
    ConflictError,
    Entry,
    Manifest,
    Owners,
    Writer,
    after_apply,
    after_update,
    decode,
    decoded,
    encode,
)
from scheduler_core.apiserver.ownership.sets import FieldSet
from scheduler_core.apiserver.ownership.shapes import OwnershipError

LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
KUBECTL: Final = "kubectl"
_STATUS: Final = sets.of_paths(("f:status",))
_SPEC: Final = sets.of_paths(("f:spec",))
# What writes of the status cannot change, beside the spec.
_KEPT_BY_STATUS: Final[dict[str, FieldSet]] = {
    "Deployment": sets.of_paths(("f:spec",), ("f:metadata", "f:labels")),
    "Pod": sets.of_paths(("f:spec",), ("f:metadata", "f:deletionTimestamp"), ("f:metadata", "f:ownerReferences")),
    "VolumeAttachment": sets.of_paths(("f:metadata",), ("f:spec",)),
}
# Parts of objects that report nothing of what they leave alone.
_SILENT_PARTS: Final = frozenset({"ephemeralcontainers", "resize", "scale"})
_SYSTEM_FIELDS: Final = ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink")


def writer(name: str, api_version: str, kind: str, subresource: str = "", *, has_status: bool = False) -> Writer:
    """Who writes to objects of a kind, or to a part of them."""
    hidden: FieldSet = {}
    if subresource == "status":
        hidden = _KEPT_BY_STATUS.get(kind, _SPEC)
    elif subresource not in _SILENT_PARTS and has_status:
        hidden = _STATUS
    return Writer(name, api_version, kind, subresource, hidden)


@lru_cache(maxsize=128)
def blank(api_version: str, kind: str) -> Manifest:
    """An object of a kind with nothing in it."""
    manifest, _ = read({}, api_version, kind)
    return manifest


def _blank_of(by: Writer) -> Manifest:
    if by.own_shape is not None:
        return {"apiVersion": by.api_version, "kind": by.kind, "metadata": {}}
    return blank(by.api_version, by.kind)


def created(new: Manifest, given: Any, by: Writer, time: str) -> list[Entry]:
    """The entries of a new object; `given` are those its manifest came with."""
    metadata = {name: value for name, value in new["metadata"].items() if name not in _SYSTEM_FIELDS}
    owners = {} if _is_reset(given) else decoded(given)
    try:
        made = after_update(_blank_of(by), {**new, "metadata": metadata}, owners, by, time)
    except OwnershipError:
        return []
    return encode(made)


def updated(live: Manifest, new: Manifest, given: Any, by: Writer, time: str) -> list[Entry]:
    """The entries of the live object when the new one takes its place.

    `given` are those the new manifest came with: clients may change them, and empty them by one empty entry.
    """
    before = live["metadata"].get("managedFields")
    owners: Owners = {}
    if by.subresource:
        owners = decoded(before)
    elif not _is_reset(given):
        owners = decoded(given) or decoded(before)
    if not owners:
        return []
    try:
        return encode(after_update(_bare(live), _bare(new), owners, by, time))
    except OwnershipError:
        return []


def applied(
    live: Manifest | None, config: Manifest, by: Writer, time: str, *, is_forced: bool
) -> tuple[Manifest, list[Entry]]:
    """(the object with the applied fields, its entries); ConflictError, OwnershipError."""
    empty = _blank_of(by)
    before: Manifest = empty if live is None else _bare(live)
    owners = {} if live is None else decode(live["metadata"].get("managedFields"))
    if not owners:
        earlier = replace(by, name=BEFORE_FIRST_APPLY)
        owners = after_update(empty, before, owners, earlier, time)
    try:
        new, after = after_apply(before, config, owners, by, time, is_forced=is_forced)
    except ConflictError as error:
        if by.name != KUBECTL:
            raise
        new, after = _taken_over(before, config, owners, by, time, error)
    result = dict(before if new is None else new)
    if by.name == KUBECTL and (result["metadata"].get("annotations") or {}).get(LAST_APPLIED):
        annotations = {**result["metadata"]["annotations"], LAST_APPLIED: _last_applied(config)}
        result["metadata"] = {**result["metadata"], "annotations": annotations}
    return result, encode(after)


def _taken_over(
    before: Manifest, config: Manifest, owners: Owners, by: Writer, time: str, error: ConflictError
) -> tuple[Manifest | None, Owners]:
    """What kubectl has applied on the client's side before is no conflict."""
    allowed = _applied_by_client(before, by)
    left = [(manager, path) for manager, path in error.conflicts if not sets.has(allowed, path)]
    if left:
        raise ConflictError(left if allowed else error.conflicts)
    return after_apply(before, config, owners, by, time, is_forced=True)


def _applied_by_client(live: Manifest, by: Writer) -> FieldSet:
    """The fields kubectl's annotation names, as far as the object still has them as they stand there."""
    text = (live["metadata"].get("annotations") or {}).get(LAST_APPLIED)
    try:
        last = json.loads(text or "null")
    except ValueError:
        return {}
    if not isinstance(last, Mapping) or last.get("apiVersion") != by.api_version:
        return {}
    shape = by.shape
    try:
        changes = compare(last, live, shape)
        found = fields_of(last, shape)
    except OwnershipError:
        return {}
    for changed in (changes.modified, changes.added, changes.removed):
        found = sets.difference(found, changed)
    return found


def _last_applied(config: Manifest) -> str:
    metadata = dict(config.get("metadata") or {})
    if metadata.get("annotations"):
        annotations = {name: value for name, value in metadata["annotations"].items() if name != LAST_APPLIED}
        metadata["annotations"] = annotations
    text = json.dumps({**config, "metadata": metadata}, separators=(",", ":"), sort_keys=True, ensure_ascii=False)
    for char in "<>&":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return f"{text}\n"


def _is_reset(given: Any) -> bool:
    return isinstance(given, list) and given in ([], [{}])


def _bare(manifest: Manifest) -> Manifest:
    """The object without its entries."""
    if "managedFields" not in manifest["metadata"]:
        return manifest
    metadata = {name: value for name, value in manifest["metadata"].items() if name != "managedFields"}
    return {**manifest, "metadata": metadata}


def without_times(entries: Any) -> list[Entry]:
    return [{name: value for name, value in entry.items() if name != "time"} for entry in entries or ()]
