"""One call on its way: what it asks of the rules, and the reply to what they say. See `calls`.

Source: kubernetes v1.34.1, staging/src/k8s.io/apiserver/pkg/endpoints/handlers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import msgspec

from scheduler_core.api import field_errors
from scheduler_core.apiserver import answers, events, lists
from scheduler_core.apiserver.answers import Outcome, Refused, Status
from scheduler_core.apiserver.applying import repeated_text
from scheduler_core.apiserver.bodies import Body, read_as
from scheduler_core.apiserver.lists import ListQuery, Page
from scheduler_core.apiserver.numbers import NumberError, parse_uint
from scheduler_core.apiserver.options import (
    DeleteOptions,
    Query,
    WriteOptions,
    delete_options,
    dry_runs,
    first,
    flag,
    number,
    write_options,
)
from scheduler_core.apiserver.places import unfit_namespace
from scheduler_core.apiserver.pod_subresources import eviction_body, unfit_binding
from scheduler_core.apiserver.pods import EVICTED
from scheduler_core.apiserver.replies import Asked, RefusedError, Reply, status_reply
from scheduler_core.apiserver.requests import (
    Apply,
    Bind,
    Create,
    Delete,
    Evict,
    ObjectKey,
    Patch,
    PatchType,
    Update,
)
from scheduler_core.apiserver.routes import Route, asks_watch
from scheduler_core.apiserver.scale import GROUP as SCALE_GROUP
from scheduler_core.apiserver.scale import scale_of
from scheduler_core.apiserver.selection import FieldTerm, Selection, SelectionError, selection
from scheduler_core.apiserver.server import ApiServer
from scheduler_core.apiserver.store import History, Stored
from scheduler_core.apiserver.typemeta import go_kind
from scheduler_core.apiserver.watch import Watch, start


class Call(msgspec.Struct, frozen=True):
    """A request. `path` begins below the cluster; `patch_type` is the media type of a patch's body.

    `agent` is what the client calls itself, its User-Agent.
    """

    method: str
    path: str
    query: Query = {}
    body: Body = Body()
    patch_type: PatchType = PatchType.MERGE
    agent: str = ""


class Answering:
    """One call on its way."""

    def __init__(self, server: ApiServer[History], call: Call, found: Route, now: int) -> None:
        self._server = server
        self._call = call
        self._route = found
        self._kind = found.kind
        self._now = now
        namespace = found.namespace if found.kind.namespaced else ""
        self._key = ObjectKey(found.kind.name, namespace, found.name)
        self._is_event = found.api_version == events.API_VERSION

    def answer(self) -> Reply | Watch:
        found, method = self._route, self._call.method
        if method == "GET":
            is_watch = asks_watch(self._call.path)
            return self._get() if found.name and not is_watch else self._list()
        if method == "DELETE" and not found.name:
            return self._delete_collection()
        asked = self._write()
        (result,) = self._server.carry_out([asked.request], self._now, asked.is_dry_run)
        return self.replied(asked, result)

    def asked(self) -> Asked | Reply:
        """What a call that writes one object asks, or why it is refused before the rules see it."""
        try:
            return self._write()
        except RefusedError as error:
            return status_reply(error.refused.status)

    def _write(self) -> Asked:
        found, method = self._route, self._call.method
        if found.is_bindings or found.subresource == "binding":
            return self._bind()
        if found.subresource == "eviction":
            return self._evict()
        if method == "POST":
            return self._create()
        if method == "PUT":
            return self._update()
        if method == "PATCH":
            return self._apply() if self._call.patch_type == PatchType.APPLY else self._patch()
        return self._delete()

    # Reading

    def _get(self) -> Reply:
        self._wait_for_version(first(self._call.query, "resourceVersion"))
        stored = self._server.store.get(self._key)
        if stored is None:
            return self._refusal(answers.not_found(self._key))
        shown = scale_of(stored) if self._route.subresource == "scale" else stored
        return self._object(200, shown)

    def _wait_for_version(self, text: str) -> None:
        if text in ("", "0"):
            return
        try:
            wanted = parse_uint(text)
        except NumberError as error:
            detail = field_errors.invalid(text, str(error))
            raise RefusedError(answers.internal_error(f"resourceVersion: {detail}")) from None
        position = self._server.store.position()
        if wanted > position:
            raise RefusedError(lists.too_large(wanted, position))

    def _list(self) -> Reply | Watch:
        query = self._list_query()
        if asks_watch(self._call.path) or flag(self._call.query, "watch"):
            started = start(self._server.store, query)
            return status_reply(started.status) if isinstance(started, Refused) else started
        page = lists.page(self._server.store, query)
        if isinstance(page, Refused):
            return status_reply(page.status)
        return self._page(page)

    def _list_query(self) -> ListQuery:
        query = self._call.query
        try:
            timeout, limit = number(query, "timeoutSeconds"), number(query, "limit")
        except NumberError as error:
            raise RefusedError(answers.bad_request(str(error))) from None
        return ListQuery(
            self._selection(),
            first(query, "resourceVersion"),
            first(query, "resourceVersionMatch"),
            limit or 0,
            first(query, "continue"),
            flag(query, "sendInitialEvents"),
            bool(flag(query, "allowWatchBookmarks")),
            timeout or 0,
        )

    def _selection(self) -> Selection:
        query = self._call.query
        try:
            labels, fields = first(query, "labelSelector"), first(query, "fieldSelector")
            found = selection(self._kind.name, self._route.namespace, labels, fields, is_new_form=self._is_event)
        except SelectionError as error:
            raise RefusedError(answers.bad_request(str(error))) from None
        return self._of_one(found) if self._route.name else found

    def _of_one(self, found: Selection) -> Selection:
        """A watch of one object, whose fields may say no more than its name."""
        named = FieldTerm("metadata.name", True, self._route.name)
        if found.fields and next((term for term in found.fields if term.is_name), None) != named:
            message = "fieldSelector metadata.name doesn't match requested name"
            raise RefusedError(answers.bad_request(message))
        return replace(found, fields=found.fields or (named,))

    def _page(self, page: Page) -> Reply:
        shown = page
        if self._is_event:
            shown = msgspec.structs.replace(page, items=[events.from_core(item) for item in page.items])
        body = lists.list_manifest(self._kind.name, shown)
        body["apiVersion"] = self._route.api_version
        return Reply(200, body, page=page, kind=self._kind.name)

    # Writing

    def _create(self) -> Asked:
        options = self._write_options("CreateOptions")
        manifest, warnings = self._decoded(options)
        metadata = dict(manifest["metadata"])
        self._check_namespace(metadata)
        if self._kind.namespaced:
            metadata["namespace"] = self._route.namespace
        if self._is_event:
            manifest = events.to_core(manifest)
        request = Create({**manifest, "metadata": metadata}, self._is_event, options.field_manager)
        return Asked(request, 201, options.dry_run, warnings)

    def _update(self) -> Asked:
        options = self._write_options("UpdateOptions")
        manifest, warnings = self._decoded(options)
        if self._is_event:
            manifest = events.to_core(manifest)
        request = Update(self._key, manifest, self._route.subresource, self._is_event, options.field_manager)
        return Asked(request, 200, options.dry_run, warnings)

    def _patch(self) -> Asked:
        options = self._write_options("PatchOptions")
        body, warnings = self._call.body.value, [f'duplicate field "{path}"' for path in self._call.body.repeated]
        request = Patch(
            self._key, body, self._call.patch_type, self._route.subresource, validation=options.validation,
            repeated=self._call.body.repeated, is_new_form=self._is_event, manager=options.field_manager,
        )  # fmt: skip
        return Asked(request, 200, options.dry_run, warnings if options.validation == "Warn" else [])

    def _apply(self) -> Asked:
        options = self._write_options("PatchOptions")
        config, repeated = self._call.body.value, self._call.body.repeated
        if config is not None and not isinstance(config, Mapping):
            problem = f"json: cannot unmarshal {go_kind(config)} into Go value of type map[string]interface {{}}"
            unread = f"error decoding YAML: error unmarshaling JSON: while decoding JSON: {problem}"
            raise RefusedError(answers.bad_request(unread))
        request = Apply(
            self._key, config or {}, options.field_manager, options.force, self._route.subresource,
            options.validation, repeated, self._is_event,
        )  # fmt: skip
        warnings = [repeated_text(repeated)] if repeated and options.validation == "Warn" else []
        return Asked(request, 200, options.dry_run, warnings)

    def _delete(self) -> Asked:
        options = self._delete_options()
        warnings = _orphan_warnings(self._kind.name, options)
        request = Delete(self._key, options.grace_seconds, options.propagation, options.uid, options.resource_version)
        return Asked(request, 200, options.dry_run, warnings)

    def _delete_collection(self) -> Reply:
        options = self._delete_options()
        query = self._list_query()
        page = lists.page(self._server.store, query)
        if isinstance(page, Refused):
            return status_reply(page.status)
        requests = [
            Delete(
                ObjectKey(self._kind.name, item["metadata"].get("namespace", ""), item["metadata"]["name"]),
                options.grace_seconds, options.propagation, options.uid, options.resource_version, of_collection=True,
            )
            for item in page.items
        ]  # fmt: skip
        for one in self._server.carry_out(requests, self._now, options.dry_run):
            if isinstance(one, Refused) and one.status.code != 404:
                return status_reply(one.status)
        warnings = tuple(_orphan_warnings(self._kind.name, options))
        return msgspec.structs.replace(self._page(page), warnings=warnings)

    def _bind(self) -> Asked:
        options = self._write_options("CreateOptions")
        binding, warnings = self._read("v1", "Binding", options)
        metadata, target = binding["metadata"], binding["target"]
        self._check_namespace(metadata)
        name = self._route.name or metadata.get("name", "")
        problem = unfit_binding(binding, self._route.name)
        if problem is not None:
            raise RefusedError(problem)
        key = ObjectKey("Pod", self._route.namespace, name)
        request = Bind(
            key, target["name"], metadata.get("uid", ""), metadata.get("resourceVersion", ""),
            metadata.get("annotations") or {},
        )  # fmt: skip
        return Asked(request, 201, options.dry_run, warnings)

    def _evict(self) -> Asked:
        options = self._write_options("CreateOptions")
        self._call = msgspec.structs.replace(self._call, body=eviction_body(self._call.body))
        eviction, warnings = self._read("policy/v1", "Eviction", options)
        self._check_namespace(eviction["metadata"])
        name = eviction["metadata"].get("name", "")
        if name != self._route.name:
            raise RefusedError(answers.bad_request("name in URL does not match name in Eviction object"))
        asked = eviction.get("deleteOptions") or {}
        runs = self._call.query.get("dryRun") or ()
        is_dry_run = dry_runs(runs, asked.get("dryRun") or ())
        if isinstance(is_dry_run, Refused):
            raise RefusedError(is_dry_run)
        preconditions = asked.get("preconditions") or {}
        request = Evict(
            self._key, *EVICTED, preconditions.get("uid") or "", preconditions.get("resourceVersion") or "",
            asked.get("gracePeriodSeconds"), asks_budgets=True, options=asked,
        )  # fmt: skip
        return Asked(request, 201, is_dry_run, warnings)

    def replied(self, asked: Asked, result: Outcome | Refused) -> Reply:
        """The reply to what was asked."""
        request, warnings = asked.request, asked.warnings
        if isinstance(result, Refused):
            return msgspec.structs.replace(self._refusal(result), warnings=(*warnings, *result.warnings))
        told = (*warnings, *result.warnings)
        if isinstance(result.answer, Status):
            if self._is_event and result.answer.kind:
                result = msgspec.structs.replace(
                    result, answer=msgspec.structs.replace(result.answer, group=events.GROUP)
                )
            assert isinstance(result.answer, Status)
            return msgspec.structs.replace(status_reply(result.answer), warnings=told)
        code = 201 if isinstance(request, (Update, Apply)) and _is_creation(result) else asked.code
        return msgspec.structs.replace(self._object(code, result.answer), warnings=told)

    def _refusal(self, refused: Refused) -> Reply:
        return status_reply((answers.of_new_events(refused) if self._is_event else refused).status)

    def _object(self, code: int, manifest: Stored) -> Reply:
        shown = events.from_core(manifest) if self._is_event else manifest
        return Reply(code, shown, stored=manifest, kind=str(manifest["kind"]))

    # Decoding

    def _write_options(self, kind: str) -> WriteOptions:
        is_apply = self._call.method == "PATCH" and self._call.patch_type == PatchType.APPLY
        options = write_options(kind, self._call.query, self._call.agent, is_apply=is_apply)
        if isinstance(options, Refused):
            raise RefusedError(options)
        return options

    def _delete_options(self) -> DeleteOptions:
        body = self._call.body
        options = delete_options(self._call.query, {} if body.value is None and body.content else body.value)
        if isinstance(options, Refused):
            raise RefusedError(options)
        return options

    def _decoded(self, options: WriteOptions) -> tuple[dict[str, Any], list[str]]:
        """The body as its kind, which the path may say as well, and what to warn of."""
        if self._route.subresource == "scale":
            return self._read(f"{SCALE_GROUP}/v1", "Scale", options)
        return self._read(self._route.api_version, self._kind.name, options)

    def _check_namespace(self, metadata: Mapping[str, Any]) -> None:
        problem = unfit_namespace(metadata, self._key)
        if problem is not None:
            raise RefusedError(problem)

    def _read(self, api_version: str, kind: str, options: WriteOptions) -> tuple[dict[str, Any], list[str]]:
        return read_as(self._call.body, api_version, kind, options.validation)


_ORPHANS: Final = (
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set"
    " propagationPolicy=Orphan to suppress this warning"
)


def _orphan_warnings(kind: str, options: DeleteOptions) -> list[str]:
    return [_ORPHANS] if kind == "Job" and options.propagation is None else []


def _is_creation(outcome: Outcome) -> bool:
    return bool(outcome.changes) and outcome.changes[-1].operation == "created"
