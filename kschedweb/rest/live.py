"""What browsers follow: the snapshot, frames that were missed, and throughput over time."""

from rest_framework.request import Request

from kschedweb import views
from kschedweb.cluster import selectors as cluster_selectors
from kschedweb.live.columns import snapshot_columns
from kschedweb.rest import inputs
from kschedweb.rest.answers import RestView
from kschedweb.rest.past import StandingView
from kschedweb.scheduling.past import timeline
from kschedweb.traces import selectors


class SnapshotView(StandingView):
    def get(self, request: Request, cluster_id: int, query: views.AtQuery) -> views.Snapshot:
        """Read everything the dashboard shows, as of one cursor."""
        with self.standing(cluster_id, query) as shown:
            return shown.snapshot()


class SnapshotColumnsView(StandingView):
    def get(self, request: Request, cluster_id: int, query: views.AtQuery) -> views.SnapshotColumns:
        """Read the snapshot with its lists as columns: a third of its length, for programs that fetch it often."""
        with self.standing(cluster_id, query) as shown:
            return snapshot_columns(shown.snapshot())


class FrameListView(RestView):
    def get(self, request: Request, cluster_id: int, query: views.FramesQuery) -> views.Frames:
        """Read the frames after a cursor, as the WebSocket would have sent them; 410 when they are too many.

        With `steps` it is one frame for each of the next steps of the engine, at its time, so that the past can be
        played from any cursor on; 410 where what follows has been cleared away. No frames: the logs end there.
        """
        after = views.Cursor(query.rv, query.seq)
        if isinstance(query.steps, int):
            return views.Frames(list(selectors.frames_by_step(cluster_id, after, query.steps)))
        return views.Frames(list(selectors.frames_after(cluster_id, after)))


class TimelineView(RestView):
    def get(self, request: Request, cluster_id: int, query: views.TimelineQuery) -> views.Timeline:
        """Read where history begins, and what happened over a span of the cluster's time, in parts of equal length."""
        begins = timeline.beginning(cluster_id)
        span = inputs.timeline_span(query, cluster_id, begins)
        return timeline.timeline(cluster_id, begins=begins, **span)


class ThroughputView(RestView):
    def get(self, request: Request, cluster_id: int, query: views.ThroughputQuery) -> views.Throughput:
        """Read attempts by result, pods bound and queue sizes over time. Seconds are kept for a day, then minutes."""
        cluster_selectors.cluster_get(cluster_id)
        return selectors.throughput(cluster_id, **inputs.throughput_span(query, cluster_id))
