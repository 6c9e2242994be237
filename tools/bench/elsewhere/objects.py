"""Manifests of the cluster to be followed: as large as those of a busy cluster, with managedFields and status."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

NAMESPACES, SETS_PER_NAMESPACE, ZONES = 50, 40, 10
CREATED = "2026-01-01T00:00:00Z"
Manifest = dict[str, Any]


def managed(manager: str, fields: Manifest) -> Manifest:
    """An entry of managedFields."""
    return {
        "manager": manager,
        "operation": "Update",
        "apiVersion": "v1",
        "time": CREATED,
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
    }


def node_manifest(number: int, beat: int = 0) -> Manifest:
    name = f"node-{number:05}"
    capacity = {"cpu": "32", "memory": "128Gi", "pods": "110", "ephemeral-storage": "400Gi"}
    labels = {
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "topology.kubernetes.io/zone": f"zone-{number % ZONES}",
        "topology.kubernetes.io/region": "region-1",
        "node.kubernetes.io/instance-type": "m.8xlarge",
    }
    fine = ("KubeletHasSufficientMemory", "KubeletHasNoDiskPressure", "KubeletHasSufficientPID", "KubeletReady")
    types = ("MemoryPressure", "DiskPressure", "PIDPressure", "Ready")
    conditions = [
        {
            "type": type_,
            "status": "True" if type_ == "Ready" else "False",
            "reason": reason,
            "message": f"beat {beat}",
            "lastHeartbeatTime": CREATED,
            "lastTransitionTime": CREATED,
        }
        for type_, reason in zip(types, fine, strict=True)
    ]
    images = [
        {
            "names": [
                f"registry.example/team/app-{place}@sha256:{place:064x}",
                f"registry.example/team/app-{place}:1.{place}",
            ],
            "sizeBytes": 50_000_000 + place,
        }
        for place in range(number % 7, number % 7 + 15)
    ]
    status_fields: Manifest = {
        f"f:{type_}": {".": {}, "f:status": {}, "f:reason": {}, "f:message": {}} for type_ in types
    }
    return {
        "metadata": {
            "name": name,
            "uid": f"node-uid-{number:05}",
            "creationTimestamp": CREATED,
            "labels": labels,
            "annotations": {"node.alpha.kubernetes.io/ttl": "0"},
            "managedFields": [managed("kubelet", {"f:status": {"f:conditions": status_fields}})],
        },
        "spec": {"podCIDR": "10.0.0.0/24", "providerID": f"cloud:///{name}"},
        "status": {
            "capacity": capacity,
            "allocatable": capacity,
            "conditions": conditions,
            "images": images,
            "addresses": [{"type": "InternalIP", "address": f"10.1.{number // 250}.{number % 250}"}],
            "nodeInfo": {"architecture": "amd64", "kubeletVersion": "v1.34.1", "operatingSystem": "linux"},
        },
    }


def _moment(seconds: int) -> str:
    """So many seconds after the cluster began."""
    return (datetime.fromisoformat(CREATED) + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


def pod_manifest(number: int, node: str = "", phase: str = "Pending") -> Manifest:
    """Pods of one number have one key; a uid of its own says which it is."""
    namespace, owner = f"ns-{number % NAMESPACES:02}", f"app-{number // NAMESPACES % SETS_PER_NAMESPACE:02}"
    created = _moment(number * 37)
    scheduled, started = _moment(number * 37 + 1), _moment(number * 37 + 4 + number % 5)
    conditions = [{"type": "PodScheduled", "status": "True", "lastProbeTime": None, "lastTransitionTime": scheduled}]
    if phase == "Running":
        conditions += [
            {"type": type_, "status": "True", "lastProbeTime": None, "lastTransitionTime": started}
            for type_ in ("Initialized", "ContainersReady", "Ready", "PodReadyToStartContainers")
        ]
    token = f"kube-api-access-{number:05x}"
    container = {
        "name": "main",
        "image": f"registry.example/team/app-{number % 20}:1.{number % 20}",
        "resources": {
            "requests": {"cpu": f"{100 + number % 5 * 50}m", "memory": f"{128 + number % 5 * 64}Mi"},
            "limits": {"memory": "1Gi"},
        },
        "env": [{"name": f"SETTING_{place}", "value": f"value-of-setting-{place}"} for place in range(8)],
        "ports": [{"containerPort": 8080, "protocol": "TCP"}],
        "volumeMounts": [
            {"name": token, "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount", "readOnly": True}
        ],
        "livenessProbe": {"httpGet": {"path": "/live", "port": 8080, "scheme": "HTTP"}, "periodSeconds": 10},
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "imagePullPolicy": "IfNotPresent",
    }
    spec: Manifest = {
        "containers": [container],
        "volumes": [
            {
                "name": token,
                "projected": {
                    "defaultMode": 420,
                    "sources": [{"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}}],
                },
            }
        ],
        "tolerations": [
            {"key": f"node.kubernetes.io/{what}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
            for what in ("not-ready", "unreachable")
        ],
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": 30,
        "dnsPolicy": "ClusterFirst",
        "priority": 0,
        "serviceAccountName": "default",
        "schedulerName": "default-scheduler",
        "enableServiceLinks": True,
        "preemptionPolicy": "PreemptLowerPriority",
        "securityContext": {},
    }
    if node:
        spec["nodeName"] = node
    statuses = [
        {
            "name": "main",
            "ready": True,
            "started": True,
            "restartCount": 0,
            "image": container["image"],
            "imageID": f"registry.example/team/app@sha256:{number:064x}",
            "containerID": f"containerd://{number:064x}",
            "state": {"running": {"startedAt": started}},
        }
    ]
    fields = {"f:metadata": {"f:labels": {"f:app": {}}}, "f:spec": {f"f:{name}": {} for name in spec}}
    return {
        "metadata": {
            "name": f"{owner}-{number:06}",
            "namespace": namespace,
            "creationTimestamp": created,
            "labels": {"app": owner, "pod-template-hash": owner.rjust(10, "0"), "team": f"team-{number % 10}"},
            "annotations": {"example.com/config-checksum": f"{number % (NAMESPACES * SETS_PER_NAMESPACE):064x}"},
            "ownerReferences": [
                {
                    "apiVersion": "apps/v1",
                    "kind": "ReplicaSet",
                    "name": owner,
                    "uid": f"rs-{owner}",
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
            "managedFields": [managed("kube-controller-manager", fields), managed("kubelet", {"f:status": fields})],
        },
        "spec": spec,
        "status": {
            "phase": phase,
            "qosClass": "Burstable",
            **({"conditions": conditions} if node else {}),
            **(
                {"containerStatuses": statuses, "podIP": "10.2.3.4", "startTime": scheduled}
                if phase == "Running"
                else {}
            ),
        },
    }
