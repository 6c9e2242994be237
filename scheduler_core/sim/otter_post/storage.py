"""The disks of the sample: a class whose disks are made where the pod goes, and one disk that lies in a node.

Claims are made from the templates of StatefulSets, and for ephemeral volumes.
"""

from typing import Any

from scheduler_core.sim.otter_post.specs import DISK_CLASS, DISK_DRIVER, HOSTNAME, LOCAL_CLASS

DEN_NODE = "memory-b1"
DEN_DISK = "den-disk-b1"


def storage() -> list[dict[str, Any]]:
    """Return the classes and the disk in the node."""
    return [
        _class(DISK_CLASS, DISK_DRIVER),
        _class(LOCAL_CLASS, "kubernetes.io/no-provisioner"),
        _local_volume(),
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
