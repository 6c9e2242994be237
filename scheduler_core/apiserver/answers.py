"""What a request is answered: the outcome with its changes, or a refusal whose Status is worded as the API server's.

Source: kubernetes v1.34.1, staging/src/k8s.io/apimachinery/pkg/api/errors.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from scheduler_core.apiserver import scale
from scheduler_core.apiserver.kinds import KINDS
from scheduler_core.apiserver.requests import ObjectKey
from scheduler_core.apiserver.store import ObjectChange, Stored
from scheduler_core.errors import AdmissionError, ManifestError

_CAUSES: Final = (
    ("Required value", "FieldValueRequired"),
    ("Duplicate value", "FieldValueDuplicate"),
    ("Unsupported value", "FieldValueNotSupported"),
    ("Forbidden", "FieldValueForbidden"),
    ("Not found", "FieldValueNotFound"),
)


class Cause(msgspec.Struct, frozen=True, gc=False):
    """One field that is wrong, or one reason of a refusal."""

    reason: str
    message: str
    field: str = ""


class Status(msgspec.Struct, frozen=True):
    """An answer that is no object. `kind` is a resource or a kind, as the API server happens to name it."""

    code: int
    reason: str = ""
    message: str = ""
    name: str = ""
    group: str = ""
    kind: str = ""
    uid: str = ""
    causes: tuple[Cause, ...] = ()

    def manifest(self) -> dict[str, Any]:
        """The Status as the API server writes it."""
        failed = self.code >= 400
        written: dict[str, Any] = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure" if failed else "Success",
        }
        details: dict[str, Any] = {
            key: value
            for key, value in (("name", self.name), ("group", self.group), ("kind", self.kind), ("uid", self.uid))
            if value
        }
        if self.causes:
            details["causes"] = [
                {key: value for key, value in msgspec.structs.asdict(cause).items() if value} for cause in self.causes
            ]
        if self.message:
            written["message"] = self.message
        if self.reason:
            written["reason"] = self.reason
        if details or self.code == 422:
            written["details"] = details
        if self.code != 200:
            written["code"] = self.code
        return written


class Outcome(msgspec.Struct, frozen=True):
    """What a request changes, in the order of the log, and its answer: the object, or a Status."""

    changes: tuple[ObjectChange, ...]
    answer: Stored | Status


class Refused(msgspec.Struct, frozen=True):
    """Nothing changes."""

    status: Status


def deleted(key: ObjectKey, uid: str) -> Status:
    """The answer to a DELETE of a kind that does not answer with the object."""
    kind = KINDS[key.kind]
    return Status(200, name=key.name, group=kind.group, kind=kind.cls.plural, uid=uid)


def not_found(key: ObjectKey) -> Refused:
    return _about(key, 404, "NotFound", f'{KINDS[key.kind].resource} "{key.name}" not found')


def already_exists(key: ObjectKey, stored: Stored) -> Refused:
    message = f'{KINDS[key.kind].resource} "{key.name}" already exists'
    if "deletionTimestamp" in stored["metadata"]:
        message = f"object is being deleted: {message}"
    return _about(key, 409, "AlreadyExists", message)


def modified(key: ObjectKey) -> Refused:
    """The resourceVersion of an update or a patch is not that of the stored object."""
    return conflict(key, "the object has been modified; please apply your changes to the latest version and try again")


def conflict(key: ObjectKey, detail: str, *, subresource: str = "") -> Refused:
    suffix = f"/{subresource}" if subresource else ""
    message = f'Operation cannot be fulfilled on {KINDS[key.kind].resource}{suffix} "{key.name}": {detail}'
    return _about(key, 409, "Conflict", message, suffix)


def storage_conflict(key: ObjectKey, precondition: str, given: str, stored: str) -> Refused:
    """A failed precondition, in the words of the storage below the API server."""
    place = "/".join(part for part in (KINDS[key.kind].resource, key.namespace, key.name) if part)
    detail = (
        f"StorageError: invalid object, Code: 4, Key: /registry/{place}, ResourceVersion: 0, AdditionalErrorMsg:"
        f" Precondition failed: {precondition} in precondition: {given}, {precondition} in object meta: {stored}"
    )
    return conflict(key, detail)


def delete_conflict(key: ObjectKey, detail: str) -> Refused:
    """A failed precondition of a DELETE, which names the kind where others name the resource."""
    message = f'Operation cannot be fulfilled on {key.kind} "{key.name}": {detail}'
    return Refused(Status(409, "Conflict", message, key.name, KINDS[key.kind].group, key.kind))


def bad_request(message: str) -> Refused:
    return Refused(Status(400, "BadRequest", message))


def internal_error(message: str) -> Refused:
    """What the API server answers with 500 although the client is to blame."""
    return Refused(Status(500, "", message))


def no_such_resource() -> Refused:
    """The kind has no such subresource."""
    return Refused(Status(404, "NotFound", "the server could not find the requested resource"))


def invalid(
    key: ObjectKey, error: ManifestError | AdmissionError, *, is_update: bool = False, is_scale: bool = False
) -> Refused:
    """What admission refuses, as the one cause; what cannot be read is a bad request.

    The API server checks the metadata of an update twice, and says so twice.
    """
    if isinstance(error, ManifestError):
        cause = Cause("FieldValueInvalid", error.detail, error.path)
        return Refused(Status(400, "BadRequest", str(error), causes=(cause,)))
    reason = next((reason for start, reason in _CAUSES if error.detail.startswith(start)), "FieldValueInvalid")
    cause = Cause(reason, error.detail, error.path)
    causes = (cause, cause) if is_update and error.path.startswith("metadata.") else (cause,)
    group, kind = (scale.GROUP, scale.KIND) if is_scale else (KINDS[key.kind].group, key.kind)
    named = f"{kind}.{group}" if group else kind
    return Refused(
        Status(422, "Invalid", f'{named} "{key.name}" is invalid: {error}', key.name, group, kind, causes=causes)
    )


def _about(key: ObjectKey, code: int, reason: str, message: str, suffix: str = "") -> Refused:
    kind = KINDS[key.kind]
    return Refused(Status(code, reason, message, key.name, kind.group, kind.cls.plural + suffix))
