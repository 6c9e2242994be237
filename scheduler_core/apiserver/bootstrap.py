"""What every cluster has from its start: namespaces, priority classes, and the service and settings of the API server.

Source: kubernetes v1.34.1, pkg/registry/scheduling/rest and pkg/controlplane/controller/{systemnamespaces,
kubernetesservice,clusterauthenticationtrust,legacytokentracking}.
"""

from __future__ import annotations

from typing import Final

from scheduler_core.api.times import time_text
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
# A certificate authority for clients' certificates that can have signed none: its public key is the point of the curve
# P-256 with even y whose x is the SHA-256 of `kschedweb simulated cluster 0`, so nobody knows the private key.
NOBODYS_CERTIFICATE: Final = """\
-----BEGIN CERTIFICATE-----
MIIBXzCCAQagAwIBAgIBATAKBggqhkjOPQQDAjAmMSQwIgYDVQQDDBtrc2NoZWR3
ZWIgc2ltdWxhdGVkIGNsdXN0ZXIwIBcNMjAwMTAxMDAwMDAwWhgPMjEyMDAxMDEw
MDAwMDBaMCYxJDAiBgNVBAMMG2tzY2hlZHdlYiBzaW11bGF0ZWQgY2x1c3RlcjBZ
MBMGByqGSM49AgEGCCqGSM49AwEHA0IABNOR6hLQXVs3RkimWYy7jsj+IE/R+1cS
oDJqcX4LgYFvDUxU4ur8WJiOGF4Nw1B8sQ5IW/w2CGFMkhStwpd1e2qjIzAhMA8G
A1UdEwEB/wQFMAMBAf8wDgYDVR0PAQH/BAQDAgIEMAoGCCqGSM49BAMCA0cAMEQC
IC7aJOxXKC6HDLdByPL3R9CHJXxIlzQsNvY+p7MN2skWAiBCE1iJWuPr/LTZ4iBI
kcYGJLc03Th4F2EVkvD4L9NFhw==
-----END CERTIFICATE-----
"""
# Programs that serve https themselves, such as kube-scheduler, read here whose certificates they may trust.
_TRUST: Final = {
    "client-ca-file": NOBODYS_CERTIFICATE,
    "requestheader-allowed-names": "[]",
    "requestheader-client-ca-file": NOBODYS_CERTIFICATE,
    "requestheader-extra-headers-prefix": '["X-Remote-Extra-"]',
    "requestheader-group-headers": '["X-Remote-Group"]',
    "requestheader-uid-headers": "[]",
    "requestheader-username-headers": '["X-Remote-User"]',
}


def bootstrap_requests(now: int) -> list[Create]:
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
    since = {"since": time_text(now).partition("T")[0]}
    settings = [
        _config_map("extension-apiserver-authentication", _TRUST),
        _config_map("kube-apiserver-legacy-service-account-token-tracking", since),
    ]
    return [*namespaces, *classes, Create(_SERVICE), *settings]


def _config_map(name: str, data: dict[str, str]) -> Create:
    metadata = {"name": name, "namespace": "kube-system"}
    return Create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})
