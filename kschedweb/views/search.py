"""What a search finds: objects of clusters, why pods are pending, configurations."""

from collections.abc import Sequence
from typing import Annotated, Literal

from msgspec import UNSET, UnsetType

from kschedweb.views.base import Input, Moment, View, doc, number, text
from kschedweb.views.workloads import WorkloadState

SearchKind = Literal[
    "pod", "node", "workload", "namespace", "priorityclass", "reason", "configuration", "cluster", "gonepod"
]
SearchState = (
    Literal[
        "",
        "pending",
        "bound",
        "succeeded",
        "unknown",
        "gone",
        "ready",
        "not_ready",
        "unschedulable",
        "active",
        "earlier",
    ]
    | WorkloadState
)
SearchHow = Literal["exact", "start", "word", "inside", "parts"]


class SearchHit(View):
    """Something whose name matches: what it is, where, and in which state."""

    kind: SearchKind
    cluster_id: int
    cluster: str
    namespace: str
    name: str
    of: Annotated[str, doc("a workload's kind; the plugin of a reason; profile or version of a configuration")]
    state: Annotated[
        SearchState,
        doc(
            "of a pod: pending (without a node), bound (not started), running, succeeded, failed, unknown, deleting;"
            " of one that was deleted and of which only history is kept (gonepod): gone; of a node: ready, not_ready,"
            " unschedulable; of a configuration: active, earlier; of a workload as in its list; empty for others"
        ),
    ]
    node: Annotated[str, doc("of a pod that has one")]
    pods: Annotated[int | None, doc("of a reason: how many of the 1,000 pods pending longest it rejected last")]
    at: Annotated[Moment | None, doc("when a pod was made or went, or a configuration was set; in the cluster's time")]
    how: Annotated[
        SearchHow,
        doc(
            "the best first: exact: the name; start: its start; word: the start of a word in it; inside: any place;"
            " parts: parts of the word in order, each at the start of a word"
        ),
    ]
    marks: Annotated[Sequence[tuple[int, int]], doc("start and end of what matches in the name, in characters")]


class SearchGroup(View):
    """What was found of one kind, the best first."""

    kind: SearchKind
    hits: Sequence[SearchHit]
    more: Annotated[bool, doc("whether there is more than the limit")]


class SearchAnswer(View):
    """What a search found, by kind; the kind with the best match first."""

    groups: Sequence[SearchGroup]


class SearchQuery(Input):
    """What to search for, and where."""

    q: Annotated[str, text(253, "the word; empty: what was made last; `namespace/` before it narrows it", least=0)] = ""
    cluster: Annotated[int, number(1, description="its id (default: all that you may see)")] | UnsetType = UNSET
    kinds: Annotated[str, text(200, "only these, with commas between them; sooner without gonepod")] | UnsetType = UNSET
    limit: Annotated[int, number(1, 50, "of the hits of each kind")] = 8
