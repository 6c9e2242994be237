"""Bodies in protobuf become the objects that JSON would give, and what is no protobuf is refused quickly."""

import random
import time
from typing import Any

import pytest

from kschedweb.kubeapi.protobuf import read_object
from kschedweb.kubeapi.wire import ProtobufError
from scheduler_core.api.custom import DEFINITION
from scheduler_core.api.schema import read, type_named, type_of
from scheduler_core.api.schema.numbers import numbers_of
from scheduler_core.api.schema.types import SCALARS
from scheduler_core.apiserver.kinds import KINDS
from tests.web.kubeapi import proto

EXAMPLES: dict[str, Any] = {
    "string": "otter", "int32": -7, "int64": 2**40, "bool": True, "quantity": "500m", "intorstring": "25%",
    "time": "2030-01-02T03:04:05Z", "microtime": "2030-01-02T03:04:05.000006Z", "raw": {"a": [1, None]},
    "bytes": "AAH/",
}  # fmt: skip


def full(shape: str) -> Any:
    """A value of a shape in which every field is set."""
    if shape in EXAMPLES:
        return EXAMPLES[shape]
    if shape.startswith("[]"):
        return [full(shape[2:])]
    if shape.startswith("{}"):
        return {"key": full(shape[2:])}
    return {name: full(field.shape) for name, field in type_named(shape).fields.items()}


@pytest.mark.parametrize(
    "name",
    [
        *(name for name in KINDS if name != DEFINITION),
        "Binding",
        "Eviction",
        "Scale",
        "DeleteOptions",
        "events",
        "SubjectAccessReview",
    ],
)
def test_every_field_of_a_kind_is_read(name: str) -> None:
    others = {
        "Binding": ("v1", "core.Binding"),
        "Eviction": ("policy/v1", "policy.Eviction"),
        "Scale": ("autoscaling/v1", "autoscaling.Scale"),
        "DeleteOptions": ("policy/v1", "meta.DeleteOptions"),
        "events": ("events.k8s.io/v1", "events.Event"),
        "SubjectAccessReview": ("authorization.k8s.io/v1", "authorization.SubjectAccessReview"),
    }
    version, type_name = others.get(name) or (
        KINDS[name].cls.api_version,
        type_of(KINDS[name].cls.api_version, name).name,
    )
    kind = type_name.partition(".")[2]
    manifest = {"apiVersion": version, "kind": kind, **full(type_name)}
    assert read_object(proto.body(manifest, type_name), version, kind) == manifest


def test_every_field_has_a_number_of_its_own() -> None:
    seen: set[str] = set()
    waiting = [type_of(kind.cls.api_version, name).name for name, kind in KINDS.items()]
    waiting += ["core.Binding", "policy.Eviction", "autoscaling.Scale", "meta.DeleteOptions", "events.Event"]
    while waiting:
        type_name = waiting.pop()
        if type_name in seen:
            continue
        seen.add(type_name)
        places = numbers_of(type_name)
        fields = type_named(type_name).fields
        assert fields.keys() <= places.keys(), type_name
        assert len(set(places.values())) == len(places), type_name
        shapes = (field.shape.replace("[]", "").replace("{}", "") for field in fields.values())
        waiting += [shape for shape in shapes if shape not in SCALARS]


# What typed clients write: every field that is no pointer, empty or not.
def test_empty_values_are_those_of_json() -> None:
    written = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "generateName": "", "creationTimestamp": None},
        "spec": {"containers": [{"name": "c", "image": "i", "resources": {}, "tty": False}], "nodeName": ""},
        "status": {"phase": ""},
    }
    plain = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p"},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
    found, _ = read(read_object(proto.body(written), "v1", "Pod"), "v1", "Pod")
    expected, _ = read(plain, "v1", "Pod")
    assert found == expected


def test_a_pointer_to_zero_is_not_absent() -> None:
    manifest = {"apiVersion": "v1", "kind": "Pod", "spec": {"terminationGracePeriodSeconds": 0, "hostUsers": False}}
    assert read_object(proto.body(manifest), "v1", "Pod")["spec"] == manifest["spec"]
    bare = {"apiVersion": "v1", "kind": "Pod", "spec": {"hostname": "h"}}
    assert "terminationGracePeriodSeconds" not in read_object(proto.body(bare), "v1", "Pod")["spec"]


def test_a_message_that_comes_in_parts_is_one() -> None:
    parts = (
        {"metadata": {"name": "p"}, "spec": {"affinity": {"nodeAffinity": {}}}},
        {"metadata": {"namespace": "a"}, "spec": {"affinity": {"podAffinity": {}}}},
    )
    raw = b"".join(proto.message(part, "core.Pod") for part in parts)
    found = read_object(proto.envelope("v1", "Pod", raw), "v1", "Pod")
    assert found["metadata"] == {"name": "p", "namespace": "a"}
    assert found["spec"]["affinity"] == {"nodeAffinity": {}, "podAffinity": {}}


def test_numbers_may_stand_together_and_unknown_fields_are_passed_over() -> None:
    groups = proto.message({"supplementalGroups": [1, 2]}, "core.PodSecurityContext")
    packed = b"\x22\x02\x01\x02"
    unknown = (
        b"\xf8\x7f\x01" + b"\xfa\x7f\x01x" + b"\xfb\x7f\xfa\x7f\x00\xfc\x7f" + b"\xfd\x7f1234" + b"\xf9\x7f12345678"
    )
    for content in (groups, packed, groups + unknown):
        spec = b"\x72" + proto.varint(len(content)) + content
        raw = b"\x12" + proto.varint(len(spec)) + spec
        found = read_object(proto.envelope("v1", "Pod", raw), "v1", "Pod")
        assert found["spec"]["securityContext"] == {"supplementalGroups": [1, 2]}


def test_a_body_without_a_kind_is_of_the_kind_of_its_path() -> None:
    raw = proto.message({"metadata": {"name": "n"}}, "core.Namespace")
    expected = {"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": "n"}}
    assert read_object(proto.envelope("", "", raw), "v1", "Namespace") == expected


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "empty data"),
        (b"{}", "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"),
        (b"k8s\0", "empty body"),
        (b"k8s\0\x12\xff", "unexpected EOF"),
        (b"k8s\0\x12\x05ab", "unexpected EOF"),
        (b"k8s\0\x0b", "proto: wrong wireType = 3 for field TypeMeta"),
        (b"k8s\0\x0c", "proto: Unknown: wiretype end group for non-group"),
        (b"k8s\0\x00", "proto: Unknown: illegal tag 0 (wire type 0)"),
        (b"k8s\0\x10\x01", "proto: wrong wireType = 0 for field Raw"),
        (b"k8s\0\x12" + b"\xff" * 10, "proto: integer overflow"),
        (b"k8s\0\x12" + b"\xff" * 9 + b"\x01", "proto: negative length found during unmarshaling"),
    ],
)
def test_what_is_no_protobuf_is_told_in_the_words_of_go(content: bytes, expected: str) -> None:
    with pytest.raises(ProtobufError) as refused:
        read_object(content, "v1", "Pod")
    assert str(refused.value) == expected


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b"\x12\xff", "unexpected EOF"),
        (b"\x08\x01", "proto: wrong wireType = 0 for field ObjectMeta"),
        (b"\x12\x02\x08\x01", "proto: wrong wireType = 0 for field Volumes"),
        (b"\x0b", "proto: wrong wireType = 3 for field ObjectMeta"),
        (b"\x0c", "proto: Pod: wiretype end group for non-group"),
        (b"\x02\x00", "proto: Pod: illegal tag 0 (wire type 2)"),
    ],
)
def test_what_is_no_pod_is_told_with_its_kind(raw: bytes, expected: str) -> None:
    with pytest.raises(ProtobufError) as refused:
        read_object(proto.envelope("v1", "Pod", raw), "v1", "Pod")
    assert (refused.value.version, refused.value.kind, str(refused.value)) == ("v1", "Pod", expected)


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        ({"spec": {"overhead": {"cpu": "much"}}}, "quantities must match"),
        ({"metadata": {"creationTimestamp": "9999-12-31T23:59:59Z"}}, ""),
    ],
)
def test_values_are_checked(part: dict[str, Any], expected: str) -> None:
    content = proto.body({"apiVersion": "v1", "kind": "Pod", **part})
    if not expected:
        assert read_object(content, "v1", "Pod")["metadata"] == part["metadata"]
        return
    with pytest.raises(ProtobufError, match=expected) as refused:
        read_object(content, "v1", "Pod")
    assert (refused.value.version, refused.value.kind) == ("v1", "Pod")


def test_any_bytes_are_read_or_refused() -> None:
    chance = random.Random(34)
    good = proto.body({"apiVersion": "v1", "kind": "Pod", **full("core.Pod")})
    read_count = 0
    for _ in range(1500):
        content = bytearray(good)
        for _ in range(chance.randint(1, 4)):
            at = chance.randrange(4, len(content))
            content[at : at + chance.randint(0, 2)] = chance.randbytes(chance.randint(0, 2))
        content = content[: chance.randint(5, len(content))]
        try:
            read_object(bytes(content), "v1", "Pod")
            read_count += 1
        except ProtobufError:
            continue
    assert read_count < 1500


@pytest.mark.parametrize(
    "content",
    [b"\xff" * 3_000_000, b"\x0b" * 3_000_000, b"\x08\x01" * 1_500_000, b"\x12\x00" * 1_500_000],
    ids=["overflow", "groups", "unknown fields", "empty messages"],
)
def test_a_large_body_of_nothing_is_read_quickly(content: bytes) -> None:
    began = time.process_time()
    with pytest.raises(ProtobufError):
        read_object(b"k8s\0" + content, "v1", "Pod")
    with pytest.raises(ProtobufError):
        read_object(proto.envelope("v1", "Pod", b"\x12" + proto.varint(len(content)) + content), "v1", "Pod")
    assert time.process_time() - began < 5


def test_a_deployment_as_kubectl_sends_it() -> None:
    """`kubectl create deployment cap --image=i:1 --port=80` of kubectl 1.34.1, byte for byte."""
    content = bytes.fromhex(
        "6b3873000a150a07617070732f7631120a4465706c6f796d656e7412b2010a1f0a0363617012001a0022002a0032003800"
        "42005a0a0a036170701203636170128001"
        "0801120c0a0a0a0361707012036361701a660a1c0a0012001a0022002a003200380042005a0a0a03617070120363617012"
        "4612280a0169"
        "1203693a312a00320a0a0010001850220"
        "02a0042006a007200800100880100900100a201001a00320042004a0052005800600068008201008a01009a0100c2010022"
        "020a00280038001a0c0800100018002000280038001a002200"
    )
    found, _ = read(read_object(content, "apps/v1", "Deployment"), "apps/v1", "Deployment")
    plain = {
        "metadata": {"name": "cap", "labels": {"app": "cap"}},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": {"app": "cap"}},
            "template": {
                "metadata": {"labels": {"app": "cap"}},
                "spec": {"containers": [{"name": "i", "image": "i:1", "ports": [{"containerPort": 80}]}]},
            },
        },
    }
    expected, _ = read(plain, "apps/v1", "Deployment")
    assert found == expected
