"""What can be asked of objects of kinds that a cluster defines: create, update, patch, apply, of them and their parts.

All are pure functions; how objects are deleted is the same for all kinds.
Source: kubernetes v1.34.1, staging/src/k8s.io/apiextensions-apiserver/pkg/registry/customresource.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec

from scheduler_core.admission.admit import keep_identity
from scheduler_core.admission.context import Problem, refuse
from scheduler_core.admission.custom.structural import CoercionError
from scheduler_core.api.schema import DecodeError, read
from scheduler_core.api.times import time_text
from scheduler_core.apiserver import answers, applying, owners
from scheduler_core.apiserver.answers import Outcome, Refused, Status
from scheduler_core.apiserver.custom import scales
from scheduler_core.apiserver.custom.definitions import Definition, Version
from scheduler_core.apiserver.custom.objects import (
    finalizer_warnings,
    problems,
    read_in,
    status_problems,
    stored_form,
    view,
)
from scheduler_core.apiserver.deletions import removed, updated
from scheduler_core.apiserver.kinds import Kind
from scheduler_core.apiserver.numbers import NumberError, parse_uint
from scheduler_core.apiserver.owner_references import without_repeats
from scheduler_core.apiserver.ownership import sets, tracking
from scheduler_core.apiserver.ownership.managers import ConflictError, Entry, Writer
from scheduler_core.apiserver.ownership.schema_shapes import whole_shape
from scheduler_core.apiserver.ownership.shapes import OwnershipError
from scheduler_core.apiserver.patches import compact, patched
from scheduler_core.apiserver.places import misplaced
from scheduler_core.apiserver.requests import Apply, Create, Patch, PatchType, Update
from scheduler_core.apiserver.scale import KIND as SCALE_KIND
from scheduler_core.apiserver.store import ObjectChange, Operation, Stored, key_of
from scheduler_core.apiserver.strategic import PatchError
from scheduler_core.apiserver.verbs import SCALE, STATUS, unfit_version
from scheduler_core.errors import AdmissionError

_SERVER_FIELDS: Final = (
    "resourceVersion", "selfLink", "deletionTimestamp", "deletionGracePeriodSeconds", "managedFields", "generation",
)  # fmt: skip
_STATUS: Final = sets.of_paths(("f:status",))
_ALL_BUT_STATUS: Final = sets.of_paths(("f:metadata",), ("f:spec",))
_GOING: Final = "create not allowed while custom resource definition is terminating"
UNSUPPORTED: Final = (
    "the body of the request was in an unknown format - accepted media types include:"
    " application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml"
)


class Custom:
    """One kind in the version of a request. `of` is the kind as other rules know kinds."""

    def __init__(self, definition: Definition, version: Version) -> None:
        self.definition = definition
        self.version = version
        self.of: Kind = definition.kind_in(version)
        self._name = str(definition.names["kind"])

    # Requests

    def create(self, request: Create, uid: str, now: int, entries: list[Entry] | None = None) -> Outcome | Refused:
        """The object as it is stored, with this uid, whether it has a namesake or not. The manifest has a name."""
        manifest, warnings = without_repeats(request.manifest, is_patch=entries is not None)
        key = key_of(manifest)
        if self.definition.is_going:
            return answers.forbidden(key, _GOING, self.of)
        try:
            new, _ = read_in(manifest, self.version)
        except CoercionError as error:
            return self._unreadable(str(error))
        metadata = {name: each for name, each in new["metadata"].items() if name not in _SERVER_FIELDS}
        with contextlib.suppress(NumberError):
            if parse_uint(new["metadata"].get("resourceVersion") or ""):
                return answers.internal_error("resourceVersion should not be set on objects to be created")
        metadata |= {"uid": uid, "creationTimestamp": time_text(now), "generation": 1}
        if not self.definition.namespaced:
            metadata.pop("namespace", None)
        if entries is None and request.manager:
            by = self._writer(request.manager, "")
            entries = tracking.created(new, (manifest["metadata"]).get("managedFields"), by, time_text(now))
        if entries:
            metadata["managedFields"] = entries
        new = {**new, "metadata": metadata}
        if self.version.has_status:
            new.pop("status", None)
        told = problems(new, None, self.definition, self.version)
        if told:
            return self._invalid(key_of(manifest).name, told, request)
        created = stored_form(new, self.definition)
        warnings = (*warnings, *finalizer_warnings(new, None))
        return Outcome((ObjectChange(Operation.CREATED, created),), created, warnings if request.manager else ())

    def update(self, stored: Stored | None, request: Update, now: int) -> Outcome | Refused:
        """The object, or a part of it, replaced by the manifest."""
        key = request.key
        problem = misplaced(request.manifest, key)
        if problem is not None:
            return problem
        if stored is None:
            return answers.not_found(key, self.of)
        problem = unfit_version(request.manifest, stored, request, self.of)
        if problem is not None:
            return problem
        manifest, warnings = without_repeats(request.manifest, is_patch=False)
        if request.subresource == SCALE:
            return self._scaled(stored, manifest, request, now)
        before = view(stored, self.version)
        try:
            new, _ = read_in(manifest, self.version)
        except CoercionError as error:
            return self._unreadable(str(error))
        entries = self._entries(before, new, manifest["metadata"].get("managedFields"), request, now)
        return _warned(self._replaced(stored, before, new, request, entries), warnings)

    def patch(self, stored: Stored | None, request: Patch, now: int) -> Outcome | Refused:
        """The object, or a part of it, changed in part."""
        key = request.key
        if stored is None:
            return answers.not_found(key, self.of)
        if request.uid and request.uid != stored["metadata"]["uid"]:
            return answers.storage_conflict(key, "UID", request.uid, stored["metadata"]["uid"], self.of)
        if request.resource_version and request.resource_version != stored["metadata"].get("resourceVersion"):
            return answers.modified(key, self.of)
        if request.patch_type == PatchType.STRATEGIC and request.manager:
            return Refused(Status(415, "UnsupportedMediaType", UNSUPPORTED))
        before = view(stored, self.version)
        try:
            target = self.owned_scale_of(stored) if request.subresource == SCALE else before
            made = _patched(target, request)
        except PatchError as error:
            return Refused(Status(error.code, error.reason, error.message))
        if request.subresource == SCALE:
            return self._patched_scale(stored, made, request, now)
        if not isinstance(made.get("metadata"), Mapping):
            return answers.unpatchable(_text(made), "metadata: expected a map")
        try:
            new, unknown = read_in(made, self.version)
        except CoercionError as error:
            return answers.unpatchable(_text(made), str(error))
        told = [*(f'duplicate field "{path}"' for path in request.repeated), *_unknown(unknown)]
        if told and request.validation == "Strict":
            return answers.unpatchable(_text(made), f"strict decoding error: {', '.join(told)}")
        problem = misplaced(new, key) or unfit_version(new, stored, request, self.of)
        if problem is not None:
            return problem
        entries = self._entries(before, new, made["metadata"].get("managedFields"), request, now)
        warnings = tuple(_unknown(unknown)) if request.validation == "Warn" else ()
        return _warned(self._replaced(stored, before, new, request, entries), warnings)

    def apply(self, stored: Stored | None, request: Apply, new_uid: Callable[[], str], now: int) -> Outcome | Refused:
        """What was applied, laid over the object; one that is not there is made."""
        key, config = request.key, request.config
        if request.subresource == SCALE:
            return answers.bad_request("applying to the Scale of a custom resource is not done by this service")
        if stored is None and request.subresource:
            return answers.not_found(key, self.of)
        by = self._writer(request.manager, request.subresource)
        problem = applying.config_problem(config, self.version.api_version, self._name, by.shape)
        if problem is not None:
            return problem
        before = view(stored, self.version) if stored is not None else None
        named = applying.named_text(config, self.version.api_version, self._name)
        try:
            new, entries = tracking.applied(before, config, by, time_text(now), is_forced=request.is_forced)
            made, _ = read_in(new, self.version)
        except ConflictError as error:
            return applying.conflict_refused(error)
        except OwnershipError as error:
            return answers.internal_error(f"failed to create typed live object ({named}): {error}")
        except (CoercionError, ValueError) as error:
            return answers.internal_error(f"failed to convert new object ({named}) to proper version: {error}")
        if request.repeated and request.validation == "Strict":
            told = applying.repeated_text(request.repeated)
            return answers.bad_request(f"error strict decoding YAML: {told}")
        made = {"apiVersion": self.version.api_version, "kind": self._name, "metadata": {}, **made}
        problem = applying.identity_problem(stored, made, request, self.of)
        if problem is not None:
            return problem
        if stored is not None:
            assert before is not None
            return self._replaced(stored, before, made, request, entries)
        metadata = {**made["metadata"], "name": key.name, **({"namespace": key.namespace} if key.namespace else {})}
        metadata.pop("resourceVersion", None)
        return self.create(Create({**made, "metadata": metadata}, manager=request.manager), new_uid(), now, entries)

    def owned_scale_of(self, stored: Stored) -> Stored:
        """The object's Scale with the entries of its own."""
        return scales.owned_scale_of(view(stored, self.version), self.version)

    # What becomes of the object

    def _replaced(
        self, stored: Stored, before: Stored, new: Stored, request: Update | Patch | Apply, entries: list[Entry]
    ) -> Outcome | Refused:
        """The object as it is now replaced by the new one, both in the version of the request."""
        new, warnings = without_repeats(new, is_patch=True)
        new = {**new, "metadata": dict(new["metadata"])}
        keep_identity(new, before)
        if request.subresource == STATUS:
            if not self.version.has_status:
                return answers.no_such_resource()
            status = {"status": new["status"]} if "status" in new else {}
            kept = {name: each for name, each in before.items() if name != "status"}
            identity = {name: new.get(name) for name in ("apiVersion", "kind")}
            new = {**kept, **identity, **status, "metadata": dict(before["metadata"])}
            told = status_problems(new, before, self.definition, self.version)
        else:
            if self.version.has_status:
                new.pop("status", None)
                new |= {"status": before["status"]} if "status" in before else {}
            generation = before["metadata"].get("generation", 0)
            new["metadata"]["generation"] = generation + 1 if _content(new) != _content(before) else generation
            told = problems(new, before, self.definition, self.version)
        if told:
            return self._invalid(request.key.name, told, request)
        metadata = {name: each for name, each in new["metadata"].items() if name not in ("managedFields",)}
        metadata.pop("resourceVersion", None)
        if "resourceVersion" in stored["metadata"]:
            metadata["resourceVersion"] = stored["metadata"]["resourceVersion"]
        if entries:
            metadata["managedFields"] = entries
        written = stored_form({**new, "metadata": metadata}, self.definition)
        written = owners.without_new_times(stored, written)
        is_deleted = "deletionTimestamp" in stored["metadata"]
        if is_deleted and not written["metadata"].get("finalizers"):
            return removed(stored, written)
        told_of = (*warnings, *finalizer_warnings(new, before)) if request.manager else ()
        return _warned(updated(stored, written), told_of)

    def _scaled(self, stored: Stored, scale: Mapping[str, Any], request: Update | Patch, now: int) -> Outcome | Refused:
        """The object with the replicas of a Scale; the answer is the Scale."""
        if self.version.scale is None:
            return answers.no_such_resource()
        before = view(stored, self.version)
        try:
            new = scales.scaled(before, scale, self.version)
        except AdmissionError as error:
            return answers.invalid(request.key, error, group_kind=(scales.GROUP, SCALE_KIND), of=self.of)
        entries = before["metadata"].get("managedFields") or []
        if request.manager:
            given = (scale.get("metadata") or {}).get("managedFields")
            entries = scales.entries(before, scale, given, request.manager, (self.version, time_text(now)))
        outcome = self._replaced(stored, before, new, msgspec.structs.replace(request, subresource=""), entries)
        if isinstance(outcome, Refused):
            return outcome
        written = outcome.changes[-1].manifest if outcome.changes else stored
        return Outcome(outcome.changes, scales.scale_of(view(written, self.version), self.version))

    def _patched_scale(self, stored: Stored, made: Mapping[str, Any], request: Patch, now: int) -> Outcome | Refused:
        try:
            scale, _ = read(made, owners.SCALE_VERSION, SCALE_KIND)
        except DecodeError as error:
            return answers.unpatchable(_text(made), str(error))
        problem = misplaced(scale, request.key) or unfit_version(scale, stored, request, self.of)
        return problem or self._scaled(stored, scale, request, now)

    # Owners of fields, and refusals

    def _writer(self, name: str, subresource: str) -> Writer:
        hidden = _ALL_BUT_STATUS if subresource == STATUS else _STATUS if self.version.has_status else {}
        versions = frozenset(each.api_version for each in self.definition.versions.values())
        shape = whole_shape(self.version.schema)
        return Writer(name, self.version.api_version, self._name, subresource, hidden, shape, versions)

    def _entries(self, before: Stored, new: Stored, given: Any, request: Update | Patch, now: int) -> list[Entry]:
        if not request.manager:
            return before["metadata"].get("managedFields") or []
        by = self._writer(request.manager, request.subresource)
        return tracking.updated(before, new, given, by, time_text(now))

    def _invalid(self, name: str, told: Sequence[Problem], request: Create | Update | Patch | Apply) -> Refused:
        try:
            refuse(told)
        except AdmissionError as error:
            key = key_of(request.manifest) if isinstance(request, Create) else request.key
            return answers.invalid(msgspec.structs.replace(key, name=name), error, of=self.of)
        raise AssertionError("unreachable")

    def _unreadable(self, detail: str) -> Refused:
        named = f'{self._name} in version "{self.version.name}"'
        return answers.bad_request(f"{named} cannot be handled as a {self._name}: {detail}")


def _patched(target: Stored, request: Patch) -> Stored:
    """The object, or its Scale, after the patch. Controllers of this package patch metadata as that of other kinds."""
    if request.patch_type != PatchType.STRATEGIC:
        return patched(target, request.body, request.patch_type)
    every = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": target["metadata"]}
    return {**target, "metadata": patched(every, request.body, request.patch_type)["metadata"]}


def _content(manifest: Stored) -> Stored:
    return {name: each for name, each in manifest.items() if name != "metadata"}


def _unknown(paths: Sequence[str]) -> list[str]:
    return [f'unknown field "{path}"' for path in paths]


def _text(made: Mapping[str, Any]) -> str:
    return compact(json.loads(json.dumps(made, sort_keys=True)))


def _warned(answer: Outcome | Refused, warnings: tuple[str, ...]) -> Outcome | Refused:
    if not warnings:
        return answer
    return msgspec.structs.replace(answer, warnings=(*warnings, *answer.warnings))
