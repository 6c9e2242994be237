"""Tokens in the header `Authorization: Bearer …`; nowhere else, so that no address and no log of addresses has one."""

from django.contrib.auth.models import User
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from kschedweb.accounts import services
from kschedweb.accounts.models import Token

SCHEME = "Bearer"


class TokenAuthentication(BaseAuthentication):
    """`request.user` is the token's user, `request.auth` the token. Comes first, so its challenge is the answer 401."""

    def authenticate(self, request: Request) -> tuple[User, Token] | None:
        secret = bearer(request.META.get("HTTP_AUTHORIZATION", ""))
        if secret is None:
            return None
        token = services.token_use(secret=secret)
        if token is None:
            raise AuthenticationFailed("the token is unknown, revoked or has expired")
        return token.user, token

    def authenticate_header(self, request: Request) -> str:
        return SCHEME


def bearer(header: str) -> str | None:
    """The secret in an Authorization header of ours; None when it is none."""
    scheme, _, secret = header.strip().partition(" ")
    return secret.strip() if scheme.lower() == SCHEME.lower() else None
