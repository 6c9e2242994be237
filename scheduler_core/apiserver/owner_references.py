"""Owner references that stand twice: once is enough, and the client is told.

Source: kubernetes v1.34.1, staging/src/k8s.io/apiserver/pkg/endpoints/handlers/rest.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scheduler_core.apiserver.store import Stored


def without_repeats(manifest: Mapping[str, Any], *, is_patch: bool) -> tuple[Stored, tuple[str, ...]]:
    """(the manifest with each owner reference once, what to warn of); repeats of a patch are noticed later."""
    metadata = manifest.get("metadata") or {}
    kept: list[Any] = []
    repeated: list[str] = []
    for reference in metadata.get("ownerReferences") or ():
        if reference in kept:
            repeated.append(reference.get("uid", ""))
        else:
            kept.append(reference)
    if not repeated:
        return dict(manifest), ()
    place = ".metadata.ownerReferences contains duplicate entries" + (
        " after mutating admission happens" if is_patch else ""
    )
    warning = (
        f"{place}; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please"
        f" fix your requests; duplicate UID(s) observed: {', '.join(repeated)}"
    )
    return {**manifest, "metadata": {**metadata, "ownerReferences": kept}}, (warning,)
