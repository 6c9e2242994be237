"""The kinds that a cluster defines, as the paths of requests name them. Blocking."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kschedweb.cluster.store import PostgresStore
from kschedweb.kubeapi import past
from kschedweb.kubeapi.access import Principal
from kschedweb.kubeapi.exchange import RefusedError, Request
from scheduler_core.api.custom import BUILT_IN_GROUPS, DEFINITION
from scheduler_core.apiserver.custom.definitions import Definition, Definitions
from scheduler_core.apiserver.custom.routes import custom_route, may_be_custom
from scheduler_core.apiserver.routes import Route, route

_OF_VERSION: Final = 3  # parts of `/apis/GROUP/VERSION`


def may_be_object(path: str) -> bool:
    """Whether the path is one of objects, of whatever kind."""
    return route(path) is not None or may_be_custom(path)


def may_tell_of_kinds(path: str) -> bool:
    """Whether the path is one that tells which kinds the cluster defines."""
    parts = path.strip("/").split("/")
    if parts[:2] == ["openapi", "v3"]:
        parts = parts[2:] or ["apis"]
    of_groups = parts[0] == "apis" and len(parts) <= _OF_VERSION
    return of_groups and (len(parts) == 1 or parts[1] not in BUILT_IN_GROUPS)


def served(request: Request, who: Principal) -> Sequence[Definition]:
    """The kinds that the cluster of a request defines and serves, at its moment; none where there is no such moment."""
    if not who.cluster_id:
        return ()
    if request.at is None:
        return list(_of(who.cluster_id).served())
    try:
        then = past.then(who.cluster_id, request, DEFINITION)
    except RefusedError as refused:
        if refused.status.code in (400, 410):  # whoever asks for objects is told why
            return ()
        raise
    return list(Definitions(then.store).served())


def route_of(request: Request, who: Principal) -> Route | None:
    """What the path of a request names in the cluster as it is."""
    found = route(request.path)
    if found is None and who.cluster_id and may_be_custom(request.path):
        return custom_route(_of(who.cluster_id), request.path)
    return found


def _of(cluster_id: int) -> Definitions:
    return Definitions(PostgresStore(cluster_id, ""))
