"""Clusters: settings, pace, leader, and how much of their past is stored."""

from typing import Any, cast

from django.contrib.auth.models import User
from django.db import transaction
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request

from kschedweb import views
from kschedweb.accounts import selectors as account_selectors
from kschedweb.accounts.choices import Role
from kschedweb.accounts.permissions import actor, may_create_clusters
from kschedweb.accounts.services import role_set
from kschedweb.cluster import selectors, services
from kschedweb.cluster.choices import LifecycleMode, Pace
from kschedweb.cluster.selectors import cluster_view
from kschedweb.common.errors import NotFoundError
from kschedweb.common.pagination import KeysetPagination
from kschedweb.rest.answers import Created, RestView
from kschedweb.rest.inputs import given
from kschedweb.scheduling import leadership, retention
from kschedweb.traces import selectors as trace_selectors

MAX_RETENTION = 10_000_000


class ClusterPagination(KeysetPagination):
    ordering = "name"


class ClusterListView(RestView):
    access = {"POST": may_create_clusters}

    class Input(serializers.Serializer[Any]):
        name = serializers.CharField(max_length=63)
        seed = serializers.IntegerField(default=0, min_value=-(2**63), max_value=2**63 - 1)
        lifecycle_mode = serializers.ChoiceField(LifecycleMode.choices, default=LifecycleMode.FROZEN)

        class Meta:
            ref_name = "ClusterCreate"

    @extend_schema(parameters=ClusterPagination.parameters())
    def get(self, request: Request) -> views.ClusterPage:
        """List the clusters you may see, by name."""
        visible = account_selectors.visible(selectors.cluster_list(), cast(User, request.user))
        return ClusterPagination().page_of(views.ClusterPage, visible, request, cluster_view)

    @extend_schema(request=Input)
    def post(self, request: Request) -> Created[views.Cluster]:
        """Create an empty cluster, with you as its admin."""
        with transaction.atomic():
            cluster = services.cluster_create(**given(self.Input, request.data), actor=actor(request))
            if not cast(User, request.user).is_superuser:  # superusers are admins of every cluster
                username = request.user.get_username()
                role_set(cluster=cluster, username=username, role=Role.ADMIN, actor=actor(request))
        return Created(cluster_view(cluster))


class ClusterDetailView(RestView):
    class Input(serializers.Serializer[Any]):
        name = serializers.CharField(max_length=63, required=False)
        description = serializers.CharField(max_length=500, required=False, allow_blank=True)
        lifecycle_mode = serializers.ChoiceField(LifecycleMode.choices, required=False)
        retention_hours = serializers.IntegerField(
            required=False,
            min_value=1,
            max_value=MAX_RETENTION,
            help_text="how long logs, attempts and events are kept",
        )
        retention_mb = serializers.IntegerField(
            required=False, min_value=64, max_value=MAX_RETENTION, help_text="how much disk space they may take"
        )

        class Meta:
            ref_name = "ClusterChange"

    def get(self, request: Request, cluster_id: int) -> views.ClusterDetail:
        """Read a cluster and count its objects."""
        return selectors.cluster_detail(cluster_id)

    @extend_schema(request=Input)
    def patch(self, request: Request, cluster_id: int) -> views.Cluster:
        """Change settings of a cluster."""
        values = given(self.Input, request.data)
        return cluster_view(services.cluster_change(cluster_id=cluster_id, **values, actor=actor(request)))

    def delete(self, request: Request, cluster_id: int) -> None:
        """Delete a cluster and everything stored of it."""
        services.cluster_delete(cluster_id=cluster_id)


class PaceView(RestView):
    access = {"POST": Role.OPERATOR}

    class Input(serializers.Serializer[Any]):
        pace = serializers.ChoiceField(Pace.choices, required=False)
        rate = serializers.FloatField(required=False)
        steps = serializers.IntegerField(required=False)

        class Meta:
            ref_name = "PaceChange"

    @extend_schema(request=Input)
    def post(self, request: Request, cluster_id: int) -> views.Cluster:
        """Run, slow down to `rate` cycles per second, or pause; `steps` lets a paused cluster make that many cycles."""
        values = given(self.Input, request.data)
        return cluster_view(services.pace_set(cluster_id=cluster_id, **values, actor=actor(request)))


class LeadershipView(RestView):
    def get(self, request: Request, cluster_id: int) -> views.Leadership:
        """Read who schedules the cluster."""
        found = leadership.leaderships(cluster_ids=[cluster_id])
        if not found:
            raise NotFoundError("the cluster does not exist", cluster=cluster_id)
        one = found[0]
        return views.Leadership(
            worker=one.worker,
            is_led=one.is_led,
            renewed_seconds_ago=round(one.age, 1),
            lease_duration_seconds=one.duration,
            transitions=one.transitions,
            epoch=one.epoch,
            is_synced=one.is_synced,
            lag=one.lag,
        )


class StorageView(RestView):
    def get(self, request: Request, cluster_id: int) -> views.Storage:
        """Read how much space the cluster's past takes, and since when it is kept."""
        cluster = selectors.cluster_get(cluster_id)
        sizes = retention.sizes(cluster_id)
        oldest_at, checkpoints = retention.reach(cluster_id)
        return views.Storage(
            tables=[views.StorageTable(table, size.rows, size.bytes) for table, size in sizes.items()],
            bytes=sum(size.bytes for size in sizes.values()),
            retention_hours=cluster.retention_hours,
            retention_mb=cluster.retention_mb,
            oldest_at=oldest_at,
            checkpoints=checkpoints,
        )


class PruneView(RestView):
    class Input(serializers.Serializer[Any]):
        hours = serializers.FloatField(required=False, min_value=0, max_value=1e7)
        megabytes = serializers.FloatField(required=False, min_value=0, max_value=1e7)

        class Meta:
            ref_name = "Prune"

    @extend_schema(request=Input)
    def post(self, request: Request, cluster_id: int) -> views.Pruned:
        """Delete what exceeds the cluster's retention settings, or those given; never the last ten minutes."""
        done = retention.prune(cluster_id=cluster_id, **given(self.Input, request.data))
        return views.Pruned(
            cut_at=done.cut.at if done.cut is not None else None,
            rows=done.rows,
            more=done.more,
            waits_for_checkpoint=done.waits_for_checkpoint,
        )


class SummaryView(RestView):
    def get(self, request: Request, cluster_id: int) -> views.Summary:
        """Read how far scheduling has come: what is pending and why, and nodes over their allocatable (none)."""
        selectors.cluster_get(cluster_id)
        return views.Summary(
            objects=selectors.object_counts(cluster_id),
            pending=trace_selectors.pending_summary(cluster_id),
            overcommitted=selectors.node_overcommit(cluster_id),
        )


class DigestView(RestView):
    def get(self, request: Request, cluster_id: int) -> views.Digest:
        """Read a digest over each pod's first attempt: equal decisions have equal digests."""
        selectors.cluster_get(cluster_id)
        return trace_selectors.first_attempts(cluster_id)
