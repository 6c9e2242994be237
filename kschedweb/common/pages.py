"""The dashboard's first page, and addresses that lead nowhere."""

from typing import Any

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import ensure_csrf_cookie
from django.views.decorators.http import require_safe


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
