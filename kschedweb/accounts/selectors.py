"""What a principal may do: a user, through a session or through a token that may do less than its user."""

from typing import Any

from django.contrib.auth.models import User
from django.db.models import QuerySet

from kschedweb.accounts.choices import Role, lower
from kschedweb.accounts.models import RoleBinding, Token
from kschedweb.common.errors import ClusterGoneError, NotFoundError

CREATE_CLUSTERS = "cluster.add_cluster"


def role_in(user: User, token: Token | None, cluster_id: int) -> Role | None:
    """The role in one cluster; None when the cluster does not exist for them (or not at all)."""
    if user.is_superuser:
        role = Role.ADMIN
    else:
        given = RoleBinding.objects.filter(user=user, cluster_id=cluster_id).values_list("role", flat=True).first()
        if given is None:
            return None
        role = Role(given)
    return capped(role, token)


def roles_of(user: User, token: Token | None) -> dict[int, Role]:
    """The role in every cluster the user was given one in; superusers are admins of all and are not listed."""
    given = RoleBinding.objects.filter(user=user).order_by("cluster_id").values_list("cluster_id", "role")
    return {cluster_id: capped(Role(role), token) for cluster_id, role in given}


def may_create_clusters(user: User, token: Token | None) -> bool:
    """A right over the whole service: `cluster.add_cluster`, which superusers have; tokens need the role admin."""
    return user.has_perm(CREATE_CLUSTERS) and (token is None or Role(token.max_role) == Role.ADMIN)


def visible(clusters: "QuerySet[Any]", user: User) -> "QuerySet[Any]":
    """Those of the clusters which exist for the user."""
    if user.is_superuser:
        return clusters
    return clusters.filter(pk__in=RoleBinding.objects.filter(user=user).values("cluster_id"))


def user_named(username: str) -> User:
    """The user of that name; NotFoundError when there is none."""
    user = User.objects.filter(username=username).first()
    if user is None:
        raise NotFoundError("there is no such user", username=username)
    return user


def tokens_of(user: User) -> "QuerySet[Token]":
    """The user's tokens, the newest first; those that are over too."""
    return Token.objects.filter(user=user).order_by("-created_at", "-id")


def role_bindings(cluster_id: int) -> "QuerySet[RoleBinding]":
    """Who has which role in a cluster."""
    return RoleBinding.objects.filter(cluster_id=cluster_id).select_related("user").order_by("user_id")


def cluster_of_roles(cluster_id: int) -> Any:
    """The cluster roles are about; the app which has clusters stands above this one, so by way of the relation."""
    cluster = RoleBinding._meta.get_field("cluster").related_model._base_manager.filter(pk=cluster_id).first()
    if cluster is None:
        raise ClusterGoneError(cluster_id)
    return cluster


def capped(role: Role, token: Token | None) -> Role:
    return role if token is None else lower(role, Role(token.max_role))
