"""The one table of kinds: what the API server knows of each beyond its fields.

The typed class of a kind says its apiVersion, plural and scope. To add a kind: write its class in `scheduler_core.api`,
list it in `api.manifests.KINDS`, and give it a row here. Kinds that are only kept have theirs in `api.kept`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from scheduler_core.api.custom import DEFINITION, parts_of
from scheduler_core.api.kept import KEPT
from scheduler_core.api.manifests import CLASSES
from scheduler_core.api.meta import KubeObject
from scheduler_core.apiserver.requests import Propagation


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind. `answers_deleted`: DELETE answers with the object instead of a Status.

    `has_status`: status is a subresource, which writes of the object itself leave alone. `place`: kinds of a lower one
    are created first, because admission of others looks them up. `needs_version`: an update has to say what it is
    based on. `made_by_update`: an update of what is not there creates it. `owns`: its deletion may wait for, or orphan,
    what it owns. `stored_as`: the name in the storage below, where it is not the plural. `is_confidential`: its content
    is shown by this API alone, to those who may write. `is_served`: the Kubernetes API has paths for it.
    """

    cls: type[KubeObject]
    has_status: bool = False
    has_scale: bool = False
    answers_deleted: bool = False
    default_propagation: Propagation = Propagation.BACKGROUND
    place: int = 10
    needs_version: bool = False
    made_by_update: bool = False
    owns: bool = True
    stored_as: str = ""
    is_confidential: bool = False
    is_served: bool = True

    @property
    def name(self) -> str:
        return self.cls.kind

    @property
    def said_kind(self) -> str:
        """The kind as its objects say it; those of a cluster's own are stored under a longer name."""
        return parts_of(self.cls.kind)[0]

    @property
    def namespaced(self) -> bool:
        return self.cls.namespaced

    @property
    def version(self) -> str:
        """The version inside the group: `v1`."""
        return self.cls.api_version.rpartition("/")[2]

    @property
    def group(self) -> str:
        """The API group; empty for the core group."""
        return self.cls.api_version.rpartition("/")[0]

    @property
    def resource(self) -> str:
        """The plural with its group, as messages name it: `pods`, `storageclasses.storage.k8s.io`."""
        return f"{self.cls.plural}.{self.group}" if self.group else self.cls.plural


# Of kinds that are kept: those with a status, and those whose update has to say what it is based on or may create.
_WITH_STATUS: Final = frozenset(
    {
        "Ingress", "ServiceCIDR", "HorizontalPodAutoscaler", "ValidatingAdmissionPolicy", "CertificateSigningRequest",
        "FlowSchema", "PriorityLevelConfiguration", "APIService", DEFINITION,
    }
)  # fmt: skip
_NEEDING_VERSION: Final = frozenset(
    {
        "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration", "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding", "APIService", DEFINITION,
    }
)  # fmt: skip
_MADE_BY_UPDATE: Final = frozenset({"Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"})

_ROWS: Final[dict[str, Kind]] = {
    row.name: row
    for row in (
        Kind(CLASSES["Namespace"], has_status=True, answers_deleted=True, place=0),
        Kind(CLASSES["PriorityClass"], place=1),
        Kind(CLASSES["RuntimeClass"], place=2, needs_version=True, made_by_update=True),
        Kind(CLASSES["LimitRange"], place=3, made_by_update=True),
        Kind(CLASSES["StorageClass"], answers_deleted=True, place=4),
        Kind(CLASSES["Node"], has_status=True, place=90, stored_as="minions"),
        Kind(CLASSES["Pod"], has_status=True, answers_deleted=True, place=100),
        Kind(CLASSES["PersistentVolume"], has_status=True, answers_deleted=True),
        Kind(CLASSES["PersistentVolumeClaim"], has_status=True, answers_deleted=True),
        Kind(CLASSES["CSINode"], answers_deleted=True, needs_version=True),
        Kind(CLASSES["CSIDriver"], needs_version=True),
        Kind(CLASSES["CSIStorageCapacity"], needs_version=True),
        Kind(CLASSES["VolumeAttachment"], has_status=True, answers_deleted=True, needs_version=True),
        Kind(CLASSES["PodDisruptionBudget"], has_status=True, needs_version=True),
        Kind(
            CLASSES["Service"], has_status=True, answers_deleted=True, made_by_update=True, stored_as="services/specs"
        ),
        Kind(
            CLASSES["ReplicationController"],
            stored_as="controllers",
            has_status=True,
            has_scale=True,
            default_propagation=Propagation.ORPHAN,
        ),
        Kind(CLASSES["ReplicaSet"], has_status=True, has_scale=True),
        Kind(CLASSES["StatefulSet"], has_status=True, has_scale=True),
        Kind(CLASSES["Deployment"], has_status=True, has_scale=True),
        Kind(CLASSES["DaemonSet"], has_status=True),
        Kind(CLASSES["Job"], has_status=True, default_propagation=Propagation.ORPHAN),
        Kind(CLASSES["CronJob"], has_status=True),
        Kind(CLASSES["ConfigMap"]),
        Kind(CLASSES["Secret"], is_confidential=True),
        Kind(CLASSES["ServiceAccount"], answers_deleted=True),
        Kind(CLASSES["Endpoints"], made_by_update=True, stored_as="services/endpoints"),
        Kind(CLASSES["EndpointSlice"]),
        Kind(CLASSES["ControllerRevision"]),
        Kind(CLASSES["ResourceClaim"], has_status=True, answers_deleted=True),
        Kind(CLASSES["ResourceClaimTemplate"], answers_deleted=True),
        Kind(CLASSES["ResourceSlice"], answers_deleted=True),
        Kind(CLASSES["DeviceClass"], answers_deleted=True),
        Kind(CLASSES["ResourceQuota"], has_status=True, answers_deleted=True),
        Kind(CLASSES["Lease"], needs_version=True, made_by_update=True),
        Kind(CLASSES["Event"], made_by_update=True, owns=False),
        Kind(CLASSES["PodTemplate"], answers_deleted=True),
        Kind(CLASSES["VolumeAttributesClass"], answers_deleted=True),
        Kind(CLASSES["ResourceClass"], answers_deleted=True, is_served=False),
        Kind(CLASSES["PodSchedulingContext"], has_status=True, answers_deleted=True, is_served=False),
    )
} | {
    name: Kind(
        cls,
        has_status=name in _WITH_STATUS,
        needs_version=name in _NEEDING_VERSION,
        made_by_update=name in _MADE_BY_UPDATE,
        place=5 if name == DEFINITION else 10,
    )
    for name, cls in KEPT.items()
}

KINDS: Final = {name: _ROWS[name] for name in CLASSES}

CONFIDENTIAL_KINDS: Final = tuple(name for name, kind in KINDS.items() if kind.is_confidential)

# What admission of other objects looks up, in the order in which they may refer to each other.
ADMISSION_KINDS: Final = ("Namespace", "PriorityClass", "RuntimeClass", "LimitRange", "StorageClass")
