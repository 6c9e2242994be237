"""The cluster as it begins: namespaces, classes, nodes, disks, budgets, services, first Jobs; and its controller."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from scheduler_core.controllers.controller import ClusterOptions
from scheduler_core.sim.demo import APP_LABEL, DemoController, first_jobs
from scheduler_core.sim.otter_post.apps import BUDGETS, PRIORITY_CLASSES, SERVICES
from scheduler_core.sim.otter_post.devices import devices
from scheduler_core.sim.otter_post.nodes import csi_nodes, nodes
from scheduler_core.sim.otter_post.script import SCRIPT
from scheduler_core.sim.otter_post.storage import storage

FIRST_JOBS: Final = 60  # pods of the Jobs that are there when it begins
# Two jobs end every second: as many as kube-controller-manager keeps would hide what happens.
ENDED_PODS: Final = 500
ENDED_PODS_US: Final = 600_000_000


def sample_options(options: ClusterOptions) -> ClusterOptions:
    """The options of a cluster as they are for Otter Post, which keeps few ended pods."""
    return replace(options, ended_pods=ENDED_PODS, ended_pods_us=ENDED_PODS_US)


class OtterPost(DemoController):
    """Keeps Otter Post busy."""

    def __init__(self, cluster: ClusterOptions) -> None:
        super().__init__(cluster, SCRIPT)


def manifests(seed: int) -> list[dict[str, Any]]:
    """Return all objects the cluster starts with, in an order in which they can be created."""
    jobs = [*SCRIPT.jobs, *(job for _, job in SCRIPT.of_round)]
    namespaces = sorted({service.namespace for service in SERVICES} | {job.namespace for job in jobs})
    return [
        *({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in namespaces),
        *(_priority_class(*given) for given in PRIORITY_CLASSES),
        *nodes(seed),
        *csi_nodes(),
        *storage(),
        *(_disruption_budget(*given) for given in BUDGETS),
        *devices(),
        *(service.manifest() for service in SERVICES),
        *first_jobs(SCRIPT, seed, FIRST_JOBS),
    ]


def _priority_class(name: str, value: int, is_default: bool) -> dict[str, Any]:
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": value,
        "globalDefault": is_default,
    }


def _disruption_budget(namespace: str, app: str, min_available: int) -> dict[str, Any]:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"namespace": namespace, "name": app},
        "spec": {"minAvailable": min_available, "selector": {"matchLabels": {APP_LABEL: app}}},
    }
