"""REST over what the engine did: what browsers follow, attempts and events, questions over many, downloads."""

from kschedweb.traces.api.attempts import (
    AttemptListView,
    AttemptPreemptionView,
    AttemptView,
    EventListView,
    PodAttemptListView,
    PreemptionListView,
)
from kschedweb.traces.api.export import ExportView
from kschedweb.traces.api.live import (
    DigestView,
    FrameListView,
    PodView,
    SnapshotColumnsView,
    SnapshotView,
    SummaryView,
    ThroughputView,
)
from kschedweb.traces.api.questions import NodeRefusalListView, PendingPodListView, PendingView, SlowestView

__all__ = [
    "AttemptListView",
    "AttemptPreemptionView",
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
    "SnapshotColumnsView",
    "SnapshotView",
    "SummaryView",
    "ThroughputView",
]
