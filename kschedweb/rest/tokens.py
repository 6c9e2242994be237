"""Your own tokens. Only people make and list them: a token that leaks makes no other."""

from functools import partial
from typing import Any, cast

import msgspec
from django.contrib.auth.models import User
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request

from kschedweb import views
from kschedweb.accounts import selectors, services
from kschedweb.accounts.choices import Role
from kschedweb.accounts.permissions import actor, is_person
from kschedweb.common.pagination import KeysetPagination
from kschedweb.rest.answers import Created, RestView
from kschedweb.rest.inputs import given
from kschedweb.views import view_of


class TokenPagination(KeysetPagination):
    ordering = ("-created_at", "-id")


class TokenListView(RestView):
    access = {"GET": is_person, "POST": is_person}

    class Input(serializers.Serializer[Any]):
        name = serializers.CharField(max_length=60)
        max_role = serializers.ChoiceField(Role.choices, default=Role.VIEWER)
        days = serializers.IntegerField(default=90, min_value=1, max_value=services.TOKEN_DAYS_MOST)

        class Meta:
            ref_name = "TokenCreate"

    @extend_schema(parameters=TokenPagination.parameters())
    def get(self, request: Request) -> views.TokenPage:
        """List your tokens, newest first; those that are over too."""
        tokens = selectors.tokens_of(cast(User, request.user))
        return TokenPagination().page_of(views.TokenPage, tokens, request, partial(view_of, views.Token))

    @extend_schema(request=Input)
    def post(self, request: Request) -> Created[views.TokenCreated]:
        """Create a token. Its secret is in this answer only."""
        values = given(self.Input, request.data)
        token, secret = services.token_create(user=cast(User, request.user), **values, actor=actor(request))
        view = views.TokenCreated(**msgspec.structs.asdict(view_of(views.Token, token)), secret=secret)
        return Created(view, {"Cache-Control": "no-store"})


class TokenDetailView(RestView):
    access = {"DELETE": is_person}

    def delete(self, request: Request, token_id: int) -> None:
        """Revoke a token, for good and at once; its row stays."""
        services.token_revoke(user=cast(User, request.user), token_id=token_id, actor=actor(request))
