"""Why objects of a kind and version are not read."""

from __future__ import annotations

from scheduler_core.apiserver.kinds import KINDS
from scheduler_core.apiserver.other_kinds import FORMER_GROUPS, LeftOut, why_left_out
from tests.cases import cases


@cases(
    "api_version, kind, why",
    ("what is read", "apps/v1", "Deployment", None),
    ("an older version", "apps/v1beta2", "Deployment", LeftOut.UNKNOWN_VERSION),
    ("a group of before", "extensions/v1beta1", "ReplicaSet", LeftOut.UNKNOWN_VERSION),
    ("another group that has it as well", "events.k8s.io/v1", "Event", LeftOut.UNKNOWN_VERSION),
    ("no version that there ever was", "v7", "Pod", LeftOut.UNKNOWN_VERSION),
    ("a namesake of others", "serving.knative.dev/v1", "Service", LeftOut.UNKNOWN_KIND),
    ("a kind of others", "monitoring.coreos.com/v1", "ServiceMonitor", LeftOut.UNKNOWN_KIND),
    ("a kind that no core group has", "v1", "Ingress", LeftOut.UNKNOWN_KIND),
    ("a kind that is only kept", "networking.k8s.io/v1", "NetworkPolicy", None),
    ("an older version of one", "autoscaling/v2beta2", "HorizontalPodAutoscaler", LeftOut.UNKNOWN_VERSION),
    ("the group that one had before", "extensions/v1beta1", "Ingress", LeftOut.UNKNOWN_VERSION),
    ("a kind of Kubernetes", "storagemigration.k8s.io/v1alpha1", "StorageVersionMigration", LeftOut.NOT_READ),
    ("in whichever version", "policy/v1beta1", "PodSecurityPolicy", LeftOut.NOT_READ),
    ("a kubeconfig", "v1", "Config", LeftOut.CONFIGURATION),
    ("a configuration", "kubelet.config.k8s.io/v1beta1", "KubeletConfiguration", LeftOut.CONFIGURATION),
    ("a kustomization", "kustomize.config.k8s.io/v1beta1", "Kustomization", LeftOut.CONFIGURATION),
    ("what kubeadm reads", "kubeadm.k8s.io/v1beta4", "ClusterConfiguration", LeftOut.CONFIGURATION),
    ("an object of a like group", "config.openshift.io/v1", "ClusterVersion", LeftOut.UNKNOWN_KIND),
    ("a Secret", "v1", "Secret", LeftOut.CONFIDENTIAL),
    ("nothing", "", "", LeftOut.UNKNOWN_KIND),
)  # fmt: skip
def test_why_objects_are_left_out(api_version: str, kind: str, why: LeftOut | None) -> None:
    assert why_left_out(api_version, kind) is why


def test_kinds_of_former_groups_are_read_now() -> None:
    assert {kind for kinds in FORMER_GROUPS.values() for kind in kinds} <= set(KINDS)
