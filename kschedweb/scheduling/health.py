"""/healthz, /livez, /readyz: whether the service works, check by check, as kube-scheduler answers.

A group passes with 200 `ok`; when a check fails the answer is 503 and lists all of them. `?verbose` lists them always,
`?exclude=NAME` leaves one out, `/healthz/NAME` asks one alone. /livez asks only whether this process answers: a restart
brings no database back, and a pool that is used up is no reason for one. Every check has its time; one that hangs has
failed. What is away is no error of this process: a line of information in its log. (kube-scheduler answers 500.)
Source: kubernetes v1.34.1, k8s.io/apiserver/pkg/server/healthz, cmd/kube-scheduler/app/server.go.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as Overdue
from dataclasses import dataclass

import redis
from django.conf import settings
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, HttpResponse
from django.utils.log import log_response
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from kschedweb.common.metrics import RECORDER
from kschedweb.scheduling import leadership

CHECK_SECONDS = 2.0
# Beyond its duration a lease may go unrenewed for so long before that is a failure.
LEASE_GRACE_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class Asked:
    """A check under way, or its answer; `at` is on the monotonic clock."""

    answer: Future[str]
    at: float


_latch = threading.Event()  # handlers were synchronized once since this process began
_migrated = threading.Event()
_lock = threading.Lock()
_asked: dict[str, Asked] = {}
_threads = ThreadPoolExecutor(max_workers=8, thread_name_prefix="health")


def ping() -> str:
    return ""


def postgresql() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    return ""


def migrations() -> str:
    if not _migrated.is_set():
        executor = MigrationExecutor(connection)
        plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
        if plan:
            return f"{len(plan)} migrations are not applied"
        _migrated.set()  # a schema does not go back under a running process
    return ""


def valkey() -> str:
    with redis.Redis.from_url(
        settings.REDIS_URL, socket_timeout=CHECK_SECONDS, socket_connect_timeout=CHECK_SECONDS
    ) as client:
        client.ping()
    return ""


def leader_election() -> str:
    """Every cluster there is something to schedule in is led; being without a leader for a while is no failure."""
    for one in leadership.leaderships():
        duration = max(one.duration, settings.ENVIRONMENT.lease_duration_seconds)
        if one.is_wanted and one.age > duration + LEASE_GRACE_SECONDS:
            return f"failed election to renew leadership on lease {leadership.LEASE_NAME} of cluster {one.cluster}"
    return ""


def handlers_synchronized() -> str:
    """Until the engines of all clusters have been built once since this process began."""
    if not _latch.is_set():
        if not all(one.is_synced for one in leadership.leaderships()):
            return "handlers are not fully synchronized"
        _latch.set()
    return ""


CHECKS: dict[str, Callable[[], str]] = {
    "ping": ping,
    "postgresql": postgresql,
    "migrations": migrations,
    "valkey": valkey,
    "leaderElection": leader_election,
    "sched-handler-sync": handlers_synchronized,
}
GROUPS: dict[str, tuple[str, ...]] = {
    "healthz": ("ping", "postgresql", "valkey", "leaderElection"),
    "livez": ("ping",),
    "readyz": ("ping", "postgresql", "migrations", "valkey", "leaderElection", "sched-handler-sync"),
}
# Nobody learns from it where a database is, or of which clusters there are.
TOLD = ("migrations",)


def problems(names: tuple[str, ...]) -> dict[str, str]:
    """What each check has found wrong, empty when nothing; together they take no longer than the slowest may.

    Whoever asks while a check is under way gets its answer too: however many ask, a check has one thread.
    """
    asked = {name: _ask(name) for name in names}
    return {name: _answer(one) for name, one in asked.items()}


def _ask(name: str) -> Asked:
    with _lock:
        one = _asked.get(name)
        if one is None or one.answer.done():
            one = _asked[name] = Asked(_threads.submit(_run, CHECKS[name]), time.monotonic())
        return one


def _answer(one: Asked) -> str:
    try:
        return one.answer.result(max(0.0, one.at + CHECK_SECONDS - time.monotonic()))
    except Overdue:
        return "does not answer"


def _run(check: Callable[[], str]) -> str:
    try:
        return check()
    except Exception as error:  # whatever it is: it does not work
        return str(error).partition("\n")[0] or type(error).__name__
    finally:
        connection.close()


@require_safe
@never_cache
def group(request: HttpRequest, group: str) -> HttpResponse:
    """All checks of a group."""
    excluded = set(request.GET.getlist("exclude"))
    names = GROUPS[group]
    found = problems(tuple(name for name in names if name not in excluded))
    _count(group, found)
    lines = []
    for name in names:
        if name in excluded:
            lines.append(f"[+]{name} excluded: ok")
        elif found[name]:
            lines.append(f"[-]{name} failed: {found[name] if name in TOLD else 'reason withheld'}")
        else:
            lines.append(f"[+]{name} ok")
    unknown = sorted(excluded - set(names))
    if unknown:
        given = ",".join(f'"{name}"' for name in unknown)
        lines.append(f"warn: some health checks cannot be excluded: no matches for {given}")
    if any(found.values()):
        return unavailable(request, "\n".join([*lines, f"{group} check failed"]) + "\n", found)
    if "verbose" not in request.GET:
        return _text("ok", 200)
    return _text("\n".join([*lines, f"{group} check passed"]) + "\n", 200)


@require_safe
@never_cache
def single(request: HttpRequest, group: str, name: str) -> HttpResponse:
    """One check of a group."""
    if name not in GROUPS[group]:
        return _text("404 page not found\n", 404)
    found = problems((name,))
    _count(group, found)
    if found[name]:
        return unavailable(request, f"{found[name]}\n", found)
    return _text("ok", 200)


def unavailable(request: HttpRequest, body: str, found: dict[str, str]) -> HttpResponse:
    """An answer 503, for which the log has a line of information with what was found wrong."""
    answer = _text(body, 503)
    reasons = "; ".join(f"{name}: {problem}" for name, problem in found.items() if problem)
    # Django takes every answer 5xx that has no line yet for an error.
    log_response("%s: %s", request.path, reasons, response=answer, request=request, level="info")
    return answer


def _count(group: str, found: dict[str, str]) -> None:
    for name, problem in found.items():
        RECORDER.count("kubernetes_healthchecks_total", (name, group, "error" if problem else "success"))


def _text(body: str, status: int) -> HttpResponse:
    return HttpResponse(
        body,
        status=status,
        content_type="text/plain; charset=utf-8",
        headers={"X-Content-Type-Options": "nosniff"},
    )
