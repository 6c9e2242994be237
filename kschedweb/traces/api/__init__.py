"""REST over what the engine did: what browsers follow, attempts and events, questions over many, downloads."""

from kschedweb.traces.api.attempts import (
    AttemptListView,
    AttemptView,
    EventListView,
    PodAttemptListView,
    PreemptionListView,
)
from kschedweb.traces.api.export import ExportView
from kschedweb.traces.api.live import DigestView, FrameListView, PodView, SnapshotView, SummaryView
from kschedweb.traces.api.questions import NodeRefusalListView, PendingPodListView, PendingView, SlowestView

__all__ = [
    "AttemptListView",
    "AttemptView",
    "DigestView",
    "EventListView",
    "ExportView",
    "FrameListView",
    "NodeRefusalListView",
    "PendingPodListView",
    "PendingView",
    "PodAttemptListView",
    "PodView",
    "PreemptionListView",
    "SlowestView",
    "SnapshotView",
    "SummaryView",
]
