"""An attempt made again at its moment: what its record does not keep, of nodes that were never looked at as well."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

from msgspec import UNSET, UnsetType

from kschedweb.views.amounts import Amounts
from kschedweb.views.attempts import Outcome, Result, Score, ScorePlugin, Status
from kschedweb.views.base import Input, View, doc, number, text
from kschedweb.views.history import HistoryDifference

MOST_NODES = 500  # in one answer
CountRule = Literal["spread", "softSpread", "near", "apart", "keptApart", "preferred"]


class AskedFilter(View):
    """What one filter says of a node when it is asked by itself."""

    plugin: str
    status: Annotated[Status | None, doc("null: it lets the pod in")]


class VictimTrial(View):
    """What comes of evicting pods from a node."""

    outcome: Annotated[
        Outcome, doc("of the search then; untried: enough candidates had been found, and the node is tried only now")
    ]
    status: Annotated[Status | None, doc("why no victims are enough; null: they are")]
    victims: Annotated[Sequence[str], doc("the most important first")]
    num_pdb_violations: int


class NodeAgain(View):
    """One node at the moment of an attempt."""

    node: str
    looked_at: Annotated[bool, doc("false: the walk had ended before it, or never came to it")]
    feasible: Annotated[bool, doc("among the nodes the attempt chose from")]
    status: Annotated[Status | None, doc("why the pod does not fit there; null: it fits")]
    filters: Annotated[
        Sequence[AskedFilter],
        doc("in their order, those behind the first refusal as well; empty: PreFilter left the node out"),
    ]
    amounts: Annotated[
        Sequence[Amounts] | None, doc("what was asked of the node and what there was then; null: nobody tells")
    ]
    total: Annotated[int | None, doc("as it was compared; null: it was not")]
    scores: Annotated[Mapping[str, Score], doc("by plugin, as they were compared; empty: they were not")]
    total_of_all: Annotated[
        int | None,
        doc("as it would be had the walk looked at every node; without extenders. null: the pod does not fit"),
    ]
    scores_of_all: Annotated[
        Mapping[str, Score],
        doc("by plugin, had the walk looked at every node: comparable with each other, not with `scores`"),
    ]
    trial: Annotated[VictimTrial | None, doc("null: evicting pods is no help, or nobody looked for victims")]


class CountedDomain(View):
    """A value of a topology key."""

    domain: str
    count: Annotated[int, doc("pods, or the sum of their weights")]


class DomainCounts(View):
    """What a rule of topology spread or affinity counts in each domain."""

    plugin: str
    rule: Annotated[
        CountRule,
        doc(
            "spread, softSpread: matching pods. near, apart: pods that match required terms. keptApart: pods whose"
            " terms speak against this one. preferred: weights of preferred terms"
        ),
    ]
    key: Annotated[str, doc("the topology key")]
    subject: Annotated[str, doc("the key, and which pods count")]
    most: Annotated[int | None, doc("how many a domain may have for the pod to fit in")]
    domains: Annotated[Sequence[CountedDomain], doc("those of the nodes told of, then the others, 200 in all at most")]
    found: Annotated[int, doc("domains in all")]


class AttemptAgain(View):
    """An attempt made again by the engine as it was just before it."""

    seq: int
    difference: Annotated[
        HistoryDifference | None, doc("the first thing that came out otherwise than it is stored; null: nothing did")
    ]
    result: Annotated[Result | None, doc("that came out now; null: none did, see the difference")]
    node_name: str
    message: str
    nodes_total: int
    looked_at: Annotated[int, doc("nodes")]
    fitting: Annotated[int, doc("nodes the pod fits on, of all")]
    plugins: Annotated[Sequence[ScorePlugin], doc("that score, with their weights")]
    counts: Sequence[DomainCounts]
    nodes: Annotated[Sequence[NodeAgain], doc("those asked for; first those looked at, in the order of the walk")]
    found: Annotated[int, doc("nodes on all pages; 0: the attempt ended before its filters had run")]


class AgainQuery(Input):
    """Which nodes to tell of: those named, or a page of all."""

    nodes: Annotated[str, text(20_000, "names of nodes, separated by commas")] | UnsetType = UNSET
    offset: Annotated[int, number(0, 10**6)] = 0
    limit: Annotated[int, number(1, MOST_NODES)] = 50
