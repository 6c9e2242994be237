"""Loading the sample: the cluster, its namespaces, classes, nodes, disks and budgets, and the first wave of pods.

All in one transaction, so that a start that is cut short leaves nothing half made. What follows the first wave is the
work of the life cycle (`scheduler_core.lifecycle.workloads`).
"""

from typing import Any

from django.db import transaction

from kschedweb.cluster.choices import LifecycleMode
from kschedweb.cluster.intake.objects import Item
from kschedweb.cluster.intake.problems import Place
from kschedweb.cluster.models import Cluster
from kschedweb.cluster.services import PutOptions, cluster_create, objects_put
from kschedweb.ops.sample.nodes import csi_nodes, nodes
from kschedweb.ops.sample.storage import storage
from scheduler_core.lifecycle.sample import BUDGETS, FIRST_WAVE, PRIORITY_CLASSES, SAMPLE
from scheduler_core.lifecycle.workloads import APP_LABEL, first_wave

NAME = "otter-post"
SEED = 20
ACTOR = "sample"


def load() -> Cluster:
    """The sample cluster; made now unless there is one already."""
    there = Cluster.objects.filter(is_sample=True).first()
    if there is not None:
        return there
    items = [
        Item(Place(ACTOR), manifest, str(manifest["apiVersion"]), str(manifest["kind"])) for manifest in manifests(SEED)
    ]
    with transaction.atomic():
        cluster = cluster_create(
            name=NAME, seed=SEED, lifecycle_mode=LifecycleMode.SIMULATE, is_sample=True, actor=ACTOR
        )
        objects_put(cluster_id=cluster.pk, items=items, options=PutOptions(), actor=ACTOR)
    return cluster


def manifests(seed: int) -> list[dict[str, Any]]:
    """Everything the sample begins with."""
    pods = first_wave(SAMPLE, seed, FIRST_WAVE)
    namespaces = sorted({pod["metadata"]["namespace"] for pod in pods} | {SAMPLE.burst.namespace})
    return [
        *({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in namespaces),
        *(_priority_class(*given) for given in PRIORITY_CLASSES),
        *nodes(seed),
        *csi_nodes(),
        *storage(),
        *(_disruption_budget(*given) for given in BUDGETS),
        *pods,
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
