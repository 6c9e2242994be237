"""The scheduler's cache: pods assumed and confirmed, nodes and their generations beside the last snapshot."""

from collections.abc import Sequence
from typing import Annotated, Literal

from msgspec import UNSET, UnsetType

from kschedweb.views.base import AtQuery, Moment, View, doc, number, text

CacheStage = Literal["permit", "preBind", "binding", "bound", "confirmed"]


class CacheNode(View):
    """A node in the cache, or only in the snapshot. Generations are numbers that grow with every change."""

    name: str
    generation: Annotated[int | None, doc("of its last change; null: gone from the cache since the last snapshot")]
    snapshot_generation: Annotated[int | None, doc("as the last snapshot has it; null: it is not in it")]
    is_ghost: Annotated[bool, doc("whether its object is gone while pods are left on it")]
    pods: int
    assumed: Annotated[int, doc("of these pods")]
    changed: Annotated[bool | None, doc("whether the last snapshot took it over; null: not known")]


class CachePod(View):
    """A pod in the cache."""

    uid: str
    key: Annotated[str, doc("namespace/name")]
    node: str
    stage: Annotated[
        CacheStage,
        doc(
            "assumed and waits: in permit and preBind for plugins, in binding for its binding, when bound to be seen on"
            " its node; confirmed: it was seen there"
        ),
    ]
    assumed_at: Annotated[Moment | None, doc("null: it came with its node, or the log does not tell any more")]
    attempt: Annotated[int | None, doc("number of the attempt that assumed it; null as `assumed_at`")]
    attempt_seq: Annotated[int | None, doc("position of that attempt; null: it is not stored")]
    confirmed_at: Annotated[Moment | None, doc("null: not confirmed, or the log does not tell any more")]
    awaits: Annotated[Sequence[str], doc("plugins")]
    until: Annotated[Moment | None, doc("when the first of them gives up, or a bound pod is no longer waited for")]


class CacheSnapshot(View):
    """The snapshot that the last cycle read, and what its last update changed."""

    generation: Annotated[int, doc("the newest that it has taken over")] = 0
    since: Annotated[int | None, doc("its generation before the update; null: not known until the next cycle")] = None
    changed: Annotated[int | None, doc("nodes that the update took over; null as `since`")] = None
    dropped: Annotated[Sequence[str], doc("nodes that the update took out")] = ()
    behind: Annotated[int, doc("nodes that have changed since, and that the next update takes over or out")] = 0
    nodes: int = 0


class SchedulerCache(View):
    """The cache after the scheduler's last step at a position, worked out by running the engine again."""

    rv: int
    seq: int
    at: Moment
    stepped_at: Annotated[Moment | None, doc("time of that step; null: none was made")] = None
    generation: Annotated[int, doc("the newest in the cache")] = 0
    snapshot: CacheSnapshot = CacheSnapshot()
    assumed: Annotated[int, doc("pods, of all")] = 0
    confirmed: Annotated[int, doc("pods, of all")] = 0
    nodes_total: Annotated[int, doc("in the cache")] = 0
    nodes: Annotated[
        Sequence[CacheNode], doc("those sought, last changed first, those only in the snapshot at the end")
    ] = ()
    pods_found: Annotated[int, doc("of those sought")] = 0
    pods: Annotated[
        Sequence[CachePod],
        doc("those sought: assumed first, longest assumed first; then confirmed, last changed first"),
    ] = ()


class CacheQuery(AtQuery):
    """What of the cache is listed."""

    find: Annotated[str, text(253, "only pods whose key or node, and nodes whose name contains it")] | UnsetType = UNSET
    limit: Annotated[int, number(0, 5000, "of the pods; nodes are all listed")] = 500
