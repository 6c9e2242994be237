"""What every object carries: metadata, owner references, label selectors, and the frozen base class.

Field names are snake_case here and camelCase in manifests (`rename="camel"`). `None` means absent,
which upstream often treats differently from empty. Times are timezone-aware datetimes; integers keep the
width they have upstream, so that no number of a manifest can overflow the columns of the engine.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, ClassVar, TypeAlias

import msgspec

from scheduler_core.api.quantity import Quantity

ResourceList = dict[str, Quantity]

Int32: TypeAlias = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]
Int64: TypeAlias = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
Time: TypeAlias = Annotated[datetime, msgspec.Meta(tz=True)]


class Value(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, gc=False):
    """Base of every nested value; unknown fields of a manifest are ignored.

    Values hold no cycles, so the garbage collector need not look at them: 30,000 pods are millions of values.
    """


class OwnerReference(Value, frozen=True):
    """Who owns the object; at most one owner is the `controller`."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class ObjectMeta(Value, frozen=True):
    """Names, labels and the stamps of the store."""

    name: str = ""
    generate_name: str = ""
    namespace: str = ""
    uid: str = ""
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    resource_version: str = ""
    generation: Int64 = 0
    creation_timestamp: Time | None = None
    deletion_timestamp: Time | None = None
    deletion_grace_period_seconds: Int64 | None = None
    owner_references: tuple[OwnerReference, ...] | None = None
    finalizers: tuple[str, ...] | None = None


class LabelSelectorRequirement(Value, frozen=True):
    """`key operator values`; operator is In, NotIn, Exists or DoesNotExist."""

    key: str
    operator: str
    values: tuple[str, ...] | None = None


class LabelSelector(Value, frozen=True):
    """A selector as written; `selectors.py` parses it. Absent matches nothing, empty matches everything."""

    match_labels: dict[str, str] | None = None
    match_expressions: tuple[LabelSelectorRequirement, ...] | None = None


class KubeObject(Value, frozen=True, kw_only=True):
    """Base of every top-level object: `api_version` and `kind` are facts of the class, not fields."""

    api_version: ClassVar[str] = ""
    kind: ClassVar[str] = ""
    plural: ClassVar[str] = ""
    namespaced: ClassVar[bool] = True

    metadata: ObjectMeta = ObjectMeta()

    @property
    def name(self) -> str:
        return self.metadata.name

    @property
    def namespace(self) -> str:
        return self.metadata.namespace

    @property
    def uid(self) -> str:
        return self.metadata.uid

    @property
    def key(self) -> str:
        """`namespace/name`, or `name` for cluster-scoped objects: how messages and logs name it."""
        return f"{self.metadata.namespace}/{self.metadata.name}" if self.namespaced else self.metadata.name

    @property
    def labels(self) -> dict[str, str]:
        return self.metadata.labels or {}

    @property
    def annotations(self) -> dict[str, str]:
        return self.metadata.annotations or {}
