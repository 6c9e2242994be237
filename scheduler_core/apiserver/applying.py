"""Server-side apply: what a request has applied, laid over the object, and who owns it then.

Source: kubernetes v1.34.1, staging/src/k8s.io/apiserver/pkg/endpoints/handlers/patch.go and
apimachinery/pkg/util/managedfields/internal.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scheduler_core.api.schema import DecodeError, read
from scheduler_core.api.times import time_text
from scheduler_core.apiserver import answers, events, owners
from scheduler_core.apiserver.answers import Cause, Refused, Status
from scheduler_core.apiserver.kinds import KINDS, Kind
from scheduler_core.apiserver.ownership import tracking
from scheduler_core.apiserver.ownership.checking import problem_of
from scheduler_core.apiserver.ownership.managers import ConflictError, Entry
from scheduler_core.apiserver.ownership.sets import path_text
from scheduler_core.apiserver.ownership.shapes import OwnershipError, Shape
from scheduler_core.apiserver.places import misplaced
from scheduler_core.apiserver.requests import Apply
from scheduler_core.apiserver.scale import KIND as SCALE_KIND
from scheduler_core.apiserver.store import Stored


def laid(stored: Stored | None, request: Apply, now: int) -> tuple[Stored, list[Entry]] | Refused:
    """(the manifest as applied, of the Scale where that was asked; the entries of the object)."""
    key, config = request.key, request.config
    is_scale = request.subresource == "scale"
    kind = SCALE_KIND if is_scale else key.kind
    version = KINDS[key.kind].cls.api_version
    if is_scale or request.is_new_form:
        version = owners.SCALE_VERSION if is_scale else events.API_VERSION
    named = named_text(config, version, kind)
    problem = config_problem(config, version, kind, tracking.writer("", version, kind).shape)
    if problem is not None:
        return problem
    live: Mapping[str, Any] | None = stored
    if stored is not None and (is_scale or request.is_new_form):
        live = owners.owned_scale_of(stored) if is_scale else events.from_core(stored)
    by = tracking.writer(
        request.manager, version, kind, request.subresource, has_status=not is_scale and KINDS[kind].has_status
    )
    try:
        new, entries = tracking.applied(live, config, by, time_text(now), is_forced=request.is_forced)
        made, _ = read(new, version, kind)
    except ConflictError as error:
        return conflict_refused(error)
    except OwnershipError as error:
        return answers.internal_error(f"failed to create typed live object ({named}): {error}")
    except DecodeError as error:
        wrong = str(error)
        if wrong.startswith("json: cannot unmarshal number"):
            wrong = f"cannot convert float64 to {wrong.rpartition(' ')[2]}"
        detail = f"unable to convert unstructured object to {_type_text(version, kind)}: {wrong}"
        return answers.internal_error(f"failed to convert new object ({named}) to proper version: {detail}")
    if request.repeated and request.validation == "Strict":
        return answers.bad_request(f"error strict decoding YAML: {repeated_text(request.repeated)}")
    problem = identity_problem(stored, made, request)
    if problem is not None:
        return problem
    if is_scale:
        assert stored is not None
        return made, owners.of_parent(stored, entries)
    return events.to_core(made) if request.is_new_form else made, entries


def repeated_text(repeated: tuple[str, ...]) -> str:
    """What is said of keys that stand twice."""
    lines = "\n".join(f"  {each}" for each in repeated)
    return f"error converting YAML to JSON: yaml: unmarshal errors:\n{lines}"


def _metadata(manifest: Mapping[str, Any]) -> Mapping[str, Any]:
    metadata = manifest.get("metadata")
    return metadata if isinstance(metadata, Mapping) else {}


def _type_text(api_version: Any, kind: Any) -> str:
    group, _, version = str(api_version or "").rpartition("/")
    if "/" in group:  # no version at all
        return "/, Kind="
    return f"{group}/{version}, Kind={kind or ''}"


def named_text(config: Mapping[str, Any], version: str, kind: str) -> str:
    """The object as messages about its types name it."""
    metadata = _metadata(config)
    return f"{metadata.get('namespace', '')}/{metadata.get('name', '')}; {_type_text(version, kind)}"


def config_problem(config: Mapping[str, Any], version: str, kind: str, shape: Shape) -> Refused | None:
    """Why the config is no object of its kind."""
    named = named_text(config, version, kind)
    given = config.get("apiVersion"), config.get("kind")
    if given != (version, kind):
        return answers.bad_request(f"invalid object type: {_type_text(*given)}")
    if isinstance(_metadata(config).get("managedFields"), list):
        return answers.bad_request("metadata.managedFields must be nil")
    detail = problem_of(config, shape)
    return answers.internal_error(f"failed to create typed patch object ({named}): {detail}") if detail else None


def identity_problem(stored: Stored | None, made: Stored, request: Apply, of: Kind | None = None) -> Refused | None:
    """Why what was applied cannot be the object of the request."""
    key, metadata = request.key, made["metadata"]
    if stored is None and metadata.get("uid"):
        detail = f"uid mismatch: the provided object specified uid {metadata['uid']}, and no existing object was found"
        return answers.conflict(key, detail, kind=of)
    problem = misplaced(made, key)
    if problem is not None:
        return problem
    version = metadata.get("resourceVersion")
    if stored is not None and version not in (None, stored["metadata"].get("resourceVersion")):
        return answers.modified(key, of)
    return None


def conflict_refused(error: ConflictError) -> Refused:
    """Others own what would be changed."""
    found = error.conflicts
    causes = tuple(
        Cause("FieldManagerConflict", f"conflict with {manager}", path_text(path)) for manager, path in found
    )
    if len(found) == 1:
        message = f"Apply failed with 1 conflict: {causes[0].message}: {causes[0].field}"
    else:
        lines = []
        for manager in dict.fromkeys(manager for manager, _ in found):
            lines.append(f"conflicts with {manager}:")
            lines += [f"- {path_text(path)}" for other, path in found if other == manager]
        message = f"Apply failed with {len(found)} conflicts: " + "\n".join(lines)
    return Refused(Status(409, "Conflict", message, causes=causes))
