"""Devices, and the claims of pods for them."""

from collections.abc import Mapping, Sequence
from typing import Annotated

from kschedweb.views.base import View, doc


class ClaimDevice(View):
    """A device that was allocated to a claim."""

    request: Annotated[str, doc("of the claim; with `/` and its alternative where there are several")]
    driver: str
    pool: str
    device: str


class PodClaim(View):
    """A claim of a pod, and what it got."""

    entry: Annotated[str, doc("what the pod calls it")]
    claim: Annotated[str, doc("the claim's name; empty while it is not created, or none is needed")]
    allocated: bool
    reserved: Annotated[bool, doc("whether it is reserved for this pod")]
    devices: Sequence[ClaimDevice]


class NodeDevice(View):
    """A device of a node, and who has it."""

    driver: str
    pool: str
    device: str
    attributes: Mapping[str, str]
    capacity: Mapping[str, str]
    claim: Annotated[str, doc("namespace/name of the claim it is allocated to; empty when it is free")]
    pods: Annotated[Sequence[str], doc("namespace/name of the pods that the claim is reserved for")]


class AllocatedDevice(View):
    """A device that the attempt decided on."""

    claim: str
    request: Annotated[str, doc("of the claim; with its alternative where it has several")]
    driver: str
    pool: str
    device: str
    is_admin: Annotated[bool, doc("whether it has admin access, which takes the device from nobody")]


class SelectorRefusal(View):
    """How many devices a selector refused; each device counts for the first that does."""

    owner: Annotated[str, doc("whose selector it is: `class` and its name, or `request`")]
    index: Annotated[int, doc("of the selector in its owner")]
    devices: int


class DeviceTally(View):
    """What became of the devices of the counted nodes for one request."""

    claim: str
    request: str
    wanted: Annotated[int, doc("how many devices it asks for; 0: all there are")]
    devices: Annotated[int, doc("that the counted nodes have; one that several nodes see counts on each")]
    refused: Sequence[SelectorRefusal]
    in_use: Annotated[int, doc("that its selectors want, allocated to others")]
    left: Annotated[int, doc("that its selectors want, and that nobody has")]
    problem: Annotated[str, doc("why a selector could not say; empty when all could")]


class DeviceRecord(View):
    """The devices that an attempt decided on, or what became of all where it found too few."""

    allocated: Sequence[AllocatedDevice]
    refusing_nodes: Annotated[int, doc("nodes that could not satisfy the claims")]
    counted_nodes: Annotated[int, doc("the first of them, whose devices are counted")]
    tallies: Sequence[DeviceTally]
