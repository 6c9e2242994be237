"""Mirrors of clusters elsewhere: starting, stopping, and how far decisions agree."""

from functools import partial

from msgspec import UNSET
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request

from kschedweb import views
from kschedweb.accounts.choices import Role
from kschedweb.accounts.permissions import actor, is_superuser, may_create_clusters, require
from kschedweb.cluster import selectors as cluster_selectors
from kschedweb.cluster.selectors import cluster_view
from kschedweb.common.errors import InvalidError, NotFoundError
from kschedweb.common.pagination import KeysetPagination
from kschedweb.mirror import forking, selectors, services
from kschedweb.rest import inputs
from kschedweb.rest.answers import Created, RestView
from kschedweb.traces import selectors as trace_selectors
from kschedweb.views import view_of


class ComparisonPagination(KeysetPagination):
    ordering = "-id"


class MirrorListView(RestView):
    def post(self, request: Request, body: views.MirrorCreate) -> Created[views.Cluster]:
        """Make a cluster that follows one elsewhere. For superusers: the service connects to wherever it is told."""
        cluster = services.mirror_start(
            name=body.name,
            content=body.kubeconfig.encode(),
            context=body.context,
            namespaces=body.namespaces,
            scheduler_config=body.scheduler_config.encode(),
            actor=actor(request),
        )
        return Created(cluster_view(cluster))


class MirrorView(RestView):
    def get(self, request: Request, cluster_id: int) -> views.Mirror:
        """Read what the cluster follows, and how it goes."""
        return selectors.mirror_view(cluster_id)

    def patch(self, request: Request, cluster_id: int, body: views.MirrorChange) -> views.Mirror:
        """Stop following or go on; other credentials for the same server are for superusers."""
        if body.kubeconfig is not UNSET and not is_superuser(request):
            raise PermissionDenied("only a superuser gives a mirror credentials")
        services.mirror_change(
            cluster_id=cluster_id,
            is_wanted=None if body.is_wanted is UNSET else body.is_wanted,
            content=b"" if body.kubeconfig is UNSET else body.kubeconfig.encode(),
            context=body.context,
        )
        return selectors.mirror_view(cluster_id)


class ForkListView(RestView):
    access = {"POST": may_create_clusters}

    def post(self, request: Request, body: views.Fork) -> Created[views.Cluster]:
        """Copy the objects and the configuration of a cluster, as they are now, into a new one of yours.

        A large copy goes on after the answer, as an import of the new cluster.
        """
        try:
            require(request, body.cluster_id, Role.VIEWER)
        except NotFoundError as error:
            raise InvalidError("cluster_id: there is no such cluster", field="cluster_id") from error
        cluster = forking.cluster_fork(
            cluster_id=body.cluster_id,
            name=body.name,
            lifecycle_mode=body.lifecycle_mode,
            owner=request.user,  # type: ignore[arg-type]
            actor=actor(request),
        )
        return Created(cluster_view(cluster))


class AgreementView(RestView):
    def get(self, request: Request, cluster_id: int, query: views.AgreementQuery) -> views.AgreementSummary:
        """Read how far the decisions of the mirrored cluster's scheduler agree with ours."""
        cluster_selectors.cluster_get(cluster_id)
        return trace_selectors.agreement(cluster_id, **inputs.agreement_span(query, cluster_id))


class ComparisonListView(RestView):
    def get(
        self, request: Request, cluster_id: int, query: views.ComparisonQuery, page: views.PageQuery
    ) -> views.ComparisonPage:
        """List decisions of the mirrored cluster's scheduler beside ours, newest first."""
        cluster_selectors.cluster_get(cluster_id)
        found = trace_selectors.comparisons(cluster_id, **inputs.comparison_filter(query, cluster_id))
        make = partial(view_of, views.Comparison)
        return ComparisonPagination(page).page_of(views.ComparisonPage, found, request, make)
