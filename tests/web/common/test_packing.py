"""What is packed is what it was, in the form of today and in that of before, and damage to an object is found."""

import hashlib

import pytest
import zstandard

from kschedweb.common import packing
from tests.builders import make_node, make_pod
from tests.cases import cases

OBJECTS = (
    ("a pod", make_pod("web-1").req(cpu="250m", memory="64Mi").label(app="web").manifest()),
    ("a node", make_node("n1").zone("z1").capacity(cpu="8", memory="32Gi", pods="110").manifest()),
    ("nothing", {}),
    ("no object", [1, "ü", None]),
)


@cases("value", *OBJECTS)
def test_values_come_back_however_they_were_packed(value: object) -> None:
    assert packing.unpacked(packing.packed(value)) == value
    assert packing.unpacked(packing.packed_object(value)) == value
    assert packing.unpacked(memoryview(packing.packed_object(value))) == value


def test_typical_objects_are_part_of_the_format() -> None:
    """What was packed beside them cannot be read beside others: a change of the file would lose all of it."""
    digest = hashlib.sha256(packing.TYPICAL.read_bytes()).hexdigest()
    assert digest == "a8b857232fc6c490ea212b1bab7e41515274374c07c9a09933c22d33686d0331"
    kept = bytes.fromhex("0128b52ffd2429950000386b657074227d7d0200317c1250ddee000151577a98")
    assert packing.unpacked(kept) == {
        "kind": "Pod",
        "metadata": {"name": "kept"},
    }


def test_objects_take_much_less_room_beside_typical_ones() -> None:
    pod = make_pod("api-0").req(cpu="1").spec(nodeName="n7", dnsPolicy="ClusterFirst", terminationGracePeriodSeconds=30)
    manifest = pod.manifest() | {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}
    assert len(packing.packed_object(manifest)) < len(packing.packed(manifest)) / 2


def test_every_bit_of_an_object_that_changed_is_found() -> None:
    value = OBJECTS[0][1]
    content = packing.packed_object(value)
    for bit in range(8 * len(content)):
        changed = bytearray(content)
        changed[bit // 8] ^= 1 << bit % 8
        try:
            found = packing.unpacked(bytes(changed))
        except zstandard.ZstdError:
            continue
        assert found == value, bit


@pytest.mark.parametrize("content", [b"", b"\x01", b"\x01damaged", b"damaged"])
def test_what_was_never_packed_is_refused(content: bytes) -> None:
    with pytest.raises(zstandard.ZstdError):
        packing.unpacked(content)
