"""Manifests of the clusters that are measured: equal nodes in three zones, small pods of some sixty applications."""

from __future__ import annotations

from typing import Any

ZONES = 3
APPLICATIONS = 60
STARTED = "2026-01-01T00:00:00Z"


def node_name(number: int) -> str:
    return f"node-{number:05d}"


def node(number: int) -> dict[str, Any]:
    """A node that is ready."""
    size = {"cpu": "16", "memory": "64Gi", "pods": "110"}
    labels = {"kubernetes.io/hostname": node_name(number), "topology.kubernetes.io/zone": f"zone-{number % ZONES}"}
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "kubelet is posting ready status"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": node_name(number), "labels": labels},
        "status": {"allocatable": size, "capacity": size, "conditions": [ready]},
    }


def pending_pod(number: int, *, prefix: str = "pod", cpu: str = "100m") -> dict[str, Any]:
    """A pod that waits for a node."""
    container = {"name": "c", "image": "registry/app:1", "resources": {"requests": {"cpu": cpu, "memory": "128Mi"}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"{prefix}-{number:06d}",
            "namespace": "default",
            "labels": {"app": f"app-{number % APPLICATIONS:02d}"},
        },
        "spec": {"containers": [container]},
    }


def running_pod(number: int, nodes: int) -> dict[str, Any]:
    """A pod that runs on one of so many nodes, each in turn."""
    pod = pending_pod(number)
    pod["spec"] = {"nodeName": node_name(number % nodes), **pod["spec"]}
    kinds = ("PodScheduled", "Initialized", "ContainersReady", "Ready")
    pod["status"] = {
        "phase": "Running",
        "conditions": [{"type": kind, "status": "True"} for kind in kinds],
        "startTime": STARTED,
        "containerStatuses": [
            {
                "name": "c",
                "image": "registry/app:1",
                "imageID": "",
                "ready": True,
                "started": True,
                "restartCount": 0,
                "state": {"running": {"startedAt": STARTED}},
            }
        ],
    }
    return pod
