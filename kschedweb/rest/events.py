"""Events of a cluster."""

from functools import partial

from msgspec import UNSET
from rest_framework.request import Request

from kschedweb import views
from kschedweb.cluster import selectors as cluster_selectors
from kschedweb.common.pagination import KeysetPagination
from kschedweb.rest import inputs
from kschedweb.rest.answers import RestView
from kschedweb.traces import selectors
from kschedweb.views import view_of


class EventPagination(KeysetPagination):
    ordering = "-id"


class EventListView(RestView):
    def get(self, request: Request, cluster_id: int, query: views.EventQuery, page: views.PageQuery) -> views.EventPage:
        """List the scheduler's events, newest first."""
        cluster_selectors.cluster_get(cluster_id)
        found = selectors.events(cluster_id, inputs.event_filter(query, cluster_id))
        return EventPagination(page).page_of(views.EventPage, found, request, partial(view_of, views.Event))


class ObjectEventListView(RestView):
    def get(self, request: Request, cluster_id: int, query: views.ObjectEventQuery) -> views.ObjectEvents:
        """List events about one object, of the scheduler, of controllers and of clients, newest first."""
        cluster_selectors.cluster_get(cluster_id)
        namespace = "" if query.namespace is UNSET else query.namespace
        return views.ObjectEvents(selectors.events_about(cluster_id, query.kind, namespace, query.name, query.limit))
