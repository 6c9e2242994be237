"""Definitions of kinds for tests: dens, which have a namespace, and rivers, which have none; and objects of them."""

from __future__ import annotations

from typing import Any

Manifest = dict[str, Any]
GROUP = "otters.example"
DEN_SCHEMA: Manifest = {
    "type": "object",
    "required": ["spec"],
    "properties": {
        "spec": {
            "type": "object",
            "required": ["depth"],
            "properties": {
                "depth": {"type": "integer", "minimum": 1, "maximum": 9},
                "mood": {"type": "string", "enum": ["glad", "sad"], "default": "glad"},
                "replicas": {"type": "integer"},
                "port": {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]},
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                "nothing": {"type": "string", "nullable": True},
                "call": {"type": "string", "pattern": "^[a-z]+$", "maxLength": 5, "minLength": 2},
                "tags": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
                "rooms": {
                    "type": "array",
                    "maxItems": 3,
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["name"],
                    "items": {
                        "type": "object",
                        "required": ["name"],
                        "properties": {
                            "name": {"type": "string"},
                            "size": {"type": "integer", "default": 1},
                        },
                    },
                },
                "labels": {"type": "object", "additionalProperties": {"type": "string"}},
                "template": {
                    "type": "object",
                    "x-kubernetes-embedded-resource": True,
                    "x-kubernetes-preserve-unknown-fields": True,
                },
                "since": {"type": "string", "format": "date-time"},
            },
        },
        "status": {
            "type": "object",
            "properties": {
                "replicas": {"type": "integer"},
                "selector": {"type": "string"},
                "conditions": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {"type": {"type": "string"}, "status": {"type": "string"}},
                    },
                },
            },
        },
    },
}
COLUMNS = [
    {"name": "Depth", "type": "integer", "jsonPath": ".spec.depth"},
    {"name": "Mood", "type": "string", "jsonPath": ".spec.mood"},
    {"name": "Ready", "type": "string", "jsonPath": '.status.conditions[?(@.type=="Ready")].status'},
    {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
]


def version(name: str = "v1", schema: Manifest | None = None, **parts: Any) -> Manifest:
    found = DEN_SCHEMA if schema is None else schema
    return {"name": name, "served": True, "storage": True, "schema": {"openAPIV3Schema": found}, **parts}


def definition(
    plural: str = "dens", kind: str = "Den", *, scope: str = "Namespaced", versions: list[Manifest] | None = None,
    names: Manifest | None = None, group: str = GROUP, **spec: Any,
) -> Manifest:  # fmt: skip
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": scope,
            "names": {"plural": plural, "kind": kind, **(names or {})},
            "versions": [version()] if versions is None else versions,
            **spec,
        },
    }


DENS = definition(
    names={"shortNames": ["dn"], "categories": ["all", "otters"]},
    versions=[
        version(
            subresources={
                "status": {},
                "scale": {
                    "specReplicasPath": ".spec.replicas",
                    "statusReplicasPath": ".status.replicas",
                    "labelSelectorPath": ".status.selector",
                },
            },
            additionalPrinterColumns=COLUMNS,
            selectableFields=[{"jsonPath": ".spec.mood"}],
        )
    ],
)
RIVERS = definition(
    "rivers",
    "River",
    scope="Cluster",
    versions=[version(schema={"type": "object", "x-kubernetes-preserve-unknown-fields": True})],
)


def den(name: str = "deep", api_version: str = f"{GROUP}/v1", **spec: Any) -> Manifest:
    return {"apiVersion": api_version, "kind": "Den", "metadata": {"name": name}, "spec": {"depth": 2, **spec}}


def river(name: str = "long", **parts: Any) -> Manifest:
    return {"apiVersion": f"{GROUP}/v1", "kind": "River", "metadata": {"name": name}, **parts}
