"""Pods, where the scheduler keeps them, and what happened to them."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from msgspec import UNSET, UnsetType

from kschedweb.views.base import AtQuery, Input, Moment, View, doc, number, text
from kschedweb.views.devices import PodClaim
from kschedweb.views.in_vain import InVain

QueueName = Literal["", "active", "backoff", "errorBackoff", "unschedulable", "gated", "waiting", "assumed"]


class PodView(View):
    """A pod as the dashboard shows it."""

    uid: str
    key: Annotated[str, doc("namespace/name")]
    node: Annotated[str, doc("empty while it is not assigned")]
    phase: str
    priority: int
    requests: Annotated[Mapping[str, int], doc("cpu in millicores, memory in bytes, others in units")]
    deleting: bool
    gated: bool
    nominated: str
    reason: str
    created_ms: int
    scheduler: str


class QueueView(View):
    """Where the scheduler keeps a pod; an empty queue says that it has left."""

    uid: str
    key: str
    queue: QueueName
    event: str
    since_ms: int
    attempts: int
    backoff_until_ms: Annotated[int | None, doc("when backoff ends at the latest")]
    plugins: Sequence[str]
    node: Annotated[str, doc("where it is assumed, or waits to be")] = ""
    hint: Annotated[str, doc("the plugin whose hint moved it here")] = ""


class Pod(View):
    """A pod with its manifest."""

    rv: int
    manifest: Any
    requests: Mapping[str, int]


class PodOwner(View):
    """What a pod belongs to."""

    kind: str
    name: str


class PodOnNode(View):
    """What the kubelet of its node sets up for a pod; null where there is no limit."""

    cpu_shares: int
    cpu_quota_us: Annotated[int | None, doc("of each 100 ms")]
    memory_limit_bytes: int | None
    oom_score_adj: Annotated[Mapping[str, int], doc("by container; the highest goes first when memory runs out")]


KnownLimit = Literal[
    "negative-namespaceselector", "namespaceselector-and-waiting", "not-found-not-found", "a-gated-preemptor"
]


class PodDetail(Pod):
    """A pod with where the scheduler keeps it, and how its kubelet has it."""

    queue: Annotated[QueueView | None, doc("null when the scheduler does not keep it")]
    claims: Annotated[Sequence[PodClaim], doc("of devices, in the order of its spec")]
    status: Annotated[str, doc("what kubectl shows as STATUS")]
    ready: Annotated[int, doc("containers that are ready")]
    containers: Annotated[int, doc("containers, sidecars among them")]
    restarts: Annotated[str, doc("what kubectl shows as RESTARTS")]
    owners: Annotated[Sequence[PodOwner], doc("its controller, the controller of that, and so on")]
    qos: Annotated[str, doc("quality of service: Guaranteed, Burstable or BestEffort")]
    on_node: Annotated[PodOnNode | None, doc("null while it has no node, or the node's memory is not known")]
    known_limits: Annotated[
        Sequence[KnownLimit],
        doc("faults of kube-scheduler 1.34.1 that may be why it is pending: headings of docs/known-limits.md"),
    ]
    in_vain: Annotated[
        Sequence[InVain], doc("what it and what it refers to wait for though no controller acts; empty unless frozen")
    ]


class PodDeletion(View):
    """What a deletion came to."""

    gone: Annotated[bool, doc("whether the pod was removed at once")]


class HistoryEntry(View):
    """One thing that happened to a pod."""

    kind: Literal["queue", "cache", "attempt", "event", "binding", "eviction"]
    what: Annotated[
        str,
        doc(
            "queue: the queue it entered, empty when it left; cache: assumed, waiting, confirmed, forgotten, finished;"
            " attempt: its result; event: its reason; binding and eviction: pending, done, refused, superseded"
        ),
    ]
    at: Moment
    seq: Annotated[int | None, doc("position in the engine log")] = None
    rv: int | None = None
    event: Annotated[str, doc("what moved it")] = ""
    hint: Annotated[str, doc("the plugin whose hint moved it")] = ""
    plugins: Annotated[Sequence[str], doc("that rejected it, or that it waits for")] = ()
    attempts: int | None = None
    until: Annotated[Moment | None, doc("when backoff ends at the latest, or a wait for Permit ends")] = None
    node: str = ""
    message: Annotated[str, doc("why it failed")] = ""
    attempt_seq: Annotated[int | None, doc("the stored attempt")] = None
    early: Annotated[bool, doc("of an attempt: taken from backoff before its end, as nothing else was waiting")] = False


class PodHistory(View):
    """What happened to a pod."""

    pod_uid: str
    entries: Annotated[Sequence[HistoryEntry], doc("oldest first")]


class PodDelete(Input):
    """How a pod is deleted."""

    grace_seconds: Annotated[int, number(0, 10**9, "the pod's own when left out")] | UnsetType = UNSET
    uid: Annotated[str, text(128, "refuse when the pod of this name has another")] | UnsetType = UNSET


class PodEvict(Input):
    """How a pod is evicted."""

    grace_seconds: Annotated[int, number(0, 10**9, "the pod's own when left out")] | UnsetType = UNSET
    uid: Annotated[str, text(128, "refuse when the pod of this name has another")] | UnsetType = UNSET


class HistoryQuery(AtQuery):
    """How much of a pod's history."""

    limit: Annotated[int, number(1, 5000, "the newest so many entries")] = 500
