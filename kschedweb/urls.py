"""Every route of the web process, apart from WebSockets (asgi.py)."""

from django.contrib import admin
from django.urls import URLPattern, URLResolver, path

from kschedweb.accounts import pages as account_pages
from kschedweb.common import pages
from kschedweb.rest import (
    accounts,
    attempts,
    clusters,
    configurations,
    events,
    exports,
    imports,
    live,
    mirrors,
    nodes,
    objects,
    pods,
    roles,
    schema,
    tokens,
    workloads,
)
from kschedweb.scheduling import health, monitoring

handler400 = "kschedweb.common.pages.bad_request"
handler403 = "kschedweb.common.pages.forbidden"
handler404 = "kschedweb.common.pages.not_found"
handler500 = "kschedweb.common.pages.failed"

CLUSTER = "api/clusters/<int:cluster_id>"

urlpatterns: list[URLPattern | URLResolver] = [
    path("", pages.index),
    path("login", account_pages.login_page, name="login"),
    path("login/once/<str:token>", account_pages.login_once),
    path("logout", account_pages.logout_now),
    *(path(group, health.group, {"group": group}) for group in health.GROUPS),
    *(path(f"{group}/<str:name>", health.single, {"group": group}) for group in health.GROUPS),
    path("metrics", monitoring.MetricsView.as_view()),
    path("metrics/resources", monitoring.ResourceMetricsView.as_view()),
    path("metrics/slis", monitoring.HealthMetricsView.as_view()),
    path("configz", monitoring.ConfigzView.as_view()),
    path("admin/", admin.site.urls),
    path("api/me", accounts.MeView.as_view()),
    path("api/csrf", accounts.CsrfView.as_view()),
    path("api/schema", schema.SchemaView.as_view(), name="schema"),
    path("api/docs", schema.SchemaPageView.as_view(url_name="schema", template_name="common/api_docs.html")),
    path("api/tokens", tokens.TokenListView.as_view()),
    path("api/tokens/<int:token_id>", tokens.TokenDetailView.as_view()),
    path("api/clusters", clusters.ClusterListView.as_view()),
    path(CLUSTER, clusters.ClusterDetailView.as_view()),
    path("api/forks", mirrors.ForkListView.as_view()),
    path("api/mirrors", mirrors.MirrorListView.as_view()),
    path(f"{CLUSTER}/mirror", mirrors.MirrorView.as_view()),
    path(f"{CLUSTER}/agreement", mirrors.AgreementView.as_view()),
    path(f"{CLUSTER}/comparisons", mirrors.ComparisonListView.as_view()),
    path(f"{CLUSTER}/roles", roles.RoleListView.as_view()),
    path(f"{CLUSTER}/roles/<str:username>", roles.RoleView.as_view()),
    path(f"{CLUSTER}/leadership", clusters.LeadershipView.as_view()),
    path(f"{CLUSTER}/pace", clusters.PaceView.as_view()),
    path(f"{CLUSTER}/clock", clusters.ClockView.as_view()),
    path(f"{CLUSTER}/clock/wall", clusters.WallView.as_view()),
    path(f"{CLUSTER}/scheduler-config", configurations.SchedulerConfigView.as_view()),
    path(f"{CLUSTER}/scheduler-config/check", configurations.SchedulerConfigCheckView.as_view()),
    path(f"{CLUSTER}/scheduler-config/versions", configurations.SchedulerConfigVersionListView.as_view()),
    path(f"{CLUSTER}/scheduler-config/versions/<int:version>", configurations.SchedulerConfigVersionView.as_view()),
    path(f"{CLUSTER}/storage", clusters.StorageView.as_view()),
    path(f"{CLUSTER}/prune", clusters.PruneView.as_view()),
    path(f"{CLUSTER}/import", imports.ImportListView.as_view()),
    path(f"{CLUSTER}/imports/<uuid:import_id>", imports.ImportDetailView.as_view(), name="import"),
    path(f"{CLUSTER}/objects", objects.ObjectListView.as_view()),
    path(f"{CLUSTER}/objects/<str:kind>/<str:name>", objects.ObjectDetailView.as_view()),
    path(f"{CLUSTER}/objects/<str:kind>/<str:namespace>/<str:name>", objects.NamespacedObjectView.as_view()),
    path(f"{CLUSTER}/nodes/<str:name>", nodes.NodeView.as_view()),
    path(f"{CLUSTER}/snapshot", live.SnapshotView.as_view()),
    path(f"{CLUSTER}/snapshot/columns", live.SnapshotColumnsView.as_view()),
    path(f"{CLUSTER}/frames", live.FrameListView.as_view()),
    path(f"{CLUSTER}/throughput", live.ThroughputView.as_view()),
    path(f"{CLUSTER}/summary", clusters.SummaryView.as_view()),
    path(f"{CLUSTER}/digest", clusters.DigestView.as_view()),
    path(f"{CLUSTER}/pods/<str:namespace>/<str:name>", pods.PodView.as_view()),
    path(f"{CLUSTER}/pods/<str:namespace>/<str:name>/eviction", pods.PodEvictionView.as_view()),
    path(f"{CLUSTER}/pods/<str:namespace>/<str:name>/attempts", pods.PodAttemptListView.as_view()),
    path(f"{CLUSTER}/pods/<str:namespace>/<str:name>/history", pods.PodHistoryView.as_view()),
    path(f"{CLUSTER}/attempts", attempts.AttemptListView.as_view()),
    path(f"{CLUSTER}/attempts/<int:seq>", attempts.AttemptView.as_view()),
    path(f"{CLUSTER}/attempts/<int:seq>/preemption", attempts.AttemptPreemptionView.as_view()),
    path(f"{CLUSTER}/preemptions", attempts.PreemptionListView.as_view()),
    path(f"{CLUSTER}/events", events.EventListView.as_view()),
    path(f"{CLUSTER}/object-events", events.ObjectEventListView.as_view()),
    path(f"{CLUSTER}/workloads", workloads.WorkloadListView.as_view()),
    path(f"{CLUSTER}/workloads/<str:kind>/<str:namespace>/<str:name>", workloads.WorkloadView.as_view()),
    path(f"{CLUSTER}/refusals", nodes.NodeRefusalListView.as_view()),
    path(f"{CLUSTER}/pending", pods.PendingView.as_view()),
    path(f"{CLUSTER}/pending/pods", pods.PendingPodListView.as_view()),
    path(f"{CLUSTER}/slowest", attempts.SlowestView.as_view()),
    path(f"{CLUSTER}/export/<str:what>.<str:form>", exports.ExportView.as_view()),
]
