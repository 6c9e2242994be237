"""What is made from a template of pods: manifests, and their references to the owner.

Source: kubernetes v1.34.1, pkg/controller.
"""

from __future__ import annotations

from typing import Any

from scheduler_core.admission.validation import formats
from scheduler_core.api.meta import KubeObject
from scheduler_core.api.pod import Pod
from scheduler_core.api.workload import RawTemplate

Manifest = dict[str, Any]


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
