"""Rows of a cluster: itself, the current state of its objects, the log of all changes to it, events and imports.

Pods, the log and the events carry the cluster's id without a foreign key: their rows are many, the check would lock
the cluster's row for each, and whoever writes them has just updated that row, so the cluster exists.
"""

from kschedweb.cluster.models.clusters import DNS_LABEL, ClockReading, Cluster, SchedulerConfigVersion
from kschedweb.cluster.models.imports import Import, ImportPiece
from kschedweb.cluster.models.logs import Change, Event
from kschedweb.cluster.models.objects import ApiObject, Node, Pod

__all__ = [
    "DNS_LABEL",
    "ApiObject",
    "Change",
    "ClockReading",
    "Cluster",
    "Event",
    "Import",
    "ImportPiece",
    "Node",
    "Pod",
    "SchedulerConfigVersion",
]
