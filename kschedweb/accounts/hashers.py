"""How passwords are hashed: Argon2id, and PBKDF2 for hashes from before, which become Argon2id at their next login.

Hashing is slow on purpose, so it is done a few at a time, and while it waits and works no database connection is held:
many logins at once slow each other and nobody else. It is done by threads kept for it, because what a hash needs (19
MiB) the allocator keeps for the thread that had it: a web process whose every thread has hashed is 300 MB larger.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as Overdue
from typing import Any, TypeVar

from django.contrib.auth import hashers

from kschedweb.common.connections import give_back
from kschedweb.common.errors import TooManyError

T = TypeVar("T")
AT_ONCE = 2
WAIT_SECONDS = 60.0

_threads = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="hashing")


def _in_turn(work: Callable[[], T]) -> T:
    """What the work comes to, in one of the threads; TooManyError when that takes too long."""
    give_back()
    waiting = _threads.submit(work)
    try:
        return waiting.result(WAIT_SECONDS)
    except Overdue:
        waiting.cancel()
        raise TooManyError("too many passwords are being checked, try again later") from None


class Argon2(hashers.Argon2PasswordHasher):
    """Argon2id with 19 MiB, two passes, one lane: what OWASP asks for at least, in some 30 ms."""

    time_cost = 2
    memory_cost = 19 * 1024
    parallelism = 1

    def encode(self, password: str, salt: str) -> str:
        return _in_turn(lambda: super(Argon2, self).encode(password, salt))

    def verify(self, password: str, encoded: str) -> bool:
        return _in_turn(lambda: super(Argon2, self).verify(password, encoded))


class Pbkdf2(hashers.PBKDF2PasswordHasher):
    """Django's default; `verify` calls `encode`."""

    def encode(self, password: str, salt: str, iterations: int | None = None) -> Any:
        return _in_turn(lambda: super(Pbkdf2, self).encode(password, salt, iterations))
