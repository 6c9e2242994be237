"""What was decided about a pod's claims, from Reserve until the pod is bound, in a form that can be stored.

Source: kubernetes v1.34.1, pkg/scheduler/framework/plugins/dynamicresources (Reserve, Unreserve, bindClaim).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from scheduler_core import typed
from scheduler_core.api.pod import Pod
from scheduler_core.api.resource_claims import AllocationResult, ResourceClaim
from scheduler_core.model.effects import ClaimVerb, ClaimWrite

Find = Callable[[str], ResourceClaim | None]
"""The stored claim by its key."""


class HeldClaim(msgspec.Struct):
    """A claim of the pod as its cycle found it: `times` it was reserved for the pod, and what is to be allocated."""

    name: str
    uid: str
    resource_version: str
    times: int = 0
    allocation: AllocationResult | None = None


class Reservation(msgspec.Struct):
    """One pod's claims, in the order of its spec; a claim may be named twice."""

    namespace: str
    pod_name: str
    pod_uid: str
    claims: list[HeldClaim]

    @staticmethod
    def of(pod: Pod, claims: tuple[ResourceClaim, ...]) -> Reservation:
        held = [
            HeldClaim(claim.name, claim.uid, claim.metadata.resource_version, times_reserved(claim, pod.uid))
            for claim in claims
        ]
        return Reservation(pod.namespace, pod.name, pod.uid, held)

    def writes(self, plugin: str) -> list[ClaimWrite]:
        """What is written before the pod is bound: claims it has already are left alone."""
        return [self._write(ClaimVerb.RESERVE, claim, plugin) for claim in self.claims if not claim.times]

    def releases(self, plugin: str, find: Find) -> list[ClaimWrite]:
        """What takes the pod's reservations back, of the claims it had before or has got since."""
        return [self._write(ClaimVerb.RELEASE, claim, plugin) for claim, stored in self._held(find) if stored]

    def is_written(self, find: Find) -> bool:
        """Whether all claims are stored as reserved for the pod."""
        return all(is_held for _, is_held in self._held(find))

    def dump(self) -> Any:
        return msgspec.to_builtins(self)

    @staticmethod
    def load(dumped: Any) -> Reservation:
        return typed.convert(dumped, Reservation)

    def _held(self, find: Find) -> Iterator[tuple[HeldClaim, bool]]:
        """Each claim, and whether the stored one is reserved for the pod because of it."""
        written: dict[str, int] = {}
        for claim in self.claims:
            stored = find(f"{self.namespace}/{claim.name}")
            if stored is None or stored.status.allocation is None:
                yield claim, False
                continue
            if not claim.times:
                written[claim.name] = written.get(claim.name, 0) + 1
            yield claim, times_reserved(stored, self.pod_uid) >= claim.times + written.get(claim.name, 0)

    def _write(self, verb: ClaimVerb, claim: HeldClaim, plugin: str) -> ClaimWrite:
        return ClaimWrite(
            verb,
            self.namespace,
            claim.name,
            claim.uid,
            claim.resource_version,
            self.pod_uid,
            self.pod_name,
            plugin,
            claim.allocation if verb is ClaimVerb.RESERVE else None,
        )


def times_reserved(claim: ResourceClaim, pod_uid: str) -> int:
    return sum(each.uid == pod_uid for each in claim.status.reserved_for or ())
