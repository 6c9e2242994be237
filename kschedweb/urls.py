"""Every route of the web process, apart from WebSockets (asgi.py)."""

from django.contrib import admin
from django.urls import URLPattern, URLResolver, path
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView

from kschedweb.accounts import api as accounts
from kschedweb.accounts import pages as account_pages
from kschedweb.cluster import api as cluster
from kschedweb.common import pages
from kschedweb.scheduling import api as scheduling
from kschedweb.scheduling import health, monitoring
from kschedweb.traces import api as traces

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
    path("api/schema", SpectacularAPIView.as_view(), name="schema"),
    path("api/docs", SpectacularSwaggerSplitView.as_view(url_name="schema", template_name="common/api_docs.html")),
    path("api/tokens", accounts.TokenListView.as_view()),
    path("api/tokens/<int:token_id>", accounts.TokenDetailView.as_view()),
    path("api/clusters", cluster.ClusterListView.as_view()),
    path(CLUSTER, cluster.ClusterDetailView.as_view()),
    path(f"{CLUSTER}/roles", accounts.RoleListView.as_view()),
    path(f"{CLUSTER}/roles/<str:username>", accounts.RoleView.as_view()),
    path(f"{CLUSTER}/leadership", monitoring.LeadershipView.as_view()),
    path(f"{CLUSTER}/pace", cluster.PaceView.as_view()),
    path(f"{CLUSTER}/scheduler-config", cluster.SchedulerConfigView.as_view()),
    path(f"{CLUSTER}/scheduler-config/versions", cluster.SchedulerConfigVersionListView.as_view()),
    path(f"{CLUSTER}/scheduler-config/versions/<int:version>", cluster.SchedulerConfigVersionView.as_view()),
    path(f"{CLUSTER}/storage", scheduling.StorageView.as_view()),
    path(f"{CLUSTER}/prune", scheduling.PruneView.as_view()),
    path(f"{CLUSTER}/import", cluster.ImportListView.as_view()),
    path(f"{CLUSTER}/imports/<uuid:import_id>", cluster.ImportDetailView.as_view(), name="import"),
    path(f"{CLUSTER}/objects", cluster.ObjectListView.as_view()),
    path(f"{CLUSTER}/objects/<str:kind>/<str:name>", cluster.ObjectDetailView.as_view()),
    path(f"{CLUSTER}/objects/<str:kind>/<str:namespace>/<str:name>", cluster.NamespacedObjectView.as_view()),
    path(f"{CLUSTER}/nodes/<str:name>", cluster.NodeView.as_view()),
    path(f"{CLUSTER}/snapshot", traces.SnapshotView.as_view()),
    path(f"{CLUSTER}/snapshot/columns", traces.SnapshotColumnsView.as_view()),
    path(f"{CLUSTER}/frames", traces.FrameListView.as_view()),
    path(f"{CLUSTER}/throughput", traces.ThroughputView.as_view()),
    path(f"{CLUSTER}/summary", traces.SummaryView.as_view()),
    path(f"{CLUSTER}/digest", traces.DigestView.as_view()),
    path(f"{CLUSTER}/pods/<str:namespace>/<str:name>", traces.PodView.as_view()),
    path(f"{CLUSTER}/pods/<str:namespace>/<str:name>/attempts", traces.PodAttemptListView.as_view()),
    path(f"{CLUSTER}/pods/<str:namespace>/<str:name>/history", scheduling.PodHistoryView.as_view()),
    path(f"{CLUSTER}/attempts", traces.AttemptListView.as_view()),
    path(f"{CLUSTER}/attempts/<int:seq>", traces.AttemptView.as_view()),
    path(f"{CLUSTER}/attempts/<int:seq>/preemption", traces.AttemptPreemptionView.as_view()),
    path(f"{CLUSTER}/preemptions", traces.PreemptionListView.as_view()),
    path(f"{CLUSTER}/events", traces.EventListView.as_view()),
    path(f"{CLUSTER}/refusals", traces.NodeRefusalListView.as_view()),
    path(f"{CLUSTER}/pending", traces.PendingView.as_view()),
    path(f"{CLUSTER}/pending/pods", traces.PendingPodListView.as_view()),
    path(f"{CLUSTER}/slowest", traces.SlowestView.as_view()),
    path(f"{CLUSTER}/export/<str:what>.<str:form>", traces.ExportView.as_view()),
]
