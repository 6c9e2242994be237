"""Kinds that a cluster defines, for the requests of one batch: which there are, and what follows from writing them.

What the API server's own controllers do is done at once, in the change that asks for it: a definition gets its names
and is served; when it is deleted so are its objects, and it is gone with the last of them.
Source: kubernetes v1.34.1, staging/src/k8s.io/apiextensions-apiserver/pkg/controller/finalizer.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Final

import msgspec

from scheduler_core.api.custom import DEFINITION, is_custom, is_custom_group
from scheduler_core.api.times import time_text
from scheduler_core.apiserver import answers, deletions
from scheduler_core.apiserver.answers import Outcome, Refused
from scheduler_core.apiserver.custom.definitions import FINALIZER, Definitions, definition_of
from scheduler_core.apiserver.custom.settling import settled, with_condition
from scheduler_core.apiserver.custom.verbs import Custom
from scheduler_core.apiserver.go_json import TOO_DEEP
from scheduler_core.apiserver.requests import Apply, Create, Delete, ObjectKey, Patch, Request, Update
from scheduler_core.apiserver.store import ObjectChange, Operation, Store, Stored, key_of

_PENDING: Final = (
    True, "InstanceDeletionPending",
    "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
)  # fmt: skip
_IN_PROGRESS: Final = (True, "InstanceDeletionInProgress", "CustomResource deletion is in progress")
_COMPLETED: Final = (False, "InstanceDeletionCompleted", "removed all instances")
Objects = Mapping[ObjectKey, Stored | None]


def counts_custom(name: str) -> bool:
    """Whether a quota counts objects of a kind that a cluster defines, or once defined, under this name."""
    return name.startswith("count/") and is_custom_group(name.partition(".")[2])


class Customs:
    """The kinds that the cluster defines, as the requests before one left them."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.definitions = Definitions(store)
        self._known: dict[tuple[str, str], Custom | None] = {}

    def of(self, kind: str, api_version: str = "") -> Custom | None:
        """The kind in a version, or in that in which objects are stored; None where there is none that is served."""
        if (kind, api_version) not in self._known:
            definition = self.definitions.of_kind(kind)
            found = None
            if definition is not None:
                version = definition.version(api_version) if api_version else definition.stored_in
                found = None if version is None else Custom(definition, version)
            self._known[kind, api_version] = found
        return self._known[kind, api_version]

    def counted_names(self, names: Collection[str]) -> dict[str, str]:
        """The kinds by those of the names under which quotas count their objects."""
        if not any(map(counts_custom, names)):
            return {}
        found = {f"count/{each.names['plural']}.{each.group}": each for each in self.definitions.served()}
        return {name: each.kind for name, each in found.items() if name in names and each.namespaced}

    def keys(self, requests: Iterable[tuple[Request, ObjectKey]]) -> Iterator[ObjectKey]:
        """What has to be locked besides: the definition of an object, and the objects of a definition that goes."""
        for request, key in requests:
            if is_custom(key.kind):
                custom = self.of(key.kind)
                if custom is not None:
                    yield ObjectKey(DEFINITION, "", custom.definition.name)
            elif key.kind == DEFINITION and isinstance(request, Delete):
                definition = self.definitions.named(key.name)
                if definition is not None and definition.is_served:
                    yield from map(key_of, self._store.list(definition.kind))

    def answer(
        self, stored: Stored | None, request: Request, new_uid: Callable[[], str], key: ObjectKey, now: int
    ) -> Outcome | Refused:
        """What becomes of a request about an object of such a kind. `new_uid` is asked for one that is made."""
        api_version = ""
        if isinstance(request, (Update, Patch, Apply)):
            api_version = request.api_version
        elif isinstance(request, Create):
            api_version = str(request.manifest.get("apiVersion", ""))
        custom = self.of(key.kind, api_version)
        if custom is None:
            return answers.no_such_resource()
        try:
            match request:
                case Create():
                    return custom.create(request, new_uid(), now)
                case Update():
                    return custom.update(stored, request, now)
                case Patch():
                    return custom.patch(stored, request, now)
                case Apply():
                    return custom.apply(stored, request, new_uid, now)
                case Delete():
                    return deletions.delete(stored, request, now, of=custom.of)
        except RecursionError:
            return answers.bad_request(TOO_DEEP)
        return answers.no_such_resource()

    def delete_definition(
        self, stored: Stored | None, request: Delete, now: int, objects: Objects
    ) -> Outcome | Refused:
        """The definition marked, its objects deleted, and it is gone when none is left."""
        problem = None if stored is None else deletions.precondition_problem(stored, request)
        if stored is None or problem is not None:
            return problem or answers.not_found(request.key)
        if "deletionTimestamp" in stored["metadata"]:
            return Outcome((), stored)
        finalizers = stored["metadata"].get("finalizers") or []
        kept = finalizers if FINALIZER in finalizers else [*finalizers, FINALIZER]
        marked = deletions.with_metadata(
            stored, deletionTimestamp=time_text(now), deletionGracePeriodSeconds=None, finalizers=kept
        )
        marked = with_condition(marked, "Terminating", _PENDING, now)
        changes = [ObjectChange(Operation.UPDATED, marked)]
        definition = definition_of(stored)
        custom = self.of(definition.kind) if definition is not None and definition.is_served else None
        left = 0
        for key, each in objects.items():
            if custom is not None and key.kind == custom.definition.kind and each is not None:
                outcome = deletions.delete(each, Delete(key), now, of=custom.of)
                assert isinstance(outcome, Outcome)
                changes += outcome.changes
                left += not any(change.operation == Operation.DELETED for change in outcome.changes)
        changes += _finished(marked, now) if not left else _under_way(marked, now)
        return Outcome(tuple(changes), marked)

    def followed(self, outcome: Outcome, request: Request, key: ObjectKey, now: int, objects: Objects) -> Outcome:
        """The outcome with what follows from it."""
        if not outcome.changes:
            return outcome
        last = outcome.changes[-1]
        is_gone = last.operation == Operation.DELETED
        if key.kind == DEFINITION and not is_gone and _writes(request):
            manifest = settled(last.manifest, self.definitions.manifests(), now)
            changes = (*outcome.changes[:-1], msgspec.structs.replace(last, manifest=manifest))
            return msgspec.structs.replace(outcome, changes=changes, answer=manifest)
        if is_custom(key.kind) and is_gone:
            custom = self.of(key.kind)
            definition = None if custom is None else objects.get(ObjectKey(DEFINITION, "", custom.definition.name))
            finalizers = (definition or {"metadata": {}})["metadata"].get("finalizers") or ()
            if definition is not None and "deletionTimestamp" in definition["metadata"] and FINALIZER in finalizers:
                there = {key_of(one): one for one in self._store.list(key.kind)} | {
                    other: one for other, one in objects.items() if other.kind == key.kind
                }
                if not any(one is not None for other, one in there.items() if other != key):
                    changes = (*outcome.changes, *_finished(definition, now))
                    return msgspec.structs.replace(outcome, changes=changes)
        return outcome

    def told(self, changes: Iterable[ObjectChange]) -> None:
        """Let the requests that follow see definitions as they are now."""
        for change in changes:
            if change.manifest["kind"] == DEFINITION and change.key.kind == DEFINITION:
                self._known.clear()
                if change.operation == Operation.DELETED:
                    self.definitions.remove(change.key.name)
                else:
                    self.definitions.put(change.manifest)


def _writes(request: Request) -> bool:
    """Whether the request changes what a definition says."""
    return isinstance(request, Create) or (isinstance(request, (Update, Patch, Apply)) and not request.subresource)


def _under_way(definition: Stored, now: int) -> list[ObjectChange]:
    """Finalizers keep some of its objects."""
    return [ObjectChange(Operation.UPDATED, with_condition(definition, "Terminating", _IN_PROGRESS, now))]


def _finished(definition: Stored, now: int) -> list[ObjectChange]:
    """No object is left: the definition goes, unless others keep it."""
    done = with_condition(definition, "Terminating", _COMPLETED, now)
    others = [name for name in definition["metadata"].get("finalizers") or () if name != FINALIZER]
    if others:
        return [ObjectChange(Operation.UPDATED, deletions.with_metadata(done, finalizers=others))]
    return [ObjectChange(Operation.DELETED, deletions.with_metadata(done, finalizers=None))]
