"""The recordings' API for ResourceClaims, and what a recorded cycle tells about claims.

It checks resource versions and the length of `reservedFor` and nothing else, and every write is noted: a pod's PreBind
and Unreserve, and deallocations. What is written, and after which refusal it is tried again, are the rules of the
package (`apiserver/claims.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import cast

from scheduler_core.api.node import Node
from scheduler_core.api.pod import Pod
from scheduler_core.api.resource_claims import AllocationResult, ResourceClaim
from scheduler_core.apiserver.claims import refusal, refusal_text, steps
from scheduler_core.apiserver.effects import claim_requests
from scheduler_core.apiserver.requests import WriteClaim
from scheduler_core.framework.cycle_state import CycleState
from scheduler_core.model.changes import PreBindVerdict
from scheduler_core.model.effects import ClaimVerb, ClaimWrite
from scheduler_core.plugins.dynamic_resources import DynamicResources
from scheduler_core.plugins.dynamic_resources.allocator import TimedOutError
from scheduler_core.plugins.dynamic_resources.pools import PoolError
from scheduler_core.plugins.dynamic_resources.requests import AllocationError
from scheduler_core.sim.world import World
from tools.conformance.render import Json

Noted = list[list[str]]
_MOST_CONSUMERS = 256
_UPDATE_STATUS = "updateStatus"


class ClaimApi:
    """Carries out claim writes in a world. `noted`: the writes since it was emptied, as recordings have them."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._versions: dict[tuple[str, str], Json] = {}  # by key and resource version
        self.noted: Noted = []
        self.remember()

    def remember(self) -> None:
        """Keep the claims as they are now: a later write may be based on them."""
        for stored in self._world.store.list(ResourceClaim.kind):
            self._versions[_key(stored), stored["metadata"].get("resourceVersion", "")] = stored

    def carry_out(self, writes: Sequence[ClaimWrite]) -> list[PreBindVerdict]:
        """The verdicts of the pods that wait for these writes."""
        verdicts: dict[str, PreBindVerdict] = {}
        for write, request in zip(writes, claim_requests(writes), strict=True):
            before = verdicts.get(write.pod_uid)
            if before is not None and not before.done:
                continue
            problem = self._write(request, write.resource_version)
            if write.verb is ClaimVerb.RESERVE:
                verdicts[write.pod_uid] = PreBindVerdict(write.pod_uid, write.plugin, not problem, problem)
        return list(verdicts.values())

    def _write(self, request: WriteClaim, based_on: str) -> str:
        """Why it cannot be done, empty when it is."""
        name = f"{request.key.namespace}/{request.key.name}"
        stored = self._world.store.get(request.key)
        assert stored is not None
        if request.verb == ClaimVerb.RELEASE:  # a patch, of whatever version
            for _, change in steps(stored, request):
                self._put(change(stored))
            self.noted.append(["patchStatus", name])
            return ""
        seen = self._versions.get((name, based_on), stored)
        if seen["metadata"].get("resourceVersion") != stored["metadata"].get("resourceVersion"):
            subresource, _ = steps(seen, request)[0]
            self.noted.append([_verb(subresource), name, "Conflict"])
        problem = refusal(stored, request)
        if problem:
            return problem
        for subresource, change in steps(stored, request):
            claim = change(cast(Json, self._world.store.get(request.key)))
            consumers = len(claim.get("status", {}).get("reservedFor") or ())
            if consumers > _MOST_CONSUMERS:
                self.noted.append([_verb(subresource), name, "Invalid"])
                text = f"Too many: {consumers}: must have at most {_MOST_CONSUMERS} items"
                named = f'ResourceClaim.resource.k8s.io "{request.key.name}" is invalid'
                return refusal_text(request, f"{named}: status.reservedFor: {text}", subresource)
            self._put(claim)
            self.noted.append([_verb(subresource), name])
        return ""

    def _put(self, claim: Json) -> None:
        self._world.load([claim])
        self.remember()

    def of_pod(self, pod: Pod, *, before: Sequence[Json] | None = None) -> list[Json]:
        """The claims of the pod's entries as they are stored; with `before`, whether each was allocated since."""
        told: list[Json] = []
        for entry, stored in self._entries(pod):
            one: Json = {"entry": entry, "claim": _key(stored)}
            if before is not None:
                had = next((each for each in before if _key(each) == _key(stored)), {})
                one["allocated"] = _is_allocated(stored) and not _is_allocated(had)
            told.append(one | _state(stored))
        return told

    def stored_of(self, pod: Pod) -> list[Json]:
        """The stored claims of the pod's entries."""
        return [stored for _, stored in self._entries(pod)]

    def at_the_end(self) -> list[Json]:
        """All claims by name."""
        claims = sorted(self._world.store.list(ResourceClaim.kind), key=_key)
        return [{"claim": _key(each)} | _state(each) for each in claims]

    def _entries(self, pod: Pod) -> Iterable[tuple[str, Json]]:
        made = {each.name: each.resource_claim_name for each in pod.status.resource_claim_statuses or ()}
        for entry in pod.spec.resource_claims or ():
            name = entry.resource_claim_name or made.get(entry.name)
            for stored in self._world.store.list(ResourceClaim.kind, namespace=pod.namespace):
                if stored["metadata"]["name"] == name:
                    yield entry.name, stored


def _key(stored: Json) -> str:
    return f"{stored['metadata']['namespace']}/{stored['metadata']['name']}"


def _is_allocated(claim: Json) -> bool:
    return "allocation" in (claim.get("status") or {})


def _verb(subresource: str) -> str:
    return _UPDATE_STATUS if subresource else "update"


def _state(stored: Json) -> Json:
    status = {name: value for name, value in (stored.get("status") or {}).items() if value not in (None, [])}
    return {"finalizers": stored["metadata"].get("finalizers") or [], "status": status}


def found_on(plugin: DynamicResources, pod: Pod, nodes: Sequence[Node]) -> dict[str, list[list[str]]]:
    """What Filter finds for the pod on each node, asked before the cycle: the claims to allocate, then the devices."""
    state = CycleState()
    _, status = plugin.pre_filter(state, pod, ())
    found: dict[str, list[list[str]]] = {}
    if not status.is_success:
        return found
    for node in nodes:
        try:
            results = plugin.allocations_on(state, node)
        except (AllocationError, PoolError, TimedOutError):
            continue
        if results is not None:
            found[node.name] = [_devices(result) for result in results]
    return found


def _devices(result: AllocationResult) -> list[str]:
    return [
        f"{each.request}={each.driver}/{each.pool}/{each.device}{' admin' if each.admin_access else ''}"
        for each in result.devices.results or ()
    ]
