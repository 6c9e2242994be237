"""Who is logged in and what they may do, tokens for their programs, roles in a cluster."""

from typing import Any, cast

from django.contrib.auth.models import User
from django.middleware.csrf import get_token
from drf_spectacular.utils import extend_schema, extend_schema_field, inline_serializer
from rest_framework import serializers, status
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from kschedweb.accounts import selectors, services
from kschedweb.accounts.choices import Role
from kschedweb.accounts.models import Token
from kschedweb.accounts.permissions import actor, is_person, token_of
from kschedweb.common.pagination import KeysetPagination


class MeView(APIView):
    class OutputSerializer(serializers.Serializer[Any]):
        username = serializers.CharField()
        is_superuser = serializers.BooleanField(help_text="the role admin in every cluster, and the admin pages")
        may_create_clusters = serializers.BooleanField()
        token = serializers.CharField(allow_null=True, help_text="the name of the token that asks, null for a person")
        roles = serializers.DictField(
            child=serializers.ChoiceField(Role.choices), help_text="by the cluster's id; a superuser's are not listed"
        )

        class Meta:
            ref_name = "Me"

    @extend_schema(responses=OutputSerializer)
    def get(self, request: Request) -> Response:
        user, token = _user(request), token_of(request)
        found = {
            "username": user.get_username(),
            "is_superuser": user.is_superuser,
            "may_create_clusters": selectors.may_create_clusters(user, token),
            "token": None if token is None else token.name,
            "roles": {str(cluster_id): role for cluster_id, role in selectors.roles_of(user, token).items()},
        }
        return Response(self.OutputSerializer(found).data)


class CsrfView(APIView):
    authentication_classes: list[Any] = []
    permission_classes = [AllowAny]

    class OutputSerializer(serializers.Serializer[object]):
        token = serializers.CharField()

        class Meta:
            ref_name = "Csrf"

    @extend_schema(responses=OutputSerializer)
    def get(self, request: Request) -> Response:
        """The token for `X-CSRFToken`; the answer sets its cookie too."""
        return Response(self.OutputSerializer({"token": get_token(request._request)}).data)


class TokenOutput(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    name = serializers.CharField()
    max_role = serializers.ChoiceField(Role.choices)
    created_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField()
    revoked_at = serializers.DateTimeField(allow_null=True)
    last_used_at = serializers.DateTimeField(allow_null=True)
    is_over = serializers.SerializerMethodField()

    class Meta:
        ref_name = "Token"

    @extend_schema_field(bool)
    def get_is_over(self, token: Token) -> bool:
        return selectors.token_is_over(token)


class TokenPagination(KeysetPagination):
    ordering = ("-created_at", "-id")


class TokenListView(APIView):
    """One's own tokens. Made and listed by people only: a token that leaks makes no other."""

    access = {"GET": is_person, "POST": is_person}

    class InputSerializer(serializers.Serializer[Any]):
        name = serializers.CharField(max_length=60)
        max_role = serializers.ChoiceField(Role.choices, default=Role.VIEWER)
        days = serializers.IntegerField(default=90, min_value=1, max_value=services.TOKEN_DAYS_MOST)

        class Meta:
            ref_name = "TokenCreate"

    class CreatedSerializer(TokenOutput):
        secret = serializers.CharField(help_text="for `Authorization: Bearer`; shown only in this answer")

        class Meta:
            ref_name = "TokenCreated"

    @extend_schema(
        operation_id="tokens_list",
        parameters=TokenPagination.parameters(),
        responses=inline_serializer(
            "TokenPage",
            {
                "results": TokenOutput(many=True),
                "next": serializers.CharField(allow_null=True),
                "previous": serializers.CharField(allow_null=True),
            },
        ),
    )
    def get(self, request: Request) -> Response:
        pages = TokenPagination()
        page = pages.paginate_queryset(selectors.tokens_of(_user(request)), request, view=self)
        return pages.get_paginated_response(TokenOutput(page or (), many=True).data)

    @extend_schema(request=InputSerializer, responses={201: CreatedSerializer})
    def post(self, request: Request) -> Response:
        given = self.InputSerializer(data=request.data)
        given.is_valid(raise_exception=True)
        token, secret = services.token_create(user=_user(request), **given.validated_data, actor=actor(request))
        answer = {**TokenOutput(token).data, "secret": secret}
        return Response(answer, status=status.HTTP_201_CREATED, headers={"Cache-Control": "no-store"})


class TokenDetailView(APIView):
    access = {"DELETE": is_person}

    @extend_schema(responses={204: None})
    def delete(self, request: Request, token_id: int) -> Response:
        """Revoke it, for good and at once; its row stays."""
        services.token_revoke(user=_user(request), token_id=token_id, actor=actor(request))
        return Response(status=status.HTTP_204_NO_CONTENT)


class RoleOutput(serializers.Serializer[Any]):
    username = serializers.CharField(source="user.username")
    role = serializers.ChoiceField(Role.choices)
    granted_by = serializers.CharField()
    granted_at = serializers.DateTimeField()

    class Meta:
        ref_name = "RoleBinding"


class RolePagination(KeysetPagination):
    ordering = "user_id"


class RoleListView(APIView):
    """Who may do what in a cluster, for its admins."""

    access = {"GET": Role.ADMIN}

    @extend_schema(
        operation_id="clusters_roles_list",
        parameters=RolePagination.parameters(),
        responses=inline_serializer(
            "RolePage",
            {
                "results": RoleOutput(many=True),
                "next": serializers.CharField(allow_null=True),
                "previous": serializers.CharField(allow_null=True),
            },
        ),
    )
    def get(self, request: Request, cluster_id: int) -> Response:
        selectors.cluster_of_roles(cluster_id)
        pages = RolePagination()
        page = pages.paginate_queryset(selectors.role_bindings(cluster_id), request, view=self)
        return pages.get_paginated_response(RoleOutput(page or (), many=True).data)


class RoleView(APIView):
    access = {"PUT": Role.ADMIN, "DELETE": Role.ADMIN}

    class InputSerializer(serializers.Serializer[Any]):
        role = serializers.ChoiceField(Role.choices)

        class Meta:
            ref_name = "RoleChange"

    @extend_schema(request=InputSerializer, responses=RoleOutput)
    def put(self, request: Request, cluster_id: int, username: str) -> Response:
        given = self.InputSerializer(data=request.data)
        given.is_valid(raise_exception=True)
        cluster = selectors.cluster_of_roles(cluster_id)
        binding = services.role_set(cluster=cluster, username=username, **given.validated_data, actor=actor(request))
        return Response(RoleOutput(binding).data)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, cluster_id: int, username: str) -> Response:
        cluster = selectors.cluster_of_roles(cluster_id)
        services.role_remove(cluster=cluster, username=username, actor=actor(request))
        return Response(status=status.HTTP_204_NO_CONTENT)


def _user(request: Request) -> User:
    return cast(User, request.user)
