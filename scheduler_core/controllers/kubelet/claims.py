"""Pods whose claims of devices are not theirs yet: a kubelet does not start them, and says why.

The scheduler binds a pod when its claims are allocated and reserved for it; a pod that was created with its node waits
here for somebody else to do so. Source: kubernetes v1.34.1, pkg/kubelet/cm/dra/manager.go.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from scheduler_core.api.pod import Pod
from scheduler_core.api.resource_claims import ResourceClaim
from scheduler_core.controllers.pod_claims import is_for, is_reserved, recorded_name

FAILED: Final = "FailedPrepareDynamicResources"
_FAILED_TEXT: Final = "Failed to prepare dynamic resources: prepare dynamic resources: "


class ClaimsOfPods:
    """The claims of one cluster, and the pods that wait for them."""

    def __init__(self) -> None:
        self._claims: dict[str, ResourceClaim] = {}  # by key
        self._waiting: dict[str, str] = {}  # what each lacks, by uid of the pod
        self._untold: dict[str, str] = {}  # what is not told yet

    def put(self, claim: ResourceClaim) -> Sequence[str]:
        """Take over a claim; return the uids of pods that may go on with it."""
        self._claims[claim.key] = claim
        return list(self._waiting)

    def remove(self, key: str) -> None:
        self._claims.pop(key, None)

    def forget(self, uid: str) -> None:
        """Drop a pod."""
        self._waiting.pop(uid, None)
        self._untold.pop(uid, None)

    def keeps(self, pod: Pod) -> bool:
        """Return whether the pod has to wait for a claim."""
        problem = next(self._problems(pod), "")
        if not problem:
            self.forget(pod.uid)
        elif self._waiting.get(pod.uid) != problem:
            self._waiting[pod.uid] = self._untold[pod.uid] = problem
        return bool(problem)

    def untold(self) -> dict[str, str]:
        """Return the messages about pods that came to wait since this was last asked, by uid."""
        untold, self._untold = self._untold, {}
        return {uid: _FAILED_TEXT + problem for uid, problem in untold.items()}

    def _problems(self, pod: Pod) -> Iterator[str]:
        for entry in pod.spec.resource_claims or ():
            name = recorded_name(pod, entry)
            claim = self._claims.get(f"{pod.namespace}/{name}")
            if name is None:
                yield f'pod "{pod.key}": ResourceClaim not created yet'
            elif not name:
                continue
            elif claim is None:
                yield f'fetch ResourceClaim {name}: resourceclaims.resource.k8s.io "{name}" not found'
            elif entry.resource_claim_name is None and not is_for(pod, claim):
                yield f"ResourceClaim {claim.key} was not created for pod {pod.key} (pod is not owner)"
            elif not is_reserved(pod, claim):
                yield f"pod {pod.name} ({pod.uid}) is not allowed to use ResourceClaim {name} ({claim.uid})"
