"""Who asks, and what the roles of the service let them do: attributes of requests, verbs, the words of refusals.

The role viewer may get, list and watch everything; operator and admin may do everything. Requests without a token are
made by system:anonymous, which may read the version and the health only. Nobody may act in the name of another.
The kubelet of a node is a viewer that may also write what a kubelet writes.

Source: kubernetes v1.34.1, staging/src/k8s.io/apiserver/pkg/endpoints/request/requestinfo.go and
plugin/pkg/auth/authorizer/rbac/bootstrappolicy.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Final

import msgspec

from kschedweb.accounts import services
from kschedweb.accounts.authentication import bearer
from kschedweb.accounts.choices import Role
from kschedweb.accounts.models import Token
from kschedweb.accounts.permissions import ACTOR_LENGTH
from kschedweb.accounts.secrets import digest
from kschedweb.accounts.selectors import role_in
from kschedweb.accounts.sockets import TokenCredential
from kschedweb.cluster.models import Cluster
from kschedweb.kubeapi.exchange import UNAUTHORIZED, Query, RefusedError, Request
from scheduler_core.apiserver.answers import Status
from scheduler_core.apiserver.kinds import CONFIDENTIAL_KINDS, KINDS
from scheduler_core.apiserver.options import first, flag

ANONYMOUS: Final = "system:anonymous"
NODE_PREFIX: Final = "system:node:"
_NODES: Final = "system:nodes"  # their group
# What kubelets may do besides reading, by group and resource.
_OF_KUBELETS: Final[dict[tuple[str, str], tuple[str, ...]]] = {
    ("", "nodes"): ("create", "update", "patch"),
    ("", "nodes/status"): ("update", "patch"),
    ("", "events"): ("create", "update", "patch"),
    ("", "pods"): ("create", "delete"),
    ("", "pods/status"): ("update", "patch"),
    ("", "pods/eviction"): ("create",),
    ("", "persistentvolumeclaims/status"): ("update", "patch"),
    ("coordination.k8s.io", "leases"): ("create", "update", "patch", "delete"),
    ("storage.k8s.io", "csinodes"): ("create", "update", "patch", "delete"),
    ("resource.k8s.io", "resourceslices"): ("create", "update", "patch", "delete"),
}
KEPT_SECONDS: Final = 1.0
KEPT_PRINCIPALS: Final = 1_000
READ_VERBS: Final = ("get", "list", "watch")
# What everybody may read, and what whoever has a token may.
_OPEN_PATHS: Final = ("/healthz", "/livez", "/readyz", "/version", "/version/")
_DISCOVERY_PATHS: Final = ("/api", "/apis", "/openapi")
# Questions about oneself, which are POSTed.
_CONFIDENTIAL: Final = {(KINDS[name].group, KINDS[name].cls.plural) for name in CONFIDENTIAL_KINDS}
_CLOSED_GROUPS: Final = {group for group, _ in _CONFIDENTIAL}


def _readable() -> tuple[dict[str, list[str]], ...]:
    """What viewers may read, as rules: everything of a group, or by name where some of it is confidential."""
    groups = sorted({kind.group for kind in KINDS.values()} | {"events.k8s.io"})
    rules = [{"apiGroups": [group for group in groups if group not in _CLOSED_GROUPS], "resources": ["*"]}]
    for closed in sorted(_CLOSED_GROUPS):
        named = [kind for kind in KINDS.values() if kind.group == closed]
        names = [kind.cls.plural for kind in named if (closed, kind.cls.plural) not in _CONFIDENTIAL]
        names += [f"{kind.cls.plural}/status" for kind in named if kind.has_status]
        names += [f"{kind.cls.plural}/scale" for kind in named if kind.has_scale]
        rules.insert(0, {"apiGroups": [closed], "resources": sorted([*names, *_OTHER_READS.get(closed, ())])})
    return tuple(rules)


_OTHER_READS: Final = {"": ("pods/log", "pods/resize")}
READABLE: Final = _readable()
_SELF_REVIEWS: Final = ("selfsubjectaccessreviews", "selfsubjectrulesreviews", "selfsubjectreviews")
_REVIEW_GROUPS: Final = ("authorization.k8s.io", "authentication.k8s.io")
MIRRORED: Final = "this cluster mirrors a cluster elsewhere and is only read here"
RECORDED: Final = "this cluster is a history from a file and is only read here"
# Said with the moment of the address.
PAST: Final = "this is the cluster as it was at {at}, and is only read"
_NOT_OF_PAST: Final = "{resource} are not shown of the past"
_VERBS: Final = {"GET": "get", "HEAD": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


class Attributes(msgspec.Struct, frozen=True):
    """What a request wants to do. `path` alone is set where no resource is meant."""

    verb: str
    path: str = ""
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""

    @property
    def is_resource(self) -> bool:
        return bool(self.resource)


class Principal(msgspec.Struct, frozen=True):
    """Who asks, and their role in the cluster; `cluster_id` is 0 where none of that name exists for them."""

    name: str
    groups: tuple[str, ...]
    role: Role | None = None
    cluster_id: int = 0
    lifecycle_mode: str = ""
    is_mirror: bool = False
    actor: str = ""
    uid: str = ""
    credential: Hashable = None
    node: str = ""  # whose kubelet it is
    is_record: bool = False  # of the cluster: it is a history from a file

    @property
    def is_anonymous(self) -> bool:
        return self.name == ANONYMOUS


_NOBODY: Final = Principal(ANONYMOUS, ("system:unauthenticated",))


class Principals:
    """Who asks, as tokens say; what one says in a cluster is kept for a second, when it has a role there.

    So a token that is revoked, a role that is taken away and a changed cluster count a second later at most.
    """

    def __init__(self, seconds: Callable[[], float]) -> None:
        self._seconds = seconds
        self._kept: dict[tuple[str, str], tuple[float, Principal]] = {}

    def kept(self, request: Request) -> Principal | None:
        """Who asks, when that is known without asking the database."""
        secret = bearer(request.header("authorization"))
        if not secret:
            return _NOBODY
        found = self._kept.get((digest(secret), request.cluster))
        return found[1] if found is not None and self._seconds() < found[0] else None

    def read(self, request: Request) -> Principal:
        """Who asks; RefusedError for a token that is unknown or over. Blocking."""
        secret = bearer(request.header("authorization"))
        if not secret:
            return _NOBODY
        until = self._seconds() + KEPT_SECONDS
        who = of_secret(secret, request.cluster)
        if who is None:
            raise RefusedError(UNAUTHORIZED)
        if who.cluster_id:
            if len(self._kept) >= KEPT_PRINCIPALS:
                self._kept.clear()
            self._kept[digest(secret), request.cluster] = until, who
        return who


def of_secret(secret: str, cluster: str) -> Principal | None:
    """Whom a token stands for; None when it is unknown or over. Blocking."""
    token = services.token_use(secret=secret)
    return None if token is None else _of_token(token, cluster)


def _of_token(token: Token, name: str) -> Principal:
    user = token.user
    columns = ("id", "lifecycle_mode", "is_mirror", "is_record")
    found = Cluster.objects.filter(name=name).values_list(*columns).first() if "\0" not in name else None
    role = None if found is None else role_in(user, token, found[0])
    username = user.get_username()
    groups = ("system:authenticated",) if role is None else (f"ksched:{role}", "system:authenticated")
    node = ""
    if username.startswith(NODE_PREFIX):
        # Its account is named after node and cluster.
        username = username.rpartition("@")[0]
        node = username.removeprefix(NODE_PREFIX)
        groups = (_NODES, "system:authenticated")
    return Principal(
        username,
        groups,
        role,
        found[0] if found is not None and role is not None else 0,
        found[1] if found is not None and role is not None else "",
        found is not None and found[2],
        f"token:{token.name}@{user.get_username()}"[:ACTOR_LENGTH],
        f"user-{user.pk}",
        TokenCredential(token.token_hash),
        node,
        found is not None and found[3],
    )


def credential_of(request: Request) -> Hashable | None:
    """The token a request brings, unchecked; None when it brings none."""
    secret = bearer(request.header("authorization"))
    return TokenCredential(digest(secret)) if secret else None


def attributes_of(method: str, path: str, query: Query) -> Attributes:
    """What a request wants to do, from its address."""
    verb = _VERBS.get(method, "")
    parts = path.strip("/").split("/")
    if parts[0] not in ("api", "apis") or len(parts) < (3 if parts[0] == "api" else 4):
        return Attributes(verb or method.lower(), path)
    group = ""
    if parts[0] == "apis":
        group = parts[1]
    parts = parts[2:] if parts[0] == "api" else parts[3:]
    namespace = ""
    if parts[0] == "namespaces" and len(parts) > 1:
        namespace = parts[1]
        if len(parts) > 2 and parts[2] not in ("status", "finalize"):
            parts = parts[2:]
    name = parts[1] if len(parts) > 1 else ""
    if not name and verb in ("get", "delete"):
        if verb == "get":
            verb = "watch" if flag(query, "watch") else "list"
        else:
            verb = "deletecollection"
        name = _selected_name(first(query, "fieldSelector"))
    return Attributes(verb, path, group, parts[0], parts[2] if len(parts) > 2 else "", namespace, name)


def _selected_name(selector: str) -> str:
    """The one name that a field selector selects; empty when it selects by other means."""
    for term in selector.split(","):
        field, _, value = term.partition("=")
        if field.strip() == "metadata.name":
            return value.removeprefix("=").strip()
    return ""


def allows(who: Principal, wanted: Attributes) -> bool:
    """Whether the principal may do that."""
    if not wanted.is_resource:
        if wanted.verb == "get" and (_below(wanted.path, _OPEN_PATHS)):
            return True
        if who.role is None:
            return False
        return who.role.includes(Role.OPERATOR) or (
            wanted.verb == "get" and _below(wanted.path, (*_DISCOVERY_PATHS, *_OPEN_PATHS))
        )
    if who.role is None:
        return False
    if who.node:
        resource = f"{wanted.resource}/{wanted.subresource}" if wanted.subresource else wanted.resource
        if wanted.verb in _OF_KUBELETS.get((wanted.group, resource), ()):
            return True
    elif who.role.includes(Role.OPERATOR):
        return True
    if wanted.verb in READ_VERBS:
        return (wanted.group, wanted.resource) not in _CONFIDENTIAL
    is_question = wanted.verb == "create" and wanted.resource in _SELF_REVIEWS
    return is_question and wanted.group in ("authorization.k8s.io", "authentication.k8s.io")


def authorize(who: Principal, request: Request) -> None:
    """RefusedError unless the principal may do what the request wants."""
    impersonated = request.header("impersonate-user")
    if impersonated or any(name.startswith("impersonate-") for name in request.headers):
        wanted = Attributes("impersonate", resource="users", name=impersonated)
        raise RefusedError(forbidden(who, wanted))
    wanted = attributes_of(request.method, request.path, request.query)
    if allows(who, wanted):
        if request.at is not None and (told := refused_in_past(request.at, wanted)):
            is_read = wanted.verb in READ_VERBS
            code, reason = (403, "Forbidden") if is_read else (405, "MethodNotAllowed")
            raise RefusedError(Status(code, reason, told, wanted.name, wanted.group, wanted.resource))
        is_read_only = who.is_mirror or who.is_record
        if is_read_only and wanted.verb not in READ_VERBS and wanted.group not in _REVIEW_GROUPS:
            reason = RECORDED if who.is_record else MIRRORED
            message = f'{reason}: User "{who.name}" cannot {wanted.verb} resource "{wanted.resource}"'
            raise RefusedError(Status(403, "Forbidden", message, wanted.name, wanted.group, wanted.resource))
        return
    if not who.is_anonymous and who.role is None:
        message = f'clusters "{request.cluster}" not found'
        raise RefusedError(Status(404, "NotFound", message, request.cluster, "", "clusters"))
    raise RefusedError(forbidden(who, wanted))


def refused_in_past(at: str, wanted: Attributes) -> str:
    """Why nobody may do that at a moment of the past; empty where one may. Questions about rights change nothing."""
    if wanted.verb not in READ_VERBS and wanted.group not in _REVIEW_GROUPS:
        return PAST.format(at=at)
    is_confidential = (wanted.group, wanted.resource) in _CONFIDENTIAL
    return _NOT_OF_PAST.format(resource=wanted.resource) if is_confidential else ""


def forbidden(who: Principal, wanted: Attributes) -> Status:
    """The refusal, as the API server words it."""
    if not wanted.is_resource:
        message = f'forbidden: User "{who.name}" cannot {wanted.verb} path "{wanted.path}"'
        return Status(403, "Forbidden", message, is_generic=True)
    resource = f"{wanted.resource}/{wanted.subresource}" if wanted.subresource else wanted.resource
    shown = f"{wanted.resource}.{wanted.group}" if wanted.group else wanted.resource
    if wanted.name:
        shown += f' "{wanted.name}"'
    place = f'in the namespace "{wanted.namespace}"' if wanted.namespace else "at the cluster scope"
    message = (
        f'{shown} is forbidden: User "{who.name}" cannot {wanted.verb} resource "{resource}" in API group'
        f' "{wanted.group}" {place}'
    )
    return Status(403, "Forbidden", message, wanted.name, wanted.group, wanted.resource)


def _below(path: str, places: tuple[str, ...]) -> bool:
    return any(path == place or path.startswith(f"{place}/") for place in places)
