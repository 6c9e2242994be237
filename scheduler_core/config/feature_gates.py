"""Feature gates a scheduler can be built with, by upstream's names; all others have their 1.34 defaults as constants.

SchedulerQueueingHints is locked on upstream; here it can be off, because recordings of the older form are compared.
Source: kubernetes v1.34.1, pkg/features/kube_features.go; component-base/featuregate (texts).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from scheduler_core.errors import ConfigError

POP_FROM_BACKOFF_Q: Final = "SchedulerPopFromBackoffQ"
QUEUEING_HINTS: Final = "SchedulerQueueingHints"
# Of Kubernetes 1.26 to 1.31; what it switches on is not in upstream any more.
CONTROL_PLANE_CLAIMS: Final = "DRAControlPlaneController"

DEFAULTS: Final[Mapping[str, bool]] = {POP_FROM_BACKOFF_Q: True, QUEUEING_HINTS: True, CONTROL_PLANE_CLAIMS: False}


def completed(given: Mapping[str, bool] | None) -> Mapping[str, bool]:
    """Every gate with its value; ConfigError names unknown ones."""
    unknown = sorted(set(given or ()) - set(DEFAULTS))
    if unknown:
        raise ConfigError([f"unrecognized feature gate: {name}" for name in unknown])
    return {**DEFAULTS, **(given or {})}
