"""What is made from a template of pods: manifests, their references to the owner, and hashes that name them.

A hash is FNV-1a of 32 bits over the template as canonical JSON, as ten letters without vowels; upstream hashes how Go
prints the template's structs, so its hashes differ in value. Source: kubernetes v1.34.1, pkg/controller.
"""

from __future__ import annotations

import json
from typing import Any, Final

from scheduler_core.admission.validation import formats
from scheduler_core.api.meta import KubeObject
from scheduler_core.api.pod import Pod
from scheduler_core.api.workload import RawTemplate

Manifest = dict[str, Any]

POD_TEMPLATE_HASH: Final = "pod-template-hash"
_SAFE_LETTERS: Final = "bcdfghjklmnpqrstvwxz2456789"
_FNV_OFFSET: Final = 2_166_136_261
_FNV_PRIME: Final = 16_777_619
_MASK: Final = 2**32 - 1


def controller_reference(owner: KubeObject) -> Manifest:
    """Return the owner reference of what the owner controls."""
    return {
        "apiVersion": owner.api_version,
        "kind": owner.kind,
        "name": owner.name,
        "uid": owner.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def pod_of_template(owner: KubeObject, template: RawTemplate) -> Manifest:
    """Return the manifest of a pod the owner controls; the API server completes its name.

    Callers change the maps `metadata` and its `labels` as they like, and replace what is below `spec`.
    """
    given = template.manifest.get("metadata") or {}
    metadata: Manifest = {
        "generateName": name_prefix(owner.name),
        "namespace": owner.namespace,
        "labels": dict(template.labels),
        "ownerReferences": [controller_reference(owner)],
    }
    if template.annotations:
        metadata["annotations"] = dict(template.annotations)
    if given.get("finalizers"):
        metadata["finalizers"] = list(given["finalizers"])
    return {"apiVersion": Pod.api_version, "kind": Pod.kind, "metadata": metadata, "spec": dict(template.spec)}


def name_prefix(name: str) -> str:
    """Return what generated names of an owner's pods begin with."""
    prefix = f"{name}-"
    return name if formats.subdomain(f"{prefix}a") else prefix


def template_hash(template: RawTemplate, collisions: int | None = None) -> str:
    """Return the hash of a template; `collisions` is how often the name it makes was taken by another template."""
    text = canonical_json(template.manifest) + ("" if collisions is None else str(collisions))
    return safe_text(fnv1a(text.encode()))


def canonical_json(value: Any) -> str:
    """Return the value as Go writes maps: sorted by key, without spaces."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def fnv1a(data: bytes) -> int:
    """Return the FNV-1a hash of 32 bits."""
    value = _FNV_OFFSET
    for byte in data:
        value = (value ^ byte) * _FNV_PRIME & _MASK
    return value


def fnv1(data: bytes) -> int:
    """Return the FNV-1 hash of 32 bits, which multiplies first."""
    value = _FNV_OFFSET
    for byte in data:
        value = (value * _FNV_PRIME & _MASK) ^ byte
    return value


def safe_text(number: int) -> str:
    """Return the decimal digits of a number as letters and digits that make no words."""
    return "".join(_SAFE_LETTERS[ord(digit) % len(_SAFE_LETTERS)] for digit in str(number))
