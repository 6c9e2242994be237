"""REST over what browsers follow: snapshot and missed frames, one pod, and how far scheduling has come."""

from dataclasses import asdict
from typing import Any

from drf_spectacular.utils import extend_schema, extend_schema_field, inline_serializer
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from kschedweb.accounts.choices import Role
from kschedweb.accounts.permissions import actor
from kschedweb.cluster import selectors as cluster_selectors
from kschedweb.cluster import services as cluster_services
from kschedweb.common.rendering import OrjsonRenderer
from kschedweb.live import schema
from kschedweb.live.columns import snapshot_columns
from kschedweb.live.events import Cursor, Frame, QueueView, Snapshot, SnapshotColumns, Throughput
from kschedweb.traces import selectors
from kschedweb.traces.api import inputs
from kschedweb.traces.api.questions import PendingOutput


class SnapshotView(APIView):
    renderer_classes = [OrjsonRenderer]

    @extend_schema(responses={200: schema.ref(Snapshot)})
    def get(self, request: Request, cluster_id: int) -> Response:
        """Everything the dashboard shows, as of one cursor: Snapshot of live/events.py."""
        return _snapshot(selectors.snapshot(cluster_id))


class SnapshotColumnsView(APIView):
    renderer_classes = [OrjsonRenderer]

    @extend_schema(responses={200: schema.ref(SnapshotColumns)})
    def get(self, request: Request, cluster_id: int) -> Response:
        """The snapshot with its lists as columns, for programs that fetch it often: a third of its length."""
        return _snapshot(snapshot_columns(selectors.snapshot(cluster_id)))


def _snapshot(found: Snapshot | SnapshotColumns) -> Response:
    return Response({name: getattr(found, name) for name in found.__dataclass_fields__} | {"cursor": [*found.cursor]})


FRAMES = {
    "type": "object",
    "properties": {"frames": {"type": "array", "items": schema.ref(Frame)}},
    "required": ["frames"],
}


class FrameListView(APIView):
    renderer_classes = [OrjsonRenderer]

    class InputSerializer(serializers.Serializer[Any]):
        rv = serializers.IntegerField(min_value=0)
        seq = serializers.IntegerField(min_value=0)

        class Meta:
            ref_name = "Cursor"

    @extend_schema(parameters=[InputSerializer], responses={200: FRAMES})
    def get(self, request: Request, cluster_id: int) -> Response:
        """The frames after a cursor, as the WebSocket would have sent them; 410 when they are too many."""
        given = self.InputSerializer(data=request.query_params.dict())
        given.is_valid(raise_exception=True)
        frames = selectors.frames_after(cluster_id, Cursor(**given.validated_data))
        return Response(
            {
                "frames": [
                    {
                        "type": frame.type,
                        "from": [*frame.from_],
                        "to": [*frame.to],
                        "at": frame.at,
                        "events": frame.events,
                    }
                    for frame in frames
                ]
            }
        )


@extend_schema_field(schema.nullable_ref(QueueView))
class QueueField(serializers.JSONField):
    """Where the scheduler keeps a pod; null when it does not."""


class PodView(APIView):
    access = {"DELETE": Role.OPERATOR}
    renderer_classes = [OrjsonRenderer]
    holds_secrets = True  # people write them into the environment of containers: never compressed

    class OutputSerializer(serializers.Serializer[Any]):
        rv = serializers.IntegerField()
        manifest = serializers.JSONField()
        requests = serializers.DictField(child=serializers.IntegerField())

        class Meta:
            ref_name = "Pod"

    class DetailSerializer(OutputSerializer):
        queue = QueueField()

        class Meta:
            ref_name = "PodDetail"

    class DeleteSerializer(serializers.Serializer[Any]):
        grace_seconds = serializers.IntegerField(required=False, min_value=0, max_value=10**9)
        uid = serializers.CharField(required=False, max_length=128)

        class Meta:
            ref_name = "PodDelete"

    @extend_schema(responses=DetailSerializer)
    def get(self, request: Request, cluster_id: int, namespace: str, name: str) -> Response:
        """The manifest, and `queue`: where the scheduler keeps the pod, null when it does not."""
        pod = cluster_selectors.pod_get(cluster_id=cluster_id, namespace=namespace, name=name)
        return Response({**self.OutputSerializer(pod).data, "queue": selectors.pod_queue(cluster_id, pod)})

    @extend_schema(
        parameters=[DeleteSerializer],
        responses={200: inline_serializer("PodDeletion", {"gone": serializers.BooleanField()})},
    )
    def delete(self, request: Request, cluster_id: int, namespace: str, name: str) -> Response:
        """Delete gracefully; `gone` says whether it was removed at once."""
        given = self.DeleteSerializer(data=request.query_params.dict())
        given.is_valid(raise_exception=True)
        gone = cluster_services.pod_delete(
            cluster_id=cluster_id,
            namespace=namespace,
            name=name,
            actor=actor(request),
            **given.validated_data,
        )
        return Response({"gone": gone}, status=status.HTTP_200_OK)


class ThroughputView(APIView):
    renderer_classes = [OrjsonRenderer]

    @extend_schema(parameters=[inputs.ThroughputInput], responses={200: schema.ref(Throughput)})
    def get(self, request: Request, cluster_id: int) -> Response:
        """Attempts by result, pods bound and sizes of the queue over time. Seconds are kept for a day, then minutes."""
        cluster_selectors.cluster_get(cluster_id)
        found = selectors.throughput(cluster_id, **inputs.given(inputs.ThroughputInput, request))
        return Response({name: getattr(found, name) for name in found.__dataclass_fields__})


class DigestView(APIView):
    class OutputSerializer(serializers.Serializer[Any]):
        digest = serializers.CharField()
        attempts = serializers.IntegerField()
        scheduled = serializers.IntegerField()

        class Meta:
            ref_name = "Digest"

    @extend_schema(responses=OutputSerializer)
    def get(self, request: Request, cluster_id: int) -> Response:
        """A digest over each pod's first attempt: equal decisions have equal digests."""
        cluster_selectors.cluster_get(cluster_id)
        return Response(self.OutputSerializer(selectors.first_attempts(cluster_id)).data)


class SummaryView(APIView):
    class OutputSerializer(serializers.Serializer[Any]):
        class OvercommitSerializer(serializers.Serializer[Any]):
            node = serializers.CharField()
            resource = serializers.CharField()
            used = serializers.IntegerField()
            allocatable = serializers.IntegerField()

            class Meta:
                ref_name = "Overcommit"

        objects = serializers.DictField(child=serializers.IntegerField(), help_text="by kind")
        pending = PendingOutput()
        overcommitted = OvercommitSerializer(many=True)

        class Meta:
            ref_name = "Summary"

    @extend_schema(responses=OutputSerializer)
    def get(self, request: Request, cluster_id: int) -> Response:
        """How far scheduling has come: what is pending and why, and nodes over their allocatable (there are none)."""
        cluster_selectors.cluster_get(cluster_id)
        over = cluster_selectors.node_overcommit(cluster_id)
        return Response(
            {
                "objects": cluster_selectors.object_counts(cluster_id),
                "pending": asdict(selectors.pending_summary(cluster_id)),
                "overcommitted": [asdict(one) for one in over],
            }
        )
