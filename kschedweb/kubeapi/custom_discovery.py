"""What there is of kinds that a cluster defines, in the older and in the aggregated form of discovery.

Source: kubernetes v1.34.1, apiextensions-apiserver, pkg/apiserver/customresource_discovery_controller.go
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from scheduler_core.apiserver.custom.definitions import Definition, Version, version_order

Document = dict[str, Any]
_VERBS: Final = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]
_VERBS_OF_GOING: Final = ["delete", "deletecollection", "get", "list", "watch"]
_VERBS_OF_PARTS: Final = ["get", "patch", "update"]


def group_entries(definitions: Sequence[Definition]) -> list[Document]:
    """The groups as the list of all has them."""
    groups = sorted({each.group for each in definitions})
    found = [group_entry(group, [each for each in definitions if each.group == group]) for group in groups]
    return [each for each in found if each["versions"]]


def group_entry(group: str, definitions: Sequence[Definition]) -> Document:
    """One group, all of whose kinds are given."""
    versions = [{"groupVersion": f"{group}/{name}", "version": name} for name in _versions(definitions)]
    return {"name": group, "versions": versions, **({"preferredVersion": versions[0]} if versions else {})}


def resource_list(api_version: str, definitions: Sequence[Definition]) -> Document | None:
    """The resources of a version of a group; None where nothing is served in it."""
    found: list[Document] = []
    for definition in definitions:
        version = definition.version(api_version)
        if version is not None:
            found += _listed(definition, version)
    if not found:
        return None
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": api_version, "resources": found}


def aggregated(definitions: Sequence[Definition]) -> list[Document]:
    """The groups as the aggregated list has them."""
    items = []
    for group in sorted({each.group for each in definitions}):
        of_group = [each for each in definitions if each.group == group]
        versions = [
            {"version": name, "resources": _aggregated(f"{group}/{name}", of_group), "freshness": "Current"}
            for name in _versions(of_group)
        ]
        if versions:
            items.append({"metadata": {"name": group}, "versions": versions})
    return items


def _versions(definitions: Sequence[Definition]) -> list[str]:
    """The versions in which something is served, those to be preferred first."""
    return sorted({version.name for each in definitions for version in each.served}, key=version_order)


def _named(definition: Definition) -> Document:
    names = definition.names
    return {name: list(names[name]) for name in ("shortNames", "categories") if names.get(name)}


def _listed(definition: Definition, version: Version) -> list[Document]:
    names, is_namespaced = definition.names, definition.namespaced
    head = {
        "name": names["plural"], "singularName": names.get("singular", ""), "namespaced": is_namespaced,
        "kind": names["kind"], "verbs": _VERBS_OF_GOING if definition.is_going else _VERBS, **_named(definition),
    }  # fmt: skip
    found = [head]
    part: Document = {"singularName": "", "namespaced": is_namespaced}
    if version.has_status:
        found.append({"name": f"{names['plural']}/status", **part, "kind": names["kind"], "verbs": _VERBS_OF_PARTS})
    if version.scale is not None:
        of_scale = {"group": "autoscaling", "version": "v1", "kind": "Scale", "verbs": _VERBS_OF_PARTS}
        found.append({"name": f"{names['plural']}/scale", **part, **of_scale})
    return found


def _aggregated(api_version: str, definitions: Sequence[Definition]) -> list[Document]:
    group, _, name = api_version.rpartition("/")
    found = []
    for definition in definitions:
        version, names = definition.version(api_version), definition.names
        if version is None:
            continue
        kind = {"group": group, "version": name, "kind": names["kind"]}
        made: Document = {
            "resource": names["plural"],
            "responseKind": kind,
            "scope": "Namespaced" if definition.namespaced else "Cluster",
            "singularResource": names.get("singular", ""),
            "verbs": _VERBS_OF_GOING if definition.is_going else _VERBS,
            **_named(definition),
        }
        parts = []
        if version.has_status:
            parts.append({"subresource": "status", "responseKind": kind, "verbs": _VERBS_OF_PARTS})
        if version.scale is not None:
            scale = {"group": "autoscaling", "version": "v1", "kind": "Scale"}
            parts.append({"subresource": "scale", "responseKind": scale, "verbs": _VERBS_OF_PARTS})
        found.append(made | ({"subresources": parts} if parts else {}))
    return sorted(found, key=lambda one: str(one["resource"]))
