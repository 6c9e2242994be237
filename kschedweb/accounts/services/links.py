"""A link for the terminal that logs its user in, and works once."""

import secrets
from datetime import timedelta

from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.utils import timezone

from kschedweb.accounts.models import LoginLink
from kschedweb.accounts.secrets import digest
from kschedweb.common.errors import NotFoundError

LINK_LIFE = timedelta(minutes=10)


def login_link_create(*, username: str) -> str:
    """The path of a new login link; only its hash is stored. Links that can no longer be used go."""
    user = get_user_model()._default_manager.filter(username=username, is_active=True).first()
    if user is None:
        raise NotFoundError("there is no such user, or the account is closed", username=username)
    token = secrets.token_urlsafe(32)
    now = timezone.now()
    LoginLink.objects.filter(expires_at__lt=now).delete()
    LoginLink.objects.create(user_id=user.pk, token_hash=digest(token), expires_at=now + LINK_LIFE)
    return f"/login/once/{token}"


def login_link_use(*, token: str) -> AbstractBaseUser | None:
    """The user the link stands for, once; None for a link that is used, too old or unknown."""
    now = timezone.now()
    with transaction.atomic():
        links = LoginLink.objects.filter(token_hash=digest(token), used_at=None, expires_at__gt=now)
        if not links.update(used_at=now):
            return None
        user: AbstractBaseUser = LoginLink.objects.select_related("user").get(token_hash=digest(token)).user
    return user if user.is_active else None
