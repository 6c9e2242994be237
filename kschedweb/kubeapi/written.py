"""Objects as the JSON that clients get.

The data of a ControllerRevision stands in an answer as it was sent, and who compares revisions compares bytes: those of
the controllers, whose keys are in order. The order in which others sent theirs is not kept.
Source: kubernetes v1.34.1, pkg/controller/daemon/update.go (Match).
"""

from __future__ import annotations

from typing import Any

import orjson

from scheduler_core.api.go_values import map_json
from scheduler_core.api.stored import ControllerRevision

_LIST = f"{ControllerRevision.kind}List"


def json_of(body: Any) -> bytes:
    """The body, be it an object, a list or anything else, as JSON."""
    return orjson.dumps(exact(body))


def exact(body: Any) -> Any:
    """The same for orjson, with the data of revisions written already."""
    kind = body.get("kind") if isinstance(body, dict) else None
    if kind == ControllerRevision.kind:
        return _exact_revision(body)
    if kind == _LIST:
        return {**body, "items": [_exact_revision(item) for item in body["items"]]}
    return body


def _exact_revision(manifest: dict[str, Any]) -> dict[str, Any]:
    if manifest.get("data") is None:
        return manifest
    return {**manifest, "data": orjson.Fragment(map_json(manifest["data"]))}
