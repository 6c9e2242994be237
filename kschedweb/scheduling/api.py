"""REST over the scheduler's work."""

from dataclasses import asdict
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from kschedweb.cluster import selectors as cluster_selectors
from kschedweb.common.errors import NotFoundError
from kschedweb.common.rendering import OrjsonRenderer
from kschedweb.scheduling import retention, selectors
from kschedweb.traces import selectors as trace_selectors
from kschedweb.traces.api import inputs, outputs


class PodHistoryView(APIView):
    renderer_classes = [OrjsonRenderer]

    class OutputSerializer(serializers.Serializer[Any]):
        pod_uid = serializers.CharField()
        entries = outputs.HistoryEntryOutput(many=True, help_text="oldest first")

        class Meta:
            ref_name = "PodHistory"

    @extend_schema(parameters=[inputs.HistoryInput], responses=OutputSerializer)
    def get(self, request: Request, cluster_id: int, namespace: str, name: str) -> Response:
        """What happened to the pod: queues, attempts, assumed and forgotten, waits, bindings and why they failed."""
        cluster_selectors.cluster_get(cluster_id)
        limit = inputs.given(inputs.HistoryInput, request)["limit"]
        uid = trace_selectors.pod_uid(cluster_id, namespace, name)
        if uid is None:
            raise NotFoundError("no pod of this name is there or was ever tried", namespace=namespace, name=name)
        entries = selectors.pod_history(cluster_id, uid, limit)
        return Response({"pod_uid": uid, "entries": [asdict(entry) for entry in entries]})


class StorageView(APIView):
    """How much room a cluster's past takes, and since when it is kept."""

    class OutputSerializer(serializers.Serializer[Any]):
        class TableSerializer(serializers.Serializer[Any]):
            table = serializers.CharField()
            rows = serializers.IntegerField()
            bytes = serializers.IntegerField(help_text="estimated from a sample")

            class Meta:
                ref_name = "StorageTable"

        tables = TableSerializer(many=True)
        bytes = serializers.IntegerField()
        retention_hours = serializers.IntegerField()
        retention_mb = serializers.IntegerField()
        oldest_at = serializers.DateTimeField(allow_null=True)
        checkpoints = serializers.IntegerField()

        class Meta:
            ref_name = "Storage"

    @extend_schema(responses=OutputSerializer)
    def get(self, request: Request, cluster_id: int) -> Response:
        cluster = cluster_selectors.cluster_get(cluster_id)
        sizes = retention.sizes(cluster_id)
        tables = [{"table": table, "rows": size.rows, "bytes": size.bytes} for table, size in sizes.items()]
        oldest_at, checkpoints = retention.reach(cluster_id)
        view = {
            "tables": tables,
            "bytes": sum(size.bytes for size in sizes.values()),
            "retention_hours": cluster.retention_hours,
            "retention_mb": cluster.retention_mb,
            "oldest_at": oldest_at,
            "checkpoints": checkpoints,
        }
        return Response(self.OutputSerializer(view).data)


class PruneView(APIView):
    class InputSerializer(serializers.Serializer[Any]):
        hours = serializers.FloatField(required=False, min_value=0, max_value=1e7)
        megabytes = serializers.FloatField(required=False, min_value=0, max_value=1e7)

        class Meta:
            ref_name = "Prune"

    class OutputSerializer(serializers.Serializer[Any]):
        cut_at = serializers.DateTimeField(allow_null=True, help_text="of the checkpoint up to which all went")
        rows = serializers.DictField(child=serializers.IntegerField())
        more = serializers.BooleanField(help_text="the time was over: ask again")
        waits_for_checkpoint = serializers.BooleanField(
            help_text="there is something to clear away, but no checkpoint from then to go on from"
        )

        class Meta:
            ref_name = "Pruned"

    @extend_schema(request=InputSerializer, responses=OutputSerializer)
    def post(self, request: Request, cluster_id: int) -> Response:
        """Clear away what is past the cluster's settings, or past those given; never the last ten minutes."""
        given = self.InputSerializer(data=request.data)
        given.is_valid(raise_exception=True)
        done = retention.prune(cluster_id=cluster_id, **given.validated_data)
        view = {
            "cut_at": done.cut.at if done.cut is not None else None,
            "rows": done.rows,
            "more": done.more,
            "waits_for_checkpoint": done.waits_for_checkpoint,
        }
        return Response(self.OutputSerializer(view).data)
