"""What browsers follow: the snapshot, frames that were missed, and throughput over time."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request

from kschedweb import views
from kschedweb.cluster import selectors as cluster_selectors
from kschedweb.live.columns import snapshot_columns
from kschedweb.rest import inputs
from kschedweb.rest.answers import RestView
from kschedweb.traces import selectors


class SnapshotView(RestView):
    def get(self, request: Request, cluster_id: int) -> views.Snapshot:
        """Read everything the dashboard shows, as of one cursor."""
        return selectors.snapshot(cluster_id)


class SnapshotColumnsView(RestView):
    def get(self, request: Request, cluster_id: int) -> views.SnapshotColumns:
        """Read the snapshot with its lists as columns: a third of its length, for programs that fetch it often."""
        return snapshot_columns(selectors.snapshot(cluster_id))


class FrameListView(RestView):
    class Input(serializers.Serializer[Any]):
        rv = serializers.IntegerField(min_value=0)
        seq = serializers.IntegerField(min_value=0)

        class Meta:
            ref_name = "After"

    @extend_schema(parameters=[Input])
    def get(self, request: Request, cluster_id: int) -> views.Frames:
        """Read the frames after a cursor, as the WebSocket would have sent them; 410 when they are too many."""
        after = views.Cursor(**inputs.query(self.Input, request))
        return views.Frames(list(selectors.frames_after(cluster_id, after)))


class ThroughputView(RestView):
    @extend_schema(parameters=[inputs.ThroughputInput])
    def get(self, request: Request, cluster_id: int) -> views.Throughput:
        """Read attempts by result, pods bound and queue sizes over time. Seconds are kept for a day, then minutes."""
        cluster_selectors.cluster_get(cluster_id)
        return selectors.throughput(cluster_id, **inputs.query(inputs.ThroughputInput, request))
