"""Whether an administrator still has a password everybody knows; production does not start with one.

Hashing is slow on purpose, so what was found good is remembered in the cache by the hash it was found for.
"""

import contextlib

import redis
from django.contrib.auth.hashers import check_password
from django.contrib.auth.models import User
from django.core.cache import cache

from kschedweb.accounts.secrets import digest

WELL_KNOWN = ("admin", "password", "changeme", "ksched")
REMEMBERED_SECONDS = 90 * 24 * 3600


def default_passwords() -> list[str]:
    """The names of superusers whose password is their own name, or one of those that examples use."""
    return [
        user.get_username()
        for user in User.objects.filter(is_superuser=True, is_active=True).order_by("pk")
        if user.has_usable_password() and not _is_good(user)
    ]


def _is_good(user: User) -> bool:
    key = f"password-is-good:{digest(user.password)}"
    with contextlib.suppress(redis.RedisError, OSError):
        if cache.get(key):
            return True
    # The hasher alone: `check_password` of the user would store an upgraded hash.
    if any(check_password(word, user.password) for word in (user.get_username(), *WELL_KNOWN)):
        return False
    with contextlib.suppress(redis.RedisError, OSError):
        cache.set(key, True, REMEMBERED_SECONDS)
    return True
