"""Clusters: settings, pace, leader, and how much of their past is stored."""

from datetime import UTC
from typing import cast

import msgspec
from django.contrib.auth.models import User
from django.db import transaction
from rest_framework.request import Request

from kschedweb import views
from kschedweb.accounts import selectors as account_selectors
from kschedweb.accounts.choices import Role
from kschedweb.accounts.permissions import actor, may_create_clusters
from kschedweb.accounts.services import role_set
from kschedweb.cluster import clock, selectors, services
from kschedweb.cluster.choices import LifecycleMode
from kschedweb.cluster.models import Cluster
from kschedweb.cluster.selectors import cluster_view
from kschedweb.common.errors import ClusterGoneError
from kschedweb.common.pagination import KeysetPagination
from kschedweb.lifecycle import timekeeper
from kschedweb.rest.answers import Created, RestView
from kschedweb.rest.past import StandingView
from kschedweb.scheduling import leadership, retention
from kschedweb.scheduling import selectors as scheduling_selectors
from kschedweb.traces import selectors as trace_selectors
from kschedweb.views import given
from scheduler_core.api.times import microseconds, moment_of


class ClusterPagination(KeysetPagination):
    ordering = "name"


class ClusterListView(RestView):
    access = {"POST": may_create_clusters}

    def get(self, request: Request, page: views.PageQuery) -> views.ClusterPage:
        """List the clusters you may see, by name."""
        visible = account_selectors.visible(selectors.cluster_list(), cast(User, request.user))
        return ClusterPagination(page).page_of(views.ClusterPage, visible, request, cluster_view)

    def post(self, request: Request, body: views.ClusterCreate) -> Created[views.Cluster]:
        """Create an empty cluster, with you as its admin."""
        with transaction.atomic():
            cluster = services.cluster_create(**given(body), actor=actor(request))
            if not cast(User, request.user).is_superuser:  # superusers are admins of every cluster
                username = request.user.get_username()
                role_set(cluster=cluster, username=username, role=Role.ADMIN, actor=actor(request))
        return Created(cluster_view(cluster))


class ClusterDetailView(RestView):
    def get(self, request: Request, cluster_id: int) -> views.ClusterDetail:
        """Read a cluster, count its objects, and see how far its history is proven."""
        found = selectors.cluster_detail(cluster_id)
        return msgspec.structs.replace(found, history=scheduling_selectors.history(cluster_id))

    def patch(self, request: Request, cluster_id: int, body: views.ClusterChange) -> views.Cluster:
        """Change settings of a cluster."""
        return cluster_view(services.cluster_change(cluster_id=cluster_id, **given(body), actor=actor(request)))

    def delete(self, request: Request, cluster_id: int) -> None:
        """Delete a cluster and everything stored of it."""
        services.cluster_delete(cluster_id=cluster_id)


class PaceView(RestView):
    access = {"POST": Role.OPERATOR}

    def post(self, request: Request, cluster_id: int, body: views.PaceChange) -> views.Cluster:
        """Run, slow down to `rate` cycles per second, or pause; `steps` lets a paused cluster make that many cycles."""
        return cluster_view(services.pace_set(cluster_id=cluster_id, **given(body), actor=actor(request)))


class ClockView(RestView):
    access = {"POST": Role.OPERATOR}

    def get(self, request: Request, cluster_id: int) -> views.Clock:
        """Read the cluster's time, how it passes, and when something happens next."""
        return _clock(selectors.cluster_get(cluster_id))

    def post(self, request: Request, cluster_id: int, body: views.ClockChange) -> views.Clock:
        """Let time pass as on the wall, so many times as fast, or as fast as possible; or skip some of it."""
        return _clock(services.clock_set(cluster_id=cluster_id, **given(body), actor=actor(request)))


class WallView(RestView):
    def get(self, request: Request, cluster_id: int, query: views.WallQuery) -> views.Wall:
        """Read when on the wall the cluster had a time."""
        at = microseconds(query.at if query.at.tzinfo is not None else query.at.replace(tzinfo=UTC))
        return views.Wall(wall=moment_of(clock.wall_of(cluster_id=selectors.cluster_get(cluster_id).pk, at=at)))


def _clock(cluster: Cluster) -> views.Clock:
    found = timekeeper.read(cluster.pk)
    if found is None:
        raise ClusterGoneError(cluster.pk)
    controllers_due = cluster.controllers_due_us if cluster.lifecycle_mode == LifecycleMode.SIMULATE else None
    wall = clock.wall_us()
    return views.Clock(
        mode=cast(views.ClockMode, str(found.clock.mode)),
        rate=found.clock.rate,
        now_us=found.clock.now(wall),
        wall_us=wall,
        until_us=found.clock.until,
        next_due_us=min((time for time in (controllers_due, found.engine_due) if time is not None), default=None),
        waits_for_scheduler=found.clock.is_stepped and found.waits_for_scheduler(),
    )


class LeadershipView(RestView):
    def get(self, request: Request, cluster_id: int) -> views.Leadership:
        """Read who schedules the cluster."""
        found = leadership.leaderships(cluster_ids=[cluster_id])
        if not found:
            raise ClusterGoneError(cluster_id)
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
    def post(self, request: Request, cluster_id: int, body: views.Prune) -> views.Pruned:
        """Delete what exceeds the cluster's retention settings, or those given; never the last ten minutes."""
        done = retention.prune(cluster_id=cluster_id, **given(body))
        return views.Pruned(
            cut_at=done.cut.at if done.cut is not None else None,
            rows=done.rows,
            more=done.more,
            waits_for_checkpoint=done.waits_for_checkpoint,
        )


class SummaryView(StandingView):
    def get(self, request: Request, cluster_id: int, query: views.AtQuery) -> views.Summary:
        """Read how far scheduling has come: what is pending and why, and nodes over their allocatable (none)."""
        with self.standing(cluster_id, query) as shown:
            return views.Summary(
                objects=shown.object_counts(), pending=shown.pending(50), overcommitted=shown.overcommitted()
            )


class DigestView(RestView):
    def get(self, request: Request, cluster_id: int) -> views.Digest:
        """Read a digest over each pod's first attempt: equal decisions have equal digests."""
        selectors.cluster_get(cluster_id)
        return trace_selectors.first_attempts(cluster_id)
