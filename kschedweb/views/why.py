"""Why an attempt chose its node and not another, and why a pod has none, as data.

Sentences are made of it where they are read.
"""

from collections.abc import Sequence
from typing import Annotated, Literal

from msgspec import UNSET, UnsetType

from kschedweb.views.amounts import Amounts
from kschedweb.views.attempts import Status
from kschedweb.views.base import Input, Moment, View, doc, number, text
from kschedweb.views.history import HistoryDifference
from kschedweb.views.pods import QueueName

DecidedBy = Literal["total", "draw", "only", "first", "nominated"]
NodeStanding = Literal["compared", "refused", "leftOut", "spare", "unseen", "absent", "none"]
PreemptionOutcome = Literal["found", "failed", "noHelp", "never", "terminating", "other", "notAsked"]
TurningVerdict = Literal["entry", "fits", "never", "cut", "late", "unproven"]


class PluginPart(View):
    """A plugin that tells the two nodes apart."""

    plugin: str
    weight: int
    node: Annotated[int, doc("normalized score of the chosen node, 0 to 100")]
    other: Annotated[int, doc("normalized score of the other node")]
    difference: Annotated[int, doc("weight times the difference of both: how much more the chosen node got")]


class NodeTotals(View):
    """The totals of two nodes."""

    node: int
    other: int
    plugins: Annotated[Sequence[PluginPart], doc("those that tell the two apart, the largest part first")]
    by_extenders: Annotated[int, doc("the rest of the difference")]
    best: Annotated[int, doc("the highest total of all nodes that were scored")]
    num_best: Annotated[int, doc("nodes that have it")]
    of_all: Annotated[
        bool,
        doc(
            "false: as they were compared; true: of the attempt made again, as if every node the pod fits on had been"
            " scored, without extenders"
        ),
    ]


class WeightTurn(View):
    """The smallest change of one plugin's weight that would have turned the decision; the engine tried it."""

    plugin: str
    weight: Annotated[int, doc("as it was")]
    to: Annotated[int, doc("from 1 to 100, or to the weight it had")]
    outright: Annotated[bool, doc("the other node alone would have had the highest total; false: with others")]
    node: Annotated[str, doc("whom the engine chose with it; of several, the draw")]


class NodeWhy(View):
    """Why an attempt chose its node and not another."""

    seq: int
    node: Annotated[str, doc("that was chosen")]
    other: Annotated[str, doc("that it is compared with; empty: there was no other node")]
    by: Annotated[
        DecidedBy,
        doc(
            "total: it alone had the highest; draw: among those with the highest; only: no other was feasible;"
            " first: nobody scores, and the first feasible node is taken; nominated: it was tried first, and fitted"
        ),
    ]
    tied: Annotated[int, doc("nodes with the highest total; 0: none were compared")]
    drawn: Annotated[int, doc("on which of them, in the order of the walk, the draw fell, from 1; 0: no draw")]
    feasible: Annotated[int, doc("nodes")]
    looked_at: Annotated[int, doc("nodes")]
    nodes_total: int
    standing: Annotated[
        NodeStanding,
        doc(
            "of the other node. compared: feasible as well; refused: by a filter or an extender; leftOut: a plugin's"
            " PreFilter named the nodes that may have the pod, and not this one; spare: it fitted, and enough feasible"
            " nodes had been found; unseen: never looked at; absent: no node of then; none: there was no other"
        ),
    ]
    status: Annotated[Status | None, doc("what kept the pod from the other node; null: nothing, or it is not known")]
    amounts: Annotated[
        Sequence[Amounts] | None, doc("what that asked of the node and what there was then; null: not known")
    ]
    totals: Annotated[NodeTotals | None, doc("null: one of the nodes has none, or it is not known")]
    made_again: Annotated[
        bool, doc("the attempt was made again, and came out as it is stored: what it did not look at is known")
    ]
    turn: Annotated[WeightTurn | None, doc("null: no change of one weight turns it, or it is not known")]
    without: Annotated[
        Sequence[str], doc("plugins without whose scores, each by itself, the other node alone would have been best")
    ]
    difference: Annotated[
        HistoryDifference | None, doc("the first thing that came out otherwise when it was made again; null: nothing")
    ]


class WhyQuery(Input, rename={"other": "not"}):
    """Which node was not chosen, and how much is wanted."""

    other: Annotated[str, text(253, "the other node; without it the best of the others")] | UnsetType = UNSET
    again: Annotated[bool, doc("make the attempt again; false: what its record says")] = True


class PendingSince(View):
    """The first of the unbroken series of attempts in vain."""

    at: Moment
    seq: Annotated[int, doc("of that attempt")]
    attempts: Annotated[int, doc("in the series")]
    is_cut: Annotated[bool, doc("earlier ones are not stored any more: it may be pending longer")]


class Waker(View):
    """An event that makes a plugin reconsider its rejection of the pod."""

    plugin: str
    resource: Annotated[str, doc("kind of the object; Pod: one on a node, or the pod itself; *: all")]
    actions: Annotated[Sequence[str], doc("Add, Delete, Update, UpdateNodeLabel, …; All")]
    has_hint: Annotated[bool, doc("the plugin looks at what happened first, and may let the pod wait on")]


class PodWaits(View):
    """Where the scheduler keeps the pod now, and what it waits for."""

    queue: QueueName
    since: Moment
    plugins: Annotated[Sequence[str], doc("that rejected it")]
    retried_at: Annotated[Moment | None, doc("when it is retried at the latest; null: at once, or not before an event")]
    wakers: Sequence[Waker]


class PreemptionRefusal(View):
    """Why nodes tried for victims would not do."""

    reason: str
    nodes: int


class PreemptionTold(View):
    """What preemption came to in the last attempt."""

    outcome: Annotated[
        PreemptionOutcome,
        doc(
            "found: victims; failed: none on any node; noHelp: evictions could lift no node's rejection; never: the"
            " pod's policy; terminating: victims of it are still leaving the node it is nominated to; other: the"
            " message; notAsked: no plugin was asked"
        ),
    ]
    message: str
    potential: Annotated[int, doc("nodes whose rejection evictions could lift")]
    candidates: Annotated[int, doc("nodes where the pod would fit in the place of others")]
    node: Annotated[str, doc("that was chosen")]
    victims: Annotated[Sequence[str], doc("namespace/name, in the order of their eviction")]
    refusals: Annotated[Sequence[PreemptionRefusal], doc("of nodes tried in vain, the most frequent first")]


class KeepingReason(View):
    """A reason that keeps the pod from nodes."""

    plugin: str
    reason: str
    nodes: Annotated[int, doc("that it keeps the pod from, others or not")]
    alone: Annotated[int, doc("that the pod would fit on but for it")]


class NearNode(View):
    """A node that one reason alone keeps the pod from."""

    node: str
    plugin: str
    reason: str
    amounts: Annotated[Sequence[Amounts], doc("what the pod asks there and what there is, where that is counted")]


class PodJudged(View):
    """The pod against every node, each plugin asked about each of them."""

    made_again: Annotated[bool, doc("of the last attempt made again; false: of what was stored at `rv`")]
    nodes: int
    fitting: int
    reasons: Annotated[Sequence[KeepingReason], doc("those that alone keep away most first")]
    near: Annotated[
        Sequence[NearNode],
        doc(
            "nodes one reason away: those lacking the smallest share of what is asked first, then those that lack"
            " nothing counted; each was tried again without that plugin, and fits"
        ),
    ]
    num_near: Annotated[int, doc("of all these nodes")]


class TurningEntry(View):
    """The entry of the change log with which the pod fits nowhere."""

    rv: int
    kind: str
    namespace: str
    name: str
    operation: str
    actor: str
    at: Moment
    fitting: Annotated[int, doc("nodes that the pod fits on just before it")]
    node: Annotated[str, doc("the first of them")]
    existed: Annotated[bool, doc("the pod was there; false: one like it would have fitted")]


class Turning(View):
    """Since which change the pod fits nowhere, tried on the cluster as it was stored, without extenders."""

    verdict: Annotated[
        TurningVerdict,
        doc(
            "entry: that one; fits: it fits at `until` by what is stored; never: at none of the positions tried, back"
            " to the first; cut: the same, back to where history begins; late: the time was over; unproven: another"
            " engine says otherwise"
        ),
    ]
    until: Annotated[int, doc("position of the change log from which on it was looked for backwards")]
    runs: Annotated[int, doc("how often the pod was tried")]
    created: Annotated[int | None, doc("the entry that created the pod; null: it is not in the log any more")]
    fitted_then: Annotated[bool | None, doc("whether the pod fitted when it was created; null: that was not tried")]
    begins: Annotated[int, doc("where history begins")]
    turn: Annotated[TurningEntry | None, doc("proven by two runs of another engine: just before it, and with it")]


class PodWhy(View):
    """Why a pod has no node."""

    uid: str
    attempt: Annotated[int | None, doc("position of the last attempt in the engine log; null: never tried")]
    since: PendingSince | None
    waits: Annotated[PodWaits | None, doc("null: the scheduler does not keep it")]
    preemption: Annotated[PreemptionTold | None, doc("null: not known")]
    rv: Annotated[int | None, doc("position of the change log that what follows is about; null: not tried")]
    judged: Annotated[PodJudged | None, doc("null: the attempt ended before its filters, or is not made again")]
    turning: Turning | None
    difference: Annotated[
        HistoryDifference | None, doc("the first thing that came out otherwise when it was made again; null: nothing")
    ]


class PodWhyQuery(Input):
    """How much is wanted, and of which moment."""

    again: Annotated[bool, doc("make the last attempt again; false: what its record says")] = True
    now: Annotated[bool, doc("try the pod on what is stored now, and not as of its last attempt")] = False
    limit: Annotated[int, number(0, 500, "nodes one reason away that are told of")] = 20
