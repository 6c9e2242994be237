"""REST over clusters and their objects. Errors are {"code", "message", "extra"} throughout."""

from kschedweb.cluster.api.clusters import ClusterDetailView, ClusterListView, PaceView
from kschedweb.cluster.api.configurations import (
    SchedulerConfigVersionListView,
    SchedulerConfigVersionView,
    SchedulerConfigView,
)
from kschedweb.cluster.api.imports import ImportDetailView, ImportListView
from kschedweb.cluster.api.objects import NamespacedObjectView, NodeView, ObjectDetailView, ObjectListView

__all__ = [
    "ClusterDetailView",
    "ClusterListView",
    "ImportDetailView",
    "ImportListView",
    "NamespacedObjectView",
    "NodeView",
    "ObjectDetailView",
    "ObjectListView",
    "PaceView",
    "SchedulerConfigVersionListView",
    "SchedulerConfigVersionView",
    "SchedulerConfigView",
]
