"""Which images of a node no pod runs: what a kubelet removes when its disk is full."""

from __future__ import annotations

from collections.abc import Sequence

from scheduler_core.api.derived import normalized_image_name
from scheduler_core.api.node import ContainerImage, Node
from scheduler_core.api.pod import Pod


def unused_images(node: Node, pods: Sequence[Pod]) -> list[ContainerImage]:
    """Return the images of the node that none of its pods names."""
    in_use = {
        normalized_image_name(container.image)
        for pod in pods
        for container in (*pod.spec.containers, *(pod.spec.init_containers or ()))
    }
    return [
        image
        for image in node.status.images or ()
        if not any(normalized_image_name(name) in in_use for name in image.names or ())
    ]
