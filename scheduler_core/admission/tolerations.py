"""Every pod tolerates a dead node for five minutes, unless it says otherwise.

Source: kubernetes v1.34.1, plugin/pkg/admission/defaulttolerationseconds.
"""

from __future__ import annotations

from typing import Final

from scheduler_core.admission.context import Manifest

NOT_READY: Final = "node.kubernetes.io/not-ready"
UNREACHABLE: Final = "node.kubernetes.io/unreachable"
DEFAULT_TOLERATION_SECONDS: Final = 300


def default_tolerations(pod: Manifest) -> None:
    tolerations = pod["spec"].get("tolerations", [])
    added = [
        {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": DEFAULT_TOLERATION_SECONDS}
        for key in (NOT_READY, UNREACHABLE)
        if not any(
            toleration.get("key", "") in (key, "") and toleration.get("effect", "") in ("NoExecute", "")
            for toleration in tolerations
        )
    ]
    if added:
        pod["spec"]["tolerations"] = [*tolerations, *added]
