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
