"""What a request is answered: the outcome with its changes, or a refusal whose Status is worded as the API server's.

Source: kubernetes v1.34.1, staging/src/k8s.io/apimachinery/pkg/api/errors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from scheduler_core.api import field_errors
from scheduler_core.api.custom import is_custom
from scheduler_core.apiserver.kinds import KINDS, Kind
from scheduler_core.apiserver.requests import ObjectKey
from scheduler_core.apiserver.store import ObjectChange, Stored
from scheduler_core.errors import AdmissionError


class Cause(msgspec.Struct, frozen=True, gc=False):
    """One field that is wrong, or one reason of a refusal."""

    reason: str
    message: str
    field: str = ""

    @classmethod
    def of(cls, field: str, message: str) -> Cause:
        """Of an error of `field_errors`, which its reason goes with."""
        return cls(field_errors.reason(message), message, field)


class Status(msgspec.Struct, frozen=True):
    """An answer that is no object. `kind` is a resource or a kind, as the API server happens to name it.

    `continued`: what goes on with a list that cannot go on as it was asked.
    """

    code: int
    reason: str = ""
    message: str = ""
    name: str = ""
    group: str = ""
    kind: str = ""
    uid: str = ""
    causes: tuple[Cause, ...] = ()
    retry_after_seconds: int = 0
    continued: str = ""
    is_generic: bool = False  # no object is concerned: the details are there and empty

    def manifest(self) -> dict[str, Any]:
        """The Status as the API server writes it."""
        failed = self.code >= 400
        written: dict[str, Any] = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {"continue": self.continued} if self.continued else {},
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
        if self.retry_after_seconds:
            details["retryAfterSeconds"] = self.retry_after_seconds
        if self.message:
            written["message"] = self.message
        if self.reason:
            written["reason"] = self.reason
        if details or self.code == 422 or self.is_generic:
            written["details"] = details
        if self.code != 200:
            written["code"] = self.code
        return written


class Outcome(msgspec.Struct, frozen=True):
    """What a request changes, in the order of the log, and its answer: the object, or a Status."""

    changes: tuple[ObjectChange, ...]
    answer: Stored | Status
    warnings: tuple[str, ...] = ()


class Refused(msgspec.Struct, frozen=True):
    """Nothing changes."""

    status: Status
    warnings: tuple[str, ...] = ()


# Of objects of a kind that a cluster defines, the kind is given.


def deleted(key: ObjectKey, uid: str, kind: Kind | None = None) -> Status:
    """The answer to a DELETE of a kind that does not answer with the object."""
    kind = kind or KINDS[key.kind]
    return Status(200, name=key.name, group=kind.group, kind=kind.cls.plural, uid=uid)


def not_found(key: ObjectKey, kind: Kind | None = None) -> Refused:
    kind = kind or KINDS[key.kind]
    return _about(key, 404, "NotFound", f'{kind.resource} "{key.name}" not found', kind)


def already_exists(key: ObjectKey, stored: Stored, kind: Kind | None = None) -> Refused:
    kind = kind or KINDS[key.kind]
    message = f'{kind.resource} "{key.name}" already exists'
    if "deletionTimestamp" in stored["metadata"]:
        message = f"object is being deleted: {message}"
    return _about(key, 409, "AlreadyExists", message, kind)


def modified(key: ObjectKey, kind: Kind | None = None) -> Refused:
    """The resourceVersion of an update or a patch is not that of the stored object."""
    detail = "the object has been modified; please apply your changes to the latest version and try again"
    return conflict(key, detail, kind=kind)


def conflict(key: ObjectKey, detail: str, *, subresource: str = "", kind: Kind | None = None) -> Refused:
    kind = kind or KINDS[key.kind]
    suffix = f"/{subresource}" if subresource else ""
    message = f'Operation cannot be fulfilled on {kind.resource}{suffix} "{key.name}": {detail}'
    return _about(key, 409, "Conflict", message, kind, suffix)


def storage_conflict(key: ObjectKey, precondition: str, given: str, stored: str, kind: Kind | None = None) -> Refused:
    """A failed precondition, in the words of the storage below the API server."""
    kind = kind or KINDS[key.kind]
    named = f"{kind.group}/{kind.cls.plural}" if is_custom(kind.name) else kind.stored_as or kind.cls.plural
    place = "/".join(part for part in (named, key.namespace, key.name) if part)
    detail = (
        f"StorageError: invalid object, Code: 4, Key: /registry/{place}, ResourceVersion: 0, AdditionalErrorMsg:"
        f" Precondition failed: {precondition} in precondition: {given}, {precondition} in object meta: {stored}"
    )
    return conflict(key, detail, kind=kind)


def delete_conflict(key: ObjectKey, detail: str, kind: Kind | None = None) -> Refused:
    """A failed precondition of a DELETE, which names the kind where others name the resource."""
    kind = kind or KINDS[key.kind]
    message = f'Operation cannot be fulfilled on {key.kind} "{key.name}": {detail}'
    return Refused(Status(409, "Conflict", message, key.name, kind.group, kind.said_kind))


def needs_version(key: ObjectKey, kind: Kind | None = None) -> Refused:
    """The update does not say what it is based on, which its kind demands; named by the resource."""
    kind = kind or KINDS[key.kind]
    cause = Cause.of("metadata.resourceVersion", field_errors.invalid(0, "must be specified for an update"))
    message = f'{kind.resource} "{key.name}" is invalid: {cause.field}: {cause.message}'
    return Refused(Status(422, "Invalid", message, key.name, kind.group, kind.cls.plural, causes=(cause,)))


def bad_request(message: str) -> Refused:
    return Refused(Status(400, "BadRequest", message))


def internal_error(message: str) -> Refused:
    """What the API server answers with 500 although the client is to blame."""
    return Refused(Status(500, "", message))


def no_such_resource() -> Refused:
    """The kind has no such subresource."""
    return Refused(Status(404, "NotFound", "the server could not find the requested resource", is_generic=True))


def invalid(
    key: ObjectKey, error: AdmissionError, *, group_kind: tuple[str, str] | None = None, of: Kind | None = None
) -> Refused:
    """What validation refuses, each problem a cause, or what an admission plugin forbids.

    `group_kind` where the checked object is of another kind than the stored one.
    """
    if error.is_forbidden:
        return forbidden(key, error.detail.removeprefix("Forbidden: "), of)
    causes = tuple(Cause.of(path, detail) for path, detail in error.problems)
    of = of or KINDS[key.kind]
    group, kind = group_kind or (of.group, of.said_kind)
    named = f"{kind}.{group}" if group else kind
    message = f'{named} "{key.name}" is invalid: {told(causes)}'
    return Refused(Status(422, "Invalid", message, key.name, group, kind, causes=causes))


def told(causes: Sequence[Cause]) -> str:
    """What a message says of its causes."""
    return field_errors.joined(f"{cause.field}: {cause.message}" for cause in causes)


def forbidden(key: ObjectKey, detail: str, kind: Kind | None = None) -> Refused:
    """An admission plugin, or the life of the namespace, does not let the request pass."""
    kind = kind or KINDS[key.kind]
    return _about(key, 403, "Forbidden", f'{kind.resource} "{key.name}" is forbidden: {detail}', kind)


def terminating(key: ObjectKey, kind: Kind | None = None) -> Refused:
    """The object's namespace is on its way out."""
    detail = f"unable to create new content in namespace {key.namespace} because it is being terminated"
    cause = Cause("NamespaceTerminating", f"namespace {key.namespace} is being terminated", "metadata.namespace")
    status = forbidden(key, detail, kind).status
    return Refused(msgspec.structs.replace(status, causes=(cause,)))


def unpatchable(shown: str, detail: str) -> Refused:
    """What a patch makes of the object does not fit its kind; nothing says which object."""
    cause = Cause.of("patch", field_errors.invalid(shown, detail))
    return Refused(Status(422, "Invalid", f' "" is invalid: patch: {cause.message}', causes=(cause,)))


def unreadable(kind: str, detail: str) -> Refused:
    """The body does not fit its kind."""
    version = KINDS[kind].version
    return bad_request(f'{kind} in version "{version}" cannot be handled as a {kind}: {detail}')


def of_new_events(refused: Refused) -> Refused:
    """The refusal of a request that named an event by events.k8s.io."""
    status, group = refused.status, "events.k8s.io"
    if status.group or status.kind != "events":
        return refused
    named = status.message.replace(f'{status.kind} "', f'{status.kind}.{group} "', 1)
    return Refused(msgspec.structs.replace(status, group=group, message=named))


def _about(key: ObjectKey, code: int, reason: str, message: str, kind: Kind, suffix: str = "") -> Refused:
    return Refused(Status(code, reason, message, key.name, kind.group, kind.cls.plural + suffix))
