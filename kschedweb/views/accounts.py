"""Who asks, tokens of their programs, roles in a cluster."""

from collections.abc import Mapping
from typing import Annotated, Literal

import msgspec

from kschedweb.views.base import Input, Moment, Page, View, doc, number, text

Role = Literal["viewer", "operator", "admin"]
TOKEN_DAYS_MOST = 366


class Me(View):
    """Who is logged in and what they may do."""

    username: str
    is_superuser: Annotated[bool, doc("has the role admin in every cluster, and the admin pages")]
    may_create_clusters: bool
    token: Annotated[str | None, doc("the name of the token used, null for a person")]
    roles: Annotated[Mapping[str, Role], doc("by the cluster's id; a superuser's are not listed")]
    certificate: Annotated[str, doc("PEM with which programs verify this service; empty when it serves plain http")] = (
        ""
    )


class Csrf(View):
    """The token for the header `X-CSRFToken`."""

    token: str


class Token(View):
    """A token without its secret."""

    id: int
    name: str
    max_role: Role
    last_characters: Annotated[str, doc("of the secret, to know it again; empty for tokens of older versions")]
    created_at: Moment
    expires_at: Moment
    revoked_at: Moment | None
    last_used_at: Moment | None
    is_over: Annotated[bool, doc("revoked or expired")]


class TokenCreated(Token):
    """A new token with its secret."""

    secret: Annotated[str, doc("for `Authorization: Bearer`; shown only in this answer")]


class TokenPage(Page[Token]):
    """A page of tokens."""


class RoleBinding(View):
    """A user's role in a cluster."""

    username: str
    role: Role
    granted_by: str
    granted_at: Moment


class RolePage(Page[RoleBinding]):
    """A page of role bindings."""


class TokenQuery(Input):
    """Whose tokens."""

    username: Annotated[str, text(150, "whose; without it your own. Those of others are for superusers")] | (
        msgspec.UnsetType
    ) = msgspec.UNSET


class TokenCreate(Input):
    """A token to make."""

    name: Annotated[str, text(60)]
    max_role: Role = "viewer"
    days: Annotated[int, number(1, TOKEN_DAYS_MOST, "until it expires")] = 90


class RoleChange(Input):
    """The role to give."""

    role: Role
