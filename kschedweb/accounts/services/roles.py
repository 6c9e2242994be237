"""Grants and revokes roles; each change is in the access records."""

from typing import Any

from django.db import transaction

from kschedweb.accounts import selectors
from kschedweb.accounts.choices import AccessAction, Role
from kschedweb.accounts.models import AccessRecord, RoleBinding
from kschedweb.common.errors import NotFoundError


def role_set(*, cluster: Any, username: str, role: str, actor: str) -> RoleBinding:
    """Give a user a role in a cluster, in place of the one they have."""
    user = selectors.user_named(username)
    with transaction.atomic():
        binding, _ = RoleBinding.objects.update_or_create(
            user=user, cluster=cluster, defaults={"role": Role(role), "granted_by": actor}
        )
        _record(binding, AccessAction.ROLE_SET, actor)
    return binding


def role_remove(*, cluster: Any, username: str, actor: str) -> None:
    """Take a user's role in a cluster away; sockets they watch it with close within seconds."""
    with transaction.atomic():
        binding = RoleBinding.objects.select_for_update(of=("self",)).filter(cluster=cluster, user__username=username)
        found = binding.select_related("user", "cluster").first()
        if found is None:
            raise NotFoundError("the user has no role in this cluster", username=username)
        found.delete()
        _record(found, AccessAction.ROLE_REMOVED, actor)


def _record(binding: RoleBinding, action: AccessAction, actor: str) -> None:
    AccessRecord.objects.create(
        actor=actor,
        action=action,
        username=binding.user.get_username(),
        cluster_name=binding.cluster.name,
        detail=binding.role,
    )
