"""What is written down of logins that failed."""

from ipaddress import ip_address

import structlog
from django.contrib.auth.models import User
from django.db import connection
from django.utils import timezone

from kschedweb.accounts.models import FailedLogin

ROWS_KEPT = 1000

log = structlog.get_logger(__name__)

# One statement: tries at the same time are counted one by one.
_ADD = f"""
INSERT INTO {FailedLogin._meta.db_table} AS f (username, address, tries, first_at, last_at)
VALUES (%(username)s, %(address)s, 1, %(now)s, %(now)s)
ON CONFLICT (username, address) DO UPDATE SET tries = f.tries + 1, last_at = excluded.last_at
RETURNING tries
"""
_CLEAR = f"""
DELETE FROM {FailedLogin._meta.db_table}
 WHERE last_at < (SELECT last_at FROM {FailedLogin._meta.db_table} ORDER BY last_at DESC OFFSET %(kept)s LIMIT 1)
"""


def login_failed(*, username: str, address: str) -> None:
    """Write a failed login down, in the log and as a row; `address` may be empty or no address."""
    known = "\0" not in username and User.objects.filter(username=username).exists()
    name = username if known else ""
    try:
        place = str(ip_address(address))
    except ValueError:
        place = None
    log.warning("login failed", username=name, address=place)
    with connection.cursor() as cursor:
        cursor.execute(_ADD, {"username": name, "address": place, "now": timezone.now()})
        (tries,) = cursor.fetchone()
        if tries == 1:
            cursor.execute(_CLEAR, {"kept": ROWS_KEPT - 1})
