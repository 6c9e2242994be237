"""Workload files small enough to be written in a test."""

import gzip
import json
from pathlib import Path
from typing import Any

Json = dict[str, Any]


def node_template(*, cpu: str = "4", zone: str = "a") -> Json:
    return {
        "kind": "Node",
        "apiVersion": "v1",
        "metadata": {"labels": {"zone": zone}},
        "spec": {},
        "status": {"allocatable": {"cpu": cpu, "memory": "8Gi", "pods": "110"}},
    }


def pod_template(*, cpu: str = "500m", priority: int = 0, **spec: Any) -> Json:
    container = {"name": "main", "resources": {"requests": {"cpu": cpu, "memory": "100Mi"}}}
    return {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {"namespace": "default", "labels": {"app": "x"}},
        "spec": {"containers": [container], "schedulerName": "default-scheduler", "priority": priority, **spec},
        "status": {},
    }


def file_of(
    *,
    workload: str = "WX",
    nodes: list[Json] | None = None,
    node_of: list[int] | None = None,
    existing: list[tuple[int, int]] | None = None,
    existing_template: Json | None = None,
    pods: list[Json] | None = None,
    pod_of: list[int] | None = None,
) -> Json:
    return {
        "format": "schedbench/1: what follows is explained elsewhere",
        "workload": workload,
        "namespaces": [{"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": "default"}}],
        "nodeTemplates": nodes or [node_template(), node_template(cpu="8", zone="b")],
        "nodeTemplateOf": node_of or [0, 1, 0, 1],
        "existingTemplates": [existing_template or pod_template()],
        "existing": existing,
        "podTemplates": pods or [pod_template(), pod_template(cpu="1")],
        "podTemplateOf": pod_of or [0, 1, 1, 0, 0, 1],
    }


def written(folder: Path, name: str, content: Json) -> Path:
    path = folder / name
    data = json.dumps(content).encode()
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path
