"""Calls about objects of kinds that a cluster defines: as others, but that they are read and shown in a version.

Source: kubernetes v1.34.1, staging/src/k8s.io/apiextensions-apiserver/pkg/apiserver/customresource_handler.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from scheduler_core.admission.custom.structural import CoercionError
from scheduler_core.apiserver import answers, lists, typemeta
from scheduler_core.apiserver.answering import Answering, Call
from scheduler_core.apiserver.bodies import odd_fields, unreadable
from scheduler_core.apiserver.custom import scales
from scheduler_core.apiserver.custom.definitions import Definitions
from scheduler_core.apiserver.custom.objects import read_in, view
from scheduler_core.apiserver.custom.tables import custom_table
from scheduler_core.apiserver.custom.verbs import UNSUPPORTED
from scheduler_core.apiserver.lists import Page
from scheduler_core.apiserver.options import WriteOptions, first
from scheduler_core.apiserver.replies import Asked, RefusedError, Reply, Shown
from scheduler_core.apiserver.requests import Apply, Patch, PatchType, Update
from scheduler_core.apiserver.routes import Route
from scheduler_core.apiserver.selection import Selection, SelectionError, custom_selection
from scheduler_core.apiserver.server import ApiServer
from scheduler_core.apiserver.store import History, Stored
from scheduler_core.apiserver.typemeta import TypeProblem
from scheduler_core.apiserver.watch import Watch


class CustomAnswering(Answering):
    """One call about objects of a kind that the cluster defines."""

    def __init__(self, server: ApiServer[History], call: Call, found: Route, now: int) -> None:
        super().__init__(server, call, found, now)
        definition = Definitions(server.store).named(found.definition or "")
        version = definition.version(found.api_version) if definition is not None else None
        assert definition is not None and version is not None  # the route was made of them
        self._definition, self._version = definition, version
        self._said_kind = str(definition.names["kind"])

    def shown(self) -> Shown:
        """How the objects are shown, one after the other, which a watch does later."""
        version = self._version
        return Shown(lambda stored: view(dict(stored), version), lambda items, now: custom_table(version, items, now))

    # Reading

    def _list(self) -> Reply | Watch:
        found = super()._list()
        if isinstance(found, Watch):
            found.shown = self.shown()
        return found

    def _get(self) -> Reply:
        self._wait_for_version(first(self._call.query, "resourceVersion"))
        stored = self._server.store.get(self._key)
        if stored is None:
            return self._refusal(answers.not_found(self._key, self._kind))
        if self._route.subresource == "scale":
            scale = scales.scale_of(view(stored, self._version), self._version)
            return Reply(200, scale, stored=scale, kind="Scale")
        return self._object(200, stored)

    def _selection(self) -> Selection:
        query = self._call.query
        labels, fields = first(query, "labelSelector"), first(query, "fieldSelector")
        try:
            found = custom_selection(self._kind, self._route.namespace, labels, fields, self._version.selectable)
        except SelectionError as error:
            raise RefusedError(answers.bad_request(str(error))) from None
        return self._of_one(found) if self._route.name else found

    def _page(self, page: Page) -> Reply:
        items = [view(item, self._version) for item in page.items]
        shown = msgspec.structs.replace(page, items=items)
        body = {
            "kind": self._definition.names.get("listKind") or f"{self._said_kind}List",
            "apiVersion": self._version.api_version,
            "metadata": lists.list_metadata(shown),
            "items": items,
        }
        return Reply(200, body, page=shown, kind=self._kind.name, shown=self.shown())

    # Writing

    def _update(self) -> Asked:
        return self._in_version(super()._update())

    def _patch(self) -> Asked:
        if self._call.patch_type == PatchType.STRATEGIC:
            raise RefusedError(answers.Refused(answers.Status(415, "UnsupportedMediaType", UNSUPPORTED)))
        return self._in_version(super()._patch())

    def _apply(self) -> Asked:
        return self._in_version(super()._apply())

    def _in_version(self, asked: Asked) -> Asked:
        assert isinstance(asked.request, (Update, Patch, Apply))
        request = msgspec.structs.replace(asked.request, api_version=self._version.api_version)
        return msgspec.structs.replace(asked, request=request)

    def _object(self, code: int, manifest: Stored) -> Reply:
        if manifest.get("kind") == "Scale" and self._route.subresource == "scale":
            return Reply(code, manifest, stored=manifest, kind="Scale")
        made = view(manifest, self._version)
        return Reply(code, made, stored=made, kind=self._kind.name, shown=self.shown())

    def _read(self, api_version: str, kind: str, options: WriteOptions) -> tuple[dict[str, Any], list[str]]:
        if self._route.subresource == "scale":
            return super()._read(api_version, kind, options)
        body, wanted = self._call.body, typemeta.named(self._version.api_version, self._said_kind)
        value = {} if body.value is None else body.value
        found = None
        try:
            found = typemeta.found_in(value)
            if not found.kind:
                raise TypeProblem(f"Object 'Kind' is missing in '{body.content.decode(errors='replace')}'", found)
            if not found.version and not found.group:
                found = found._replace(group=wanted.group, version=wanted.version)
            if found.kind != wanted.kind:
                raise TypeProblem(f'no kind "{found.kind}" is registered for version "{found.api_version}"', found)
            named = {"apiVersion": found.api_version, "kind": found.kind, "metadata": {}}
            manifest, unknown = read_in({**named, **value}, self._version)
        except (TypeProblem, CoercionError) as error:
            raise RefusedError(unreadable(self._said_kind, str(error), found, body.content)) from None
        told = [*body.oddities, *odd_fields(body, unknown)]
        if told and options.validation == "Strict":
            start = f'{found.kind} in version "{found.version}" cannot be handled as a {self._said_kind}'
            raise RefusedError(answers.bad_request(f"{start}: strict decoding error: {', '.join(told)}"))
        if found != wanted:
            message = f"the API version in the data ({found.api_version}) does not match the expected API version"
            raise RefusedError(answers.bad_request(f"{message} ({wanted.api_version})"))
        if not isinstance(manifest["metadata"], Mapping):
            manifest["metadata"] = {}
        return manifest, told if options.validation == "Warn" else []
