"""The ReplicaSets of a cluster; see `replicas` for what becomes of their pods."""

from __future__ import annotations

from scheduler_core.api.pod import Pod
from scheduler_core.api.workload import ReplicaSet
from scheduler_core.controllers.controller import ClusterOptions
from scheduler_core.controllers.pod_index import PodIndex
from scheduler_core.controllers.workloads.replicas import ReplicaController, owner_uid


class ReplicaSets(ReplicaController[ReplicaSet]):
    """All ReplicaSets of one cluster."""

    name, actor = "replicasets", "replicaset-controller"

    def __init__(self, cluster: ClusterOptions, pods: PodIndex | None = None) -> None:
        super().__init__(cluster, pods, ReplicaSet, Pod)
        self._families: dict[str, dict[str, None]] = {}  # uids by the uid of what controls them

    def family(self, owner: ReplicaSet) -> list[ReplicaSet]:
        """Return the ReplicaSets of the same Deployment."""
        uids = self._families.get(owner_uid(owner), ())
        return [self.owned.owners[uid] for uid in uids]

    def owner_changed(self, owner: ReplicaSet, before: ReplicaSet | None) -> None:
        """Move the set to the family of what controls it now."""
        above, was = owner_uid(owner), "" if before is None else owner_uid(before)
        if above == was:
            return
        if was:
            self._leave(was, owner.uid)
        if above:
            self._families.setdefault(above, {})[owner.uid] = None

    def owner_gone(self, owner: ReplicaSet) -> None:
        """Take the set out of its family."""
        if above := owner_uid(owner):
            self._leave(above, owner.uid)

    def _leave(self, above: str, uid: str) -> None:
        family = self._families[above]
        del family[uid]
        if not family:
            del self._families[above]
