"""One object of every kind that can be uploaded, and the paths under which the API has it."""

from __future__ import annotations

from typing import Any

from scheduler_core.apiserver.kinds import KINDS
from tests.core.apiserver import kept_samples

Manifest = dict[str, Any]
LABELS = {"app": "web"}
CONTAINER = {
    "name": "c",
    "image": "registry.example/web:1",
    "resources": {"requests": {"cpu": "0.5"}, "limits": {"memory": "1024Mi"}},
    "ports": [{"containerPort": 80}],
}
POD: Manifest = {"containers": [CONTAINER], "schedulerName": "nobody"}
TEMPLATE = {"metadata": {"labels": LABELS}, "spec": POD}
SELECTED = {"selector": {"matchLabels": LABELS}, "template": TEMPLATE}
JOB: Manifest = {"template": {"spec": {**POD, "restartPolicy": "Never"}}}
REQUESTS = {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu"}}]}}
STORAGE = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1.5Gi"}}}
# By kind: what stands beside apiVersion, kind and metadata.
OBJECTS: dict[str, Manifest] = {
    "Namespace": {},
    "Node": {"status": {"capacity": {"cpu": "4", "memory": "8Gi"}}},
    "Pod": {"spec": POD},
    "PriorityClass": {"value": 7},
    "RuntimeClass": {"handler": "runc", "overhead": {"podFixed": {"cpu": "0.1"}}},
    "LimitRange": {"spec": {"limits": [{"type": "Container", "max": {"cpu": "64"}, "default": {"cpu": "1"}}]}},
    "StorageClass": {"provisioner": "example.com/p"},
    "VolumeAttributesClass": {"driverName": "example.com/p", "parameters": {"iops": "100"}},
    "PodTemplate": {"template": TEMPLATE},
    "PersistentVolume": {
        "spec": {
            "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "nfs": {"server": "s", "path": "/"},
        }
    },
    "PersistentVolumeClaim": {"spec": STORAGE},
    "CSINode": {"spec": {"drivers": [{"name": "example.com", "nodeID": "n"}]}},
    "CSIDriver": {"spec": {}},
    "CSIStorageCapacity": {"storageClassName": "s", "capacity": "10Gi"},
    "VolumeAttachment": {"spec": {"attacher": "example.com", "nodeName": "n", "source": {"persistentVolumeName": "v"}}},
    "PodDisruptionBudget": {"spec": {"minAvailable": 1, "selector": {"matchLabels": LABELS}}},
    "Service": {"spec": {"type": "NodePort", "selector": LABELS, "ports": [{"port": 80}]}},
    "Endpoints": {"subsets": [{"addresses": [{"ip": "10.0.0.1"}], "ports": [{"port": 80}]}]},
    "EndpointSlice": {"addressType": "IPv4", "endpoints": [{"addresses": ["10.0.0.1"]}], "ports": [{"port": 80}]},
    "ConfigMap": {"data": {"a": "b"}},
    "ServiceAccount": {},
    "ReplicationController": {"spec": {"replicas": 2, "template": TEMPLATE}},
    "ReplicaSet": {"spec": SELECTED},
    "StatefulSet": {"spec": {**SELECTED, "serviceName": "s"}},
    "Deployment": {"spec": SELECTED},
    "DaemonSet": {"spec": SELECTED},
    "Job": {"spec": JOB},
    "CronJob": {"spec": {"schedule": "*/5 * * * *", "jobTemplate": {"spec": JOB}}},
    "ControllerRevision": {"revision": 1, "data": {"a": "b"}},
    "ResourceClaim": {"spec": REQUESTS},
    "ResourceClaimTemplate": {"spec": {"spec": REQUESTS}},
    "ResourceSlice": {
        "spec": {
            "driver": "example.com",
            "nodeName": "n",
            "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1},
            "devices": [{"name": "d", "capacity": {"example.com/memory": {"value": "1024Mi"}}}],
        }
    },
    "DeviceClass": {"spec": {}},
    "ResourceQuota": {"spec": {"hard": {"pods": "10", "cpu": "0.5"}}},
    "Lease": {"spec": {"holderIdentity": "a", "leaseDurationSeconds": 5}},
    "Event": {
        "involvedObject": {"kind": "Pod", "namespace": "default", "name": "p"},
        "reason": "Started",
        "lastTimestamp": "2020-01-01T00:00:05Z",
    },
    **{kind: parts for kind, (parts, _) in kept_samples.OBJECTS.items()},
}  # fmt: skip


def path_of(kind: str, name: str = "") -> str:
    cls = KINDS[kind].cls
    root = f"/apis/{cls.api_version}" if "/" in cls.api_version else f"/api/{cls.api_version}"
    space = "/namespaces/default" if cls.namespaced else ""
    return f"{root}{space}/{cls.plural}" + (f"/{name}" if name else "")
