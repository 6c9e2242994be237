"""Slices of devices follow the annotations of nodes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler_core.api import manifests
from scheduler_core.apiserver.requests import Create, Delete, ObjectKey, Patch
from scheduler_core.controllers.controller import ClusterOptions
from scheduler_core.controllers.device_annotation import DEVICES, read_pools
from scheduler_core.controllers.device_driver import DeviceDriver
from scheduler_core.errors import ManifestError
from scheduler_core.model.changes import ObjectPut
from tests.builders import written
from tests.cases import cases
from tests.core.controllers.few import Few
from tests.core.controllers.simulation import START, Manifest

GPUS = """
driver: gpu.example.com
devices:
- count: 2
  name: gpu
  attributes: {model: a100, cores: 108, ecc: true, driverVersion: {version: 1.2.3}}
  capacity: {memory: 40Gi}
- {name: gpu, attributes: {model: t4}}
"""


class Cluster(Few):
    """A cluster with simulated drivers and nothing else that acts."""

    def __init__(self) -> None:
        self.driver = DeviceDriver(ClusterOptions())
        super().__init__(self.driver)

    def node(self, devices: str | None, name: str = "n1") -> None:
        annotations = {} if devices is None else {DEVICES: devices}
        self.create(written("Node", name, metadata={"annotations": annotations}))

    def annotate(self, devices: str | None, name: str = "n1") -> None:
        self.request(Patch(ObjectKey("Node", "", name), {"metadata": {"annotations": {DEVICES: devices}}}))

    def slices(self) -> dict[str, Manifest]:
        return {str(each["metadata"]["name"]): dict(each) for each in self.world.store.list("ResourceSlice")}

    def events(self) -> list[tuple[str, str]]:
        return [(event["reason"], event["message"]) for event in self.world.store.list("Event")]


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


def names_of(one: Manifest) -> list[str]:
    return [device["name"] for device in one["spec"]["devices"]]


def test_slice_says_what_the_annotation_says(cluster: Cluster) -> None:
    cluster.node(GPUS)
    ((name, one),) = cluster.slices().items()
    assert name == "n1-gpu.example.com-0"
    (owner,) = one["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"], owner["controller"]) == ("Node", "n1", True)
    spec = one["spec"]
    assert (spec["driver"], spec["nodeName"]) == ("gpu.example.com", "n1")
    assert spec["pool"] == {"name": "n1", "generation": 1, "resourceSliceCount": 1}
    assert names_of(one) == ["gpu-0", "gpu-1", "gpu-2"]
    assert spec["devices"][1] == {
        "name": "gpu-1",
        "attributes": {
            "model": {"string": "a100"},
            "cores": {"int": 108},
            "ecc": {"bool": True},
            "driverVersion": {"version": "1.2.3"},
        },
        "capacity": {"memory": {"value": "40Gi"}},
    }
    assert cluster.events() == []


def test_each_driver_has_its_pool(cluster: Cluster) -> None:
    drivers = [
        {"driver": "gpu.example.com", "devices": [{"count": 1}]},
        {"driver": "gpu.example.com", "pool": "more/of-them", "devices": [{"count": 1}]},
        {"driver": "nic.example.com", "devices": []},
    ]
    cluster.node(json.dumps(drivers))
    found = {
        name: (one["spec"]["pool"]["name"], len(one["spec"].get("devices") or ()))
        for name, one in cluster.slices().items()
    }
    assert found == {
        "n1-gpu.example.com-0": ("n1", 1),
        "n1-gpu.example.com-more-of-them-0": ("more/of-them", 1),
        "n1-nic.example.com-0": ("n1", 0),
    }


def test_many_devices_are_cut_into_slices_of_128(cluster: Cluster) -> None:
    cluster.node("{driver: d.example.com, devices: [{count: 300}]}")
    slices = list(cluster.slices().values())
    assert [len(one["spec"]["devices"]) for one in slices] == [128, 128, 44]
    assert {one["spec"]["pool"]["resourceSliceCount"] for one in slices} == {3}
    assert [name for one in slices for name in names_of(one)] == [f"device-{number}" for number in range(300)]
    cluster.annotate("{driver: d.example.com, devices: [{count: 100}]}")
    (one,) = cluster.slices().values()
    assert one["spec"]["pool"] == {"name": "n1", "generation": 2, "resourceSliceCount": 1}


def test_change_raises_the_generation_and_others_none(cluster: Cluster) -> None:
    cluster.node("{driver: d.example.com, devices: [{capacity: {memory: 1024Mi}}]}")
    version = cluster.world.store.rv
    cluster.request(Patch(ObjectKey("Node", "", "n1"), {"metadata": {"labels": {"a": "b"}}}))
    cluster.annotate("{driver: d.example.com, devices: [{capacity: {memory: 1Gi}}]}")
    assert cluster.world.store.rv == version + 2
    cluster.annotate("{driver: d.example.com, devices: [{capacity: {memory: 2Gi}}]}")
    (one,) = cluster.slices().values()
    assert one["spec"]["pool"]["generation"] == 2
    assert one["spec"]["devices"][0]["capacity"] == {"memory": {"value": "2Gi"}}


@pytest.mark.parametrize("way", ["annotation", "node"])
def test_slices_go_with_annotation_and_node(cluster: Cluster, way: str) -> None:
    cluster.node(GPUS)
    cluster.node(GPUS, "n2")
    if way == "node":
        cluster.request(Delete(ObjectKey("Node", "", "n1")))
    else:
        cluster.annotate(None)
    assert list(cluster.slices()) == ["n2-gpu.example.com-0"]


def test_node_made_anew_has_slices_of_its_own(cluster: Cluster) -> None:
    cluster.node(GPUS)
    cluster.world.request(Delete(ObjectKey("Node", "", "n1")))
    cluster.node(GPUS)
    (one,) = cluster.slices().values()
    (node,) = cluster.world.store.list("Node")
    assert one["metadata"]["ownerReferences"][0]["uid"] == node["metadata"]["uid"]


def test_slice_that_is_deleted_or_changed_by_hand_comes_back(cluster: Cluster) -> None:
    cluster.node(GPUS)
    key = ObjectKey("ResourceSlice", "", "n1-gpu.example.com-0")
    cluster.request(Patch(key, {"spec": {"devices": None}}))
    assert names_of(cluster.slices()[key.name]) == ["gpu-0", "gpu-1", "gpu-2"]
    cluster.request(Delete(key))
    assert names_of(cluster.slices()[key.name]) == ["gpu-0", "gpu-1", "gpu-2"]


def test_slices_of_others_are_left_alone(cluster: Cluster) -> None:
    pool = {"name": "n1", "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": "other.example.com", "nodeName": "n1", "pool": pool}
    metadata = {"name": "other"}
    cluster.request(
        Create({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": metadata, "spec": spec})
    )
    cluster.node(None)
    cluster.node(GPUS, "n2")
    assert list(cluster.slices()) == ["n2-gpu.example.com-0", "other"]


AT = "metadata.annotations[kschedweb.io/devices]"


@cases(
    "text, want",
    ("no YAML", "{", f"{AT}: line 2: is not sound YAML"),
    ("a number", "4", f"{AT}: must be a mapping"),
    ("two documents", "a: 1\n---\nb: 2", f"{AT}: must be one document"),
    ("no driver", "devices: []", f"{AT}.driver: must be text"),
    ("no devices", "driver: d", f"{AT}.devices: must be a list"),
    ("no name of a driver", "[{driver: D_, devices: []}]", f"{AT}[0].driver: Invalid value"),
    ("no name of a pool", "{driver: d, pool: P, devices: []}", f"{AT}.pool: Invalid value"),
    ("a field that there is not", "{driver: d, gpus: 4, devices: []}", f"{AT}.gpus: is not known"),
    ("a pool twice", "[{driver: d, devices: []}, {driver: d, devices: []}]", f"{AT}[1]: driver d and pool n1"),
    ("none", "{driver: d, devices: [{count: 0}]}", f"{AT}.devices[0].count: must be a whole number from 1 to 4096"),
    ("truth as count", "{driver: d, devices: [{count: true}]}", f"{AT}.devices[0].count: must be a whole number"),
    ("too many", "{driver: d, devices: [{count: 4096}, {count: 1}]}", f"{AT}: must not have more"),
    ("no name of a device", "{driver: d, devices: [{}, {name: GPU}]}", f"{AT}.devices[1].name: Invalid value"),
    ("a name", "{driver: d, devices: [{attributes: {a-b: x}}]}", f"{AT}.devices[0].attributes[a-b]: Invalid"),
    ("no version", "{driver: d, devices: [{attributes: {v: {version: one}}}]}",
     f"{AT}.devices[0].attributes[v].version: Invalid value"),
    ("another type", "{driver: d, devices: [{attributes: {v: {int: one}}}]}",
     f"{AT}.devices[0].attributes[v].int: has a value of another type"),
    ("a list", "{driver: d, devices: [{attributes: {v: [1]}}]}", f"{AT}.devices[0].attributes[v]: must be text"),
    ("no quantity", "{driver: d, devices: [{capacity: {memory: lots}}]}",
     f"{AT}.devices[0].capacity[memory]: must be a quantity"),
)  # fmt: skip
def test_annotation_that_cannot_be_read_names_the_field_and_changes_nothing(text: str, want: str) -> None:
    cluster = Cluster()
    cluster.node(GPUS)
    cluster.annotate(text)
    ((reason, message),) = cluster.events()
    assert reason == "InvalidDevices"
    assert message.startswith(want)
    assert list(cluster.slices()) == ["n1-gpu.example.com-0"]
    cluster.annotate("{driver: d, devices: []}")
    assert list(cluster.slices()) == ["n1-d-0"]


def test_controller_made_anew_asks_for_nothing(cluster: Cluster) -> None:
    cluster.node(GPUS)
    cluster.node("{driver: d.example.com, devices: [{count: 300, capacity: {memory: 1024Mi}}]}", "n2")
    objects = cluster.world.store.list("Node", "ResourceSlice")
    for order in (objects, list(reversed(objects))):
        anew = DeviceDriver(ClusterOptions())
        assert anew.step(START, [ObjectPut(manifests.decode(each)) for each in order]) == []


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3) | st.sampled_from(["d.example.com", "1Gi", "gpu"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["driver", "pool", "devices", "count", "name", "attributes", "capacity", "v", "int"]), inner
        )
    ),
    max_leaves=8,
)


@given(VALUES)
def test_whatever_is_written_is_read_or_refused(value: Any) -> None:
    try:
        pools = read_pools(json.dumps(value), "n1")
    except ManifestError as error:
        assert error.path.startswith(AT)
    else:
        assert all(pool.driver for pool in pools)
