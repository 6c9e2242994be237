"""Whether an object that is sent is the one that the address names.

Source: kubernetes v1.34.1, staging/src/k8s.io/apiserver/pkg/registry/rest/meta.go and pkg/endpoints/handlers/rest.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scheduler_core.apiserver import answers
from scheduler_core.apiserver.answers import Refused
from scheduler_core.apiserver.requests import ObjectKey


def misplaced(manifest: Mapping[str, Any], key: ObjectKey) -> Refused | None:
    """Why the manifest is not the object of the address."""
    metadata = manifest.get("metadata") or {}
    return unfit_namespace(metadata, key) or _unfit_name(metadata, key)


def unfit_namespace(metadata: Mapping[str, Any], key: ObjectKey) -> Refused | None:
    """Why it is in another namespace; one of a kind without namespaces is passed over."""
    if not key.namespace or metadata.get("namespace") in (None, "", key.namespace):
        return None
    message = "the namespace of the provided object does not match the namespace sent on the request"
    return answers.bad_request(message)


def _unfit_name(metadata: Mapping[str, Any], key: ObjectKey) -> Refused | None:
    name = metadata.get("name")
    if not name:
        return nameless(key.name)
    if name != key.name:
        return answers.bad_request(f"the name of the object ({name}) does not match the name on the URL ({key.name})")
    return None


def nameless(name: str) -> Refused:
    """The object does not say its name; the address does."""
    detail = f"the name of the object ({name} based on URL) was undeterminable: name must be provided"
    return answers.bad_request(detail)
