"""What the scheduler writes into claims: allocation and reservation in one go, and what a refusal says."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler_core.api.resource_claims import AllocationResult, DeviceAllocationResult, DeviceRequestAllocationResult
from scheduler_core.apiserver.answers import Refused
from scheduler_core.apiserver.effects import claim_requests, claim_verdicts
from scheduler_core.apiserver.requests import Create, Delete, ObjectKey
from scheduler_core.apiserver.server import ApiServer
from scheduler_core.model.changes import PreBindVerdict
from scheduler_core.model.effects import ClaimVerb, ClaimWrite
from tests.builders import written
from tests.core.apiserver.asking import NOW, done

FINALIZER = "resource.kubernetes.io/delete-protection"
RESULT = DeviceRequestAllocationResult("gpu", "gpu.example.com", "n1", "gpu-0")
ALLOCATION = AllocationResult(DeviceAllocationResult((RESULT,)))
PLUGIN = "DynamicResources"


def write(claim: str = "c", pod: str = "web", verb: ClaimVerb = ClaimVerb.RESERVE, *, allocates: bool = True) -> Any:
    allocation = ALLOCATION if allocates and verb is ClaimVerb.RESERVE else None
    return ClaimWrite(verb, "shop", claim, "", "", f"{pod}-uid", pod, PLUGIN, allocation)


def with_claims(server: ApiServer, *names: str) -> None:
    requests = [{"name": "gpu", "exactly": {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1}}]
    for name in names:
        manifest = written("ResourceClaim", name, namespace="shop", spec={"devices": {"requests": requests}})
        done(server, Create(manifest))


def carried_out(server: ApiServer, *writes: ClaimWrite) -> list[PreBindVerdict]:
    return claim_verdicts(writes, server.carry_out(claim_requests(writes), NOW))


def stored(server: ApiServer, name: str = "c") -> Any:
    return server.store.get(ObjectKey("ResourceClaim", "shop", name))


def test_reservation_writes_finalizer_allocation_and_consumer(server: ApiServer) -> None:
    with_claims(server, "c")
    assert carried_out(server, write()) == [PreBindVerdict("web-uid", PLUGIN, done=True)]
    claim = stored(server)
    assert claim["metadata"]["finalizers"] == [FINALIZER]
    [result] = claim["status"]["allocation"]["devices"]["results"]
    assert result == {"request": "gpu", "driver": "gpu.example.com", "pool": "n1", "device": "gpu-0"}
    assert claim["status"]["reservedFor"] == [{"resource": "pods", "name": "web", "uid": "web-uid"}]


def test_allocated_claim_is_only_reserved_and_shared(server: ApiServer) -> None:
    with_claims(server, "c")
    carried_out(server, write())
    version = int(stored(server)["metadata"]["resourceVersion"])
    assert carried_out(server, write(pod="db", allocates=False))[0].done
    claim = stored(server)
    assert int(claim["metadata"]["resourceVersion"]) == version + 1  # one write: the finalizer is there
    assert [each["name"] for each in claim["status"]["reservedFor"]] == ["web", "db"]


def test_what_follows_a_refusal_is_not_written_and_other_pods_are_not_concerned(server: ApiServer) -> None:
    with_claims(server, "a", "c", "d", "e")
    carried_out(server, write("c"))
    writes = [write("a", "db"), write("c", "db"), write("d", "db"), write("e", "other")]
    failed, fine = carried_out(server, *writes)
    text = "claim shop/c got allocated elsewhere in the meantime"
    assert (failed, fine.done) == (PreBindVerdict("db-uid", PLUGIN, done=False, message=text), True)
    assert "allocation" in stored(server, "a")["status"]  # before the refusal: stays, as upstream
    assert not stored(server, "d").get("status")
    assert "allocation" in stored(server, "e")["status"]


@pytest.mark.parametrize(("pods", "is_refused"), [(255, False), (256, True)])
def test_claim_is_shared_by_256_pods(server: ApiServer, pods: int, is_refused: bool) -> None:
    with_claims(server, "c")
    carried_out(server, write(pod="p0"))
    carried_out(server, *(write(pod=f"p{number}", allocates=False) for number in range(1, pods)))
    [verdict] = carried_out(server, write(pod="late", allocates=False))
    assert verdict.done is not is_refused
    if is_refused:
        assert verdict.message == (
            'add reservation to claim shop/c: ResourceClaim.resource.k8s.io "c" is invalid: '
            "status.reservedFor: Too many: 257: must have at most 256 items"
        )


def test_deleted_or_missing_claim_is_refused(server: ApiServer) -> None:
    with_claims(server, "c")
    carried_out(server, write())
    done(server, Delete(ObjectKey("ResourceClaim", "shop", "c")))  # kept by its finalizer
    [verdict] = carried_out(server, write(pod="db", allocates=False))
    assert verdict.message == "claim shop/c got deleted in the meantime"
    [verdict] = carried_out(server, write("nope"))
    assert verdict.message == (
        'add allocation and reservation to claim shop/nope: resourceclaims.resource.k8s.io "nope" not found'
    )


def test_release_leaves_the_allocation_and_deallocation_leaves_the_finalizer(server: ApiServer) -> None:
    with_claims(server, "c")
    carried_out(server, write(), write(pod="db", allocates=False))
    assert carried_out(server, write(verb=ClaimVerb.RELEASE)) == []
    claim = stored(server)
    assert [each["name"] for each in claim["status"]["reservedFor"]] == ["db"]
    assert "allocation" in claim["status"]
    carried_out(server, write(pod="db", verb=ClaimVerb.RELEASE), write(verb=ClaimVerb.DEALLOCATE))
    claim = stored(server)
    assert not claim.get("status") and claim["metadata"]["finalizers"] == [FINALIZER]


def test_claim_that_another_pod_has_by_now_is_not_deallocated(server: ApiServer) -> None:
    with_claims(server, "c")
    carried_out(server, write(), write(pod="db", allocates=False))
    [answer] = server.carry_out(claim_requests([write(verb=ClaimVerb.DEALLOCATE)]), NOW)
    assert isinstance(answer, Refused)
    assert answer.status.message == "claim shop/c got reserved for another pod in the meantime"
    assert "allocation" in stored(server)["status"]


def test_claim_with_another_uid_is_not_written(server: ApiServer) -> None:
    with_claims(server, "c")
    other = ClaimWrite(ClaimVerb.RESERVE, "shop", "c", "gone", "", "web-uid", "web", PLUGIN, ALLOCATION)
    [answer] = server.carry_out(claim_requests([other]), NOW)
    assert isinstance(answer, Refused) and answer.status.code == 404
    assert not stored(server).get("status")
