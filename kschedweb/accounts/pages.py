"""The pages before the dashboard: login, the one-time link, logout."""

from http import HTTPStatus
from typing import Any, cast

from django.conf import settings
from django.contrib.auth import login, logout
from django.contrib.auth.models import User
from django.contrib.auth.views import LoginView
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from kschedweb.accounts import services
from kschedweb.accounts.secrets import digest
from kschedweb.common import throttling


class LoginPage(LoginView):
    """Tries are limited, for each address and name."""

    template_name = "accounts/login.html"
    redirect_authenticated_user = True

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        whom = digest(f"{request.META.get('REMOTE_ADDR', '')} {request.POST.get('username', '')}")
        tries, _ = throttling.count("login", whom, seconds=settings.LOGIN_WINDOW_SECONDS)
        if tries > settings.LOGIN_TRIES_PER_WINDOW:
            context = self.get_context_data(form=self.form_class(request), too_often=True)
            return render(request, self.template_name, context, status=HTTPStatus.TOO_MANY_REQUESTS)
        return super().post(request, *args, **kwargs)


login_page = LoginPage.as_view()


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
