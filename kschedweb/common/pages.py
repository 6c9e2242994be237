"""The dashboard's first page, the page of docs/ it leads to, and addresses that lead nowhere."""

from typing import Any

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import ensure_csrf_cookie
from django.views.decorators.http import require_safe

from kschedweb.common.prose import as_html


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


@require_safe
@login_required
def known_limits(request: HttpRequest) -> HttpResponse:
    """What people do not expect of Kubernetes' scheduling: docs/known-limits.md."""
    text = (settings.BASE_DIR / "docs" / "known-limits.md").read_text()
    return render(request, "common/prose.html", {"title": "Known limits", "body": as_html(text)})


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _refusal(request, 400, "bad_request", "the request cannot be understood")


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _refusal(request, 403, "permission_denied", "you may not do this")


def csrf_failed(request: HttpRequest, reason: str = "") -> HttpResponse:
    return _refusal(request, 403, "csrf_failed", "the CSRF token is missing or wrong: load the page again")


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _refusal(request, 404, "not_found", "there is nothing at this address", path=request.path)


def failed(request: HttpRequest) -> HttpResponse:
    return _refusal(request, 500, "internal", "the service failed to answer; its log says why")


def _refusal(request: HttpRequest, status: int, code: str, message: str, **extra: Any) -> HttpResponse:
    """Programs get what every refusal of the API looks like, people a line."""
    if request.path.startswith("/api/"):
        return JsonResponse({"code": code, "message": message, "extra": extra}, status=status)
    return HttpResponse(f"{message.capitalize()}.", status=status, content_type="text/plain; charset=utf-8")
