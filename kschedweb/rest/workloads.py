"""Workloads: what makes pods, how far each is, and its pods."""

from rest_framework.request import Request

from kschedweb import views
from kschedweb.cluster import clock, in_vain, selectors, workloads
from kschedweb.rest.answers import RestView


class WorkloadListView(RestView):
    def get(self, request: Request, cluster_id: int, query: views.WorkloadQuery) -> views.Workloads:
        """List workloads that no other workload controls, by namespace and name."""
        selectors.cluster_get(cluster_id)
        return workloads.workload_list(cluster_id, query.limit)


class WorkloadView(RestView):
    holds_secrets = True  # whatever the manifest says: never compressed

    def get(
        self, request: Request, cluster_id: int, kind: str, namespace: str, name: str, query: views.WorkloadDetailQuery
    ) -> views.WorkloadDetail:
        """Read a workload: its manifest, conditions, ReplicaSets or Jobs, its pods, and why some are not ready."""
        now, frozen = clock.now_of(cluster_id), in_vain.is_frozen(selectors.cluster_get(cluster_id))
        return workloads.workload_detail(cluster_id, kind, namespace, name, limit=query.limit, now=now, frozen=frozen)
