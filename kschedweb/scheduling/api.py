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
from kschedweb.scheduling import selectors
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
