"""Mirrors of clusters elsewhere, and how far their schedulers' decisions and ours agree."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

from msgspec import UNSET, UnsetType

from kschedweb.views.base import Input, Moment, Page, SpanQuery, View, doc, number, text
from kschedweb.views.clusters import LifecycleMode

MirrorState = Literal["connecting", "listing", "following", "problem", "stopped"]
Agreement = Literal["agreed", "tied", "earlier", "differed", "uncertain", "other"]
Cause = Literal["plugin", "state", "sampling", "configuration", "unknown"]


class MirrorCollection(View):
    """One kind that is followed, in one namespace unless all are."""

    name: Annotated[str, doc("the kind, with `/namespace` where only some are followed")]
    state: Annotated[str, doc("listing, watching, waiting, forbidden or absent")]
    problem: str


class MirrorUnreadable(View):
    """An object that was left out."""

    kind: str
    name: str
    reason: str


class Mirror(View):
    """What a cluster follows, and how it goes."""

    cluster_id: int
    server: str
    context: str
    namespaces: Annotated[Sequence[str], doc("empty: all")]
    state: MirrorState
    problem: str
    is_wanted: Annotated[bool, doc("false while it is stopped")]
    is_synced: Annotated[bool, doc("whether all objects are here")]
    lag_seconds: Annotated[float | None, doc("from the arrival of the last change to its being stored")]
    heard_seconds_ago: Annotated[float | None, doc("since the other cluster was last heard of")]
    synced_at: Annotated[Moment | None, doc("when all objects were here first")]
    lists: int
    events: int
    failures: Annotated[int, doc("requests that failed and were made again")]
    collections: Sequence[MirrorCollection]
    unreadable: Annotated[Sequence[MirrorUnreadable], doc("objects left out, the last few")]
    missing_plugins: Annotated[Sequence[str], doc("plugins and extenders of the configuration that are not here")]
    created_by: str
    created_at: Moment


class MirrorCreate(Input):
    """A cluster to follow."""

    name: Annotated[str, text(63, "of the new cluster")]
    kubeconfig: Annotated[str, text(512 * 1024, "YAML or JSON; names no files and no programs")]
    context: Annotated[str, text(253, "the current one when empty", least=0)] = ""
    namespaces: Annotated[Sequence[Annotated[str, text(63)]], doc("empty: all")] = ()
    scheduler_config: Annotated[
        str, text(1_000_000, "the KubeSchedulerConfiguration of the other cluster's scheduler", least=0)
    ] = ""


class MirrorChange(Input):
    """What to change; what is left out stays."""

    is_wanted: Annotated[bool, doc("false stops following, true goes on")] | UnsetType = UNSET
    kubeconfig: Annotated[str, text(512 * 1024, "with other credentials for the same server")] | UnsetType = UNSET
    context: Annotated[str, text(253, "of that kubeconfig; the current one when empty", least=0)] = ""


class Fork(Input):
    """A copy of a cluster to make."""

    cluster_id: Annotated[int, number(1, description="of the cluster that is copied")]
    name: Annotated[str, text(63, "of the copy")]
    lifecycle_mode: LifecycleMode = "frozen"


class AgreementCounts(View):
    """Decisions by how they compare."""

    agreed: int = 0
    tied: int = 0
    earlier: Annotated[int, doc("on a state that the other scheduler can have had")] = 0
    differed: int = 0
    uncertain: Annotated[int, doc("neither for nor against: a state not tried, or nodes not looked at")] = 0
    other: int = 0


class AgreementProfile(View):
    """Decisions of one profile. `rate`: (agreed + tied + earlier) of these and differed, null when there are none."""

    profile: str
    counts: AgreementCounts
    rate: float | None


class AgreementPoint(View):
    """Decisions of the span that begins at `at_ms`."""

    at_ms: int
    profile: str
    counts: AgreementCounts


class AgreementSummary(View):
    """How far decisions agreed in [since_ms, until_ms)."""

    since_ms: int
    until_ms: int
    seconds: Annotated[int, doc("length of a point")]
    counts: AgreementCounts
    rate: float | None
    profiles: Sequence[AgreementProfile]
    points: Annotated[Sequence[AgreementPoint], doc("oldest first; spans without a decision have none")]
    causes: Annotated[Mapping[str, int], doc("of the differences")]
    plugins: Annotated[Mapping[str, int], doc("the first that tells the nodes apart, of the differences")]


class Behind(View):
    """How far a state is behind that of the binding in one kind, or ahead: `changes` is negative then."""

    kind: Annotated[str, doc("Binding: pods that the other scheduler placed itself")]
    changes: Annotated[int, doc("how many of its newest changes are not in it; negative: how many later ones are")]
    seconds: Annotated[float, doc("from the oldest of them to the binding; ahead: from the newest, so not above 0")]


class Comparison(View):
    """The decision of the other cluster's scheduler about a pod, beside ours on the state before it."""

    id: int
    seq: Annotated[int, doc("of our attempt; 0: none was made")]
    pod_uid: str
    namespace: str
    name: str
    profile: str
    outcome: Agreement
    node_name: Annotated[str, doc("where it was bound")]
    own_node_name: Annotated[str, doc("our choice; empty: none")]
    plugin: Annotated[str, doc("the first that tells the two nodes apart")]
    reason: Annotated[str, doc("why that plugin refuses the other node; empty where scores differ")]
    own_score: Annotated[int | None, doc("weighted, of that plugin, for our node")]
    score: Annotated[int | None, doc("and for the other one")]
    own_total: int | None
    total: int | None
    cause: Annotated[Cause | Literal[""], doc("likely cause of a difference")]
    behind: Annotated[Sequence[Behind], doc("of the outcome earlier: the state on which both agree")]
    tries: Annotated[int, doc("how many other states were tried")]
    at: Moment


class ComparisonPage(Page[Comparison]):
    """A page of comparisons."""


class AgreementQuery(SpanQuery):
    """Which span: by default the last hour."""

    points: Annotated[int, number(1, 500, "into how many spans it is cut at most")] = 60


class ComparisonQuery(SpanQuery):
    """Which comparisons."""

    outcome: Agreement | UnsetType = UNSET
    cause: Cause | UnsetType = UNSET
    profile: Annotated[str, text(253)] | UnsetType = UNSET
    plugin: Annotated[str, text(253)] | UnsetType = UNSET
    pod_uid: Annotated[str, text(128)] | UnsetType = UNSET
