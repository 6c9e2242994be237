"""The security headers of every answer; Django's own middleware adds HSTS, nosniff, opener and referrer policies.

The content security policy allows files of this service and nothing inline. Pages of the admin are the exception: the
library that draws them has its scripts evaluate expressions of its pages, and styles inline (tried in a browser: with
the policy of the other pages every expression of its pages fails). They are for superusers, and what users wrote is
escaped in them.
"""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

_COMMON = "img-src 'self' data:; object-src 'none'; base-uri 'none'; frame-ancestors 'none'; form-action 'self'"
PAGES = f"default-src 'self'; {_COMMON}"
ADMIN = f"default-src 'self'; script-src 'self' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; {_COMMON}"
ADMIN_PATH = "/admin/"
HEADERS = {
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}

Handler = Callable[[HttpRequest], HttpResponse]


def security_headers(get_response: Handler) -> Handler:
    """Middleware; a view may have set a stricter policy."""

    def respond(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        response.headers.setdefault("Content-Security-Policy", ADMIN if request.path.startswith(ADMIN_PATH) else PAGES)
        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)
        if request.path.startswith("/api/"):
            # What one may see depends on who asks, and on what one may do by then.
            response.headers.setdefault("Cache-Control", "no-store")
        return response

    return respond
