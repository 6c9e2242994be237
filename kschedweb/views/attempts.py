"""Attempts to schedule a pod: in a list, in full with the matrix, and their searches for victims."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, UnsetType

from kschedweb.views.amounts import Amounts
from kschedweb.views.base import AtQuery, Input, Moment, Page, SpanQuery, View, doc, number, text
from kschedweb.views.devices import DeviceRecord

NOW = (
    "as it is now, which may differ from the attempt: what the pod asks of the node, and what there is. Empty: the"
    " reason does not hold any more; null: not asked for, or the node alone does not tell"
)
CODES = "Unschedulable, UnschedulableAndUnresolvable, Pending or Error"
Result = Literal["scheduled", "unschedulable", "error", "skipped", "noProfile", "proposed"]
Outcome = Literal["candidate", "refused", "untried"]


class AttemptView(View):
    """An attempt as the dashboard follows it; of equal ones in a row, which share one position, the last."""

    seq: int
    uid: str
    key: str
    attempt: int
    result: str
    node: str
    message: str
    evaluated: int
    feasible: int
    duration_us: int
    at_ms: int


class Rejection(View):
    """How many nodes a plugin rejected for one reason."""

    plugin: str
    reason: str
    code: Annotated[str, doc(CODES)]
    count: Annotated[int, doc("nodes rejected for it")]
    amounts: Annotated[Sequence[Amounts], doc("of attempts that found no node, at that attempt; empty: not known")] = ()


class BestNode(View):
    """One of the nodes with the highest totals."""

    node: str
    total: int | None
    scores: Annotated[Mapping[str, int], doc("weighted, by plugin")]


class Preemption(View):
    """Summary of the search for victims; an empty node means that none was found."""

    tried: int
    candidates: int
    tied: int
    node: str
    victims: Annotated[Sequence[str], doc("the first of them")]
    num_victims: int
    num_pdb_violations: int
    cleared: Annotated[Sequence[str], doc("pods that lost their nomination")]
    decided_by: Annotated[str, doc("the criterion that left one of several; empty in old attempts")] = ""


class NominatedBy(View):
    """The attempt that nominated a pod to the node it was placed on."""

    seq: int
    attempt: Annotated[int, doc("its number")]
    num_victims: Annotated[int, doc("pods it evicted to make room")]


class Attempt(View):
    """One attempt to schedule a pod, or several in a row with equal results.

    What differs is told of the first and, in fields whose names begin with `last`, of the last.
    """

    seq: Annotated[int, doc("position in the engine log")]
    rv: Annotated[int, doc("position in the change log the engine had seen")]
    run: int
    step: int
    place: Annotated[int, doc("in its step")]
    config_version: int
    pod_uid: str
    namespace: str
    name: str
    attempt: int
    profile: str
    result: Result
    node_name: str
    nominated_node_name: str | None
    message: str
    started_at: Moment
    duration_us: int
    durations: Annotated[Mapping[str, int], doc("microseconds by phase")]
    evaluated: int
    feasible: int
    unschedulable_plugins: Sequence[str]
    rejections: Sequence[Rejection]
    best: Sequence[BestNode]
    preemption: Preemption | None
    tied: Annotated[
        int | None,
        doc(
            "nodes with the highest total: one of them is drawn with the cluster's seed, the pod's key and the"
            " attempt's number; null where no totals were compared"
        ),
    ]
    tried_first: Annotated[bool, doc("the pod was nominated to this node, which fit: no other was tried")]
    nominated_by: Annotated[NominatedBy | None, doc("null: by no attempt, or by one that is not stored")]
    repeat_count: Annotated[int, doc("how many more attempts in a row had this result")]
    last_attempt: Annotated[int, doc("number of the last of them")]
    last_seen_at: Annotated[Moment, doc("when the last of them was made")]
    last_duration_us: Annotated[int | None, doc("null where an older version counted it")]
    last_durations: Annotated[Mapping[str, int], doc("microseconds by phase")]
    devices: Annotated[DeviceRecord | None, doc("null: no claim was to be allocated")]


class AttemptPage(Page[Attempt]):
    """A page of attempts."""


class Status(View):
    """Why a plugin rejected a node."""

    code: Annotated[str, doc(CODES)]
    plugin: str
    reasons: Sequence[str]


class Score(View):
    """A plugin's score of a node."""

    raw: Annotated[int, doc("before NormalizeScore")]
    normalized: Annotated[int, doc("0 to 100")]
    weighted: Annotated[int, doc("normalized times the plugin's weight")]


class MatrixNode(View):
    """What the plugins said of one node."""

    node: str
    feasible: bool
    status: Annotated[Status | None, doc("null: no filter rejected it")]
    total: int | None
    tied: Annotated[bool, doc("for the highest total")]
    scores: Annotated[Mapping[str, Score], doc("by plugin")]
    now: Annotated[Sequence[Amounts] | None, doc(NOW)]


class PostFilter(View):
    """What PostFilter answered."""

    code: str
    plugin: str
    message: str
    nominated_node_name: str | None


class NominatedTry(View):
    """The nominated node, which is tried before all others."""

    node: str
    fits: bool
    status: Status | None
    error: str


class ExtenderExchange(View):
    """A request to an extender and its answer."""

    extender: str
    point: Literal["filter", "prioritize", "bind", "preempt"]
    request: Annotated[str, doc("digest of what was sent")]
    answer: str | None
    error: str


class ScorePlugin(View):
    """A plugin that scored, with its weight."""

    name: str
    weight: int
    lowest: Annotated[Score, doc("of all nodes scored, each of the three by itself")]
    highest: Annotated[Score, doc("of all nodes scored, each of the three by itself")]


class RefusedBy(View):
    """How many nodes a plugin rejected; the first plugin that rejects a node is the last that is asked."""

    plugin: str
    nodes: int


class Matrix(View):
    """Statuses and scores of the nodes of an attempt, one page of them."""

    nodes_total: Annotated[int, doc("nodes of the cluster then")]
    looked_at: Annotated[int, doc("nodes that have a row here, whichever were asked for")]
    refused_by: Annotated[Sequence[RefusedBy], doc("of all nodes, whichever were asked for; most nodes first")]
    nodes_wanted: Annotated[int | None, doc("feasible nodes that end the search")]
    start_index: Annotated[int, doc("where the walk over the nodes began: the rotation state")]
    end_index: Annotated[int, doc("where the next walk begins")]
    pre_filter: Status | None
    pre_filter_nodes: Sequence[str] | None
    skipped_filters: Sequence[str]
    skipped_scores: Sequence[str]
    plugins: Sequence[ScorePlugin]
    nominated: NominatedTry | None
    nodes: Annotated[Sequence[MatrixNode], doc("one page of them")]
    found: Annotated[int, doc("nodes on all pages")]
    post_filter: PostFilter | None
    extenders: Sequence[ExtenderExchange]


class AttemptDetail(Attempt):
    """An attempt with a page of its matrix."""

    seed: Annotated[int, doc("of every draw in it")]
    digest: Annotated[str, doc("over what was found and decided; equal decisions have equal digests")]
    matrix: Matrix | None


class PreemptionDetail(View):
    """A search for victims."""

    potential: Annotated[int, doc("nodes whose rejection evicting pods could lift")]
    candidates: Annotated[int, doc("nodes on which the pod would fit without their victims")]
    refused: Annotated[int, doc("nodes tried in vain")]
    tied: Annotated[int, doc("candidates left by all criteria; the first tried is taken")]
    offset: Annotated[int, doc("of the first node tried")]
    candidates_wanted: Annotated[int, doc("candidates that end the search")]
    criterion: Annotated[str, doc("what decided among the candidates; empty: unknown")]
    node: str
    victims: Annotated[Sequence[str], doc("in the order of their eviction")]
    cleared: Annotated[Sequence[str], doc("pods that lost their nomination")]


class PreemptionNode(View):
    """A node of a search for victims."""

    node: str
    outcome: Annotated[
        Outcome, doc("candidate: the pod fits without its victims; untried: enough candidates had been found")
    ]
    status: Annotated[Status | None, doc("of a node tried in vain")]
    victims: Annotated[Sequence[str], doc("the most important first")]
    num_pdb_violations: int
    tied: bool


class PreemptionSearch(PreemptionDetail):
    """A search for victims with a page of its nodes."""

    nodes: Annotated[Sequence[PreemptionNode], doc("one page of them, in the order tried")]
    found: Annotated[int, doc("nodes on all pages")]


class PreemptionAttempt(View):
    """An attempt that searched for victims."""

    seq: int
    pod_uid: str
    namespace: str
    name: str
    attempt: int
    started_at: Moment
    last_attempt: Annotated[int, doc("number of the last in a row with this result")]
    last_seen_at: Annotated[Moment, doc("when that one was made")]
    nominated_node_name: str | None
    preemption: Preemption
    detail: Annotated[PreemptionDetail | None, doc("null when the matrix is not stored")]


class PreemptionAttemptPage(Page[PreemptionAttempt]):
    """A page of attempts that searched for victims."""


class RefusalQuery(SpanQuery):
    """Which rejections."""

    plugin: Annotated[str, text(128, "that rejected nodes")] | UnsetType = UNSET
    reason: Annotated[str, text(1000, "for which it rejected nodes, in full")] | UnsetType = UNSET
    namespace: Annotated[str, text(63)] | UnsetType = UNSET
    profile: Annotated[str, text(253)] | UnsetType = UNSET
    result: Result | UnsetType = UNSET


class AttemptQuery(RefusalQuery):
    """Which attempts."""

    name: Annotated[str, text(253, "of the pod")] | UnsetType = UNSET
    node: Annotated[str, text(253, "that was chosen")] | UnsetType = UNSET
    min_duration_us: Annotated[int, number(0)] | UnsetType = UNSET


class PodAttemptQuery(AtQuery):
    """Which attempts at a pod; of the past, as often as they had been repeated by then."""

    attempt: Annotated[int, number(0, 2**31 - 1, "its number, or that of one equal to it")] | UnsetType = UNSET


class SlowestQuery(AttemptQuery):
    """Which attempts, and how many of them."""

    limit: Annotated[int, number(1, 200)] = 20


class MatrixQuery(Input):
    """Which nodes of a matrix, in which order, from where. Nodes without the value they are sorted by come last."""

    node: Annotated[str, text(253, "part of a node's name")] | UnsetType = UNSET
    plugin: Annotated[str, text(128, "that rejected the node")] | UnsetType = UNSET
    reason: Annotated[str, text(1000, "for which, in full")] | UnsetType = UNSET
    feasible: bool | UnsetType = UNSET
    tied: Annotated[bool, doc("for the highest total, the chosen node among them")] | UnsetType = UNSET
    now: Annotated[
        bool, doc("say of the first 50 rejected nodes of the page what is asked of them and what there is as it is now")
    ] = False
    sort: Annotated[
        str,
        msgspec.Meta(
            pattern=r"^(walk|node|total|(raw|normalized|weighted):[^\x00]{1,128})$",
            description="walk, node, total, or raw:, normalized:, weighted: with a plugin's name",
        ),
    ] = "walk"
    descending: bool = False
    offset: Annotated[int, number(0, 10**6)] = 0
    limit: Annotated[int, number(1, 10_000)] = 200


class PreemptionQuery(Input):
    """Which of the nodes that evicting pods could make feasible, from where; in the order tried."""

    node: Annotated[str, text(253, "part of a node's name")] | UnsetType = UNSET
    outcome: (
        Annotated[Outcome, doc("candidate: fits without its victims; untried: enough had been found")] | UnsetType
    ) = UNSET
    offset: Annotated[int, number(0, 10**6)] = 0
    limit: Annotated[int, number(1, 10_000)] = 200
