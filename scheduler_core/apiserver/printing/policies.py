"""Disruption budgets and quotas."""

from __future__ import annotations

from typing import Final

from scheduler_core.api.quantity import parse
from scheduler_core.apiserver.printing.texts import Cells, Manifest, Printed, age_of, name_of, part


def _budget(manifest: Manifest, now: int) -> Cells:
    spec, status = part(manifest, "spec"), part(manifest, "status")
    return [
        name_of(manifest), str(spec.get("minAvailable", "N/A")), str(spec.get("maxUnavailable", "N/A")),
        status.get("disruptionsAllowed") or 0, age_of(manifest, now),
    ]  # fmt: skip


def _quota(manifest: Manifest, now: int) -> Cells:
    status = part(manifest, "status")
    hard, used = status.get("hard") or {}, status.get("used") or {}
    texts: dict[bool, list[str]] = {True: [], False: []}
    for name in sorted(hard):
        texts[name.startswith("limits.")].append(f"{name}: {used.get(name, '0')}/{parse(hard[name])}")
    return [name_of(manifest), ", ".join(texts[False]), ", ".join(texts[True]), age_of(manifest, now)]


PRINTED: Final[dict[str, Printed]] = {
    "PodDisruptionBudget": ("Name|Min Available|Max Unavailable|Allowed Disruptions:integer|Age", _budget),
    "ResourceQuota": ("Name|Request|Limit|Age", _quota),
}
