"""Requests carried out on a store: lock what they name, apply the rules one by one, commit once.

A request sees what those before it changed. Until they are committed, changed objects have no resourceVersion, so that
no other request can be based on them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Generic, TypeVar

import msgspec

from scheduler_core.admission.optional import DEFAULT_PLUGINS
from scheduler_core.api.custom import DEFINITION, is_custom, stored_kind
from scheduler_core.api.manifests import decode
from scheduler_core.apiserver import answers, applying, deletions, pods, quotas, verbs
from scheduler_core.apiserver.addresses import Addresses
from scheduler_core.apiserver.admission import Admission
from scheduler_core.apiserver.answers import Outcome, Refused
from scheduler_core.apiserver.claims import write_claim
from scheduler_core.apiserver.custom.serving import Customs
from scheduler_core.apiserver.kinds import ADMISSION_KINDS, KINDS, Kind
from scheduler_core.apiserver.node_restriction import restriction
from scheduler_core.apiserver.places import misplaced
from scheduler_core.apiserver.requests import (
    Apply,
    Bind,
    CountQuota,
    Create,
    Delete,
    Evict,
    ObjectKey,
    Patch,
    ReportStatus,
    ReportUnschedulable,
    Request,
    Update,
    WriteClaim,
)
from scheduler_core.apiserver.store import ObjectChange, Operation, Store, Stored, key_of
from scheduler_core.apiserver.warnings import object_warnings
from scheduler_core.errors import ManifestError

Answer = Outcome | Refused
AnyStore = TypeVar("AnyStore", bound=Store)
# Of generated names: no vowels, so that no words come out.
_SUFFIX_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
_SUFFIX_LENGTH = 5
_LONGEST_PREFIX = 63 - _SUFFIX_LENGTH


class ApiServer(Generic[AnyStore]):
    """One cluster's API server. `new_uid` names what is created; generated names follow from uids.

    `keeps_namespaces`: see `deletions.delete`. `plugins`: see `AdmissionContext`. `node`: whose kubelet asks, if
    one does.
    """

    def __init__(
        self,
        store: AnyStore,
        new_uid: Callable[[], str],
        *,
        is_simulated: bool = True,
        keeps_namespaces: bool = False,
        plugins: frozenset[str] = DEFAULT_PLUGINS,
        node: str = "",
    ) -> None:
        self.store = store
        self._new_uid = new_uid
        self._is_simulated = is_simulated
        self._keeps_namespaces = keeps_namespaces
        self._plugins = plugins
        self._node = node

    def carry_out(self, requests: Sequence[Request], now: int, dry_run: bool = False) -> list[Answer]:
        """Decide on the requests and commit; the answers in their order, each object with its resourceVersion.

        A dry run commits nothing, and answers with the versions that objects have.
        """
        decided = self.decide(requests, now, dry_run)
        changes = changes_of(decided)
        if not changes or dry_run:
            return decided
        position = self.store.commit(changes, now) - len(changes)
        numbered: list[Answer] = []
        for request, answer in zip(requests, decided, strict=True):
            if isinstance(answer, Outcome) and answer.changes:
                position += len(answer.changes)
                answer = _numbered(request, answer, self.store.version_of(position))
            numbered.append(answer)
        return numbered

    def decide(self, requests: Sequence[Request], now: int, dry_run: bool = False) -> list[Answer]:
        """What becomes of the requests, with everything they concern locked; the caller commits the changes."""
        customs = Customs(self.store)
        named: list[tuple[Request, str, ObjectKey] | Refused] = [self._named(request, customs) for request in requests]
        keys = [each[2] for each in named if not isinstance(each, Refused)]
        keys += customs.keys((each[0], each[2]) for each in named if not isinstance(each, Refused))
        asking = [request for request in requests if isinstance(request, Evict) and request.asks_budgets]
        for namespace in dict.fromkeys(request.key.namespace for request in asking):
            keys += map(key_of, self.store.list("PodDisruptionBudget", namespace=namespace))
        asked = quotas.concerned(self.store, [each for each in named if not isinstance(each, Refused)])
        for of_namespace in asked.values():
            keys += of_namespace
        objects: dict[ObjectKey, Stored | None] = dict(self.store.lock(dict.fromkeys(keys)))
        admission = Admission.of_store(
            self.store, self._new_uid, is_simulated=self._is_simulated, plugins=self._plugins
        )
        if any(key.kind == "Service" for key in keys):
            admission.allocate = Addresses(self.store.list("Service"), is_dry_run=dry_run).allocate
        decided: list[Answer] = []
        for each in named:
            if isinstance(each, Refused):
                decided.append(each)
                continue
            if isinstance(each[0], WriteClaim) and each[0].follows_last and isinstance(decided[-1], Refused):
                decided.append(decided[-1])
                continue
            answer = self._answer(objects, each, (admission, customs), now)
            if isinstance(answer, Outcome) and (is_custom(each[2].kind) or each[2].kind == DEFINITION):
                answer = customs.followed(answer, each[0], each[2], now, objects)
            if self._node and isinstance(answer, Outcome):
                answer = restriction(self._node, each[0], each[2], objects.get(each[2]), answer) or answer
            if isinstance(answer, Outcome):
                known = (objects.get(key) for key in asked.get(each[2].namespace, ()))
                here = [quota for quota in known if quota is not None]
                namesake = objects.get(each[2])
                is_new = isinstance(each[0], Create)
                of = _kind_of(each[2], customs)
                answer = quotas.charged(answer, here, None if is_new else namesake, each[0], of)
                if is_new and namesake is not None and isinstance(answer, Outcome):  # quotas are asked first
                    answer = answers.already_exists(each[2], namesake, of)
            if isinstance(answer, Outcome):
                told = (*_warnings(answer, objects.get(each[2]), each[0]), *admission.warnings)
                if told and not _is_scaling(each[0]):
                    answer = msgspec.structs.replace(answer, warnings=(*answer.warnings, *told))
                _apply(answer.changes, objects, admission)
                customs.told(answer.changes)
            admission.warnings.clear()
            decided.append(answer)
        return decided

    def _answer(
        self,
        objects: dict[ObjectKey, Stored | None],
        named: tuple[Request, str, ObjectKey],
        by: tuple[Admission, Customs],
        now: int,
    ) -> Answer:
        request, uid, key = named
        stored, (admission, customs) = objects.get(key), by
        if is_custom(key.kind):
            is_new = isinstance(request, Create) or (isinstance(request, Apply) and stored is None)
            refused = self._namespace_problem(key, admission, _kind_of(key, customs)) if is_new else None
            return refused or customs.answer(stored, request, (lambda: uid) if uid else self._new_uid, key, now)
        if key.kind == DEFINITION and isinstance(request, Delete):
            return customs.delete_definition(stored, request, now, objects)
        match request:
            case Create():
                refused = self._namespace_problem(key, admission)
                return refused or verbs.create(request, admission, uid, now)
            case Update():
                if stored is None and KINDS[key.kind].made_by_update and not request.subresource:
                    return self._made(named, admission, now)
                return verbs.update(stored, request, admission, now)
            case Patch():
                return verbs.patch(stored, request, admission, now)
            case Apply():
                return self._applied(stored, request, admission, now)
            case Delete():
                return deletions.delete(
                    stored,
                    request,
                    now,
                    is_simulated=self._is_simulated,
                    keeps_namespaces=self._keeps_namespaces,
                )
            case Bind():
                return pods.bind(stored, request, now)
            case Evict():
                return pods.evict(stored, request, now, _budgets(objects, key) if request.asks_budgets else ())
            case ReportUnschedulable():
                return pods.report_unschedulable(stored, request, now)
            case ReportStatus():
                return pods.report_status(stored, request)
            case CountQuota():
                return quotas.counted(self.store, objects, request, customs)
            case WriteClaim():
                return write_claim(stored, request, admission, now)

    def _made(self, named: tuple[Request, str, ObjectKey], admission: Admission, now: int) -> Answer:
        """An update that creates what is not there, unless it says that something was."""
        request, _, key = named
        assert isinstance(request, Update)
        problem = misplaced(request.manifest, key)
        if problem is not None:
            return problem
        metadata = {**(request.manifest.get("metadata") or {}), "name": key.name}
        if metadata.get("uid"):
            return answers.storage_conflict(key, "UID", metadata["uid"], "")
        if metadata.get("resourceVersion"):
            return answers.not_found(key)
        if key.namespace:
            metadata["namespace"] = key.namespace
        refused = self._namespace_problem(key, admission)
        manifest = {**request.manifest, "kind": key.kind, "metadata": metadata}
        made = Create(manifest, request.is_new_form, request.manager)
        return refused or verbs.create(made, admission, self._new_uid(), now)

    def _applied(self, stored: Stored | None, request: Apply, admission: Admission, now: int) -> Answer:
        """An apply, which creates what is not there."""
        key = request.key
        if stored is None and request.subresource:
            return answers.not_found(key)
        laid = applying.laid(stored, request, now)
        if isinstance(laid, Refused):
            return laid
        manifest, entries = laid
        if stored is not None:
            return verbs.replace(stored, manifest, request, admission, now, entries)
        metadata = {**manifest["metadata"], "name": key.name, **({"namespace": key.namespace} if key.namespace else {})}
        metadata.pop("resourceVersion", None)
        made = Create({**manifest, "metadata": metadata}, request.is_new_form)
        refused = self._namespace_problem(key, admission)
        return refused or verbs.create(made, admission, self._new_uid(), now, entries)

    def _namespace_problem(self, key: ObjectKey, admission: Admission, of: Kind | None = None) -> Refused | None:
        """Nothing is created in a namespace that is going or, on a real API server, is not there."""
        if not key.namespace:
            return None
        if self._is_simulated:
            is_leaving = self._keeps_namespaces and admission.is_leaving(key.namespace)
            return answers.terminating(key, of) if is_leaving else None
        namespace = ObjectKey("Namespace", "", key.namespace)
        stored = self.store.get(namespace)
        if stored is None:
            return answers.not_found(namespace)
        if stored.get("status", {}).get("phase") == "Terminating" or "deletionTimestamp" in stored["metadata"]:
            return answers.terminating(key, of)
        return None

    def _named(self, request: Request, customs: Customs) -> tuple[Request, str, ObjectKey] | Refused:
        """The request, a uid and the key of its object; what is created gets its name here."""
        if not isinstance(request, Create):
            return request, "", request.key
        try:
            of = _custom_kind(request.manifest, customs)
            key = verbs.key_from(request.manifest, of)
        except ManifestError as error:
            return answers.bad_request(str(error))
        uid = self._new_uid()
        metadata = dict(request.manifest["metadata"])
        if not key.name and metadata.get("generateName"):
            key = ObjectKey(key.kind, key.namespace, metadata["generateName"][:_LONGEST_PREFIX] + _suffix(uid))
        elif not key.name and key.kind == "LimitRange":
            key = ObjectKey(key.kind, key.namespace, self._new_uid())
        metadata["name"] = key.name
        if (of or KINDS[key.kind]).namespaced:
            metadata["namespace"] = key.namespace
        return msgspec.structs.replace(request, manifest={**request.manifest, "metadata": metadata}), uid, key


def _custom_kind(manifest: Mapping[str, Any], customs: Customs) -> Kind | None:
    """The kind of a new object, where the cluster defines it; ManifestError when it does not any more."""
    if not isinstance(manifest.get("kind"), str) or not is_custom(kind := stored_kind(manifest)):
        return None
    custom = customs.of(kind)
    if custom is None:
        raise ManifestError("kind", f"{manifest['kind']} is not defined in this cluster")
    return custom.of


def _kind_of(key: ObjectKey, customs: Customs) -> Kind | None:
    custom = customs.of(key.kind) if is_custom(key.kind) else None
    return None if custom is None else custom.of


def _budgets(objects: dict[ObjectKey, Stored | None], pod: ObjectKey) -> list[Stored]:
    """The budgets of the pod's namespace, as requests before this one left them."""
    found = (one for key, one in objects.items() if (key.kind, key.namespace) == ("PodDisruptionBudget", pod.namespace))
    return [one for one in found if one is not None]


def _warnings(outcome: Outcome, old: Stored | None, request: Request) -> tuple[str, ...]:
    """What a client is told of the object that it wrote; controllers do not read warnings."""
    if not isinstance(request, (Create, Update, Patch, Apply)) or not request.manager:
        return ()
    new = outcome.changes[-1].manifest if outcome.changes else outcome.answer
    if not isinstance(new, dict):
        return ()
    return object_warnings(new, old, "" if isinstance(request, Create) else request.subresource)


def _is_scaling(request: Request) -> bool:
    return isinstance(request, (Update, Patch, Apply)) and request.subresource == verbs.SCALE


def changes_of(answers: Iterable[Answer]) -> list[ObjectChange]:
    """What the answers change, in their order."""
    return [change for answer in answers if isinstance(answer, Outcome) for change in answer.changes]


def _apply(changes: Iterable[ObjectChange], objects: dict[ObjectKey, Stored | None], admission: Admission) -> None:
    """Let the requests that follow see the changes."""
    for change in changes:
        key, manifest = change.key, change.manifest
        is_deleted = change.operation == Operation.DELETED
        objects[key] = None if is_deleted else _with_version(manifest, None)
        if key.kind in ADMISSION_KINDS:
            if is_deleted:
                admission.forget(key.kind, key.namespace, key.name)
            else:
                admission.remember(decode(manifest))


def _numbered(request: Request, outcome: Outcome, version: str) -> Outcome:
    """The outcome whose answer has the resourceVersion of its change.

    An update that removes the object is answered with the one before.
    """
    is_removed = outcome.changes[-1].operation == Operation.DELETED
    if not isinstance(outcome.answer, dict) or (is_removed and isinstance(request, (Update, Patch))):
        return outcome
    return msgspec.structs.replace(outcome, answer=_with_version(outcome.answer, version))


def _with_version(manifest: Stored, version: str | None) -> Stored:
    metadata = {key: value for key, value in manifest["metadata"].items() if key != "resourceVersion"}
    if version is not None:
        metadata["resourceVersion"] = version
    return {**manifest, "metadata": metadata}


def _suffix(uid: str) -> str:
    """The random end of a generated name, drawn from the uid: the one draw a creation makes."""
    number = int(uid.replace("-", ""), 16)
    letters = ""
    for _ in range(_SUFFIX_LENGTH):
        number, place = divmod(number, len(_SUFFIX_LETTERS))
        letters += _SUFFIX_LETTERS[place]
    return letters
