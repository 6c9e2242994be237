"""Writes of the cluster app, one module for each noun. A transaction's last statement is `changes_commit`."""

from kschedweb.cluster.changes import ChangeEntry, changes_commit
from kschedweb.cluster.services.clusters import (
    cluster_change,
    cluster_create,
    cluster_delete,
    lifecycle_mode_set,
    pace_set,
    scheduler_problem_set,
)
from kschedweb.cluster.services.configurations import scheduler_config_set
from kschedweb.cluster.services.imports import ImportOptions, import_apply, import_take
from kschedweb.cluster.services.nodes import node_update
from kschedweb.cluster.services.objects import PutOptions, object_delete, objects_put
from kschedweb.cluster.services.patches import ObjectPatch, objects_patch
from kschedweb.cluster.services.pods import (
    PREEMPTION_BY_SCHEDULER,
    BindOutcomes,
    StatusUpdate,
    pod_delete,
    pods_bind,
    pods_evict,
    pods_remove,
    pods_status_patch,
    pods_status_update,
)

__all__ = [
    "PREEMPTION_BY_SCHEDULER",
    "BindOutcomes",
    "ChangeEntry",
    "ImportOptions",
    "ObjectPatch",
    "PutOptions",
    "StatusUpdate",
    "changes_commit",
    "cluster_change",
    "cluster_create",
    "cluster_delete",
    "import_apply",
    "import_take",
    "lifecycle_mode_set",
    "node_update",
    "object_delete",
    "objects_patch",
    "objects_put",
    "pace_set",
    "pod_delete",
    "pods_bind",
    "pods_evict",
    "pods_remove",
    "pods_status_patch",
    "pods_status_update",
    "scheduler_config_set",
    "scheduler_problem_set",
]
