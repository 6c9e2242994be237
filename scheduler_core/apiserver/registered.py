"""Every kind that the API server's scheme has a type for, by version: more than are served, as old versions stay known.

Source: kubernetes v1.34.1, staging/src/k8s.io/api/*/*/register.go and apimachinery/pkg/apis/meta/v1/register.go.
"""

from __future__ import annotations

from typing import Final

LEGACY: Final = 'scheme "pkg/api/legacyscheme/scheme.go:30"'
META: Final = 'scheme "pkg/apis/meta/internalversion/scheme/register.go:27"'

# A kind has a list as well, unless it ends with a dash.
_KINDS: Final = """
v1: Pod PodTemplate ReplicationController Service Endpoints Node Event LimitRange ResourceQuota Namespace Secret
v1: ServiceAccount PersistentVolume PersistentVolumeClaim ConfigMap ComponentStatus Binding- List- PodStatusResult-
v1: ServiceProxyOptions- NodeProxyOptions- PodAttachOptions- PodLogOptions- PodExecOptions- PodPortForwardOptions-
v1: PodProxyOptions- SerializedReference- RangeAllocation-
admission.k8s.io/v1: AdmissionReview-
admission.k8s.io/v1beta1: AdmissionReview-
admissionregistration.k8s.io/v1: ValidatingWebhookConfiguration MutatingWebhookConfiguration
admissionregistration.k8s.io/v1: ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding
admissionregistration.k8s.io/v1alpha1: ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding
admissionregistration.k8s.io/v1alpha1: MutatingAdmissionPolicy MutatingAdmissionPolicyBinding
admissionregistration.k8s.io/v1beta1: ValidatingWebhookConfiguration MutatingWebhookConfiguration
admissionregistration.k8s.io/v1beta1: ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding
admissionregistration.k8s.io/v1beta1: MutatingAdmissionPolicy MutatingAdmissionPolicyBinding
apps/v1: Deployment StatefulSet DaemonSet ReplicaSet ControllerRevision
apps/v1beta1: Deployment DeploymentRollback- Scale- StatefulSet ControllerRevision
apps/v1beta2: Deployment Scale- StatefulSet DaemonSet ReplicaSet ControllerRevision
authentication.k8s.io/v1: TokenReview- TokenRequest- SelfSubjectReview-
authentication.k8s.io/v1alpha1: SelfSubjectReview-
authentication.k8s.io/v1beta1: SelfSubjectReview- TokenReview-
authorization.k8s.io/v1: SelfSubjectRulesReview- SelfSubjectAccessReview- SubjectAccessReview-
authorization.k8s.io/v1: LocalSubjectAccessReview-
authorization.k8s.io/v1beta1: SelfSubjectRulesReview- SelfSubjectAccessReview- SubjectAccessReview-
authorization.k8s.io/v1beta1: LocalSubjectAccessReview-
autoscaling/v1: HorizontalPodAutoscaler Scale-
autoscaling/v2: HorizontalPodAutoscaler
autoscaling/v2beta1: HorizontalPodAutoscaler
autoscaling/v2beta2: HorizontalPodAutoscaler
batch/v1: Job CronJob
batch/v1beta1: CronJob
certificates.k8s.io/v1: CertificateSigningRequest
certificates.k8s.io/v1alpha1: ClusterTrustBundle PodCertificateRequest
certificates.k8s.io/v1beta1: CertificateSigningRequest ClusterTrustBundle
coordination.k8s.io/v1: Lease
coordination.k8s.io/v1alpha2: LeaseCandidate
coordination.k8s.io/v1beta1: Lease LeaseCandidate
discovery.k8s.io/v1: EndpointSlice
discovery.k8s.io/v1beta1: EndpointSlice
events.k8s.io/v1: Event
events.k8s.io/v1beta1: Event
extensions/v1beta1: Deployment DeploymentRollback- Scale- DaemonSet Ingress ReplicaSet NetworkPolicy
flowcontrol.apiserver.k8s.io/v1: FlowSchema PriorityLevelConfiguration
flowcontrol.apiserver.k8s.io/v1beta1: FlowSchema PriorityLevelConfiguration
flowcontrol.apiserver.k8s.io/v1beta2: FlowSchema PriorityLevelConfiguration
flowcontrol.apiserver.k8s.io/v1beta3: FlowSchema PriorityLevelConfiguration
imagepolicy.k8s.io/v1alpha1: ImageReview-
internal.apiserver.k8s.io/v1alpha1: StorageVersion
networking.k8s.io/v1: Ingress IngressClass NetworkPolicy IPAddress ServiceCIDR
networking.k8s.io/v1beta1: Ingress IngressClass IPAddress ServiceCIDR
node.k8s.io/v1: RuntimeClass
node.k8s.io/v1alpha1: RuntimeClass
node.k8s.io/v1beta1: RuntimeClass
policy/v1: PodDisruptionBudget Eviction-
policy/v1beta1: PodDisruptionBudget Eviction-
rbac.authorization.k8s.io/v1: Role RoleBinding ClusterRole ClusterRoleBinding
rbac.authorization.k8s.io/v1alpha1: Role RoleBinding ClusterRole ClusterRoleBinding
rbac.authorization.k8s.io/v1beta1: Role RoleBinding ClusterRole ClusterRoleBinding
resource.k8s.io/v1: DeviceClass ResourceClaim ResourceClaimTemplate ResourceSlice
resource.k8s.io/v1alpha3: DeviceTaintRule
resource.k8s.io/v1beta1: DeviceClass ResourceClaim ResourceClaimTemplate ResourceSlice
resource.k8s.io/v1beta2: DeviceClass ResourceClaim ResourceClaimTemplate ResourceSlice
scheduling.k8s.io/v1: PriorityClass
scheduling.k8s.io/v1alpha1: PriorityClass
scheduling.k8s.io/v1beta1: PriorityClass
storage.k8s.io/v1: StorageClass VolumeAttachment CSINode CSIDriver CSIStorageCapacity VolumeAttributesClass
storage.k8s.io/v1alpha1: VolumeAttachment CSIStorageCapacity VolumeAttributesClass
storage.k8s.io/v1beta1: StorageClass VolumeAttachment CSIDriver CSINode CSIStorageCapacity VolumeAttributesClass
storagemigration.k8s.io/v1alpha1: StorageVersionMigration
"""
# What every version has, and what has no version: it is known by any.
_OPTIONS: Final = ("ListOptions", "GetOptions", "DeleteOptions", "CreateOptions", "UpdateOptions", "PatchOptions")
_UNVERSIONED: Final = frozenset({"Status", "APIVersions", "APIGroupList", "APIGroup", "APIResourceList"})
# Those of the options by which deletions are read.
_META_UNVERSIONED: Final = frozenset({"DeleteOptions", "CreateOptions", "UpdateOptions"}) | _UNVERSIONED


def _by_version() -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for line in _KINDS.strip().splitlines():
        version, _, names = line.partition(": ")
        kinds = found.setdefault(version, {"WatchEvent", *_OPTIONS})
        for name in names.split():
            kinds |= {name.removesuffix("-")} if name.endswith("-") else {name, f"{name}List"}
    return {version: frozenset(kinds) for version, kinds in found.items()}


_REGISTERED: Final = _by_version()


def is_registered(api_version: str, kind: str) -> bool:
    """Whether the API server knows a type of this name: a kind, a list of one, or another part of the protocol."""
    return kind in _UNVERSIONED or kind in _REGISTERED.get(api_version, ())


def is_options(kind: str) -> bool:
    """Whether the kind is one of the options that are known by any version where deletions are read."""
    return kind in _META_UNVERSIONED


def unregistered(api_version: str, kind: str, scheme: str = LEGACY) -> str:
    """What is said of a kind that there is not."""
    return f'no kind "{kind}" is registered for version "{api_version}" in {scheme}'
