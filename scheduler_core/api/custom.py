"""Kinds that a cluster defines for itself: what they are called where objects are stored, and their typed form.

They are called by kind and group, `Certificate.cert-manager.io`: no other kind has a point in its name, and a cluster
may have a `Service` of its own. Little but their metadata is typed, as of kinds that are kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final, cast

import msgspec

from scheduler_core.api.meta import KubeObject
from scheduler_core.api.schema.types import VERSIONS

DEFINITION: Final = "CustomResourceDefinition"
BUILT_IN_GROUPS: Final = frozenset(version.rpartition("/")[0] for version in VERSIONS)


def is_custom(kind: str) -> bool:
    """Whether objects stored under this kind are of one that a cluster defines."""
    return "." in kind


def is_custom_group(group: str) -> bool:
    """Whether kinds of this group are defined by clusters; all groups of Kubernetes that have a point are known."""
    return "." in group and group not in BUILT_IN_GROUPS


def stored_kind(manifest: Mapping[str, Any]) -> str:
    """The kind under which an object is stored."""
    group = (manifest.get("apiVersion") or "").rpartition("/")[0]
    kind: str = manifest["kind"]
    return f"{kind}.{group}" if "." in group and group not in BUILT_IN_GROUPS else kind


def parts_of(kind: str) -> tuple[str, str]:
    """(the kind as its objects say it, its group) of a kind under which objects of a cluster's own are stored."""
    name, _, group = kind.partition(".")
    return name, group


@lru_cache(maxsize=1024)
def custom_class(kind: str) -> type[KubeObject]:
    """The typed form of objects that are stored under this kind; which version they are of is not said."""
    facts = {"api_version": parts_of(kind)[1], "kind": kind, "plural": "", "namespaced": True}
    made = msgspec.defstruct(
        parts_of(kind)[0], [], bases=(KubeObject,), namespace=facts, module=__name__, frozen=True, kw_only=True
    )
    return cast(type[KubeObject], made)
