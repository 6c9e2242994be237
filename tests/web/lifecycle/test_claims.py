"""What the scheduler decides about claims is written with the step that decided it, and the pod hears of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import pytest

from kschedweb.cluster import follow
from kschedweb.cluster.choices import LifecycleMode
from kschedweb.cluster.models import ApiObject, Cluster
from kschedweb.scheduling import leases
from kschedweb.scheduling.runner.host import EngineHost
from scheduler_core.api import manifests
from scheduler_core.api.resource_claims import DELETE_PROTECTION, AllocationResult
from scheduler_core.model.changes import Change, PreBindVerdict
from scheduler_core.model.effects import ClaimVerb, ClaimWrite, Effects
from scheduler_core.scheduler.scheduler import Budget
from tests.builders import make_manifest
from tests.web.scheduling.conftest import lead, put

pytestmark = pytest.mark.django_db(transaction=True)

REQUEST = {"name": "r", "exactly": {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1}}
RESULT = {"request": "r", "driver": "gpu.example.com", "pool": "n1", "device": "gpu-0"}
ALLOCATION = manifests.convert({"devices": {"results": [RESULT]}}, AllocationResult)
PLUGIN = "DynamicResources"


def claim(name: str) -> dict[str, Any]:
    return make_manifest("ResourceClaim", name, spec={"devices": {"requests": [REQUEST]}})


@pytest.fixture
def simulated(cluster: Cluster) -> Cluster:
    Cluster.objects.filter(pk=cluster.pk).update(lifecycle_mode=LifecycleMode.SIMULATE)
    put(cluster, claim("a"), claim("b"))
    return cluster


def stored(cluster: Cluster, name: str) -> dict[str, Any]:
    manifest: dict[str, Any] = ApiObject.objects.get(cluster=cluster, kind="ResourceClaim", name=name).manifest
    return manifest


def reserve(cluster: Cluster, name: str, *, allocates: bool = True, pod: str = "p") -> ClaimWrite:
    row = ApiObject.objects.get(cluster=cluster, kind="ResourceClaim", name=name)
    allocation = ALLOCATION if allocates else None
    return ClaimWrite(ClaimVerb.RESERVE, "default", name, row.uid, "1", f"uid-{pod}", pod, PLUGIN, allocation)


Ask: TypeAlias = Callable[[EngineHost, Sequence[ClaimWrite]], None]


@pytest.fixture
def ask(simulated: Cluster, monkeypatch: pytest.MonkeyPatch) -> Ask:
    """Let the engine's next step ask for these writes."""

    def run(host: EngineHost, writes: Sequence[ClaimWrite]) -> None:
        host.step()
        engine = host._engine
        assert engine is not None
        step = engine.step

        def asking(now: int, changes: Sequence[Change], budget: Budget) -> Effects:
            effects = step(now, changes, budget)
            effects.claim_writes.extend(writes)
            return effects

        put(simulated, make_manifest("ConfigMap", f"change-{position(simulated)}"))
        with monkeypatch.context() as patched:
            patched.setattr(engine, "step", asking)
            host.step()

    return run


def verdicts(cluster: Cluster, rv: int) -> list[PreBindVerdict]:
    changes, _ = follow.changes_after(cluster_id=cluster.pk, rv=rv)
    return [change for change in changes if isinstance(change, PreBindVerdict)]


def position(cluster: Cluster) -> int:
    return Cluster.objects.get(pk=cluster.pk).rv


def test_claims_are_written_with_the_step_and_the_pod_hears_once(simulated: Cluster, ask: Ask) -> None:
    rv = position(simulated)
    writes = [reserve(simulated, "a"), reserve(simulated, "b"), reserve(simulated, "b", allocates=False, pod="q")]
    ask(lead(simulated), writes)
    assert [(one.pod_uid, one.plugin, one.done, one.message) for one in verdicts(simulated, rv)] == [
        ("uid-p", PLUGIN, True, ""),
        ("uid-q", PLUGIN, True, ""),
    ]
    for name, pods in (("a", ["p"]), ("b", ["p", "q"])):
        found = stored(simulated, name)
        assert found["metadata"]["finalizers"] == [DELETE_PROTECTION]
        assert found["status"]["allocation"]["devices"]["results"] == [RESULT]
        assert [each["name"] for each in found["status"]["reservedFor"]] == pods


def test_conflict_is_told_in_the_words_upstream_has(simulated: Cluster, ask: Ask) -> None:
    host = lead(simulated)
    ask(host, [reserve(simulated, "a")])
    rv = position(simulated)
    ask(host, [reserve(simulated, "a", pod="q"), reserve(simulated, "b", pod="q")])
    (verdict,) = verdicts(simulated, rv)
    assert (verdict.done, verdict.message) == (False, "claim default/a got allocated elsewhere in the meantime")
    assert not stored(simulated, "b").get("status")


def test_step_of_a_leader_that_is_over_writes_no_claim(simulated: Cluster, ask: Ask) -> None:
    host = lead(simulated)
    host.step()
    write = reserve(simulated, "a")
    leases.fence_raise(cluster_id=simulated.pk, holder="another")
    with pytest.raises(leases.FencedOutError):
        ask(host, [write])
    assert not stored(simulated, "a").get("status")
    assert verdicts(simulated, 0) == []
