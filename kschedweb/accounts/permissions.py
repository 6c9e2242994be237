"""The one rule of REST: what each view's `access` says, checked against the principal of the request.

A view under a cluster needs the role viewer to be read and admin for everything else, unless its `access` names another
role for a method. A view outside of clusters may be read by whoever is logged in, and written by superusers unless
`access` names a condition. So a new view is closed until somebody opens it.
"""

from collections.abc import Callable, Mapping
from typing import Any

from rest_framework.exceptions import PermissionDenied
from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request

from kschedweb.accounts import selectors
from kschedweb.accounts.choices import Role
from kschedweb.accounts.models import Token
from kschedweb.common.errors import ClusterGoneError

ACTOR_LENGTH = 150

Condition = Callable[[Request], bool]
AccessTable = Mapping[str, Role | Condition]


class Access(BasePermission):
    def has_permission(self, request: Request, view: Any) -> bool:
        if not request.user or not request.user.is_authenticated:
            return False
        method = "GET" if request.method in SAFE_METHODS else str(request.method)
        needed = getattr(view, "access", {}).get(method)
        cluster_id = view.kwargs.get("cluster_id")
        if cluster_id is None:
            if needed is None:
                return method == "GET" or is_superuser(request)
            return bool(needed(request))
        require(request, cluster_id, needed or (Role.VIEWER if method == "GET" else Role.ADMIN))
        return True


def require(request: Request, cluster_id: int, needed: Role) -> None:
    """Refuse the request unless its principal has that role there; without any role there is no such cluster."""
    role = selectors.role_in(request.user, token_of(request), cluster_id)  # type: ignore[arg-type]
    if role is None:
        raise ClusterGoneError(cluster_id)
    if not role.includes(needed):
        raise PermissionDenied(f"this needs the role {needed} in the cluster; yours is {role}")


def may_create_clusters(request: Request) -> bool:
    return selectors.may_create_clusters(request.user, token_of(request))  # type: ignore[arg-type]


def is_superuser(request: Request) -> bool:
    token = token_of(request)
    return bool(request.user.is_superuser) and (token is None or token.max_role == Role.ADMIN)


def is_person(request: Request) -> bool:
    """A session, not a token: no token makes another one."""
    return token_of(request) is None


def token_of(request: Request) -> Token | None:
    return request.auth if isinstance(request.auth, Token) else None


def actor(request: Request) -> str:
    """Who is written into the log: the user's name, or token:NAME@USER. No user name has a colon."""
    username = request.user.get_username()
    token = token_of(request)
    return (username if token is None else f"token:{token.name}@{username}")[:ACTOR_LENGTH]
