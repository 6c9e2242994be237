"""Who may watch a cluster over a WebSocket: a login session or a token in the header, with a role in the cluster.

The same question is asked when a socket opens and again every few seconds while it is open, then for all sockets of
the process at once: at most four queries, however many there are.
"""

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.auth.models import User
from django.contrib.sessions.backends.db import SessionStore
from django.contrib.sessions.models import Session
from django.http import parse_cookie
from django.utils import timezone
from django.utils.crypto import constant_time_compare

from kschedweb.accounts.authentication import bearer
from kschedweb.accounts.choices import Role
from kschedweb.accounts.models import RoleBinding, Token
from kschedweb.accounts.secrets import digest
from kschedweb.accounts.selectors import role_in
from kschedweb.accounts.sessions import is_session_key
from kschedweb.common.connections import give_back
from kschedweb.live.consumers import UNAUTHENTICATED, UNKNOWN_CLUSTER
from kschedweb.live.guard import OK, Watcher
from kschedweb.live.origin import headers_of, is_ours


@dataclass(frozen=True, slots=True)
class SessionCredential:
    key: str


@dataclass(frozen=True, slots=True)
class TokenCredential:
    hash: str


def credential(scope: Mapping[str, Any]) -> Hashable | None:
    """The token of the header, else the session of the cookie; None when the socket comes from a foreign page."""
    headers = headers_of(scope)
    secret = bearer(headers.get("authorization", ""))
    if "origin" in headers and not is_ours(scope, headers):
        return None
    if secret is not None:
        return TokenCredential(digest(secret))
    if "origin" not in headers:
        return None
    key = _session_key(headers)
    return SessionCredential(key) if key else None


def holder(scope: Mapping[str, Any]) -> Hashable | None:
    """The token or the session that an HTTP request brings, whether it is good or not; None when it brings none."""
    headers = headers_of(scope)
    secret = bearer(headers.get("authorization", ""))
    if secret is not None:
        return TokenCredential(digest(secret))
    key = _session_key(headers)
    return SessionCredential(key) if key else None


def may_upload(scope: Mapping[str, Any], cluster_id: int) -> bool:
    """Whether an HTTP request comes from an operator of the cluster, by its token or session; blocking."""
    headers = headers_of(scope)
    secret = bearer(headers.get("authorization", ""))
    try:
        if secret is not None:
            token = Token.objects.select_related("user").filter(token_hash=digest(secret)).first()
            user = None if token is None else _token_users({token.token_hash}).get(TokenCredential(token.token_hash))
        else:
            token, key = None, _session_key(headers)
            user = _session_users({key}).get(SessionCredential(key)) if key else None
        role = None if user is None else role_in(user, token, cluster_id)
        return role is not None and role.includes(Role.OPERATOR)
    finally:
        give_back()


def _session_key(headers: Mapping[str, str]) -> str | None:
    """What the cookie says, when that can be the key of a session."""
    key = parse_cookie(headers.get("cookie", "")).get(settings.SESSION_COOKIE_NAME, "")
    return key if is_session_key(key) else None


def verdicts(watchers: Sequence[Watcher]) -> list[int]:
    """For each watcher OK or the code to close with."""
    credentials = {who for who, _ in watchers}
    users = _session_users({who.key for who in credentials if isinstance(who, SessionCredential)})
    users |= _token_users({who.hash for who in credentials if isinstance(who, TokenCredential)})
    given = set(
        RoleBinding.objects.filter(user_id__in=_ids(users.values()), cluster_id__in={place for _, place in watchers})
        .values_list("user_id", "cluster_id")
        .iterator()
    )

    def verdict(who: Hashable, cluster_id: int) -> int:
        user = users.get(who)
        if user is None:
            return UNAUTHENTICATED
        return OK if user.is_superuser or (user.pk, cluster_id) in given else UNKNOWN_CLUSTER

    return [verdict(who, cluster_id) for who, cluster_id in watchers]


def _session_users(keys: Collection[str]) -> dict[Hashable, User]:
    """Whom the sessions that are still good belong to: also the password has to be the one they began with."""
    if not keys:
        return {}
    store = SessionStore()
    found: dict[str, dict[str, Any]] = {}
    for session in Session.objects.filter(session_key__in=keys, expire_date__gt=timezone.now()):
        data = store.decode(session.session_data)
        if data.get(BACKEND_SESSION_KEY) in settings.AUTHENTICATION_BACKENDS:
            found[session.session_key] = data
    users = User.objects.filter(is_active=True).in_bulk([int(data[SESSION_KEY]) for data in found.values()])
    good: dict[Hashable, User] = {}
    for key, data in found.items():
        user = users.get(int(data[SESSION_KEY]))
        if user is not None and constant_time_compare(data.get(HASH_SESSION_KEY, ""), user.get_session_auth_hash()):
            good[SessionCredential(key)] = user
    return good


def _token_users(hashes: Collection[str]) -> dict[Hashable, User]:
    if not hashes:
        return {}
    tokens = Token.objects.select_related("user").filter(
        token_hash__in=hashes, revoked_at=None, expires_at__gt=timezone.now(), user__is_active=True
    )
    return {TokenCredential(token.token_hash): token.user for token in tokens}


def _ids(users: Iterable[User]) -> set[int]:
    return {user.pk for user in users}
