"""Sessions in the database; a cookie that cannot be the key of one is no session, whatever it holds."""

from typing import Any

from django.contrib.sessions.backends import db

LENGTHS = range(8, 41)  # the column's


def is_session_key(text: str) -> bool:
    """Whether Django may have made it: letters and digits only, so no NUL, which PostgreSQL refuses to look for."""
    return len(text) in LENGTHS and text.isascii() and text.isalnum()


class SessionStore(db.SessionStore):
    def _validate_session_key(self, key: Any) -> bool:
        return isinstance(key, str) and is_session_key(key)
