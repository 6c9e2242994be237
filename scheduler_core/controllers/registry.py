"""The controllers of simulated clusters, in the order in which they take their steps, and what they are grouped in.

Each group is switched off as a whole where a program from outside does its work.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, Protocol, cast

from scheduler_core.controllers.controller import ClusterOptions, Controller
from scheduler_core.controllers.device_driver import DeviceDriver
from scheduler_core.controllers.disruption import DisruptionController
from scheduler_core.controllers.drain import Drain
from scheduler_core.controllers.ephemeral_claims import EphemeralClaims
from scheduler_core.controllers.event_expiry import EventExpiry
from scheduler_core.controllers.garbage import GarbageCollector
from scheduler_core.controllers.kubelet.kubelet import Kubelet
from scheduler_core.controllers.namespaces import NamespaceController
from scheduler_core.controllers.negotiating_driver import NegotiatingDriver
from scheduler_core.controllers.node_agents import NodeAgents
from scheduler_core.controllers.node_lifecycle import NodeLifecycle
from scheduler_core.controllers.node_marks import NodeMarks
from scheduler_core.controllers.pending_claims import PendingClaims
from scheduler_core.controllers.pod_gc import PodGC
from scheduler_core.controllers.pod_index import PodIndex, PodReader
from scheduler_core.controllers.quotas import QuotaController
from scheduler_core.controllers.resource_claims import ResourceClaimController
from scheduler_core.controllers.service_accounts import ServiceAccounts
from scheduler_core.controllers.stale_disruptions import StaleDisruptions
from scheduler_core.controllers.taint_eviction import TaintEviction
from scheduler_core.controllers.volume_protection import VolumeProtection
from scheduler_core.controllers.volumes import VolumeController
from scheduler_core.controllers.workloads.cronjobs import CronJobs
from scheduler_core.controllers.workloads.daemonsets import DaemonSets
from scheduler_core.controllers.workloads.deployments import Deployments
from scheduler_core.controllers.workloads.finished_jobs import FinishedJobs
from scheduler_core.controllers.workloads.jobs import Jobs
from scheduler_core.controllers.workloads.replicasets import ReplicaSets
from scheduler_core.controllers.workloads.replicationcontrollers import ReplicationControllers
from scheduler_core.controllers.workloads.statefulsets import StatefulSets

# Each with what its controllers do.
GROUPS: Final = {
    "kubelet": "starts bound pods, ends those with a run time, removes deleted ones",
    "nodes": "watches over nodes, taints those that are not well, evicts pods by taints, drains nodes",
    "volumes": "binds claims to volumes, provisions and protects volumes, makes claims of ephemeral volumes",
    "devices": "makes claims of devices from templates and takes them back, plays the drivers of simulated devices",
    "disruption": "keeps the status of PodDisruptionBudgets, takes back stale conditions DisruptionTarget",
    "workloads": "keeps pods of Deployments, ReplicaSets, DaemonSets and StatefulSets, runs Jobs and CronJobs",
    "garbage": "deletes what owners leave behind, pods that ended long ago, and events after an hour",
    "quotas": "counts what ResourceQuotas limit",
    "namespaces": "empties namespaces that are deleted, gives new ones their default ServiceAccount",
}


class ControllerClass(Protocol):
    """A class of controllers: its group is known before one is made."""

    @property
    def group(self) -> str: ...
    def __call__(self, cluster: ClusterOptions, /) -> Controller: ...


class PodReaderClass(Protocol):
    """A class of controllers that may share an index of pods."""

    def __call__(self, cluster: ClusterOptions, pods: PodIndex, /) -> Controller: ...


CONTROLLERS: tuple[ControllerClass, ...] = (
    Kubelet,
    PodGC,
    NodeAgents,
    NodeLifecycle,
    NodeMarks,
    TaintEviction,
    Drain,
    GarbageCollector,
    EventExpiry,
    NamespaceController,
    Deployments,
    ReplicaSets,
    ReplicationControllers,
    StatefulSets,
    Jobs,
    FinishedJobs,
    CronJobs,
    DaemonSets,
    EphemeralClaims,
    VolumeController,
    PendingClaims,
    VolumeProtection,
    DeviceDriver,
    NegotiatingDriver,
    ResourceClaimController,
    DisruptionController,
    StaleDisruptions,
    ServiceAccounts,
    QuotaController,
)


def controllers_of(options: ClusterOptions, external: Collection[str] = ()) -> list[Controller]:
    """New controllers of a cluster, without those of the groups that work from outside; they share an index of pods."""
    pods = PodIndex()
    return [_made(make, options, pods) for make in CONTROLLERS if make.group not in external]


def _made(make: ControllerClass, options: ClusterOptions, pods: PodIndex) -> Controller:
    if isinstance(make, type) and issubclass(make, PodReader):
        return cast("PodReaderClass", make)(options, pods)
    return make(options)
