"""Writes of the cluster app, one module for each noun. A transaction's last statement is `changes_commit`."""

from kschedweb.cluster.changes import ChangeEntry, changes_commit
from kschedweb.cluster.services.clusters import (
    clock_set,
    cluster_change,
    cluster_create,
    cluster_delete,
    lifecycle_mode_set,
    pace_set,
    scheduler_state_set,
)
from kschedweb.cluster.services.configurations import scheduler_config_set
from kschedweb.cluster.services.copies import Copied, CopyReport, missing_of, objects_copy, synced_set
from kschedweb.cluster.services.imports import HistoryTaken, ImportOptions, import_apply, import_take
from kschedweb.cluster.services.objects import PutOptions, objects_put
from kschedweb.cluster.services.requests import (
    error_of,
    node_update,
    object_delete,
    pod_delete,
    pod_evict,
    requests_carry_out,
    server_of,
)

__all__ = [
    "ChangeEntry",
    "Copied",
    "CopyReport",
    "HistoryTaken",
    "ImportOptions",
    "PutOptions",
    "changes_commit",
    "clock_set",
    "cluster_change",
    "cluster_create",
    "cluster_delete",
    "error_of",
    "import_apply",
    "import_take",
    "lifecycle_mode_set",
    "missing_of",
    "node_update",
    "object_delete",
    "objects_copy",
    "objects_put",
    "pace_set",
    "pod_delete",
    "pod_evict",
    "scheduler_config_set",
    "requests_carry_out",
    "scheduler_state_set",
    "server_of",
    "synced_set",
]
