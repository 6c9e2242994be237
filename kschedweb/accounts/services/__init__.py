"""Writes of the accounts app: login links, tokens, roles."""

from kschedweb.accounts.services.links import LINK_LIFE, login_link_create, login_link_use
from kschedweb.accounts.services.logins import login_failed
from kschedweb.accounts.services.roles import role_remove, role_set
from kschedweb.accounts.services.tokens import token_create, token_revoke, token_use
from kschedweb.views.accounts import TOKEN_DAYS_MOST

__all__ = [
    "LINK_LIFE",
    "TOKEN_DAYS_MOST",
    "login_failed",
    "login_link_create",
    "login_link_use",
    "role_remove",
    "role_set",
    "token_create",
    "token_revoke",
    "token_use",
]
