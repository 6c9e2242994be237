"""Clusters with extenders, and answers that these give."""

from __future__ import annotations

from typing import Any

from scheduler_core.config.types import Extender
from scheduler_core.model.effects import Attempt
from tests.builders import make_node
from tests.core.scheduler.extender_harness import URL, names_of
from tests.core.scheduler.harness import Cluster

NAMES_ONLY = Extender(url_prefix=URL, filter_verb="filter", node_cache_capable=True)


GPU = "example.com/gpu"


def nodes(count: int = 3, **capacity: str) -> list[Any]:
    room = {"cpu": "4", "memory": "8Gi", "pods": "10"} | capacity
    return [make_node(f"n{index}").capacity(room).build() for index in range(count)]


def only(*kept: str, **more: Any) -> Any:
    """Keeps these nodes by name."""
    return lambda question: {"NodeNames": [name for name in names_of(question) if name in kept], **more}


def tried(cluster: Cluster, pod: Any) -> Attempt:
    return cluster.attempt(pod)
