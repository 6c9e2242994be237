"""A search over everything one may see."""

from typing import cast

from django.contrib.auth.models import User
from msgspec import UNSET
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request

from kschedweb import views
from kschedweb.accounts.choices import Role
from kschedweb.accounts.permissions import require
from kschedweb.accounts.selectors import visible
from kschedweb.cluster import gone
from kschedweb.cluster import selectors as cluster_selectors
from kschedweb.rest.answers import RestView
from kschedweb.traces import selectors
from kschedweb.traces.selectors.searching import KINDS


class SearchView(RestView):
    def get(self, request: Request, query: views.SearchQuery) -> views.SearchAnswer:
        """Find pods (also those that are gone), nodes, workloads, reasons and more by name, in what you may see."""
        clusters = visible(cluster_selectors.cluster_list(), cast(User, request.user))
        if query.cluster is not UNSET:
            require(request, query.cluster, Role.VIEWER)
            gone.check(query.cluster)
            clusters = clusters.filter(pk=query.cluster)
        found = dict(clusters.values_list("pk", "name"))
        return selectors.search(found, query.q, kinds=_kinds(query), limit=query.limit)


def _kinds(query: views.SearchQuery) -> list[views.SearchKind]:
    if query.kinds is UNSET:
        return list(KINDS)
    given = [word.strip() for word in query.kinds.split(",")]
    if unknown := [word for word in given if word not in KINDS]:
        raise ValidationError({"kinds": [f"{unknown[0]!r} is none of {', '.join(KINDS)}"]})
    return [kind for kind in KINDS if kind in given]
