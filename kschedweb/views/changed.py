"""What changed between two attempts at a pod, as data."""

from collections.abc import Sequence
from typing import Annotated, Literal

from msgspec import UNSET, UnsetType

from kschedweb.views.attempts import Status
from kschedweb.views.base import Input, Moment, View, doc, number
from kschedweb.views.history import HistoryDifference

ChangedBy = Literal["entry", "configuration", "assumed", "late", "unproven"]


class ChangedNode(View):
    """A node that one attempt says otherwise of than the other."""

    node: str
    was_there: Annotated[bool, doc("at the earlier attempt")]
    is_there: Annotated[bool, doc("at the later one")]
    before: Annotated[Status | None, doc("what kept the pod from it at the earlier attempt; null: nothing, or no node")]
    after: Annotated[Status | None, doc("the same at the later one")]
    by: Annotated[
        ChangedBy,
        doc(
            "entry: of the change log; configuration: another version of it; assumed: nothing that was stored turned"
            " it, but pods that were only assumed on nodes; late: the time was over; unproven: another engine says"
            " otherwise of the entry that was found"
        ),
    ]
    rv: Annotated[int | None, doc("of that entry; null: by none, or it is not known")]


class ChangingEntry(View):
    """An entry of the change log with which nodes have the verdict of the later attempt, and just before it not."""

    rv: int
    kind: str
    namespace: str
    name: str
    operation: str
    actor: str
    at: Moment
    nodes: Annotated[int, doc("that it turned")]


class AttemptChanged(View):
    """Which nodes changed verdict between two attempts at a pod, both made again, and by what."""

    seq: int
    since: Annotated[int, doc("the earlier attempt's position in the engine log")]
    number: Annotated[int, doc("of the later attempt")]
    since_number: Annotated[int, doc("of the earlier one")]
    rv: Annotated[int, doc("position in the change log of the later attempt")]
    since_rv: int
    nodes: Annotated[int, doc("of both attempts")]
    changed: Annotated[int, doc("nodes that changed verdict")]
    rows: Annotated[Sequence[ChangedNode], doc("the first of them, in the order of the later attempt's nodes")]
    entries: Annotated[
        Sequence[ChangingEntry],
        doc("in their order; each proven by two runs, just before it and with it"),
    ]
    runs: Annotated[int, doc("how often the pod was tried")]
    difference: Annotated[
        HistoryDifference | None,
        doc("the first thing that came out otherwise when made again; null: nothing"),
    ]


class ChangedQuery(Input):
    """Which attempt it is compared with."""

    since: (
        Annotated[int, number(1, description="position of the earlier one; without it the last before")] | UnsetType
    ) = UNSET
    limit: Annotated[int, number(1, 1000, "nodes that are told of one by one")] = 100
