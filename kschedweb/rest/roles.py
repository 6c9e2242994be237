"""Who may do what in a cluster, for its admins."""

from functools import partial

from rest_framework.request import Request

from kschedweb import views
from kschedweb.accounts import selectors, services
from kschedweb.accounts.choices import Role
from kschedweb.accounts.permissions import actor
from kschedweb.common.pagination import KeysetPagination
from kschedweb.rest.answers import RestView
from kschedweb.views import given, view_of

role_view = partial(view_of, views.RoleBinding)


class RolePagination(KeysetPagination):
    ordering = "user_id"


class RoleListView(RestView):
    access = {"GET": Role.ADMIN}

    def get(self, request: Request, cluster_id: int, page: views.PageQuery) -> views.RolePage:
        """List who has which role in the cluster."""
        selectors.cluster_of_roles(cluster_id)
        bindings = selectors.role_bindings(cluster_id)
        return RolePagination(page).page_of(views.RolePage, bindings, request, role_view)


class RoleView(RestView):
    access = {"PUT": Role.ADMIN, "DELETE": Role.ADMIN}

    def put(self, request: Request, cluster_id: int, username: str, body: views.RoleChange) -> views.RoleBinding:
        """Give a user a role in the cluster."""
        cluster = selectors.cluster_of_roles(cluster_id)
        return role_view(services.role_set(cluster=cluster, username=username, **given(body), actor=actor(request)))

    def delete(self, request: Request, cluster_id: int, username: str) -> None:
        """Take a user's role in the cluster away."""
        cluster = selectors.cluster_of_roles(cluster_id)
        services.role_remove(cluster=cluster, username=username, actor=actor(request))
