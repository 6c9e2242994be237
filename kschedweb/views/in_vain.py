"""What waits in a frozen cluster for controllers that do not act."""

from collections.abc import Sequence
from typing import Annotated, Literal

from kschedweb.views.base import View, doc

InVainReason = Literal[
    "volume-phase",
    "claim-unbound",
    "claim-placed",
    "claim-not-made",
    "device-claim-not-made",
    "devices-kept",
    "quota-uncounted",
    "budget-uncounted",
    "node-taint",
    "pod-leaving",
    "namespace-leaving",
    "finalizer",
    "workload",
]


class InVain(View):
    """Objects of a kind that wait for the same, which no controller does."""

    reason: InVainReason
    kind: str
    count: int
    names: Annotated[Sequence[str], doc("the first of them: namespace/name, or the name alone")]
    message: Annotated[str, doc("the same as a sentence")]
