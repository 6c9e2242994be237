"""Attempts: lists, one with its matrix, searches for victims, the slowest cycles."""

from functools import partial

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from kschedweb import views
from kschedweb.cluster import selectors as cluster_selectors
from kschedweb.common.pagination import KeysetPagination
from kschedweb.rest import inputs
from kschedweb.rest.answers import RestView
from kschedweb.traces import selectors
from kschedweb.views import view_of

attempt_view = partial(view_of, views.Attempt)


class NewestFirst(KeysetPagination):
    ordering = "-seq"


class FewNewestFirst(NewestFirst):
    """Smaller pages: each row opens a matrix."""

    page_size = 20
    max_page_size = 100


class AttemptListView(RestView):
    @extend_schema(parameters=[inputs.AttemptInput, *NewestFirst.parameters()])
    def get(self, request: Request, cluster_id: int) -> views.AttemptPage:
        """List the cluster's attempts, newest first."""
        cluster_selectors.cluster_get(cluster_id)
        wanted = inputs.attempt_filter(inputs.query(inputs.AttemptInput, request))
        return NewestFirst().page_of(views.AttemptPage, selectors.attempts(cluster_id, wanted), request, attempt_view)


class AttemptView(RestView):
    @extend_schema(parameters=[inputs.MatrixInput])
    def get(self, request: Request, cluster_id: int, seq: int) -> views.AttemptDetail:
        """Read an attempt with a page of its matrix: status and scores of each node."""
        return selectors.attempt_detail(selectors.attempt_get(cluster_id, seq), inputs.matrix_query(request))


class AttemptPreemptionView(RestView):
    @extend_schema(parameters=[inputs.PreemptionInput])
    def get(self, request: Request, cluster_id: int, seq: int) -> views.PreemptionSearch:
        """Read the attempt's search for victims with a page of its nodes: candidates with victims, others with why."""
        query = inputs.preemption_query(request)
        return selectors.attempt_preemption(selectors.attempt_get(cluster_id, seq), query)


class PreemptionListView(RestView):
    @extend_schema(parameters=[inputs.AttemptInput, *FewNewestFirst.parameters()])
    def get(self, request: Request, cluster_id: int) -> views.PreemptionAttemptPage:
        """List searches for victims, newest first: how many candidates, what decided, the victims in order."""
        cluster_selectors.cluster_get(cluster_id)
        wanted = inputs.attempt_filter(inputs.query(inputs.AttemptInput, request))
        pages = FewNewestFirst()
        rows = pages.paginate_queryset(selectors.preemptions(cluster_id, wanted), request) or []
        return pages.page_with(views.PreemptionAttemptPage, list(selectors.preemption_attempts(rows)))


class SlowestView(RestView):
    @extend_schema(parameters=[inputs.SlowestInput])
    def get(self, request: Request, cluster_id: int) -> list[views.Attempt]:
        """List the attempts that took longest, with the duration of each phase."""
        cluster_selectors.cluster_get(cluster_id)
        values = inputs.query(inputs.SlowestInput, request)
        limit = values.pop("limit")
        found = selectors.slowest_attempts(cluster_id, inputs.attempt_filter(values))[:limit]
        return list(map(attempt_view, found))
