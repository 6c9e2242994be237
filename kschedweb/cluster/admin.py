"""Admin of the cluster app: for reading, but for how much of a cluster's past is kept."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from kschedweb.cluster import services
from kschedweb.cluster.adapters import CONFIDENTIAL_KINDS
from kschedweb.cluster.models import ApiObject, Change, Cluster, Event, Import, Node, Pod, SchedulerConfigVersion
from kschedweb.common.admin import ResultAdmin


@admin.register(Cluster)
class ClusterAdmin(ResultAdmin):
    list_display = (
        "name",
        "lifecycle_mode",
        "pace",
        "rv",
        "seq",
        "retention_hours",
        "retention_mb",
        "is_sample",
        "created_at",
    )
    list_filter = ("lifecycle_mode", "pace", "is_sample")
    search_fields = ("name",)
    ordering = ("name",)
    editable = ("retention_hours", "retention_mb")

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return bool(request.user.is_active and request.user.is_superuser)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        return [name for name in self.get_fields(request, obj) if name not in self.editable]

    def save_model(self, request: HttpRequest, obj: Cluster, form: Any, change: bool) -> None:
        """Through the service, as every change of a cluster: the log says who made it."""
        values = {name: form.cleaned_data[name] for name in self.editable if name in form.changed_data}
        if values:
            services.cluster_change(cluster_id=obj.pk, actor=request.user.get_username(), **values)


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

    def get_queryset(self, request: HttpRequest) -> QuerySet[ApiObject]:
        shown: QuerySet[ApiObject] = super().get_queryset(request).exclude(kind__in=CONFIDENTIAL_KINDS)
        return shown


@admin.register(Change)
class ChangeAdmin(ResultAdmin):
    list_display = ("rv", "cluster", "operation", "kind", "namespace", "name", "actor", "at")
    list_filter = ("cluster", "operation", "kind")
    list_select_related = ("cluster",)
    search_fields = ("name", "uid")
    ordering = ("cluster", "-rv")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Change]:
        shown: QuerySet[Change] = super().get_queryset(request).exclude(kind__in=CONFIDENTIAL_KINDS)
        return shown


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
