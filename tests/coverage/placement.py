"""Clusters and configurations for the tests of file 004."""

from __future__ import annotations

from typing import Any

from scheduler_core import config
from tests.builders import PodBuilder, make_node
from tests.core.scheduler.harness import Cluster, start

HEAD = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}


def zones(cluster: Cluster | None = None, **zone_of: str) -> Cluster:
    """A cluster with these nodes in their zones."""
    cluster = cluster or start()
    cluster.put(*(make_node(name).zone(zone).build() for name, zone in zone_of.items()))
    return cluster


def configured(*, use_table: bool = True, **fields: Any) -> Cluster:
    """A cluster whose scheduler runs a configuration as it is written in a file."""
    loaded = config.load({**HEAD, **fields})
    percentage = loaded.percentage_of_nodes_to_score
    return start(*loaded.profiles, percentage_of_nodes_to_score=percentage, use_table=use_table)


def node_of(cluster: Cluster, pod: PodBuilder) -> str:
    """Where the pod goes; the reasons when it goes nowhere."""
    built = pod.build()
    (attempt,) = [one for one in cluster.step(built).attempts if one.pod_uid == built.uid]
    return attempt.node_name or attempt.message.split(". ")[0].removesuffix(".").partition(": ")[2]
