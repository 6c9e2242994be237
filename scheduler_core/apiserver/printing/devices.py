"""Devices and claims to them."""

from __future__ import annotations

from typing import Final

from scheduler_core.apiserver.printing.texts import Cells, Manifest, Printed, age_of, aged, is_going, name_of, part


def _claim(claim: Manifest, now: int) -> Cells:
    status, words = part(claim, "status"), ["deleted"] if is_going(claim) else []
    if "allocation" in status:
        words.append("allocated")
        if status.get("reservedFor"):
            words.append("reserved")
    elif not words:
        words.append("pending")
    return [name_of(claim), ",".join(words), age_of(claim, now)]


def _slice(manifest: Manifest, now: int) -> Cells:
    spec = manifest["spec"]
    return [name_of(manifest), spec.get("nodeName", ""), spec["driver"], spec["pool"]["name"], age_of(manifest, now)]


PRINTED: Final[dict[str, Printed]] = {
    "ResourceClaim": ("Name|State|Age", _claim),
    "ResourceClaimTemplate": ("Name|Age", aged),
    "ResourceSlice": ("Name|Node|Driver|Pool|Age", _slice),
    "DeviceClass": ("Name|Age", aged),
}
