"""The pages before the dashboard: login, the one-time link, logout."""

from http import HTTPStatus
from typing import Any, cast

from django.conf import settings
from django.contrib.auth import login, logout
from django.contrib.auth.forms import UsernameField
from django.contrib.auth.models import User
from django.contrib.auth.views import LoginView
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from kschedweb.accounts import services
from kschedweb.accounts.secrets import digest
from kschedweb.common import throttling
from kschedweb.common.clients import client_address
from kschedweb.common.errors import TooManyError


class LoginPage(LoginView):
    """Tries are limited, for each address and for each address and name; failed ones are written down."""

    template_name = "accounts/login.html"
    redirect_authenticated_user = True

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        address = client_address(request.META)
        if _tried(address) > settings.LOGIN_TRIES_PER_ADDRESS:
            return self._too_often()
        if _tried(address, _username(request)) > settings.LOGIN_TRIES_PER_WINDOW:
            return self._too_often()
        try:
            return super().post(request, *args, **kwargs)
        except TooManyError:
            return self._too_often()

    def form_invalid(self, form: Any) -> HttpResponse:
        services.login_failed(username=_username(self.request), address=client_address(self.request.META))
        return super().form_invalid(form)

    def _too_often(self) -> HttpResponse:
        context = self.get_context_data(form=self.form_class(self.request), too_often=True)
        return render(self.request, self.template_name, context, status=HTTPStatus.TOO_MANY_REQUESTS)


def _tried(*whom: str) -> int:
    """How often in this window, with this time."""
    tries, _ = throttling.count("login", digest(" ".join(whom)), seconds=settings.LOGIN_WINDOW_SECONDS)
    return tries


def _username(request: HttpRequest) -> str:
    """The name that the form looks up: without blanks around it, and with one form for all letters that look alike."""
    return str(UsernameField().to_python(request.POST.get("username", "")))


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
