"""Kinds that a cluster defines, for an upload: by definitions that are there, and by those that stand in it."""

import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any

from kschedweb.cluster import adapters, state
from kschedweb.cluster.intake.objects import Item
from kschedweb.cluster.services import given, identity
from kschedweb.cluster.state import Stored
from kschedweb.cluster.store import PostgresStore
from scheduler_core.api.custom import DEFINITION, is_custom, is_custom_group
from scheduler_core.api.times import time_text
from scheduler_core.apiserver.answers import Outcome, Refused
from scheduler_core.apiserver.custom.definitions import Definition, Definitions
from scheduler_core.apiserver.custom.objects import accept_existing
from scheduler_core.apiserver.custom.settling import settled
from scheduler_core.apiserver.custom.verbs import Custom
from scheduler_core.apiserver.requests import Create, ObjectKey, Update

Manifest = dict[str, Any]


class Customs:
    """The kinds by which objects of an upload are read.

    `choice`: see `given.is_admitted`. `is_alone`: what the cluster has will be gone.
    """

    def __init__(self, cluster_id: int, items: Sequence[Item], *, choice: str, is_alone: bool, now: int) -> None:
        self._cluster_id = cluster_id
        self._items = items
        self._choice = choice
        self._is_alone = is_alone
        self._now = now
        self._served: dict[str, Definition] | None = None  # by kind
        self._found: dict[tuple[str, str], Custom | None] = {}

    def kind_of(self, item: Item) -> str:
        """The kind under which it will be stored; empty where nobody defines it."""
        group = item.api_version.rpartition("/")[0]
        kind = f"{item.kind}.{group}"
        return kind if is_custom_group(group) and self._custom(kind, item.api_version) is not None else ""

    def is_namespaced(self, item: Item) -> bool:
        """Whether the object has a namespace, of whatever kind it is."""
        return self._of(item).definition.namespaced if is_custom(item.kind) else adapters.is_namespaced(item.kind)

    def defined(self, manifest: Manifest, *, is_admitted: bool) -> Manifest:
        """The definition as it is stored; objects that follow are read by it."""
        made = settled(manifest, self._definitions.manifests(), self._now) if is_admitted else manifest
        self._definitions.put(made)
        self._served = None
        self._found.clear()
        return made

    def made(self, item: Item, namesake: Stored | None, *, is_admitted: bool) -> Manifest:
        """The object as it is stored; raises one of REFUSALS. `namesake`: what it is laid over."""
        custom, metadata = self._of(item), item.manifest["metadata"]
        if namesake is not None:
            return _laid_over(item.manifest, namesake, custom, self._now)
        if is_admitted:
            return _written(custom.create(Create(item.manifest), metadata["uid"], self._now), {})
        metadata.setdefault("creationTimestamp", time_text(self._now))
        return accept_existing(item.manifest, custom.definition)

    @cached_property
    def _definitions(self) -> Definitions:
        there = () if self._is_alone else PostgresStore(self._cluster_id, "").list(DEFINITION)
        found = Definitions(_There(there))
        for item in self._items:
            if item.kind == DEFINITION and adapters.why_left_out(item.api_version, item.kind) is None:
                with suppress(*adapters.REFUSALS):  # it is refused when it is put
                    found.put(self._read(item, found))
        return found

    def _read(self, item: Item, others: Definitions) -> Manifest:
        """The definition as the upload will leave it."""
        item = Item(item.place, item.manifest, item.api_version, item.kind)  # the upload's own stays as it is
        key, _ = identity.identify(item, namespaced=False)
        admission = adapters.Admission(())
        if not given.is_admitted(item, self._choice):
            return admission.check(item.manifest)
        made = admission.create(item.manifest, str(uuid.uuid4()), self._now)
        rows = state.stored_under(self._cluster_id, [ObjectKey(*key)], locked=False)
        if rows and "uid" not in item.manifest["metadata"]:
            made = given.laid_over(made, item.manifest, rows[0], admission, self._now)
        return settled(made, others.manifests(), self._now)

    def _of(self, item: Item) -> Custom:
        found = self._custom(item.kind, item.api_version)
        if found is None:
            raise adapters.ManifestError("kind", "is not defined any more by what this upload makes of its definition")
        return found

    def _custom(self, kind: str, api_version: str) -> Custom | None:
        if (kind, api_version) not in self._found:
            if self._served is None:
                # Of two that define the same kind the first by name counts, as for requests.
                self._served = {each.kind: each for each in reversed([*self._definitions.served()])}
            definition = self._served.get(kind)
            version = None if definition is None else definition.version(api_version)
            self._found[kind, api_version] = (
                None if definition is None or version is None else Custom(definition, version)
            )
        return self._found[kind, api_version]


class _There:
    """The definitions of a cluster, read once for all kinds of an upload."""

    def __init__(self, manifests: Sequence[Manifest]) -> None:
        self._manifests = {manifest["metadata"]["name"]: manifest for manifest in manifests}

    def get(self, key: ObjectKey) -> Manifest | None:
        return self._manifests.get(key.name)

    def list(self, *kinds: str, namespace: str = "") -> Sequence[Manifest]:
        return list(self._manifests.values())


def _laid_over(manifest: Mapping[str, Any], old: Stored, custom: Custom, now: int) -> Manifest:
    """An object written by hand, as an update of its namesake."""
    key, before = ObjectKey(*old.key), old.manifest
    wanted = {**manifest, "metadata": given.with_others_fields(manifest["metadata"], old)}
    changed = _written(custom.update(before, Update(key, wanted), now), before)
    if not manifest.get("status") or not custom.version.has_status:
        return changed
    wanted = {**changed, "apiVersion": custom.version.api_version, "status": manifest["status"]}
    return _written(custom.update(changed, Update(key, wanted, "status"), now), changed)


def _written(answer: Outcome | Refused, before: Manifest) -> Manifest:
    """What is stored then; AdmissionError."""
    if isinstance(answer, Refused):
        problems = [(cause.field, cause.message) for cause in answer.status.causes]
        path, detail = problems[0] if problems else ("", answer.status.message)
        raise adapters.AdmissionError(path, detail, problems=problems)
    return answer.changes[-1].manifest if answer.changes else before
