"""Pods with claims from the queue to their node: devices, writes, verdicts, and what is undone."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler_core import config
from scheduler_core.api.resource_claims import ResourceClaim
from scheduler_core.apiserver.requests import ObjectKey
from scheduler_core.build import build
from scheduler_core.model.changes import PreBindVerdict
from scheduler_core.model.effects import ClaimVerb
from scheduler_core.ports import FirstDraws
from scheduler_core.scheduler import checkpoint
from scheduler_core.scheduler.scheduler import Budget
from scheduler_core.sim.world import World
from tests.core.plugins.dynamic_resources.devices import (
    NOW,
    claim,
    device,
    device_class,
    node,
    pod,
    request,
    resource_slice,
    settle,
    world,
)

ALL = Budget(max_cycles=100)
GPUS = (device("gpu-0", model="a100"), device("gpu-1", model="h100"))


def stored(made: World, kind: str, name: str) -> Any:
    return made.store.get(ObjectKey(kind, "" if kind == "Node" else "default", name))


def devices_of(made: World, name: str) -> list[str]:
    allocation = stored(made, ResourceClaim.kind, name)["status"]["allocation"]
    return [f"{each['pool']}/{each['device']}" for each in allocation["devices"]["results"]]


def two_nodes(*more: Any) -> World:
    slices = (resource_slice("n1", GPUS[0]), resource_slice("n2", *GPUS))
    return world(device_class(), node("n1"), node("n2"), *slices, *more)


def test_pod_gets_a_device_its_claim_says_so_and_the_pod_is_bound() -> None:
    wanted = request(selectors=('device.attributes["gpu.example.com"].model == "h100"',))
    made = two_nodes(claim("c", wanted), pod("p", "c"))
    settle(made)
    assert stored(made, "Pod", "p")["spec"]["nodeName"] == "n2"
    assert devices_of(made, "c") == ["n2/gpu-1"]
    assert stored(made, ResourceClaim.kind, "c")["status"]["reservedFor"] == [
        {"resource": "pods", "name": "p", "uid": "uid-p"}
    ]


def test_no_device_is_given_twice_and_what_is_left_over_waits() -> None:
    names = [f"c{number}" for number in range(4)]
    made = two_nodes(*map(claim, names), *(pod(f"p{name}", name) for name in names))
    settle(made)
    given = [device for name in names[:3] for device in devices_of(made, name)]
    assert sorted(given) == ["n1/gpu-0", "n2/gpu-0", "n2/gpu-1"]
    assert "nodeName" not in stored(made, "Pod", "pc3")["spec"]
    condition = stored(made, "Pod", "pc3")["status"]["conditions"][0]
    assert condition["message"].startswith(
        "0/2 nodes are available: 2 cannot allocate all claims. still not schedulable"
    )


def test_devices_on_their_way_are_taken_and_claims_on_their_way_make_others_wait() -> None:
    made = two_nodes(claim("c"), claim("d"), claim("e"), pod("p", "c"), pod("q", "c"), pod("r", "d"), pod("s", "e"))
    effects = made.scheduler.step(NOW, made.take_changes(), ALL)
    writes = {write.pod_name: write for write in effects.claim_writes}
    assert set(writes) == {"p", "r", "s"}
    results = [write.allocation.devices.results[0] for write in writes.values() if write.allocation is not None]
    assert len({(each.pool, each.device) for each in results}) == 3
    (waiting,) = [attempt for attempt in effects.attempts if attempt.result != "scheduled"]
    assert waiting.pod_key == "default/q"
    assert "resource claim default/c is in the process of being allocated" in waiting.message
    made.carry_out(effects)
    settle(made)
    assert stored(made, "Pod", "q")["spec"]["nodeName"] == stored(made, "Pod", "p")["spec"]["nodeName"]


def test_failed_write_gives_the_device_back_and_the_pod_is_tried_again() -> None:
    made = two_nodes(claim("c"), pod("p", "c"))
    effects = made.scheduler.step(NOW, made.take_changes(), ALL)
    assert not effects.bindings  # it waits for its claim
    refused = PreBindVerdict("uid-p", "DynamicResources", done=False, message="claim default/c got away")
    effects = made.scheduler.step(NOW, [refused], ALL)
    assert effects.status_patches[0].message == 'running PreBind plugin "DynamicResources": claim default/c got away'
    made.carry_out(effects)
    made.run_until(NOW + 60_000_000)
    assert devices_of(made, "c") == ["n1/gpu-0"]
    assert stored(made, "Pod", "p")["spec"]["nodeName"] == "n1"


def test_claims_written_before_a_failure_keep_the_allocation_and_lose_the_reservation() -> None:
    made = two_nodes(claim("c"), claim("d"), pod("p", "c", "d"))
    effects = made.scheduler.step(NOW, made.take_changes(), ALL)
    first, second = effects.claim_writes
    effects.claim_writes = [first]
    made.carry_out(effects)
    objects = [change for change in made.take_changes() if not isinstance(change, PreBindVerdict)]
    refused = PreBindVerdict("uid-p", "DynamicResources", done=False, message="no")
    effects = made.scheduler.step(NOW, [*objects, refused], ALL)
    assert [(write.verb, write.claim_name) for write in effects.claim_writes] == [(ClaimVerb.RELEASE, "c")]
    made.carry_out(effects)
    assert devices_of(made, "c") == ["n2/gpu-0"]
    assert not stored(made, ResourceClaim.kind, "c")["status"].get("reservedFor")


def test_claim_that_keeps_its_only_pod_from_every_node_is_given_back() -> None:
    where = {"nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["gone"]}]}]}
    result = {"request": "r", "driver": "gpu.example.com", "pool": "gone", "device": "gpu-0"}
    allocation = {"devices": {"results": [result]}, "nodeSelector": where}
    made = two_nodes(claim("c", status={"allocation": allocation}), pod("p", "c"))
    first = settle(made)[0]
    assert "deallocation of ResourceClaim completed" in first.attempts[0].message
    made.run_until(NOW + 60_000_000)
    assert devices_of(made, "c") == ["n1/gpu-0"]
    assert stored(made, "Pod", "p")["spec"]["nodeName"] == "n1"


@pytest.mark.parametrize("is_written", [False, True])
def test_checkpoint_between_reserve_and_verdict_loses_no_device(is_written: bool) -> None:
    made = world(device_class(), node("n1"), resource_slice("n1", *GPUS), claim("c"), claim("d"), pod("p", "c"))
    effects = made.scheduler.step(NOW, made.take_changes(), ALL)
    copy = build(None, draws=FirstDraws())
    checkpoint.load(copy, checkpoint.dump(made.scheduler))
    made.scheduler = copy
    made.load([pod("q", "d")])
    if is_written:
        made.carry_out(effects)
    else:
        late = made.scheduler.step(NOW, made.take_changes(), ALL)
        (write,) = late.claim_writes
        assert write.allocation is not None and write.allocation.devices.results is not None
        assert write.allocation.devices.results[0].device == "gpu-1"  # gpu-0 is on its way to p
        made.carry_out(late)
        made.carry_out(effects)
    settle(made)
    assert sorted(devices_of(made, "c") + devices_of(made, "d")) == ["n1/gpu-0", "n1/gpu-1"]
    assert all(stored(made, "Pod", name)["spec"].get("nodeName") for name in ("p", "q"))


def test_two_profiles_share_what_is_on_its_way() -> None:
    loaded = config.load({"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
                          "profiles": [{"schedulerName": "default-scheduler"},
                                       {"schedulerName": "other"}]})  # fmt: skip
    other = pod("q", "d", schedulerName="other")
    objects = (device_class(), node("n1"), resource_slice("n1", GPUS[0]), claim("c"), claim("d"), pod("p", "c"), other)
    made = world(*objects, config=loaded)
    effects = made.scheduler.step(NOW, made.take_changes(), ALL)
    assert [write.pod_name for write in effects.claim_writes] == ["p"]


def test_search_that_takes_too_long_is_ended() -> None:
    args = {
        "apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "DynamicResourcesArgs", "filterTimeout": "1ms",
    }  # fmt: skip
    profile = {"schedulerName": "default-scheduler", "pluginConfig": [{"name": "DynamicResources", "args": args}]}
    loaded = config.load(
        {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration", "profiles": [profile]}
    )
    devices = [device(f"gpu-{number}", half=number % 2) for number in range(20)]
    constraint = {"matchAttribute": "gpu.example.com/half"}
    hard = claim("c", request(count=11), constraints=[constraint])
    made = world(device_class(), node("n1"), resource_slice("n1", *devices), hard, pod("p", "c"), config=loaded)
    (attempt, *_) = settle(made)[0].attempts
    assert "1 timed out trying to allocate devices" in attempt.message


def reachable_from(node_name: str) -> dict[str, Any]:
    """The status of a claim that another pod uses."""
    field = {"key": "metadata.name", "operator": "In", "values": [node_name]}
    selector = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    result = {"request": "r", "driver": "gpu.example.com", "pool": "n1", "device": "gpu-0"}
    return {
        "allocation": {"devices": {"results": [result]}, "nodeSelector": selector},
        "reservedFor": [{"resource": "pods", "name": "other", "uid": "uid-other"}],
    }


def test_of_equivalent_pods_the_one_is_tried_again_whose_claim_changed() -> None:
    elsewhere = reachable_from("n9")
    made = two_nodes(*(claim(f"c{number}", status=elsewhere) for number in range(3)))
    made.load([pod(f"p{number}", f"c{number}") for number in range(3)])
    settle(made)
    made.load([claim("c1", status=reachable_from("n1"))])
    made.run_until(made.now + 20_000_000)
    nodes = [stored(made, "Pod", f"p{number}")["spec"].get("nodeName", "") for number in range(3)]
    assert nodes == ["", "n1", ""]
