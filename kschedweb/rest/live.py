"""What browsers follow: the snapshot, frames that were missed, and throughput over time."""

from rest_framework.request import Request

from kschedweb import views
from kschedweb.cluster import selectors as cluster_selectors
from kschedweb.live.columns import snapshot_columns
from kschedweb.rest import inputs
from kschedweb.rest.answers import RestView
from kschedweb.rest.past import StandingView
from kschedweb.traces import selectors


class SnapshotView(StandingView):
    def get(self, request: Request, cluster_id: int, query: views.AtQuery) -> views.Snapshot:
        """Read everything the dashboard shows, as of one cursor."""
        with self.standing(cluster_id, query) as shown:
            return shown.snapshot()


class SnapshotColumnsView(RestView):
    def get(self, request: Request, cluster_id: int) -> views.SnapshotColumns:
        """Read the snapshot with its lists as columns: a third of its length, for programs that fetch it often."""
        return snapshot_columns(selectors.snapshot(cluster_id))


class FrameListView(RestView):
    def get(self, request: Request, cluster_id: int, query: views.FramesQuery) -> views.Frames:
        """Read the frames after a cursor, as the WebSocket would have sent them; 410 when they are too many."""
        return views.Frames(list(selectors.frames_after(cluster_id, views.Cursor(query.rv, query.seq))))


class ThroughputView(RestView):
    def get(self, request: Request, cluster_id: int, query: views.ThroughputQuery) -> views.Throughput:
        """Read attempts by result, pods bound and queue sizes over time. Seconds are kept for a day, then minutes."""
        cluster_selectors.cluster_get(cluster_id)
        return selectors.throughput(cluster_id, **inputs.throughput_span(query, cluster_id))
