"""Why an attempt chose its node and not another, as data; sentences are made of it where they are read."""

from collections.abc import Sequence
from typing import Annotated, Literal

from msgspec import UNSET, UnsetType

from kschedweb.views.amounts import Amounts
from kschedweb.views.attempts import Status
from kschedweb.views.base import Input, View, doc, text
from kschedweb.views.history import HistoryDifference

DecidedBy = Literal["total", "draw", "only", "first", "nominated"]
NodeStanding = Literal["compared", "refused", "leftOut", "spare", "unseen", "absent", "none"]


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
