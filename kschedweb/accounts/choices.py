"""What somebody may do in a cluster. Each role includes those before it."""

from django.db.models import TextChoices


class Role(TextChoices):
    """viewer: reads; operator: also uploads, sets the pace, cordons, deletes objects; admin: everything in it."""

    VIEWER = "viewer"
    OPERATOR = "operator"
    ADMIN = "admin"

    def includes(self, other: "Role") -> bool:
        return RANKS[self] >= RANKS[other]


RANKS = {role: rank for rank, role in enumerate(Role)}


def lower(one: Role, other: Role) -> Role:
    """The one which allows less."""
    return one if other.includes(one) else other


class AccessAction(TextChoices):
    """What was done to somebody's way in."""

    ROLE_SET = "role_set"
    ROLE_REMOVED = "role_removed"
    TOKEN_CREATED = "token_created"
    TOKEN_REVOKED = "token_revoked"
