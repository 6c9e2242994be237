"""Nodes that already have the pod's images score higher; an image on few nodes counts less, against crowding there.

score    size · share of nodes having the image, summed over containers: 23 MiB give 0, 1000 MiB per container 100

The product is rounded down per image, in float64 in this order: count / total, then times size.
Source: kubernetes v1.34.1, pkg/scheduler/framework/plugins/imagelocality
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from scheduler_core.api.derived import normalized_image_name
from scheduler_core.api.pod import Pod
from scheduler_core.config import names
from scheduler_core.framework.answers import MAX_NODE_SCORE, Int64Array
from scheduler_core.framework.cycle_state import CycleState
from scheduler_core.framework.handle import Handle
from scheduler_core.framework.reuse import DependsOn
from scheduler_core.model.node_info import NodeInfo
from scheduler_core.model.status import SUCCESS, Status
from scheduler_core.plugins.helpers import Rows
from scheduler_core.table.node_table import NodeTable

MIB = 1024 * 1024
MIN_THRESHOLD = 23 * MIB
MAX_CONTAINER_THRESHOLD = 1000 * MIB


class ImageLocality:
    name = names.IMAGE_LOCALITY

    def __init__(self, args: object | None, handle: Handle) -> None:
        """It takes no arguments; the number of nodes is the snapshot's."""
        self._handle = handle

    def depends_on(self, pod: Pod) -> DependsOn:
        return DependsOn.CLUSTER  # the number of nodes

    def depends_on_cluster(self, pod: Pod, table: NodeTable) -> bool:
        return table.images.any

    def score(self, state: CycleState, pod: Pod, node_info: NodeInfo) -> tuple[int, Status]:
        total_nodes = self._handle.snapshot.num_nodes()
        present = 0
        for image in _images(pod):
            held = node_info.image_states.get(image)
            if held is not None:
                present += int(float(held.size) * (float(held.num_nodes) / float(total_nodes)))
        low, high = _thresholds(pod)
        present = low if present < low else min(present, high)
        return MAX_NODE_SCORE * (present - low) // (high - low), SUCCESS

    def score_nodes(self, state: CycleState, pod: Pod, table: NodeTable, rows: Rows) -> Int64Array:
        total_nodes = float(self._handle.snapshot.num_nodes())
        present: Int64Array | None = None
        for image in state.cached(_images, lambda: tuple(_images(pod))):
            column = table.image(image)
            if column is None:
                continue
            share = column.num_nodes[rows] / total_nodes
            share *= column.sizes[rows]
            held = share.astype(np.int64)
            present = held if present is None else present + held
        if present is None:
            return np.zeros(len(rows), dtype=np.int64)
        low, high = _thresholds(pod)
        np.clip(present, low, high, out=present)
        present -= low
        present *= MAX_NODE_SCORE
        present //= high - low
        return present


def _images(pod: Pod) -> Iterator[str]:
    """Normalised image names, repeated as often as containers use them."""
    for container in (*(pod.spec.init_containers or ()), *pod.spec.containers):
        yield normalized_image_name(container.image)


def _thresholds(pod: Pod) -> tuple[int, int]:
    """Image bytes that score 0 and 100."""
    containers = len(pod.spec.init_containers or ()) + len(pod.spec.containers)
    return MIN_THRESHOLD, MAX_CONTAINER_THRESHOLD * containers
