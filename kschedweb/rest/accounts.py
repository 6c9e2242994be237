"""Who is logged in, and what they may do."""

from typing import Any, cast

import structlog
from django.conf import settings
from django.contrib.auth.models import User
from django.middleware.csrf import get_token
from rest_framework.permissions import AllowAny
from rest_framework.request import Request

from kschedweb import views
from kschedweb.accounts import selectors
from kschedweb.accounts.permissions import token_of
from kschedweb.rest.answers import RestView

log = structlog.get_logger(__name__)


class MeView(RestView):
    def get(self, request: Request) -> views.Me:
        """Read who you are and what you may do."""
        user, token = cast(User, request.user), token_of(request)
        roles = {str(cluster_id): role.value for cluster_id, role in selectors.roles_of(user, token).items()}
        return views.Me(
            username=user.get_username(),
            is_superuser=user.is_superuser,
            may_create_clusters=selectors.may_create_clusters(user, token),
            token=None if token is None else token.name,
            roles=cast(dict[str, views.Role], roles),
            certificate=_certificate(),
        )


class CsrfView(RestView):
    authentication_classes: list[Any] = []
    permission_classes = [AllowAny]

    def get(self, request: Request) -> views.Csrf:
        """Get the token for the header `X-CSRFToken`; the answer sets its cookie too."""
        return views.Csrf(get_token(request._request))


def _certificate() -> str:
    """What this process answers https with, empty when the file is gone; read anew, because it may be renewed."""
    path = settings.ENVIRONMENT.tls_cert
    try:
        return "" if path is None else path.read_text()
    except OSError as problem:
        log.warning("the certificate cannot be read", path=str(path), reason=problem.strerror)
        return ""
