"""ConfigMaps, Secrets and ServiceAccounts."""

from __future__ import annotations

from typing import Final

from scheduler_core.apiserver.printing.texts import Cells, Manifest, Printed, age_of, name_of, part


def _config_map(manifest: Manifest, now: int) -> Cells:
    return [name_of(manifest), len(part(manifest, "data")) + len(part(manifest, "binaryData")), age_of(manifest, now)]


def _secret(manifest: Manifest, now: int) -> Cells:
    return [name_of(manifest), manifest.get("type", ""), len(part(manifest, "data")), age_of(manifest, now)]


def _service_account(manifest: Manifest, now: int) -> Cells:
    return [name_of(manifest), len(manifest.get("secrets") or ()), age_of(manifest, now)]


PRINTED: Final[dict[str, Printed]] = {
    "ConfigMap": ("Name|Data|Age", _config_map),
    "Secret": ("Name|Type|Data|Age", _secret),
    "ServiceAccount": ("Name|Secrets|Age", _service_account),
}
