"""The dashboard's first page, and addresses that lead nowhere."""

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import ensure_csrf_cookie
from django.views.decorators.http import require_safe

from kschedweb.common.errors import NotFoundError


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
