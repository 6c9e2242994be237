"""The controllers that act in every simulated cluster, in the order in which they take their steps."""

from __future__ import annotations

from collections.abc import Callable

from scheduler_core.controllers.controller import ClusterOptions, Controller
from scheduler_core.controllers.disruption import DisruptionController
from scheduler_core.controllers.ephemeral_claims import EphemeralClaims
from scheduler_core.controllers.kubelet import Kubelet
from scheduler_core.controllers.pod_gc import PodGC
from scheduler_core.controllers.service_accounts import ServiceAccounts
from scheduler_core.controllers.volumes import VolumeController

CONTROLLERS: tuple[Callable[[ClusterOptions], Controller], ...] = (
    Kubelet,
    PodGC,
    EphemeralClaims,
    VolumeController,
    DisruptionController,
    ServiceAccounts,
)
