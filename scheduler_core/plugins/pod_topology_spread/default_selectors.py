"""Whom default constraints count: what the services that select a pod and its controller have in common.

Source: kubernetes v1.34.1, pkg/scheduler/framework/plugins/helper/spread.go (DefaultSelector)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from scheduler_core.api.derived import controller_of
from scheduler_core.api.meta import LabelSelector
from scheduler_core.api.pod import Pod
from scheduler_core.api.selectors import (
    LabelSelectorMatcher,
    SelectorError,
    parse_label_selector,
    selector_from_map,
    selects_map,
)
from scheduler_core.api.workload import ReplicaSet, ReplicationController, Service, StatefulSet
from scheduler_core.framework.handle import Lister

ControllerSelector = LabelSelector | Mapping[str, str] | None


class DefaultSelectors:
    """Services are sorted by namespace once for each version of them."""

    def __init__(self) -> None:
        self._version = -1
        self._selectors: dict[str, list[Mapping[str, str]]] = {}  # of services, by namespace

    def sources(self, pod: Pod, lister: Lister) -> tuple[int, ControllerSelector]:
        """Stands for all that the selector depends on beside the pod."""
        return lister.version(Service.kind), _controller_selector(pod, lister)

    def of(self, pod: Pod, lister: Lister) -> LabelSelectorMatcher:
        """Empty when there is nothing to go by."""
        pairs: dict[str, str] = {}
        for selector in self._of_services(pod.namespace, lister):
            if selects_map(selector, pod.labels):
                pairs |= selector
        own = _controller_selector(pod, lister)
        if not isinstance(own, LabelSelector):
            return selector_from_map({**pairs, **(own or {})})
        try:
            more = parse_label_selector(own).requirements
        except SelectorError:
            more = ()
        return selector_from_map(pairs).extended(more)

    def any_service(self, namespace: str, lister: Lister) -> bool:
        """Whether a service of the namespace selects any pods."""
        return bool(self._of_services(namespace, lister))

    def _of_services(self, namespace: str, lister: Lister) -> list[Mapping[str, str]]:
        version = lister.version(Service.kind)
        if version != self._version:
            self._version, self._selectors = version, {}
            for obj in lister.list(Service.kind):
                selector = cast(Service, obj).spec.selector
                if selector:
                    self._selectors.setdefault(obj.namespace, []).append(selector)
        return self._selectors.get(namespace, [])


def _controller_selector(pod: Pod, lister: Lister) -> ControllerSelector:
    """What the pod's controller selects by, where it is of a kind that counts."""
    owner = controller_of(pod) if pod.metadata.owner_references else None
    if owner is None:
        return None
    match (owner.api_version, owner.kind):
        case (ReplicationController.api_version, ReplicationController.kind):
            controller = lister.get(owner.kind, f"{pod.namespace}/{owner.name}")
            return controller.spec.selector if isinstance(controller, ReplicationController) else None
        case (ReplicaSet.api_version, ReplicaSet.kind | StatefulSet.kind):
            replicated = lister.get(owner.kind, f"{pod.namespace}/{owner.name}")
            return replicated.spec.selector if isinstance(replicated, (ReplicaSet, StatefulSet)) else None
    return None
