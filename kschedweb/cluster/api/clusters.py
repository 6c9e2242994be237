"""Clusters: list, make, change, delete, set the pace."""

from typing import Any, cast

from django.contrib.auth.models import User
from django.db import transaction
from drf_spectacular.utils import (
    extend_schema,
    inline_serializer,
)
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from kschedweb.accounts import selectors as account_selectors
from kschedweb.accounts.choices import Role
from kschedweb.accounts.permissions import actor, may_create_clusters
from kschedweb.accounts.services import role_set
from kschedweb.cluster import selectors, services
from kschedweb.cluster.choices import LifecycleMode, Pace
from kschedweb.cluster.models import Cluster
from kschedweb.common.pagination import KeysetPagination

MAX_RETENTION = 10_000_000


class ClusterOutput(serializers.Serializer[Any]):
    """ClusterView of live/events.py."""

    id = serializers.IntegerField()
    name = serializers.CharField()
    lifecycle_mode = serializers.ChoiceField(LifecycleMode.choices)
    pace = serializers.ChoiceField(Pace.choices)
    pace_rate = serializers.FloatField(allow_null=True)
    seed = serializers.IntegerField()
    is_sample = serializers.BooleanField()
    config_version = serializers.IntegerField()
    leader = serializers.CharField(allow_null=True)
    scheduler_problem = serializers.CharField(
        help_text="why the configuration in force cannot be used; empty when it is what the scheduler runs under"
    )
    retention_hours = serializers.IntegerField()
    retention_mb = serializers.IntegerField()

    class Meta:
        ref_name = "Cluster"


def _cluster(cluster: Cluster, code: int = status.HTTP_200_OK) -> Response:
    return Response(ClusterOutput(selectors.cluster_view(cluster)).data, status=code)


class ClusterPagination(KeysetPagination):
    ordering = "name"


class ClusterListView(APIView):
    access = {"POST": may_create_clusters}

    class InputSerializer(serializers.Serializer[Any]):
        name = serializers.CharField(max_length=63)
        seed = serializers.IntegerField(default=0, min_value=-(2**63), max_value=2**63 - 1)
        lifecycle_mode = serializers.ChoiceField(LifecycleMode.choices, default=LifecycleMode.FROZEN)

        class Meta:
            ref_name = "ClusterCreate"

    @extend_schema(
        operation_id="clusters_list",
        parameters=ClusterPagination.parameters(),
        responses=inline_serializer(
            "ClusterPage",
            {
                "results": ClusterOutput(many=True),
                "next": serializers.CharField(allow_null=True),
                "previous": serializers.CharField(allow_null=True),
            },
        ),
    )
    def get(self, request: Request) -> Response:
        pages = ClusterPagination()
        page = pages.paginate_queryset(
            account_selectors.visible(selectors.cluster_list(), cast(User, request.user)), request, view=self
        )
        views = [selectors.cluster_view(cluster) for cluster in page or ()]
        return pages.get_paginated_response(ClusterOutput(views, many=True).data)

    @extend_schema(request=InputSerializer, responses={201: ClusterOutput})
    def post(self, request: Request) -> Response:
        given = self.InputSerializer(data=request.data)
        given.is_valid(raise_exception=True)
        with transaction.atomic():
            cluster = services.cluster_create(**given.validated_data, actor=actor(request))
            # Whoever makes a cluster is its first admin; superusers are admins of all.
            if not cast(User, request.user).is_superuser:
                username = request.user.get_username()
                role_set(cluster=cluster, username=username, role=Role.ADMIN, actor=actor(request))
        return _cluster(cluster, status.HTTP_201_CREATED)


class ClusterDetailView(APIView):
    class OutputSerializer(ClusterOutput):
        objects = serializers.DictField(child=serializers.IntegerField())

        class Meta:
            ref_name = "ClusterDetail"

    class InputSerializer(serializers.Serializer[Any]):
        name = serializers.CharField(max_length=63, required=False)
        lifecycle_mode = serializers.ChoiceField(LifecycleMode.choices, required=False)
        retention_hours = serializers.IntegerField(
            required=False,
            min_value=1,
            max_value=MAX_RETENTION,
            help_text="how long logs, attempts and events are kept",
        )
        retention_mb = serializers.IntegerField(
            required=False, min_value=64, max_value=MAX_RETENTION, help_text="and in how much room"
        )

        class Meta:
            ref_name = "ClusterChange"

    @extend_schema(responses=OutputSerializer)
    def get(self, request: Request, cluster_id: int) -> Response:
        view = ClusterOutput(selectors.cluster_view(selectors.cluster_get(cluster_id))).data
        return Response({**view, "objects": selectors.object_counts(cluster_id)})

    @extend_schema(request=InputSerializer, responses=ClusterOutput)
    def patch(self, request: Request, cluster_id: int) -> Response:
        given = self.InputSerializer(data=request.data)
        given.is_valid(raise_exception=True)
        return _cluster(services.cluster_change(cluster_id=cluster_id, **given.validated_data, actor=actor(request)))

    @extend_schema(responses={204: None})
    def delete(self, request: Request, cluster_id: int) -> Response:
        services.cluster_delete(cluster_id=cluster_id)
        return Response(status=status.HTTP_204_NO_CONTENT)


class PaceView(APIView):
    access = {"POST": Role.OPERATOR}

    class InputSerializer(serializers.Serializer[Any]):
        pace = serializers.ChoiceField(Pace.choices, required=False)
        rate = serializers.FloatField(required=False)
        steps = serializers.IntegerField(required=False)

        class Meta:
            ref_name = "PaceChange"

    @extend_schema(request=InputSerializer, responses=ClusterOutput)
    def post(self, request: Request, cluster_id: int) -> Response:
        """Run, slow down to `rate` cycles a second, pause; `steps` lets a paused cluster make that many cycles."""
        given = self.InputSerializer(data=request.data)
        given.is_valid(raise_exception=True)
        return _cluster(services.pace_set(cluster_id=cluster_id, **given.validated_data, actor=actor(request)))
