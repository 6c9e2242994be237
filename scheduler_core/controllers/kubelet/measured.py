"""A node with all that is known of what it has and what its pods use."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from scheduler_core.api.node import Node
from scheduler_core.api.pod import Pod
from scheduler_core.controllers.kubelet.configuration import KubeletConfig, Threshold
from scheduler_core.controllers.kubelet.pod_usage import Used
from scheduler_core.controllers.kubelet.ranking import PodUse, pod_use
from scheduler_core.controllers.kubelet.signals import Signals, has_imagefs


class Measured(msgspec.Struct, frozen=True):
    """One node; `used` has what each pod uses, by uid; `pods`: those that run and nobody ends yet, the oldest first."""

    node: Node
    config: KubeletConfig
    signals: Signals
    used: dict[str, tuple[Used, ...]]
    pods: Callable[[], Sequence[Pod]]

    @property
    def thresholds(self) -> list[Threshold]:
        """Those whose signals the node has."""
        return [one for one in self.config.thresholds if one.signal in self.signals]

    @property
    def separate_images(self) -> bool:
        return has_imagefs(self.node)

    def uses(self, now: int) -> list[PodUse]:
        """Return what each pod uses at that time."""
        return [pod_use(pod, self.used.get(pod.uid, ()), now) for pod in self.pods()]
