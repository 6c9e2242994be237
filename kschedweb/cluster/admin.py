"""Admin of the cluster app. Clusters are changed through the service, whose log records it; here all is for reading."""

from django.contrib import admin

from kschedweb.cluster.models import ApiObject, Change, Cluster, Event, Import, Node, Pod, SchedulerConfigVersion
from kschedweb.common.admin import ResultAdmin


@admin.register(Cluster)
class ClusterAdmin(ResultAdmin):
    list_display = ("name", "lifecycle_mode", "pace", "rv", "seq", "is_sample", "created_at")
    list_filter = ("lifecycle_mode", "pace", "is_sample")
    search_fields = ("name",)
    ordering = ("name",)


@admin.register(SchedulerConfigVersion)
class SchedulerConfigVersionAdmin(ResultAdmin):
    list_display = ("version", "cluster", "replayable", "actor", "at")
    list_filter = ("cluster", "replayable")
    list_select_related = ("cluster",)
    ordering = ("cluster", "-version")


@admin.register(Node)
class NodeAdmin(ResultAdmin):
    list_display = ("name", "cluster", "zone", "unschedulable", "ready", "rv")
    list_filter = ("cluster", "unschedulable", "ready")
    list_select_related = ("cluster",)
    search_fields = ("name", "uid")
    ordering = ("cluster", "name")


@admin.register(Pod)
class PodAdmin(ResultAdmin):
    list_display = ("name", "namespace", "cluster", "node_name", "phase", "priority", "gated", "rv")
    list_filter = ("cluster", "phase", "gated")
    list_select_related = ("cluster",)
    search_fields = ("name", "uid", "node_name")
    ordering = ("cluster", "namespace", "name")


@admin.register(ApiObject)
class ApiObjectAdmin(ResultAdmin):
    list_display = ("name", "kind", "namespace", "cluster", "rv")
    list_filter = ("cluster", "kind")
    list_select_related = ("cluster",)
    search_fields = ("name", "uid")
    ordering = ("cluster", "kind", "namespace", "name")


@admin.register(Change)
class ChangeAdmin(ResultAdmin):
    list_display = ("rv", "cluster", "operation", "kind", "namespace", "name", "actor", "at")
    list_filter = ("cluster", "operation", "kind")
    list_select_related = ("cluster",)
    search_fields = ("name", "uid")
    ordering = ("cluster", "-rv")


@admin.register(Event)
class EventAdmin(ResultAdmin):
    list_display = ("last_at", "cluster", "type", "reason", "regarding_kind", "regarding_namespace", "regarding_name")
    list_filter = ("cluster", "type", "reason")
    list_select_related = ("cluster",)
    search_fields = ("regarding_name", "regarding_uid")
    ordering = ("-id",)


@admin.register(Import)
class ImportAdmin(ResultAdmin):
    list_display = ("filename", "cluster", "status", "actor", "created_at", "finished_at", "attempts")
    list_filter = ("cluster", "status")
    list_select_related = ("cluster",)
    ordering = ("-created_at", "id")
