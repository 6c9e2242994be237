"""Your own tokens, and for superusers those of others.

Only people make and list them: a token that leaks makes no other, so none makes one with more rights either.
"""

from functools import partial
from typing import cast

import msgspec
from django.contrib.auth.models import User
from msgspec import UNSET
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request

from kschedweb import views
from kschedweb.accounts import selectors, services
from kschedweb.accounts.permissions import actor, is_person, is_superuser
from kschedweb.common.pagination import KeysetPagination
from kschedweb.rest.answers import Created, RestView
from kschedweb.views import given, view_of


class TokenPagination(KeysetPagination):
    ordering = ("-created_at", "-id")


class TokenListView(RestView):
    access = {"GET": is_person, "POST": is_person}

    def get(self, request: Request, query: views.TokenQuery, page: views.PageQuery) -> views.TokenPage:
        """List your tokens, newest first; those that are over too."""
        user = cast(User, request.user)
        if query.username is not UNSET and query.username != user.get_username():
            if not is_superuser(request):
                raise PermissionDenied("only superusers list the tokens of others")
            user = selectors.user_named(query.username)
        tokens = selectors.tokens_of(user)
        return TokenPagination(page).page_of(views.TokenPage, tokens, request, partial(view_of, views.Token))

    def post(self, request: Request, body: views.TokenCreate) -> Created[views.TokenCreated]:
        """Create a token. Its secret is in this answer only."""
        token, secret = services.token_create(user=cast(User, request.user), **given(body), actor=actor(request))
        view = views.TokenCreated(**msgspec.structs.asdict(view_of(views.Token, token)), secret=secret)
        return Created(view, {"Cache-Control": "no-store"})


class TokenDetailView(RestView):
    access = {"DELETE": is_person}

    def delete(self, request: Request, token_id: int) -> None:
        """Revoke a token, for good and at once; its row stays."""
        owner = None if is_superuser(request) else cast(User, request.user)
        services.token_revoke(user=owner, token_id=token_id, actor=actor(request))
