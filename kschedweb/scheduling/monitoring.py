"""/metrics, /metrics/resources, /metrics/slis and /configz, for programs that watch the service.

They answer requests from this machine (without a proxy in between) and whoever has logged in or shows a token. Of
single clusters they show those that exist for the asker: `?by=cluster` labels every series with its cluster. While the
database is away or has no tables yet, they answer 503.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import redis
import structlog
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema
from msgspec import UNSET, UnsetType
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from kschedweb.accounts import selectors as accounts
from kschedweb.cluster.models import Cluster
from kschedweb.common.asking import AskedView
from kschedweb.common.errors import ClusterGoneError
from kschedweb.common.metrics import exposition, stored
from kschedweb.common.metrics.exposition import Readings
from kschedweb.common.metrics.stored import Stored
from kschedweb.scheduling import health, leadership, pod_resources
from kschedweb.views.base import Input, text

log = structlog.get_logger(__name__)

LOOPBACK = ("127.0.0.1", "::1")
FORWARDED = ("HTTP_X_FORWARDED_FOR", "HTTP_X_FORWARDED_PROTO", "HTTP_X_FORWARDED_HOST", "HTTP_FORWARDED")
HEALTH_METRICS = ("kubernetes_healthcheck", "kubernetes_healthchecks_total")


def is_local(request: Request) -> bool:
    """Whether the request was made on this machine and came straight here."""
    meta = request.META
    return meta.get("REMOTE_ADDR") in LOOPBACK and not any(name in meta for name in FORWARDED)


class LocalOrKnown(BasePermission):
    def has_permission(self, request: Request, view: Any) -> bool:
        return is_local(request) or bool(request.user and request.user.is_authenticated)


class MetricsQuery(Input):
    """Which series: sums, or those of each cluster."""

    by: Literal["cluster"] | UnsetType = UNSET


class NamedQuery(Input):
    """Which cluster is asked about, by its name."""

    cluster: Annotated[str, text(63, least=0)] | UnsetType = UNSET


class MonitoringView(AskedView):
    permission_classes = [LocalOrKnown]
    throttle_classes: list[Any] = []

    def clusters(self, request: Request) -> QuerySet[Cluster]:
        """Those the asker may see one by one."""
        everything = Cluster.objects.order_by("pk")
        if request.user and request.user.is_authenticated:
            return accounts.visible(everything, request.user)
        return everything

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        found = health.problems(("postgresql", "migrations"))
        if any(found.values()):
            names = " and ".join(name for name, problem in found.items() if problem)
            return health.unavailable(request, f"{names} failed: see /readyz\n", found)
        return super().dispatch(request, *args, **kwargs)


@extend_schema(exclude=True)
class MetricsView(MonitoringView):
    def get(self, request: Request, query: MetricsQuery) -> HttpResponse:
        """Everything; sums over all clusters unless they are asked for one by one."""
        by_cluster = query.by == "cluster"
        led = leadership.leaderships()
        if by_cluster:
            shown = set(self.clusters(request).values_list("pk", flat=True))
        else:
            shown = {one.cluster_id for one in led}
        recorded = _recorded({one.cluster_id for one in led})
        if by_cluster:
            recorded.totals = {
                name: {key: numbers for key, numbers in series.items() if key[0] in shown or not key[0]}
                for name, series in recorded.totals.items()
            }
        gauges = leadership.readings([one for one in led if one.cluster_id in shown], by_cluster=by_cluster)
        for one in led:
            said = recorded.gauges.get(one.cluster_id, {})
            if one.cluster_id in shown and said.get("epoch") == one.epoch:  # else by a leader that is no more
                for event, number in said["inflight_events"].items():
                    key = ("scheduler_inflight_events", one.cluster if by_cluster else "", (event,))
                    gauges[key] = gauges.get(key, 0) + number
        gauges.update(_health())
        names = {one.cluster_id: one.cluster for one in led}
        body = exposition.render(recorded, gauges, names=names, by_cluster=by_cluster, with_process=True)
        return HttpResponse(body, content_type=exposition.CONTENT_TYPE)


@extend_schema(exclude=True)
class HealthMetricsView(MonitoringView):
    def get(self, request: Request) -> HttpResponse:
        """What the health checks say, for service levels."""
        recorded = _recorded(set(Cluster.objects.values_list("pk", flat=True)))
        body = exposition.render(recorded, _health(), names={}, only=HEALTH_METRICS)
        return HttpResponse(body, content_type=exposition.CONTENT_TYPE)


@extend_schema(exclude=True)
class ResourceMetricsView(MonitoringView):
    def get(self, request: Request, query: NamedQuery) -> HttpResponse:
        """Requests and limits of the pods of clusters that are led; `?cluster=NAME` asks for one."""
        clusters = _named(self.clusters(request), query.cluster)
        led = [one for one in leadership.leaderships(cluster_ids=[each.pk for each in clusters]) if one.is_led]
        return HttpResponse(pod_resources.exposed(led), content_type=exposition.CONTENT_TYPE)


@extend_schema(exclude=True)
class ConfigzView(MonitoringView):
    def get(self, request: Request, query: NamedQuery) -> JsonResponse:
        """The configuration in force with all defaults: of `?cluster=NAME`, else what a cluster without its own has."""
        text = ""
        if query.cluster is not UNSET:
            text = _named(self.clusters(request), query.cluster)[0].scheduler_config
        return JsonResponse({"kubescheduler.config.k8s.io": pod_resources.internal_configuration(text)})


def _named(clusters: QuerySet[Cluster], name: str | UnsetType) -> list[Cluster]:
    if name is UNSET:
        return list(clusters)
    found = list(clusters.filter(name=name))
    if not found:
        raise ClusterGoneError(name)
    return found


def _recorded(clusters: set[int]) -> Stored:
    """Counters and histograms; none while Valkey is away, which the health checks tell."""
    try:
        return stored.read(clusters=clusters)
    except (redis.RedisError, OSError) as error:
        log.warning("recorded metrics cannot be read", error=str(error))
        return Stored()


def _health() -> Readings:
    names = tuple(dict.fromkeys(name for group in health.GROUPS.values() for name in group))
    found = health.problems(names)
    return {
        ("kubernetes_healthcheck", "", (name, group)): float(not found[name])
        for group, checks in health.GROUPS.items()
        for name in checks
    }
