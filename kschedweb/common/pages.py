"""The dashboard's first page, the probes (alive, ready, healthy), and addresses that lead nowhere."""

import json
from collections.abc import Callable

import redis
from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.db import Error as DatabaseError
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import ensure_csrf_cookie
from django.views.decorators.http import require_safe

from kschedweb.common.errors import NotFoundError

PROBE_SECONDS = 2
_migrated = False


@require_safe
@never_cache
@ensure_csrf_cookie
@login_required
def index(request: HttpRequest) -> HttpResponse:
    """The dashboard."""
    page = settings.BASE_DIR / "frontend" / "dist" / "index.html"
    try:
        content = page.read_bytes()
    except FileNotFoundError:
        return HttpResponse("The dashboard is not built: run npm ci and npm run build in frontend/.", status=503)
    return HttpResponse(content)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Programs get what every refusal of the API looks like, people a line."""
    if request.path.startswith("/api/"):
        return JsonResponse(NotFoundError("there is nothing at this address", path=request.path).as_dict(), status=404)
    return HttpResponse("There is nothing at this address.", status=404, content_type="text/plain; charset=utf-8")


@require_safe
@never_cache
def livez(request: HttpRequest) -> HttpResponse:
    """200 as long as the process answers at all."""
    return JsonResponse({"status": "ok"})


@require_safe
@never_cache
def readyz(request: HttpRequest) -> HttpResponse:
    """200 once the database, its schema and Valkey are there, else 503 with what is not."""
    checks = {name: _problem(check) for name, check in _CHECKS.items()}
    ok = not any(checks.values())
    body = {"status": "ok" if ok else "unready", "checks": {name: text or "ok" for name, text in checks.items()}}
    return HttpResponse(json.dumps(body), status=200 if ok else 503, content_type="application/json")


def _problem(check: Callable[[], str]) -> str:
    try:
        return check()
    except (DatabaseError, redis.RedisError, OSError) as error:
        return str(error).partition("\n")[0] or type(error).__name__


def _database() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    return ""


def _migrations() -> str:
    global _migrated
    if not _migrated:
        executor = MigrationExecutor(connection)
        plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
        if plan:
            return f"{len(plan)} migrations are not applied"
        _migrated = True  # a schema does not go back under a running process
    return ""


def _valkey() -> str:
    with redis.Redis.from_url(
        settings.REDIS_URL, socket_timeout=PROBE_SECONDS, socket_connect_timeout=PROBE_SECONDS
    ) as client:
        client.ping()
    return ""


_CHECKS = {"postgresql": _database, "migrations": _migrations, "valkey": _valkey}
