"""The disks of the sample: a class whose disks are made where the pod goes, and one disk that lies in a node."""

from typing import Any

from scheduler_core.sim.otter_post.apps import DISK_CLASS, DISK_DRIVER, HOSTNAME, LOCAL_CLASS

DEN_NODE = "memory-b1"
DEN_DISK = "den-disk-b1"


def storage() -> list[dict[str, Any]]:
    """Classes, the disk in the node, and the claims of pods that keep their disk when they are replaced."""
    return [
        _class(DISK_CLASS, DISK_DRIVER),
        _class(LOCAL_CLASS, "kubernetes.io/no-provisioner"),
        _local_volume(),
        _claim("tide-book", DISK_CLASS),
        _claim("shell-vault", LOCAL_CLASS),
    ]


def _class(name: str, provisioner: str) -> dict[str, Any]:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name},
        "provisioner": provisioner,
        "reclaimPolicy": "Delete",
        "volumeBindingMode": "WaitForFirstConsumer",
    }


def _local_volume() -> dict[str, Any]:
    term = {"matchExpressions": [{"key": HOSTNAME, "operator": "In", "values": [DEN_NODE]}]}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": DEN_DISK},
        "spec": {
            "capacity": {"storage": "100Gi"},
            "accessModes": ["ReadWriteOnce"],
            "persistentVolumeReclaimPolicy": "Retain",
            "storageClassName": LOCAL_CLASS,
            "local": {"path": "/mnt/den"},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [term]}},
        },
    }


def _claim(name: str, storage_class: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"namespace": "payments", "name": name},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": storage_class,
            "resources": {"requests": {"storage": "50Gi"}},
        },
    }
