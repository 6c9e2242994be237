"""What can be asked of the API server, as data: one set for REST, kubectl, imports, controllers and simulations.

Every request names its object by `ObjectKey`. `manager` is who is to own what a client's request writes; without one
`managedFields` stay as they are. `uid` and `resource_version` are preconditions; empty means none. Times
are not part of a request: whoever carries it out gives the time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

import msgspec

Manifest = Mapping[str, Any]


class ObjectKey(msgspec.Struct, frozen=True, order=True, gc=False):
    """Which object; `namespace` is empty for kinds of the cluster."""

    kind: str
    namespace: str
    name: str


class PatchType(StrEnum):
    """How the body of a patch is read."""

    MERGE = "application/merge-patch+json"
    JSON = "application/json-patch+json"
    STRATEGIC = "application/strategic-merge-patch+json"
    APPLY = "application/apply-patch+yaml"


class Propagation(StrEnum):
    """What becomes of the objects an object owns."""

    BACKGROUND = "Background"
    FOREGROUND = "Foreground"
    ORPHAN = "Orphan"


class Create(msgspec.Struct, frozen=True, tag="create"):
    """Create the object of this manifest; its name may be left to `generateName`.

    `is_new_form`: an event that was sent as one of events.k8s.io, which is checked more strictly.
    """

    manifest: Manifest
    is_new_form: bool = False
    manager: str = ""


class Update(msgspec.Struct, frozen=True, tag="update"):
    """Replace the object, or its `subresource`; the manifest's own uid and resourceVersion are preconditions.

    `api_version`: in which version the client sees the object, of a kind that has several.
    """

    key: ObjectKey
    manifest: Manifest
    subresource: str = ""
    is_new_form: bool = False
    manager: str = ""
    api_version: str = ""


class Patch(msgspec.Struct, frozen=True, tag="patch"):
    """Change a part of the object or of its `subresource`; `body` is a list for a JSON patch.

    `validation` Strict refuses, and Warn tells of, fields that there are not; `repeated` are paths of fields that stood
    in the body twice. `api_version` as in `Update`.
    """

    key: ObjectKey
    body: Manifest | Sequence[Manifest]
    patch_type: PatchType = PatchType.MERGE
    subresource: str = ""
    uid: str = ""
    resource_version: str = ""
    validation: str = "Ignore"
    repeated: tuple[str, ...] = ()
    is_new_form: bool = False
    manager: str = ""
    api_version: str = ""


class Apply(msgspec.Struct, frozen=True, tag="apply"):
    """Let the object, or its `subresource`, have what `config` says, and own that; an object that is not there is made.

    What others own and have set otherwise is a conflict, unless it `is_forced`. `validation` and `api_version` as in
    `Patch`; `repeated` says of keys that stood in the body twice where.
    """

    key: ObjectKey
    config: Manifest
    manager: str
    is_forced: bool = False
    subresource: str = ""
    validation: str = "Ignore"
    repeated: tuple[str, ...] = ()
    is_new_form: bool = False
    api_version: str = ""


class Delete(msgspec.Struct, frozen=True, tag="delete"):
    """Delete the object; `grace_seconds` None means its own, 0 at once.

    `of_collection`: it goes with a collection, whose members no admission plugin is asked about.
    """

    key: ObjectKey
    grace_seconds: int | None = None
    propagation: Propagation | None = None
    uid: str = ""
    resource_version: str = ""
    of_collection: bool = False


class Bind(msgspec.Struct, frozen=True, tag="bind"):
    """Assign the pod to the node, which need not exist; annotations are added to the pod's."""

    key: ObjectKey
    node_name: str
    uid: str = ""
    resource_version: str = ""
    annotations: Mapping[str, str] = {}


class ReportUnschedulable(msgspec.Struct, frozen=True, tag="report_unschedulable"):
    """Write what the scheduler says of a pod it could not place; a pod that has a node is passed over.

    `condition` is PodScheduled as (status, reason, message). None leaves a field as it is, an empty nomination clears
    it.
    """

    key: ObjectKey
    condition: tuple[str, str, str] | None = None
    nominated_node_name: str | None = None
    uid: str = ""


class ReportStatus(msgspec.Struct, frozen=True, tag="report_status"):
    """Write what a kubelet says of a pod: what `status` brings replaces what was there, conditions by their types.

    A member of a condition that is None goes. This is for the controllers of this package: their statuses are taken
    as they are, where a client's patch is read by the schema and checked.
    """

    key: ObjectKey
    status: Manifest
    uid: str = ""


class Evict(msgspec.Struct, frozen=True, tag="evict"):
    """Delete the pod gracefully with a DisruptionTarget condition of this reason.

    `asks_budgets`: PodDisruptionBudgets may refuse it, and what it takes of one is written there; the scheduler's
    preemption and node controllers do not ask. `options` are a client's options of the deletion, which are looked at
    after that.
    """

    key: ObjectKey
    reason: str
    message: str = ""
    uid: str = ""
    resource_version: str = ""
    grace_seconds: int | None = None
    asks_budgets: bool = False
    options: Manifest = {}


class CountQuota(msgspec.Struct, frozen=True, tag="count_quota"):
    """Write into the status of a ResourceQuota what it limits and how much of that its namespace uses."""

    key: ObjectKey
    uid: str = ""


class WriteClaim(msgspec.Struct, frozen=True, tag="write_claim"):
    """Write into a ResourceClaim what the scheduler decided for a pod; see `model.effects.ClaimWrite` for the verbs.

    `follows_last`: this is refused, too, when the request before it was. `uid` empty means whatever claim has the name.
    """

    key: ObjectKey
    verb: str
    pod_name: str
    pod_uid: str
    allocation: Manifest | None = None
    uid: str = ""
    follows_last: bool = False


Request = (
    Create
    | Update
    | Patch
    | Apply
    | Delete
    | Bind
    | Evict
    | ReportUnschedulable
    | ReportStatus
    | CountQuota
    | WriteClaim
)
