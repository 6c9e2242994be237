"""How passwords are hashed: Argon2id, and PBKDF2 for hashes from before, which become Argon2id at their next login.

Hashing is slow on purpose, so it is done a few at a time, and while it waits and works no database connection is held:
many logins at once slow each other and nobody else.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.contrib.auth import hashers

from kschedweb.common.connections import give_back
from kschedweb.common.errors import TooManyError

AT_ONCE = 2
WAIT_SECONDS = 60.0

_places = threading.BoundedSemaphore(AT_ONCE)


@contextmanager
def _place() -> Iterator[None]:
    """One of the places; TooManyError when none is free in time."""
    give_back()
    if not _places.acquire(timeout=WAIT_SECONDS):
        raise TooManyError("too many passwords are being checked, try again later")
    try:
        yield
    finally:
        _places.release()


class Argon2(hashers.Argon2PasswordHasher):
    """Argon2id with 19 MiB, two passes, one lane: what OWASP asks for at least, in some 30 ms."""

    time_cost = 2
    memory_cost = 19 * 1024
    parallelism = 1

    def encode(self, password: str, salt: str) -> str:
        with _place():
            return super().encode(password, salt)

    def verify(self, password: str, encoded: str) -> bool:
        with _place():
            return super().verify(password, encoded)


class Pbkdf2(hashers.PBKDF2PasswordHasher):
    """Django's default; `verify` calls `encode`."""

    def encode(self, password: str, salt: str, iterations: int | None = None) -> Any:
        with _place():
            return super().encode(password, salt, iterations)
