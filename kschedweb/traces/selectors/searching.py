"""What a search finds in clusters, each kind the best first."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final, get_args

from django.db import connection

from kschedweb import views
from kschedweb.cluster.choices import TERMINAL_PHASES, PodPhase
from kschedweb.cluster.models import ApiObject, SchedulerConfigVersion
from kschedweb.cluster.workload_states import KINDS as WORKLOAD_KINDS
from kschedweb.cluster.workload_states import workload_view
from kschedweb.common import ranking
from kschedweb.traces.selectors import names
from kschedweb.traces.selectors.names import Wanted
from kschedweb.views.search import SearchHow

KINDS: Final[tuple[views.SearchKind, ...]] = get_args(views.SearchKind)
# Names that PostgreSQL gives of a cluster and a way to match, before the best are chosen among them.
LEAST_CANDIDATES: Final = 50
NAMESPACES: Final = 1_000
VERSIONS: Final = 200
REASON_PODS: Final = 1_000

_PHASES: Final[Mapping[str, views.SearchState]] = {
    PodPhase.RUNNING: "running",
    PodPhase.SUCCEEDED: "succeeded",
    PodPhase.FAILED: "failed",
    PodPhase.UNKNOWN: "unknown",
}
_HOWS: Final[tuple[SearchHow, ...]] = get_args(SearchHow)  # in the order of ranking.How
_REASONS: Final = """
    SELECT one.id, reason.plugin, reason.reason, count(DISTINCT pod.uid)
    FROM unnest(%s::bigint[]) AS one (id) JOIN cluster_cluster AS cluster ON cluster.id = one.id
    CROSS JOIN LATERAL (
        SELECT uid FROM cluster_pod
        WHERE cluster_id = one.id AND node_name = '' AND NOT phase = ANY (%s)
          AND scheduler_name = ANY (cluster.profiles)
        ORDER BY created_at, namespace, name LIMIT %s
    ) AS pod
    CROSS JOIN LATERAL (
        SELECT rejections FROM traces_attempt AS attempt
        WHERE attempt.cluster_id = one.id AND attempt.pod_uid = pod.uid ORDER BY attempt.seq DESC LIMIT 1
    ) AS last
    CROSS JOIN LATERAL jsonb_to_recordset(last.rejections) AS reason (plugin text, reason text)
    GROUP BY 1, 2, 3
"""


@dataclass(frozen=True, slots=True)
class _Found:
    """A hit to be; `pk` is of a workload, whose state is read when it is among the best."""

    kind: views.SearchKind
    cluster_id: int
    name: str
    namespace: str = ""
    of: str = ""
    state: views.SearchState = ""
    node: str = ""
    pods: int | None = None
    at: datetime | None = None
    pk: int | None = None


@dataclass(frozen=True, slots=True)
class _Ranked:
    found: _Found
    match: ranking.Match
    place: int  # in which it was found

    def order(self, clusters: Mapping[int, str], *, by_name: bool) -> tuple[Any, ...]:
        """Where it stands among all: equal only for the same thing. Without a word what was found first is first."""
        found = self.found
        own = (found.namespace, found.name, clusters[found.cluster_id], found.of, found.kind, found.cluster_id)
        rank = (self.match.how, self.match.parts, -(found.pods or 0), len(found.name))
        return (*rank, *own) if by_name else (self.place, *own)


def search(
    clusters: Mapping[int, str], typed: str, *, kinds: Collection[views.SearchKind] = KINDS, limit: int = 8
) -> views.SearchAnswer:
    """What matches in these clusters, given as name by id; at most `limit` of each kind."""
    wanted = Wanted.of(typed)
    groups: list[tuple[tuple[int, int, int], views.SearchGroup]] = []
    for kind in KINDS:
        if kind not in kinds or not clusters:
            continue
        found = _FINDERS[kind](clusters, wanted, max(LEAST_CANDIDATES, 4 * limit))
        ranked = _ranked(found, wanted, clusters)
        if ranked:
            best = ranked[0].match
            hits = [_hit(each, clusters) for each in _with_states(ranked[:limit])]
            group = views.SearchGroup(kind=kind, hits=hits, more=len(ranked) > limit)
            groups.append(((best.how, best.parts, KINDS.index(kind)), group))
    return views.SearchAnswer([group for _, group in sorted(groups, key=lambda each: each[0])])


def _ranked(found: Iterable[_Found], wanted: Wanted, clusters: Mapping[int, str]) -> list[_Ranked]:
    ranked = []
    for place, each in enumerate(found):
        matched = ranking.match(wanted.word, each.name)
        if matched is not None and each.namespace.startswith(wanted.namespace):
            ranked.append(_Ranked(each, matched, place))
    return sorted(ranked, key=lambda each: each.order(clusters, by_name=not wanted.is_empty))


def _hit(ranked: _Ranked, clusters: Mapping[int, str]) -> views.SearchHit:
    found = ranked.found
    return views.SearchHit(
        kind=found.kind,
        cluster_id=found.cluster_id,
        cluster=clusters[found.cluster_id],
        namespace=found.namespace,
        name=found.name,
        of=found.of,
        state=found.state,
        node=found.node,
        pods=found.pods,
        at=found.at,
        how=_HOWS[ranked.match.how],
        marks=ranked.match.marks,
    )


def _with_states(ranked: list[_Ranked]) -> list[_Ranked]:
    """Workloads with their states, which their manifests say."""
    pks = [each.found.pk for each in ranked if each.found.pk is not None]
    if not pks:
        return ranked
    manifests = dict(ApiObject.objects.filter(pk__in=pks).values_list("pk", "manifest"))
    states = {pk: workload_view(manifest).state for pk, manifest in manifests.items()}
    # One that was deleted meanwhile is left out.
    return [
        each if each.found.pk is None else replace(each, found=replace(each.found, state=states[each.found.pk]))
        for each in ranked
        if each.found.pk is None or each.found.pk in states
    ]


def _pods(clusters: Mapping[int, str], wanted: Wanted, most: int) -> Iterable[_Found]:
    for row in names.pods(clusters, wanted, most):
        state: views.SearchState = _PHASES.get(row.phase) or ("bound" if row.node_name else "pending")
        yield _Found(
            "pod",
            row.cluster_id,
            row.name,
            row.namespace,
            state="deleting" if row.deleting else state,
            node=row.node_name,
            at=row.created_at,
        )


def _gone_pods(clusters: Mapping[int, str], wanted: Wanted, most: int) -> Iterable[_Found]:
    for row in names.gone_pods(clusters, wanted, most):
        yield _Found("gonepod", row.cluster_id, row.name, row.namespace, state="gone", at=row.at)


def _nodes(clusters: Mapping[int, str], wanted: Wanted, most: int) -> Iterable[_Found]:
    for row in names.nodes(clusters, wanted, most):
        state: views.SearchState = "ready" if row.ready else "not_ready"
        yield _Found("node", row.cluster_id, row.name, state="unschedulable" if row.unschedulable else state)


def _workloads(clusters: Mapping[int, str], wanted: Wanted, most: int) -> Iterable[_Found]:
    for row in names.objects(clusters, WORKLOAD_KINDS, wanted, most):
        yield _Found("workload", row.cluster_id, row.name, row.namespace, of=row.kind, pk=row.pk)


def _namespaces(clusters: Mapping[int, str], wanted: Wanted, most: int) -> Iterable[_Found]:
    """Those that are objects and those of pods."""
    if wanted.namespace:
        return
    rows = names.objects(clusters, ["Namespace"], wanted, most)
    found = dict.fromkeys((row.cluster_id, row.name) for row in rows)
    for cluster_id, name in (*found, *(each for each in names.namespaces(clusters, NAMESPACES) if each not in found)):
        yield _Found("namespace", cluster_id, name)


def _priority_classes(clusters: Mapping[int, str], wanted: Wanted, most: int) -> Iterable[_Found]:
    if not wanted.namespace:
        for row in names.objects(clusters, ["PriorityClass"], wanted, most):
            yield _Found("priorityclass", row.cluster_id, row.name)


def _reasons(clusters: Mapping[int, str], wanted: Wanted, most: int) -> Iterable[_Found]:
    if not wanted.namespace:
        with connection.cursor() as cursor:
            ended = [str(phase) for phase in TERMINAL_PHASES]
            cursor.execute(_REASONS, [list(clusters), ended, REASON_PODS])
            for cluster_id, plugin, reason, count in cursor.fetchall():
                yield _Found("reason", cluster_id, reason, of=plugin, pods=count)


def _configurations(clusters: Mapping[int, str], wanted: Wanted, most: int) -> Iterable[_Found]:
    """Profiles of the scheduler, and the newest versions of configurations: v1, v2, …"""
    if wanted.namespace:
        return
    own = SchedulerConfigVersion.objects.filter(cluster__in=clusters)
    rows = own.order_by("-at", "-pk").values_list("cluster_id", "version", "at", "cluster__config_version")[:VERSIONS]
    for cluster_id, version, at, current in rows:
        state: views.SearchState = "active" if version == current else "earlier"
        yield _Found("configuration", cluster_id, f"v{version}", of="version", state=state, at=at)
    profiles = own.filter(version=1).values_list("cluster_id", "cluster__profiles")
    for cluster_id, found in profiles:
        for profile in found:
            yield _Found("configuration", cluster_id, profile, of="profile", state="active")


def _clusters(clusters: Mapping[int, str], wanted: Wanted, most: int) -> Iterable[_Found]:
    if not wanted.namespace:
        for cluster_id, name in clusters.items():
            yield _Found("cluster", cluster_id, name)


_FINDERS: Final[Mapping[views.SearchKind, Callable[[Mapping[int, str], Wanted, int], Iterable[_Found]]]] = {
    "pod": _pods,
    "node": _nodes,
    "workload": _workloads,
    "namespace": _namespaces,
    "priorityclass": _priority_classes,
    "reason": _reasons,
    "configuration": _configurations,
    "cluster": _clusters,
    "gonepod": _gone_pods,
}
