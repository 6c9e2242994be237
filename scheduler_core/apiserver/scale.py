"""The scale of a controller of pods: its wished-for number of replicas as an object of its own, autoscaling/v1 Scale.

Source: kubernetes v1.34.1, pkg/registry/apps/*/storage and pkg/apis/autoscaling/validation.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scheduler_core.api import field_errors
from scheduler_core.apiserver.store import Stored
from scheduler_core.errors import AdmissionError

GROUP, KIND = "autoscaling", "Scale"
METADATA = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")


def scale_of(stored: Stored) -> Stored:
    """The object's Scale; zero replicas are left out of its spec, as the API server does."""
    spec, status = stored.get("spec") or {}, stored.get("status") or {}
    replicas = spec.get("replicas")
    return {
        "kind": KIND,
        "apiVersion": f"{GROUP}/v1",
        "metadata": {name: stored["metadata"][name] for name in METADATA if name in stored["metadata"]},
        "spec": {"replicas": replicas} if replicas else {},
        "status": {"replicas": status.get("replicas") or 0, "selector": selector_text(spec.get("selector") or {})},
    }


def scaled(stored: Stored, scale: Mapping[str, Any]) -> Stored:
    """The object with the replicas of a Scale; raises AdmissionError."""
    replicas = (scale.get("spec") or {}).get("replicas", 0)
    if not isinstance(replicas, int) or isinstance(replicas, bool):
        raise AdmissionError("spec.replicas", field_errors.invalid(replicas, "expected an integer"))
    if replicas < 0:
        raise AdmissionError("spec.replicas", field_errors.invalid(replicas, "must be greater than or equal to 0"))
    return {**stored, "spec": {**stored["spec"], "replicas": replicas}}


def selector_text(selector: Mapping[str, Any]) -> str:
    """A selector as a query has it; that of a ReplicationController is a map of labels."""
    labels = selector.get("matchLabels") if {"matchLabels", "matchExpressions"} & selector.keys() else selector
    parts = [f"{key}={value}" for key, value in (labels or {}).items()]
    for one in selector.get("matchExpressions") or ():
        values = f" ({','.join(sorted(one.get('values') or ()))})"
        parts.append(
            {
                "In": f"{one['key']} in{values}",
                "NotIn": f"{one['key']} notin{values}",
                "Exists": one["key"],
                "DoesNotExist": f"!{one['key']}",
            }[one["operator"]]
        )
    return ",".join(sorted(parts))
