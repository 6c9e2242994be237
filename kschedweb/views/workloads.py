"""Workloads: what makes pods, how far each is, and what it waits for."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from kschedweb.views.base import Input, Moment, View, doc, number
from kschedweb.views.in_vain import InVain
from kschedweb.views.pods import PodOwner

WorkloadState = Literal[
    "available",
    "progressing",
    "unavailable",
    "stalled",
    "paused",
    "running",
    "complete",
    "failed",
    "scheduled",
    "suspended",
    "deleting",
]


class Workload(View):
    """A workload and its counts of pods; a count that its kind does not have is null."""

    kind: str
    namespace: str
    name: str
    created_ms: int
    state: Annotated[
        WorkloadState,
        doc(
            "available: all pods it wants are updated and available; progressing: pods are being made, updated or"
            " deleted; unavailable: all are updated, and some are not available; stalled: it said that it cannot go on"
            " (ProgressDeadlineExceeded, ReplicaFailure); paused: a Deployment that rolls nothing out; running,"
            " complete, failed: a Job; scheduled: a CronJob; suspended: either of them"
        ),
    ]
    said: Annotated[str, doc("what its conditions say of a state that is not as it should be")]
    wanted: Annotated[int | None, doc("pods; of a Job completions, null without a number of them")]
    current: Annotated[int | None, doc("pods, as its status counts them")]
    updated: Annotated[int | None, doc("pods of the newest template")]
    ready: int | None
    available: Annotated[int | None, doc("pods that have been ready for minReadySeconds")]
    succeeded: int | None
    failed: int | None
    active: Annotated[int | None, doc("pods of a Job, Jobs of a CronJob")]


class Workloads(View):
    """Workloads that no other workload controls, by namespace and name."""

    workloads: Sequence[Workload]
    total: Annotated[int, doc("with those beyond the limit")]


class WorkloadCondition(View):
    """What a workload's controller says of it."""

    type: str
    status: str
    reason: str
    message: str
    since: Moment | None


class WorkloadPart(View):
    """A ReplicaSet of a Deployment, or a Job of a CronJob."""

    kind: str
    name: str
    revision: Annotated[str, doc("empty where there are none")]
    is_current: Annotated[bool, doc("whether it has the newest template")]
    workload: Workload


class WorkloadPod(View):
    """A pod of a workload, as kubectl shows it."""

    name: str
    node: str
    status: str
    ready: int
    containers: int
    restarts: str
    part: Annotated[str, doc("the ReplicaSet it belongs to; empty when it belongs to the workload itself")]
    is_updated: Annotated[bool | None, doc("whether it is of the newest template; null where there are no others")]
    waits_for: Annotated[str, doc("why it is not ready, where that is known")]


class WorkloadWait(View):
    """Pods that are not ready for one reason."""

    status: str
    waits_for: str
    pods: int
    name: Annotated[str, doc("of one of them")]


class WorkloadDetail(View):
    """A workload with its conditions, parts and pods."""

    rv: int
    manifest: Any
    workload: Workload
    owners: Annotated[Sequence[PodOwner], doc("its controller, the controller of that, and so on")]
    strategy: Annotated[str, doc("how updates are rolled out: as its spec names it, with its bounds")]
    min_ready_seconds: int
    conditions: Sequence[WorkloadCondition]
    parts: Annotated[Sequence[WorkloadPart], doc("the newest first")]
    pods: Annotated[Sequence[WorkloadPod], doc("the first of them, those that are not ready first, then by name")]
    pods_total: int
    waits: Annotated[Sequence[WorkloadWait], doc("pods that are not ready, by the reason, the most common first")]
    in_vain: Annotated[Sequence[InVain], doc("what it waits for though no controller acts; empty unless frozen")]


class WorkloadQuery(Input):
    """How many workloads."""

    limit: Annotated[int, number(1, 5000)] = 2000


class WorkloadDetailQuery(Input):
    """How many of its pods."""

    limit: Annotated[int, number(1, 5000, "of the pods that are listed")] = 1000
