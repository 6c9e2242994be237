"""Which pods intend to run on which node, ahead of what is stored.

Lists keep the order of the last addition: an update moves a pod to the end. An override with an empty name keeps the
pod under the empty node name, as upstream; no real node has it.
Source: kubernetes v1.34.1, pkg/scheduler/backend/queue/nominator.go.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from scheduler_core.api.meta import ObjectMeta
from scheduler_core.api.pod import Pod
from scheduler_core.framework.answers import NominatingInfo, NominatingMode
from scheduler_core.model.types import PodInfo, QueuedPodInfo
from scheduler_core.ports import LogSink

PodLister = Callable[[str], Pod | None]
"""`namespace/name` → the pod as stored now."""


@dataclass(frozen=True, slots=True)
class PodRef:
    """What the nominator keeps of a pod."""

    uid: str
    namespace: str
    name: str

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"

    def bare_pod(self) -> Pod:
        """A pod of which nothing but the name is known."""
        return Pod(metadata=ObjectMeta(uid=self.uid, namespace=self.namespace, name=self.name))


class Nominator:
    def __init__(self, stored_pod: PodLister, log: LogSink) -> None:
        self._stored_pod = stored_pod
        self._log = log
        self._pod_infos: dict[str, PodInfo] = {}  # by uid, as last asked for
        # By node, then uid. Every pod that met an error is under the empty name: taking one out must be cheap.
        self._refs: dict[str, dict[str, PodRef]] = {}
        self.node_by_uid: dict[str, str] = {}

    @property
    def pods_by_node(self) -> dict[str, list[PodRef]]:
        """All nominations, nodes in order of their first one."""
        return {node_name: list(refs.values()) for node_name, refs in self._refs.items()}

    @property
    def node_names(self) -> list[str]:
        """Nodes with a nominated pod, in order of the first nomination."""
        return list(self._refs)

    def add(self, pod: Pod, info: NominatingInfo | None = None) -> None:
        """Nominate by `info`, or by the pod's status when it says Noop; whatever was recorded before is dropped."""
        self.delete_if_exists(pod)
        if info is not None and info.mode is NominatingMode.OVERRIDE:
            node_name = info.nominated_node_name
        else:
            node_name = pod.status.nominated_node_name
            if not node_name:
                return
        stored = self._stored_pod(pod.key)
        if stored is None:
            self._log("Pod doesn't exist in podLister, aborted adding it to the nominator", {"pod": pod.key})
            return
        if stored.is_assigned:
            self._log(
                "Pod is already scheduled to a node, aborted adding it to the nominator",
                {"pod": pod.key, "node": stored.spec.node_name},
            )
            return
        self.node_by_uid[pod.uid] = node_name
        self._refs.setdefault(node_name, {})[pod.uid] = PodRef(pod.uid, pod.namespace, pod.name)

    def update(self, old: Pod | None, new: Pod) -> None:
        """Follow an update; a node recorded here only survives one that knows of no nomination at all."""
        info = None
        if old is not None:
            known = self.node_by_uid.get(old.uid)
            if known is not None and not old.status.nominated_node_name and not new.status.nominated_node_name:
                info = NominatingInfo(NominatingMode.OVERRIDE, known)
            self.delete_if_exists(old)
        self.add(new, info)

    def delete_if_exists(self, pod: Pod) -> None:
        node_name = self.node_by_uid.pop(pod.uid, None)
        if node_name is None:
            return
        self._pod_infos.pop(pod.uid, None)
        refs = self._refs[node_name]
        del refs[pod.uid]
        if not refs:
            del self._refs[node_name]

    def refs_for_node(self, node_name: str) -> list[PodRef]:
        return list(self._refs.get(node_name, {}).values())

    def pod_info(self, ref: PodRef, queued: QueuedPodInfo | None) -> PodInfo:
        """The nominated pod with its sums, as queued now."""
        if queued is None:
            return PodInfo.of(ref.bare_pod())
        known = self._pod_infos.get(ref.uid)
        if known is None or known.pod is not queued.pod:
            known = self._pod_infos[ref.uid] = PodInfo.of(queued.pod)
        return known

    def dump(self) -> dict[str, Any]:
        return {
            node: [[ref.uid, ref.namespace, ref.name] for ref in refs.values()] for node, refs in self._refs.items()
        }

    def load(self, dumped: dict[str, Any]) -> None:
        self._refs = {node: {ref[0]: PodRef(*ref) for ref in refs} for node, refs in dumped.items()}
        self.node_by_uid = {uid: node for node, refs in self._refs.items() for uid in refs}
