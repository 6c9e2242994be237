"""Tokens of programs: made and shown once, looked up by their hash, revoked and never deleted."""

import secrets
from datetime import timedelta

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import F, Q
from django.utils import timezone

from kschedweb.accounts.choices import AccessAction, Role
from kschedweb.accounts.models import TOKEN_NAME, AccessRecord, Token
from kschedweb.accounts.secrets import digest
from kschedweb.common.errors import ConflictError, InvalidError, NotFoundError
from kschedweb.views.accounts import TOKEN_DAYS_MOST

# Lets scanners of repositories and logs know one when they see it.
PREFIX = "ksched_"
# `last_used_at` is written no more often: a program may ask many times in a second.
USE_NOTED_EVERY = timedelta(minutes=1)
CHARACTERS_KEPT = 4


def token_create(*, user: User, name: str, max_role: str, days: int, actor: str) -> tuple[Token, str]:
    """A token of that user with its secret, which is not kept; ConflictError while one has that name."""
    try:
        TOKEN_NAME(name)
    except ValidationError as error:
        raise InvalidError(f"name: {error.messages[0]}", field="name") from error
    if not 0 < days <= TOKEN_DAYS_MOST:
        raise InvalidError(f"days: must be from 1 to {TOKEN_DAYS_MOST}", field="days")
    secret = PREFIX + secrets.token_urlsafe(32)
    now = timezone.now()
    try:
        with transaction.atomic():
            # One that has expired has no use for its name.
            Token.objects.filter(user=user, name=name, revoked_at=None, expires_at__lte=now).update(
                revoked_at=F("expires_at")
            )
            token = Token.objects.create(
                user=user,
                name=name,
                token_hash=digest(secret),
                last_characters=secret[-CHARACTERS_KEPT:],
                max_role=Role(max_role),
                expires_at=now + timedelta(days=days),
            )
            _record(token, AccessAction.TOKEN_CREATED, actor)
    except IntegrityError as error:
        raise ConflictError(f"there is a token named {name!r} already", name=name) from error
    return token, secret


def token_revoke(*, user: User | None, token_id: int, actor: str) -> Token:
    """End a token, of that user unless it is None; sockets opened with it close within seconds."""
    tokens = Token.objects.select_related("user").filter(pk=token_id)
    with transaction.atomic():
        token = (tokens if user is None else tokens.filter(user=user)).select_for_update(of=("self",)).first()
        if token is None:
            raise NotFoundError("there is no such token", token=token_id)
        if token.revoked_at is None:
            token.revoked_at = timezone.now()
            token.save(update_fields=["revoked_at"])
            _record(token, AccessAction.TOKEN_REVOKED, actor)
    return token


def token_use(*, secret: str) -> Token | None:
    """The token a secret stands for, with its user; None when it is unknown or over, or the account is closed."""
    now = timezone.now()
    token = Token.objects.select_related("user").filter(token_hash=digest(secret), revoked_at=None).first()
    if token is None or token.expires_at <= now or not token.user.is_active:
        return None
    if token.last_used_at is None or now - token.last_used_at >= USE_NOTED_EVERY:
        unnoted = Q(last_used_at=None) | Q(last_used_at__lte=now - USE_NOTED_EVERY)
        Token.objects.filter(unnoted, pk=token.pk).update(last_used_at=now)
    return token


def _record(token: Token, action: AccessAction, actor: str) -> None:
    AccessRecord.objects.create(
        actor=actor,
        action=action,
        username=token.user.get_username(),
        detail=f"{token.name}, at most {token.max_role}, until {token.expires_at:%Y-%m-%d}",
    )
