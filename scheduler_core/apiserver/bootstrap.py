"""What every cluster has from its start: namespaces, priority classes and the service that the API server makes itself.

Source: kubernetes v1.34.1, pkg/controlplane/controller/{systemnamespaces,kubernetesservice} and
pkg/registry/scheduling/rest.
"""

from __future__ import annotations

from typing import Final

from scheduler_core.apiserver.addresses import RANGE
from scheduler_core.apiserver.requests import Create

IMMORTAL_NAMESPACES: Final = ("default", "kube-public", "kube-system")
_NAMESPACES: Final = (*IMMORTAL_NAMESPACES, "kube-node-lease")
_CLASSES: Final = (
    (
        "system-cluster-critical",
        2_000_000_000,
        "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.",
    ),
    (
        "system-node-critical",
        2_000_001_000,
        "Used for system critical pods that must not be moved from their current node.",
    ),
)
# The API server as a service, at the first address of the range.
_SERVICE: Final = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {
        "name": "kubernetes",
        "namespace": "default",
        "labels": {"component": "apiserver", "provider": "kubernetes"},
    },
    "spec": {
        "clusterIP": str(RANGE[1]),
        "ports": [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": 6443}],
    },
}


def bootstrap_requests() -> list[Create]:
    """Requests that make these objects; those that exist already are refused, which does no harm."""
    namespaces = [Create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}) for name in _NAMESPACES]
    classes = [
        Create(
            {
                "apiVersion": "scheduling.k8s.io/v1",
                "kind": "PriorityClass",
                "metadata": {"name": name},
                "value": value,
                "description": description,
            }
        )
        for name, value, description in _CLASSES
    ]
    return [*namespaces, *classes, Create(_SERVICE)]
