"""The kinds that a cluster defines, as their definitions say it: versions with schemas, parts, columns.

A definition is made ready once for what it says: it is the same object for the same words.
Source: kubernetes v1.34.1, staging/src/k8s.io/apiextensions-apiserver/pkg/{apihelpers,apiserver}.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from typing import Any, Final, Protocol, cast

import msgspec

from scheduler_core.admission.custom.rules import has_rules
from scheduler_core.admission.custom.structural import EMBEDDED, PRESERVES, Schema, of_item
from scheduler_core.admission.custom.values import Validator
from scheduler_core.admission.validation.definitions import has_condition, is_established
from scheduler_core.api.custom import DEFINITION, is_custom_group, parts_of
from scheduler_core.api.meta import KubeObject
from scheduler_core.apiserver.kinds import Kind
from scheduler_core.apiserver.requests import ObjectKey
from scheduler_core.apiserver.store import Logged, Operation
from scheduler_core.lru import LruDict

Manifest = Mapping[str, Any]
FINALIZER: Final = "customresourcecleanup.apiextensions.k8s.io"
_KEPT: Final = 256
_VERSION: Final = re.compile(r"v(\d+)(?:(alpha|beta)(\d+))?", re.ASCII)
_ANY: Final[Schema] = {"type": "object", PRESERVES: True}


@dataclass(frozen=True, eq=False)
class Version:
    """One version of a kind. `scale` has the paths of its Scale, None where it has none.

    `warning`: what clients are told who use it.
    """

    name: str
    api_version: str
    is_served: bool
    schema: Schema
    has_schema: bool
    has_status: bool
    scale: Mapping[str, str] | None
    columns: Sequence[Mapping[str, Any]]
    selectable: tuple[str, ...]
    warning: str

    @cached_property
    def validator(self) -> Validator:
        return Validator(self.schema)

    @cached_property
    def status_validator(self) -> Validator:
        return Validator((self.schema.get("properties") or {}).get("status") or {})

    @cached_property
    def holds_objects(self) -> bool:
        """Whether there may be whole objects inside of one."""
        return _holds_objects(self.schema)

    @cached_property
    def has_rules(self) -> bool:
        return has_rules(self.schema)


@dataclass(frozen=True, eq=False)
class Definition:
    """A kind that a cluster defines. `kind` is what it is stored under; `stored_in` the version of what is stored."""

    name: str
    group: str
    names: Mapping[str, Any]
    namespaced: bool
    versions: Mapping[str, Version]
    stored_in: Version
    is_served: bool
    is_going: bool
    _kinds: dict[str, Kind] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        return f"{self.names['kind']}.{self.group}"

    def version(self, api_version: str) -> Version | None:
        """A version that is served, by what objects say."""
        group, _, name = api_version.rpartition("/")
        found = self.versions.get(name) if group == self.group else None
        return found if found is not None and found.is_served else None

    def kind_in(self, version: Version) -> Kind:
        """The kind as the rules know kinds."""
        if version.name not in self._kinds:
            facts = {
                "api_version": version.api_version, "kind": self.kind, "plural": self.names["plural"],
                "namespaced": self.namespaced,
            }  # fmt: skip
            made = msgspec.defstruct(
                parts_of(self.kind)[0], [], bases=(KubeObject,), namespace=facts, frozen=True, kw_only=True
            )
            self._kinds[version.name] = Kind(
                cast(type[KubeObject], made),
                has_status=version.has_status,
                has_scale=version.scale is not None,
                needs_version=True,
            )
        return self._kinds[version.name]

    @property
    def served(self) -> list[Version]:
        """The versions that are served, those to be preferred first."""
        found = [version for version in self.versions.values() if version.is_served]
        return sorted(found, key=lambda version: version_order(version.name))


def version_order(name: str) -> tuple[Any, ...]:
    """Stable versions before those in the making, new ones before old ones, other names last."""
    match = _VERSION.fullmatch(name)
    if match is None:
        return (1, name)
    major, stage, minor = match.groups()
    rank = {None: 0, "beta": 1, "alpha": 2}[stage]
    return (0, rank, -int(major), -int(minor or 0))


_made: LruDict[bytes, Definition] = LruDict(_KEPT)


def definition_of(manifest: Manifest) -> Definition | None:
    """The kind that a stored definition defines; None where it has no version for what is stored."""
    status = manifest.get("status") or {}
    # One of an upload may have no conditions: nobody was there to refuse its names.
    is_accepted = is_established(manifest) or not status.get("conditions")
    said = (
        manifest["metadata"]["name"], manifest["spec"], status.get("acceptedNames"), is_accepted,
        "deletionTimestamp" in manifest["metadata"] or has_condition(manifest, "Terminating"),
    )  # fmt: skip
    key = sha256(msgspec.json.encode(said, order="deterministic")).digest()
    found = _made.use(key)
    if found is None:
        made = _definition(*said)
        if made is not None:
            _made[key] = made
        return made
    return found


def is_defined_anew(entry: Logged) -> bool:
    """Whether a change of a definition changes what it defines: watches of its objects end there."""
    if entry.operation == Operation.DELETED or entry.before is None:
        return True
    old, new = entry.before, entry.manifest
    names = ((each.get("status") or {}).get("acceptedNames") for each in (old, new))
    return old["spec"] != new["spec"] or next(names) != next(names)


def _definition(
    name: str, spec: Manifest, accepted: Manifest | None, is_accepted: bool, is_going: bool
) -> Definition | None:
    names = accepted if accepted and accepted.get("plural") else spec["names"]
    versions: dict[str, Version] = {}
    stored_in: Version | None = None
    for one in spec.get("versions") or ():
        made = versions[one["name"]] = _version(one, spec, names)
        stored_in = made if one.get("storage") else stored_in
    if stored_in is None:
        return None
    return Definition(
        name, spec["group"], names, spec["scope"] == "Namespaced", versions, stored_in,
        is_accepted and is_custom_group(spec["group"]), is_going,
    )  # fmt: skip


def _version(one: Manifest, spec: Manifest, names: Manifest) -> Version:
    schema: Schema | None = (one.get("schema") or {}).get("openAPIV3Schema")
    parts = one.get("subresources") or {}
    has_schema = schema is not None
    if schema is None or spec.get("preserveUnknownFields"):
        schema = {**(schema or _ANY), PRESERVES: True}
    api_version = f"{spec['group']}/{one['name']}"
    return Version(
        one["name"], api_version, bool(one.get("served")), schema, has_schema, parts.get("status") is not None,
        parts.get("scale"), tuple(one.get("additionalPrinterColumns") or ()),
        tuple(field["jsonPath"].removeprefix(".") for field in one.get("selectableFields") or ()),
        _warning(one, spec, names) if one.get("deprecated") else "",
    )  # fmt: skip


def _warning(one: Manifest, spec: Manifest, names: Manifest) -> str:
    """What is said of a version that is going out of use: which newer one there is."""
    if one.get("deprecationWarning") is not None:
        return str(one["deprecationWarning"])
    told = f"{spec['group']}/{one['name']} {names['kind']} is deprecated"
    others = [each["name"] for each in spec["versions"] if each.get("served") and not each.get("deprecated")]
    newer = [name for name in others if version_order(name) < version_order(one["name"])]
    return f"{told}; use {spec['group']}/{min(newer, key=version_order)} {names['kind']}" if newer else told


def _holds_objects(schema: Schema) -> bool:
    below = (*(schema.get("properties") or {}).values(), schema.get("additionalProperties"), of_item(schema))
    return bool(schema.get(EMBEDDED)) or any(isinstance(each, Mapping) and _holds_objects(each) for each in below)


class _Kept(Protocol):
    """What is needed of a store."""

    def get(self, key: ObjectKey) -> dict[str, Any] | None: ...

    def list(self, *kinds: str, namespace: str = "") -> Sequence[dict[str, Any]]: ...


class Definitions:
    """The kinds that a cluster defines, read from its store when they are asked for.

    Requests are told of those that requests before them wrote, by `put` and `remove`.
    """

    def __init__(self, store: _Kept) -> None:
        self._store = store
        self._changed: dict[str, Manifest | None] = {}

    def named(self, name: str) -> Definition | None:
        """The kind whose definition has this name, `plural.group`."""
        if name in self._changed:
            manifest = self._changed[name]
        else:
            manifest = self._store.get(ObjectKey(DEFINITION, "", name))
        return None if manifest is None else definition_of(manifest)

    def of_kind(self, kind: str) -> Definition | None:
        """The definition of the kind under which objects are stored."""
        return next((each for each in self.served() if each.kind == kind), None)

    def served(self) -> Iterator[Definition]:
        """Those whose objects are served, by name."""
        for manifest in self.manifests():
            found = definition_of(manifest)
            if found is not None and found.is_served:
                yield found

    def manifests(self) -> list[Manifest]:
        """All definitions."""
        found: dict[str, Manifest | None] = {one["metadata"]["name"]: one for one in self._store.list(DEFINITION)}
        found |= self._changed
        return [found[name] for name in sorted(found) if found[name] is not None]  # type: ignore[misc]

    def put(self, manifest: Manifest) -> None:
        self._changed[manifest["metadata"]["name"]] = manifest

    def remove(self, name: str) -> None:
        self._changed[name] = None
