"""The ReplicationControllers of a cluster; see `replicas` for what becomes of their pods."""

from __future__ import annotations

from scheduler_core.api.pod import Pod
from scheduler_core.api.workload import ReplicationController
from scheduler_core.controllers.controller import ClusterOptions
from scheduler_core.controllers.pod_index import PodIndex
from scheduler_core.controllers.workloads.replicas import ReplicaController


class ReplicationControllers(ReplicaController[ReplicationController]):
    """All ReplicationControllers of one cluster."""

    name, actor = "replicationcontrollers", "replication-controller"

    def __init__(self, cluster: ClusterOptions, pods: PodIndex | None = None) -> None:
        super().__init__(cluster, pods, ReplicationController, Pod)
