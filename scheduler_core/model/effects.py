"""What a step asks for, as data, and what it leaves behind for the trace.

The shell carries effects out in one transaction with the trace; nothing here has happened yet when the
step returns. Positions inside a step are the order of the lists.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING

import msgspec
import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from scheduler_core.api.meta import KubeObject
    from scheduler_core.api.resource_claims import AllocationResult
from scheduler_core.model.amounts import Amounts, RefusalKey
from scheduler_core.model.status import Status


class FilterRows(msgspec.Struct, frozen=True):
    """The main filter phase of one cycle, in walk order.

    `nodes`: (n_evaluated,) int32, indices into the attempt's node order;
    `codes`: (n_evaluated,) uint8 (uint16 from 256 statuses on), 0 = passed, else 1 + index into `statuses`.
    The last row may be the one feasible node more than wanted: it passed but is not among the feasible.
    """

    nodes: npt.NDArray[np.int32]
    codes: npt.NDArray[np.uint8] | npt.NDArray[np.uint16]
    statuses: tuple[Status, ...]


class ScoreRows(msgspec.Struct, frozen=True):
    """Scores of the feasible nodes; only where at least two were feasible.

    `plugins`: names with weights in column order; `raw` and `normalized`: (n_plugins, n_feasible) int64,
    normalized in 0..100; `totals`: (n_feasible,) int64, weighted and with extenders' scores added.
    """

    plugins: tuple[tuple[str, int], ...]
    raw: npt.NDArray[np.int64]
    normalized: npt.NDArray[np.int64]
    totals: npt.NDArray[np.int64]
    skipped: tuple[str, ...]


class NominatedTry(msgspec.Struct, frozen=True):
    """What came of trying the nominated node first."""

    node_name: str
    fits: bool
    status: Status | None
    error: str = ""


class NodeOrder(msgspec.Struct, frozen=True):
    """The node names in snapshot order; attempts of an unchanged cluster share one."""

    digest: str
    names: tuple[str, ...]


class ExtenderExchange(msgspec.Struct, frozen=True):
    """One question to an extender: the digest of what was sent, and the answer, or the error that came instead.

    `point`: filter, prioritize, bind or preempt.
    """

    extender: str
    point: str
    request_digest: bytes
    answer: bytes | None
    error: str = ""


class AllocatedDevice(msgspec.Struct, frozen=True):
    """A device that the attempt decided on for a request of a claim (`request/alternative` for one of several)."""

    claim: str
    request: str
    driver: str
    pool: str
    device: str
    is_admin: bool = False


class SelectorRefusal(msgspec.Struct, frozen=True):
    """How many devices a selector refused, by its place in its owner: `class gpu`, or `request`."""

    owner: str
    index: int
    devices: int


class DeviceTally(msgspec.Struct, frozen=True):
    """What became of the devices of the counted nodes for one request; a device several nodes see counts on each.

    `refused`: by the first selector that says no; `in_use`: allocated to others; `left`: wanted by all selectors and
    free. `problem`: why a selector could not say.
    """

    claim: str
    request: str
    wanted: int  # 0: all there are
    devices: int
    refused: tuple[SelectorRefusal, ...]
    in_use: int
    left: int
    problem: str = ""


class DeviceRecord(msgspec.Struct, frozen=True):
    """What an attempt found of devices: those it decided on, or what became of all where it found too few.

    `refusing_nodes` could not satisfy the claims, the first `counted_nodes` of them are counted.
    """

    allocated: tuple[AllocatedDevice, ...] = ()
    refusing_nodes: int = 0
    counted_nodes: int = 0
    tallies: tuple[DeviceTally, ...] = ()


class Attempt(msgspec.Struct):
    """One scheduling attempt in full. `result`: scheduled, unschedulable, error, skipped, noProfile, or proposed, which
    is a node chosen by an engine that only observes.

    Durations are nanoseconds of the stopwatch by phase; they never reach a digest.
    """

    pod_key: str
    pod_uid: str
    attempt: int
    profile: str
    started_at: int
    result: str = ""
    node_name: str = ""
    message: str = ""
    node_order: NodeOrder | None = None
    pre_filter_status: Status | None = None
    pre_filter_node_names: tuple[str, ...] | None = None
    skip_filter_plugins: tuple[str, ...] = ()
    nominated: NominatedTry | None = None
    num_nodes_to_find: int | None = None
    start_index: int = 0
    end_index: int = 0
    evaluated_nodes: int = 0
    filter_rows: FilterRows | None = None
    feasible: npt.NDArray[np.int32] | None = None  # indices into node_order, in the order found
    score_rows: ScoreRows | None = None
    tied: npt.NDArray[np.int32] | None = None  # indices into node_order
    unschedulable_plugins: tuple[str, ...] = ()
    pending_plugins: tuple[str, ...] = ()
    post_filter: PostFilterRecord | None = None
    nominated_node_name: str | None = None  # None: left as it is; "": cleared
    requeued_to: str = ""  # Active, Backoff or Unschedulable; empty when the pod left the queue
    exchanges: list[ExtenderExchange] = msgspec.field(default_factory=list)
    devices: DeviceRecord | None = None  # of a pod with claims that were to be allocated
    # Of a pod that fits nowhere, where they are kept: what was asked and there was, by refusal.
    amounts: Mapping[RefusalKey, Sequence[Amounts]] = msgspec.field(default_factory=dict)
    digest: bytes = b""  # of `trace.digest`, where it was taken before the step ended
    durations_ns: dict[str, int] = msgspec.field(default_factory=dict)


class PostFilterRecord(msgspec.Struct):
    """What PostFilter said, and the preemption behind it when there was one."""

    code: str
    plugin: str
    message: str
    nominated_node_name: str | None
    preemption: PreemptionRecord | None = None


class PreemptionCandidate(msgspec.Struct, frozen=True):
    """A node the pod would fit on without these victims (keys, most important first)."""

    node_name: str
    victims: tuple[str, ...]
    num_pdb_violations: int


class PreemptionRecord(msgspec.Struct, frozen=True):
    """The search for victims. With `dry_run` false nothing was tried and only empty values follow.

    `potential_nodes`: all whose refusal evicting pods could lift, in the order tried; `num_candidates` ends the search
    once that many are found; `candidates`: first those that violate no disruption budget; `not_candidates`: statuses
    of nodes tried in vain; `tied`: what all criteria left over; `decided_by`: the criterion that left one of several,
    empty where there was one, or equals of which the first was taken. Pods are named by key. Sequences may be views
    (`model/node_views.py`).
    """

    dry_run: bool = False
    potential_nodes: Sequence[str] = ()
    offset: int = 0
    num_candidates: int = 0
    candidates: Sequence[PreemptionCandidate] = ()
    not_candidates: Sequence[tuple[str, Status]] = ()
    tied: Sequence[str] = ()
    chosen: str = ""
    victims: tuple[str, ...] = ()
    cleared_nominations: tuple[str, ...] = ()
    decided_by: str = ""


class Record(msgspec.Struct, frozen=True, gc=False):
    """Base of the small values a step makes by the hundred, of texts and numbers alone."""


class QueueMove(Record, frozen=True):
    """A pod entered a queue (active, backoff, errorBackoff, unschedulable, gated) or left them all (empty `to`)."""

    pod_key: str
    pod_uid: str
    to: str
    event: str
    at: int
    attempts: int
    backoff_expiration: int | None = None
    plugins: tuple[str, ...] = ()  # blamed, sorted
    hint_plugin: str = ""  # the plugin whose hint moved it


class BindingRequest(Record, frozen=True):
    """Bind the pod to the node, unless it changed meanwhile; answered by a BindingVerdict."""

    pod_uid: str
    namespace: str
    name: str
    node_name: str
    attempt: int


class PodStatusPatch(Record, frozen=True):
    """Write the PodScheduled condition and, when not None, the nominated node name.

    An empty `condition_status` leaves the condition as it is.
    """

    pod_uid: str
    namespace: str
    name: str
    condition_status: str
    reason: str
    message: str
    nominated_node_name: str | None = None


class EvictionRequest(Record, frozen=True):
    """Delete a victim of preemption; `message` explains its DisruptionTarget condition. Answered by EvictionVerdict.

    The last victim of a preemption is asked for when the others are done.
    """

    pod_uid: str
    namespace: str
    name: str
    preemptor_uid: str
    node_name: str
    message: str


class ClaimVerb(StrEnum):
    """What is written to a ResourceClaim."""

    RESERVE = "reserve"  # for the pod, and the allocation where one was decided
    RELEASE = "release"  # the pod's reservation is taken back; an allocation stays
    DEALLOCATE = "deallocate"  # allocation, reservations and device states go


class ClaimWrite(msgspec.Struct, frozen=True):
    """Write to a ResourceClaim on behalf of a pod; the claim is in the pod's namespace.

    The RESERVE writes of a pod follow each other, are carried out in this order, none after the first that is refused,
    and are answered together by one PreBindVerdict for `plugin`. The other verbs are not answered. `resource_version`
    is that of the claim the decision was based on: no precondition, what else the claim says by now decides.
    """

    verb: ClaimVerb
    namespace: str
    claim_name: str
    claim_uid: str
    resource_version: str
    pod_uid: str
    pod_name: str
    plugin: str
    allocation: AllocationResult | None = None


class EventRecord(Record, frozen=True):
    """An event for users: about `regarding` (a pod), from the scheduler profile `reporter`."""

    type: str
    reason: str
    action: str
    note: str
    regarding_kind: str
    regarding_key: str
    regarding_uid: str
    reporter: str
    at: int


class CacheMove(Record, frozen=True):
    """A pod was assumed on a node, confirmed there, forgotten, or waits for Permit: `kind` says which."""

    kind: str  # assumed, confirmed, forgotten, waiting, finished
    pod_key: str
    pod_uid: str
    node_name: str
    at: int
    message: str = ""  # of a forgotten pod: what failed
    plugins: tuple[str, ...] = ()  # of a waiting pod: who has not agreed yet, sorted
    until: int | None = None  # of a waiting pod: when the first of them gives up


class Behind(Record, frozen=True):
    """How far a state is behind in one kind: so many changes, the oldest so old; both below 0: ahead, the newest."""

    kind: str
    changes: int
    age_us: int


class Comparison(Record, frozen=True):
    """What another scheduler decided about a pod, beside the engine's own decision on the state just before.

    `outcome`: agreed, tied (its node is among ours with the best total), earlier (either on a state that it can have
    had, `behind` ours), differed (on each such state), uncertain (not all were tried, or it looks at some nodes only),
    or other (it is no profile of ours: no attempt). `plugin` tells the two nodes apart first, on the state before: it
    refuses the other, for `reason`, or scores `own_score` against `score`, weighted. `cause`: see comparing.py.
    """

    pod_key: str
    pod_uid: str
    attempt: int
    profile: str
    outcome: str
    node_name: str
    own_node_name: str
    at: int
    plugin: str = ""
    reason: str = ""
    own_score: int | None = None
    score: int | None = None
    own_total: int | None = None
    total: int | None = None
    cause: str = ""
    behind: tuple[Behind, ...] = ()
    tries: int = 0  # of other states


LogEntry = Attempt | QueueMove | CacheMove | EventRecord


class Effects(msgspec.Struct):
    """All a step asks for, and what happened in it.

    `log` holds attempts, moves and events in the order in which they happened; an attempt stands where its cycle began,
    before everything it led to.
    """

    log: list[LogEntry] = msgspec.field(default_factory=list)
    bindings: list[BindingRequest] = msgspec.field(default_factory=list)
    status_patches: list[PodStatusPatch] = msgspec.field(default_factory=list)
    evictions: list[EvictionRequest] = msgspec.field(default_factory=list)
    writes: list[KubeObject] = msgspec.field(default_factory=list)
    claim_writes: list[ClaimWrite] = msgspec.field(default_factory=list)
    # (pod uid, exchange) of bindings that waited: their attempt is of a step before this one.
    exchanges: list[tuple[str, ExtenderExchange]] = msgspec.field(default_factory=list)
    comparisons: list[Comparison] = msgspec.field(default_factory=list)  # only of an engine that observes
    more: bool = False  # work is due at once: the budget ended the step

    @property
    def attempts(self) -> list[Attempt]:
        """The attempts of the log; a new list each time, as `moves` and `events` are."""
        return [entry for entry in self.log if type(entry) is Attempt]

    @property
    def moves(self) -> list[QueueMove | CacheMove]:
        return [entry for entry in self.log if isinstance(entry, (QueueMove, CacheMove))]

    @property
    def events(self) -> list[EventRecord]:
        return [entry for entry in self.log if type(entry) is EventRecord]

    @property
    def last_attempt(self) -> Attempt:
        """The attempt under way, of the cycle that is running; StopIteration when there was none yet."""
        return next(entry for entry in reversed(self.log) if type(entry) is Attempt)

    @property
    def is_empty(self) -> bool:
        written = self.status_patches or self.writes or self.claim_writes
        asked = self.bindings or self.evictions or written or self.exchanges
        return not (self.log or asked or self.comparisons)
