"""How often somebody may do something, counted in Valkey for all processes together.

Windows are fixed: a counter for each minute (or whatever the rate's period is), which is one atomic addition however
many ask at once. While Valkey is away nothing is counted and nobody is refused: it wakes work, and must stop none.
"""

import time
from typing import Any, cast

import redis
import structlog
from django.conf import settings
from django.core.cache import cache
from rest_framework.request import Request
from rest_framework.throttling import SimpleRateThrottle

log = structlog.get_logger(__name__)


def count(scope: str, whom: str, *, seconds: int) -> tuple[int, float]:
    """Count one more; how many it were in this window, and the seconds until the next one."""
    now = time.time()
    window, into = divmod(now, seconds)
    key = f"rate:{scope}:{whom}:{int(window)}"
    try:
        cache.add(key, 0, timeout=2 * seconds)
        return cache.incr(key), seconds - into
    except (redis.RedisError, OSError, ValueError) as error:
        log.warning("not counted, the rate is not limited for now", scope=scope, error=str(error))
        return 0, seconds - into


class UploadThrottle(SimpleRateThrottle):
    """Limits what the view's `throttle_scope` names, for each user; all tokens of a user count together."""

    def __init__(self) -> None:
        self._wait = 0.0

    def allow_request(self, request: Request, view: Any) -> bool:
        if request.method in ("GET", "HEAD", "OPTIONS"):
            return True
        rates = cast("dict[str, str]", settings.REST_FRAMEWORK["DEFAULT_THROTTLE_RATES"])
        allowed, seconds = self.parse_rate(rates[view.throttle_scope])
        if not allowed or not seconds:
            return True
        done, self._wait = count(view.throttle_scope, str(request.user.pk), seconds=seconds)
        return done <= allowed

    def wait(self) -> float:
        return self._wait
