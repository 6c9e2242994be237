"""The kinds that a cluster defines, as the paths of requests name them. Blocking."""

from __future__ import annotations

from collections.abc import Sequence

from kschedweb.cluster.store import PostgresStore
from kschedweb.kubeapi.access import Principal
from kschedweb.kubeapi.exchange import Request
from scheduler_core.apiserver.custom.definitions import Definition, Definitions
from scheduler_core.apiserver.custom.routes import custom_route, may_be_custom
from scheduler_core.apiserver.routes import Route, route


def may_be_object(path: str) -> bool:
    """Whether the path is one of objects, of whatever kind."""
    return route(path) is not None or may_be_custom(path)


def served(cluster_id: int) -> Sequence[Definition]:
    """The kinds that a cluster defines and serves."""
    return list(_of(cluster_id).served()) if cluster_id else ()


def route_of(request: Request, who: Principal) -> Route | None:
    """What the path of a request names in the cluster as it is."""
    found = route(request.path)
    if found is None and who.cluster_id and may_be_custom(request.path):
        return custom_route(_of(who.cluster_id), request.path)
    return found


def _of(cluster_id: int) -> Definitions:
    return Definitions(PostgresStore(cluster_id, ""))
