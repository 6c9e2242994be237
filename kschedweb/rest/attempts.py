"""Attempts: lists, one with its matrix, searches for victims, the slowest cycles."""

from contextlib import nullcontext

from msgspec import UNSET
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request

from kschedweb import views
from kschedweb.cluster import selectors as cluster_selectors
from kschedweb.common.pagination import KeysetPagination
from kschedweb.rest import inputs
from kschedweb.rest.answers import RestView
from kschedweb.scheduling.past import asking, telling
from kschedweb.scheduling.past.attempts import attempt_again
from kschedweb.scheduling.past.changed import attempt_changed
from kschedweb.scheduling.past.why import node_why
from kschedweb.traces import selectors
from scheduler_core.explain.again import Wanted


class NewestFirst(KeysetPagination):
    ordering = "-seq"


class AttemptListView(RestView):
    def get(
        self, request: Request, cluster_id: int, query: views.AttemptQuery, page: views.PageQuery
    ) -> views.AttemptPage:
        """List the cluster's attempts, newest first."""
        cluster_selectors.cluster_get(cluster_id)
        found = selectors.attempts(cluster_id, inputs.attempt_filter(query, cluster_id))
        return NewestFirst(page).page_of(views.AttemptPage, found, request, selectors.attempt_view)


class AttemptView(RestView):
    def get(self, request: Request, cluster_id: int, seq: int, query: views.MatrixQuery) -> views.AttemptDetail:
        """Read an attempt with a page of its matrix: status and scores of each node."""
        return selectors.attempt_detail(selectors.attempt_get(cluster_id, seq), query)


class AttemptAgainView(RestView):
    def get(self, request: Request, cluster_id: int, seq: int, query: views.AgainQuery) -> views.AttemptAgain:
        """Make an attempt again with the engine as it was just before, and read what its record does not keep.

        All scores of all plugins, raw ones too, also for nodes that were not looked at; counts by domain; each search
        for victims; what was asked of nodes and what there was then. 410 where history was cleared away, with where it
        begins; 409 where the record does not suffice, as with mirrors; 429 where four requests are in the past already.
        """
        wanted = _wanted(query)
        cluster_selectors.cluster_get(cluster_id)
        with asking.turn():
            made = attempt_again(cluster_id=cluster_id, seq=seq, wanted=wanted)
        return telling.again_view(seq, made)


class AttemptWhyView(RestView):
    def get(self, request: Request, cluster_id: int, seq: int, query: views.WhyQuery) -> views.NodeWhy:
        """Say why an attempt chose its node and not another, and the smallest change of a weight that had turned it.

        The attempt is made again for what its record does not say, and once more with each change of a weight that is
        told. That is refused as by `again`; with `again=false` the record alone answers. 422 where no node was chosen.
        """
        cluster_selectors.cluster_get(cluster_id)
        other = query.other or ""
        with asking.turn() if query.again else nullcontext():
            told = node_why(cluster_id=cluster_id, seq=seq, other=other, again=query.again)
        return telling.why_view(seq, told)


class AttemptChangedView(RestView):
    def get(self, request: Request, cluster_id: int, seq: int, query: views.ChangedQuery) -> views.AttemptChanged:
        """Say which nodes changed verdict since an earlier attempt at the pod, and by which entry of the change log.

        Both attempts are made again, and the pod is tried at positions between them, up to 20 seconds. Refused as by
        `again`; 422 where there is no such earlier attempt at the pod.
        """
        cluster_selectors.cluster_get(cluster_id)
        with asking.turn():
            told = attempt_changed(cluster_id=cluster_id, seq=seq, since=query.since or None)
        return telling.changed_view(told, query.limit)


def _wanted(query: views.AgainQuery) -> Wanted:
    if query.nodes is UNSET:
        return Wanted(None, query.offset, query.limit)
    names = frozenset(name for each in query.nodes.split(",") if (name := each.strip()))
    if not names or len(names) > views.MOST_NODES:
        raise ValidationError({"nodes": [f"1 to {views.MOST_NODES} names, separated by commas"]})
    return Wanted(names)


class AttemptPreemptionView(RestView):
    def get(self, request: Request, cluster_id: int, seq: int, query: views.PreemptionQuery) -> views.PreemptionSearch:
        """Read the attempt's search for victims with a page of its nodes: candidates with victims, others with why."""
        return selectors.attempt_preemption(selectors.attempt_get(cluster_id, seq), query)


class PreemptionListView(RestView):
    def get(
        self, request: Request, cluster_id: int, query: views.AttemptQuery, page: views.SmallPageQuery
    ) -> views.PreemptionAttemptPage:
        """List searches for victims, newest first: how many candidates, what decided, the victims in order."""
        cluster_selectors.cluster_get(cluster_id)
        pages, wanted = NewestFirst(page), inputs.attempt_filter(query, cluster_id)
        rows = pages.paginate_queryset(selectors.preemptions(cluster_id, wanted), request) or []
        return pages.page_with(views.PreemptionAttemptPage, list(selectors.preemption_attempts(rows)))


class SlowestView(RestView):
    def get(self, request: Request, cluster_id: int, query: views.SlowestQuery) -> list[views.Attempt]:
        """List the attempts that took longest, with the duration of each phase."""
        cluster_selectors.cluster_get(cluster_id)
        found = selectors.slowest_attempts(cluster_id, inputs.attempt_filter(query, cluster_id))[: query.limit]
        return list(map(selectors.attempt_view, found))
