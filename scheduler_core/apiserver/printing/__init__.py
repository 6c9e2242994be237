"""What kubectl shows of objects: columns and cells by kind, a module for each group of kinds.

Source: kubernetes v1.34.1, pkg/printers/internalversion/printers.go.
"""

from __future__ import annotations

from typing import Final

from scheduler_core.apiserver.printing import (
    configuration,
    devices,
    kept,
    network,
    nodes,
    pods,
    policies,
    storage,
    workloads,
)
from scheduler_core.apiserver.printing.texts import Cells, Manifest, Printed, created

PRINTED: Final[dict[str, Printed]] = {
    **pods.PRINTED,
    **nodes.PRINTED,
    **storage.PRINTED,
    **workloads.PRINTED,
    **policies.PRINTED,
    **network.PRINTED,
    **configuration.PRINTED,
    **devices.PRINTED,
    **kept.PRINTED,
}
# What kinds without columns of their own have.
PLAIN: Final[Printed] = ("Name|Created At:date", created)


def cells(manifest: Manifest, now: int) -> Cells:
    """The cells of an object's row; ages are counted to `now`, in microseconds."""
    return PRINTED.get(manifest["kind"], PLAIN)[1](manifest, now)
