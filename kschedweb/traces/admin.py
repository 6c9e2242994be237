"""Admin of the traces: what the engine did, for reading."""

from django.contrib import admin

from kschedweb.common.admin import ResultAdmin
from kschedweb.traces.models import Attempt, Checkpoint, EngineLog, EngineStep, NodeOrder, QueueState, ThroughputCount


@admin.register(EngineStep)
class EngineStepAdmin(ResultAdmin):
    list_display = ("step", "run", "cluster", "kind", "log_from", "log_to", "seq_from", "seq_to", "cycles", "now")
    list_filter = ("cluster", "kind")
    list_select_related = ("cluster",)
    ordering = ("cluster", "-run", "-step")


@admin.register(EngineLog)
class EngineLogAdmin(ResultAdmin):
    list_display = ("seq", "cluster", "kind", "pod_key", "step", "rv", "at")
    list_filter = ("cluster", "kind")
    list_select_related = ("cluster",)
    search_fields = ("pod_uid",)
    ordering = ("cluster", "-seq")


@admin.register(Attempt)
class AttemptAdmin(ResultAdmin):
    list_display = (
        "seq",
        "cluster",
        "namespace",
        "name",
        "last_attempt",
        "result",
        "node_name",
        "feasible",
        "last_seen_at",
    )
    list_filter = ("cluster", "result")
    list_select_related = ("cluster",)
    search_fields = ("name", "pod_uid")
    ordering = ("cluster", "-seq")


@admin.register(NodeOrder)
class NodeOrderAdmin(ResultAdmin):
    list_display = ("digest", "cluster")
    list_filter = ("cluster",)
    list_select_related = ("cluster",)
    ordering = ("cluster", "digest")


@admin.register(QueueState)
class QueueStateAdmin(ResultAdmin):
    list_display = ("pod_key", "cluster", "queue", "node_name", "attempts", "since", "backoff_until")
    list_filter = ("cluster", "queue")
    list_select_related = ("cluster",)
    search_fields = ("pod_key", "pod_uid")
    ordering = ("cluster", "pod_key")


@admin.register(Checkpoint)
class CheckpointAdmin(ResultAdmin):
    list_display = ("at", "cluster", "run", "step", "seq", "rv", "config_version")
    list_filter = ("cluster",)
    list_select_related = ("cluster",)
    ordering = ("cluster", "-seq")


@admin.register(ThroughputCount)
class ThroughputCountAdmin(ResultAdmin):
    list_display = ("at", "cluster", "seconds", "run", "scheduled", "unschedulable", "bound", "queue_active")
    list_filter = ("cluster", "seconds")
    list_select_related = ("cluster",)
    ordering = ("cluster", "-at")
