"""Manifests to objects and back: nulls, paths of errors, round trips, real input, speed."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given

from scheduler_core.api import manifests
from scheduler_core.api.manifests import KINDS, decode, encode
from scheduler_core.api.pod import Pod
from scheduler_core.api.quantity import parse
from scheduler_core.errors import ManifestError
from tests.builders import make_manifest, make_pod
from tests.cases import cases
from tests.golden.recordings import recordings
from tests.strategies import node_manifests, pod_manifests

POD: dict[str, Any] = {"apiVersion": "v1", "kind": "Pod",
                       "metadata": {"name": "a", "creationTimestamp": None,
                                    "labels": {"app": "x", "example.com/none": None}},
                       "spec": {"nodeName": None,
                                "containers": [{"name": "c", "resources": {"requests": {"cpu": "1", "memory": None}}}],
                                "tolerations": None, "priority": None, "hostNetwork": None}, "status": {}}  # fmt: skip


def test_null_counts_as_absent() -> None:
    pod = decode(POD)
    assert isinstance(pod, Pod)
    assert (pod.spec.node_name, pod.spec.tolerations, pod.spec.priority, pod.spec.host_network) == (
        "",
        None,
        None,
        False,
    )
    assert pod.metadata.creation_timestamp is None


def test_null_in_a_map_is_the_empty_value() -> None:
    pod = decode(POD)
    assert isinstance(pod, Pod)
    assert pod.labels == {"app": "x", "example.com/none": ""}
    assert pod.spec.containers[0].resources.requests == {"cpu": parse("1"), "memory": parse("0")}


def container(pod: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = pod["spec"]["containers"][0]
    return found


@cases(
    "change, message",
    ("int for text", lambda p: container(p).update(name=5),
     "spec.containers[0].name: expected text, got an integer (5)"),
    ("bad quantity", lambda p: container(p)["resources"]["requests"].update(cpu="1K"),
     "spec.containers[0].resources.requests.cpu: unable to parse quantity's suffix ('1K')"),
    ("a list for a quantity, key with a slash",
     lambda p: container(p)["resources"]["requests"].update({"example.com/gpu": [1]}),
     "spec.containers[0].resources.requests[example.com/gpu]: expected a quantity, got a list"),
    ("a boolean for a quantity", lambda p: container(p)["resources"]["requests"].update(cpu=True),
     "spec.containers[0].resources.requests.cpu: expected a quantity, got true or false (True)"),
    ("object for list", lambda p: p["spec"].update(containers={}), "spec.containers: expected a list, got an object"),
    ("null in a list", lambda p: p["spec"].update(containers=[None]),
     "spec.containers[0]: expected an object, got null (None)"),
    ("the key of a bad label is named", lambda p: p["metadata"]["labels"].update({"b": 5}),
     "metadata.labels.b: expected text, got an integer (5)"),
    ("a key that is no text", lambda p: p["metadata"]["labels"].update({1: "a"}),
     "metadata.labels: keys: expected text, got an integer"),
    ("a missing field", lambda p: p["spec"].update(schedulingGates=[{}]), "spec.schedulingGates[0].name: is required"),
    ("does not fit 32 bits", lambda p: p["spec"].update(priority=2**31),
     "spec.priority: must be at most 2147483647 (2147483648)"),
    ("text for int", lambda p: p["spec"].update(priority="1"), "spec.priority: expected an integer, got text ('1')"),
    ("no time", lambda p: p["metadata"].update(creationTimestamp="yesterday"),
     "metadata.creationTimestamp: expected a time such as 2030-01-01T00:00:00Z ('yesterday')"),
    ("a time without zone", lambda p: p["metadata"].update(creationTimestamp="2030-01-01T00:00:00"),
     "metadata.creationTimestamp: expected a time with a time zone ('2030-01-01T00:00:00')"),
    ("list for object", lambda p: p.update(spec=[]), "spec: expected an object, got a list"),
    ("kind is no text", lambda p: p.update(kind=5), "kind: expected text, got an integer"),
    ("no kind", lambda p: p.pop("kind"), "kind: is required"),
    ("other version", lambda p: p.update(apiVersion="v2"), "apiVersion: expected v1 for kind Pod, got 'v2'"),
    ("no version", lambda p: p.pop("apiVersion"), "apiVersion: expected v1 for kind Pod, got nothing"),
)  # fmt: skip
def test_decode_names_the_field_when_refused(change: Callable[[dict[str, Any]], object], message: str) -> None:
    manifest = copy.deepcopy(POD)
    change(manifest)
    with pytest.raises(ManifestError) as caught:
        decode(manifest)
    assert str(caught.value) == message


PORT_AS_TEXT = {"spec": {"containers": [{"name": "c", "ports": [{"containerPort": "80"}]}]}}


@cases(
    "kind, spec, path",
    ("of a Deployment", "Deployment", {"template": PORT_AS_TEXT}, "spec.template"),
    ("of a PodTemplate", "PodTemplate", {}, "template"),
    ("of a Job", "Job", {"template": PORT_AS_TEXT}, "spec.template"),
)
def test_field_of_a_template_is_named_from_the_object_on(kind: str, spec: dict[str, Any], path: str) -> None:
    manifest = make_manifest(kind, "x", spec=spec) if spec else make_manifest(kind, "x", template=PORT_AS_TEXT)
    with pytest.raises(ManifestError) as caught:
        decode(manifest)
    assert caught.value.path == f"{path}.spec.containers[0].ports[0].containerPort"


def test_template_that_is_no_object_is_named() -> None:
    with pytest.raises(ManifestError, match=r"^spec\.template: expected an object, got text \('x'\)$"):
        decode(make_manifest("Deployment", "x", spec={"template": "x"}))


def test_decode_says_which_kinds_it_knows() -> None:
    with pytest.raises(ManifestError, match="Otter is not understood; expected one of APIService, .*VolumeAttachment"):
        decode({"apiVersion": "v1", "kind": "Otter"})


def test_items_of_a_typed_list_need_no_kind() -> None:
    assert decode({"metadata": {"name": "a"}}, kind="Pod").name == "a"
    with pytest.raises(ManifestError, match="kind: expected Node, got Pod"):
        decode(POD, kind="Node")


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_kind_is_read_and_written(kind: str) -> None:
    manifest = make_manifest(kind, "x", metadata={"labels": {"a": "b"}})
    obj = decode(manifest)
    assert type(obj) is KINDS[kind]
    assert encode(obj) == manifest
    assert obj.key == ("default/x" if KINDS[kind].namespaced else "x")
    assert KINDS[kind].plural == KINDS[kind].plural.lower() != ""


@given(pod_manifests())
def test_pod_survives_encoding(manifest: dict[str, Any]) -> None:
    pod = decode(manifest)
    assert decode(encode(pod)) == pod


@given(node_manifests())
def test_node_survives_encoding(manifest: dict[str, Any]) -> None:
    node = decode(manifest)
    assert decode(encode(node)) == node


def test_encode_writes_canonical_quantities_and_utc_times() -> None:
    manifest = make_pod("a").req(cpu="1000m", memory="1024Ki").created("2030-01-01T02:00:00+02:00").manifest()
    written = encode(decode(manifest))
    assert written["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "1", "memory": "1Mi"}
    assert written["metadata"]["creationTimestamp"] == "2030-01-01T00:00:00Z"
    assert (written["apiVersion"], written["kind"]) == ("v1", "Pod")


def test_named_differently_in_manifests() -> None:
    """Abbreviations that camelCase alone would get wrong."""
    pod = decode({**POD,
                  "spec": {"containers": [{"name": "c", "ports": [{"hostIP": "10.0.0.1", "hostPort": 80}]}],
                           "volumes": [{"name": "v", "awsElasticBlockStore": {"volumeID": "vol-1"}}]}})  # fmt: skip
    assert isinstance(pod, Pod)
    assert pod.spec.containers[0].ports is not None and pod.spec.containers[0].ports[0].host_ip == "10.0.0.1"
    assert pod.spec.volumes is not None and pod.spec.volumes[0].aws_elastic_block_store is not None
    assert pod.spec.volumes[0].aws_elastic_block_store.volume_id == "vol-1"
    csi = decode(
        make_manifest("CSINode", "n", spec={"drivers": [{"name": "d", "nodeID": "i", "allocatable": {"count": 3}}]})
    )
    assert encode(csi)["spec"]["drivers"] == [{"name": "d", "nodeID": "i", "allocatable": {"count": 3}}]


def test_recorded_objects_are_all_read_and_written() -> None:
    for family in ("mixed", "volumes", "preemption", "resources"):
        for recording in recordings(family)[:15]:
            for manifest in recording.scenario["objects"] + recording.scenario["pending"]:
                obj = decode(manifest)
                assert decode(encode(obj)) == obj


def test_thirty_thousand_pods_are_read_fast(capsys: pytest.CaptureFixture[str]) -> None:
    builder = (
        make_pod("p").label(app="x", tier="web").req(cpu="100m", memory="256Mi").toleration("a", operator="Exists")
    )
    manifest = builder.spread("zone", {"app": "x"}).manifest()
    start = time.perf_counter()
    pods = [manifests.decode(manifest) for _ in range(30_000)]
    with capsys.disabled():
        print(f" decode of {len(pods)} pods: {time.perf_counter() - start:.2f} s", end="")
    assert pods[0] == pods[-1]
