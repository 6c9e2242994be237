"""The pages before the dashboard: login, the one-time link, logout."""

from typing import cast

from django.contrib.auth import login, logout
from django.contrib.auth.models import User
from django.contrib.auth.views import LoginView
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from kschedweb.accounts import services

login_page = LoginView.as_view(template_name="accounts/login.html", redirect_authenticated_user=True)


@require_GET
@never_cache
def login_once(request: HttpRequest, token: str) -> HttpResponse:
    """Log the visitor in and burn the link."""
    user = services.login_link_use(token=token)
    if user is None:
        return render(request, "accounts/link_over.html", status=410)
    login(request, cast(User, user), backend="django.contrib.auth.backends.ModelBackend")
    response = HttpResponseRedirect("/")
    # The token is worth nothing any more, and still need not travel on.
    response["Referrer-Policy"] = "no-referrer"
    return response


@require_POST
@never_cache
def logout_now(request: HttpRequest) -> HttpResponse:
    logout(request)
    return HttpResponseRedirect("/login")
