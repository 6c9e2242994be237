"""Paths of objects of kinds that a cluster defines."""

from __future__ import annotations

from scheduler_core.api.custom import is_custom_group
from scheduler_core.apiserver.custom.definitions import Definitions
from scheduler_core.apiserver.routes import Route, place_of, route
from scheduler_core.apiserver.store import Store


def may_be_custom(path: str) -> bool:
    """Whether the path is one of objects of a kind that the cluster defines, if it defines that kind."""
    place = place_of(path)
    return place is not None and is_custom_group(place.group)


def route_in(store: Store, path: str) -> Route | None:
    """What the path names in a cluster; None when it is no path of a kind that there is."""
    found = route(path)
    return custom_route(Definitions(store), path) if found is None and may_be_custom(path) else found


def custom_route(definitions: Definitions, path: str) -> Route | None:
    """What the path of a kind that the cluster defines names; None where it is not served."""
    place = place_of(path)
    definition = definitions.named(f"{place.plural}.{place.group}") if place is not None else None
    if place is None or definition is None or not definition.is_served:
        return None
    api_version = f"{place.group}/{place.version}"
    version = definition.version(api_version)
    if version is None or (place.namespace and not definition.namespaced):
        return None
    if place.name and definition.namespaced and not place.namespace:
        return None
    kind = definition.kind_in(version)
    return Route(
        kind, api_version, place.namespace, place.name, place.subresource, definition=definition.name,
        warning=version.warning,
    )  # fmt: skip
