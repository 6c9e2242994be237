"""Kinds and groups of Kubernetes that are not read here, so that what is left out can be told from what nobody knows.

`OTHER_KINDS`: those of the built-in groups of 1.34 and, where charts still have them, of earlier releases.
`FORMER_GROUPS`: groups in which kinds that are read now stood before, or stand as well.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from scheduler_core.apiserver.kinds import CONFIDENTIAL_KINDS, KINDS

OTHER_KINDS: Final[dict[str, frozenset[str]]] = {
    group: frozenset(names.split())
    for group, names in {
        "": "Binding ComponentStatus PodStatusResult RangeAllocation",
        "admissionregistration.k8s.io": "MutatingAdmissionPolicy MutatingAdmissionPolicyBinding",
        "authentication.k8s.io": "SelfSubjectReview TokenRequest TokenReview",
        "authorization.k8s.io": "LocalSubjectAccessReview SelfSubjectAccessReview SelfSubjectRulesReview"
        " SubjectAccessReview",
        "autoscaling": "Scale",
        "certificates.k8s.io": "ClusterTrustBundle PodCertificateRequest",
        "coordination.k8s.io": "LeaseCandidate",
        "extensions": "PodSecurityPolicy",
        "internal.apiserver.k8s.io": "StorageVersion",
        "policy": "Eviction PodSecurityPolicy",
        "resource.k8s.io": "DeviceTaintRule ResourceClaimParameters ResourceClassParameters",
        "storagemigration.k8s.io": "StorageVersionMigration",
    }.items()
}

FORMER_GROUPS: Final = {
    "extensions": frozenset({"DaemonSet", "Deployment", "Ingress", "NetworkPolicy", "ReplicaSet"}),
    "events.k8s.io": frozenset({"Event"}),
}


# Of files that programs read and no API server: kubeconfigs beside these are `v1 Config`.
_CONFIGURATIONS: Final = (".config.k8s.io", "kubeadm.k8s.io", "audit.k8s.io", "client.authentication.k8s.io")


class LeftOut(StrEnum):
    """Why objects of a kind and version are not read."""

    UNKNOWN_VERSION = "unknown_version"
    UNKNOWN_KIND = "unknown_kind"
    CONFIGURATION = "configuration"
    NOT_READ = "not_read"
    CONFIDENTIAL = "confidential"


def why_left_out(api_version: str, kind: str) -> LeftOut | None:
    """Why objects of this kind and version are not read; None where they are."""
    group = api_version.rpartition("/")[0]
    known = KINDS.get(kind)
    if known is not None and known.cls.api_version == api_version:
        return LeftOut.CONFIDENTIAL if kind in CONFIDENTIAL_KINDS else None
    if known is not None and (known.group == group or kind in FORMER_GROUPS.get(group, ())):
        return LeftOut.UNKNOWN_VERSION
    if group.endswith(_CONFIGURATIONS) or (api_version, kind) == ("v1", "Config"):
        return LeftOut.CONFIGURATION
    return LeftOut.NOT_READ if kind in OTHER_KINDS.get(group, ()) else LeftOut.UNKNOWN_KIND
