"""Who may do what: a row for every route and method there is, and the principals that form the columns.

A row names what it needs; `test_table.py` asks every cell, and fails when a route has no row.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from kschedweb.accounts.choices import Role
from tests.web import rest

# What a row may need besides a role.
OPEN, LOGGED_IN, PERSON, CREATOR, SUPERUSER = "open", "logged in", "a person", "may create clusters", "superuser"
CLUSTER = "api/clusters/<int:cluster_id>"
POD = f"{CLUSTER}/pods/<str:namespace>/<str:name>"
YAML = "application/yaml"


@dataclass(frozen=True)
class World:
    """What the requests are about."""

    cluster_id: int
    token_id: int
    serial: int = 0  # makes names that were not there before

    def path(self, route: str, **values: str) -> str:
        known = {
            "int:cluster_id": str(self.cluster_id), "int:token_id": str(self.token_id), "str:namespace": "default",
            "str:username": "newcomer", "int:version": "1", "int:seq": "1",
            "uuid:import_id": "00000000-0000-0000-0000-000000000000", "str:token": "made-up", **values,
        }  # fmt: skip
        for name, value in known.items():
            route = route.replace(f"<{name}>", value)
        assert "<" not in route, route
        return f"/{route}"


@dataclass(frozen=True)
class Row:
    route: str
    method: str
    needs: Role | str
    # Of an allowed request; None: whatever is no refusal. 404 is for things in a cluster which these worlds lack.
    status: int | None = 200
    values: dict[str, str] = field(default_factory=dict)  # of the route's parameters
    query: str = ""
    body: Callable[[World], Any] | None = None
    content_type: str = "application/json"

    def __str__(self) -> str:
        return f"{self.method} /{self.route}"


def _get(route: str, needs: Role | str = Role.VIEWER, **given: Any) -> Row:
    return Row(route, "GET", needs, **given)


P1, N1, P2 = {"str:name": "p1"}, {"str:name": "n1"}, rest.pod("p2")
OBJECT = f"{CLUSTER}/objects/<str:kind>/<str:name>"
NAMESPACED = f"{CLUSTER}/objects/<str:kind>/<str:namespace>/<str:name>"

ROWS = [
    # Before the login.
    _get("livez", OPEN, status=None),
    _get("healthz", OPEN, status=None),
    _get("readyz", OPEN, status=None),
    _get("livez/<str:name>", OPEN, status=None, values={"str:name": "ping"}),
    _get("healthz/<str:name>", OPEN, status=None, values={"str:name": "ping"}),
    _get("readyz/<str:name>", OPEN, status=None, values={"str:name": "ping"}),
    _get("login/once/<str:token>", OPEN, status=410),
    _get("api/csrf", OPEN),
    # For programs that watch the service; asked here from another machine.
    _get("metrics", LOGGED_IN),
    _get("metrics/resources", LOGGED_IN),
    _get("metrics/slis", LOGGED_IN),
    _get("configz", LOGGED_IN),
    # Of oneself.
    _get("api/me", LOGGED_IN),
    _get("api/schema", LOGGED_IN),
    _get("api/docs", LOGGED_IN),
    _get("api/lists", LOGGED_IN),
    _get("api/clusters", LOGGED_IN),
    _get("api/search", LOGGED_IN, query="?q=p1"),
    _get("api/tokens", PERSON),
    Row("api/tokens", "POST", PERSON, 201, body=lambda world: {"name": "made"}),
    Row("api/tokens/<int:token_id>", "DELETE", PERSON, 204),
    # Clusters.
    Row("api/clusters", "POST", CREATOR, 201, body=lambda world: {"name": "made"}),
    Row("api/mirrors", "POST", SUPERUSER, 422, body=lambda world: {"name": "made", "kubeconfig": "{}"}),
    Row(
        "api/forks",
        "POST",
        CREATOR,
        None,
        body=lambda world: {"cluster_id": world.cluster_id, "name": f"made-{world.serial}"},
    ),  # fmt: skip
    _get(f"{CLUSTER}/mirror", status=404),
    Row(f"{CLUSTER}/mirror", "PATCH", Role.ADMIN, 404, body=lambda world: {"is_wanted": False}),
    _get(f"{CLUSTER}/agreement"),
    _get(f"{CLUSTER}/comparisons"),
    _get(CLUSTER),
    Row(CLUSTER, "PATCH", Role.ADMIN, body=lambda world: {"lifecycle_mode": "simulate"}),
    Row(CLUSTER, "DELETE", Role.ADMIN, 204),
    _get(f"{CLUSTER}/roles", Role.ADMIN),
    Row(f"{CLUSTER}/roles/<str:username>", "PUT", Role.ADMIN, body=lambda world: {"role": "viewer"}),
    Row(f"{CLUSTER}/roles/<str:username>", "DELETE", Role.ADMIN, 404),
    Row(f"{CLUSTER}/pace", "POST", Role.OPERATOR, body=lambda world: {"pace": "pause"}),
    _get(f"{CLUSTER}/clock"),
    _get(f"{CLUSTER}/clock/wall", query="?at=2030-01-01T00:00:00Z"),
    Row(f"{CLUSTER}/clock", "POST", Role.OPERATOR, body=lambda world: {"mode": "fast"}),
    _get(f"{CLUSTER}/storage"),
    Row(f"{CLUSTER}/prune", "POST", Role.ADMIN, body=lambda world: {}),
    _get(f"{CLUSTER}/scheduler-config"),
    Row(f"{CLUSTER}/scheduler-config", "PUT", Role.ADMIN, body=lambda world: b"", content_type=YAML),
    Row(f"{CLUSTER}/scheduler-config", "POST", Role.ADMIN, body=lambda world: b"", content_type=YAML),
    Row(f"{CLUSTER}/scheduler-config/check", "POST", Role.ADMIN, body=lambda world: b"", content_type=YAML),
    _get(f"{CLUSTER}/scheduler-config/versions"),
    _get(f"{CLUSTER}/scheduler-config/versions/<int:version>"),
    # What is in them.
    Row(f"{CLUSTER}/import", "POST", Role.OPERATOR, 201, body=lambda world: rest.items(P2)),
    Row(f"{CLUSTER}/import", "POST", Role.ADMIN, 201, query="?lifecycle=simulate", body=lambda world: rest.items(P2)),
    _get(f"{CLUSTER}/imports/<uuid:import_id>", status=404),
    _get(f"{CLUSTER}/objects", query="?kind=Pod"),
    Row(f"{CLUSTER}/objects", "POST", Role.OPERATOR, 201, body=lambda world: rest.pod("p3", namespace="default")),
    _get(OBJECT, status=404, values={"str:kind": "PriorityClass", "str:name": "p"}),
    _get(NAMESPACED, values={"str:kind": "Pod", **P1}),
    Row(OBJECT, "DELETE", Role.OPERATOR, 204, {"str:kind": "Node", **N1}),
    Row(NAMESPACED, "DELETE", Role.OPERATOR, 204, {"str:kind": "Pod", **P1}),
    _get(f"{CLUSTER}/nodes/<str:name>", values=N1),
    Row(f"{CLUSTER}/nodes/<str:name>", "PATCH", Role.OPERATOR, values=N1, body=lambda world: {"unschedulable": True}),
    _get(POD, values=P1),
    Row(POD, "DELETE", Role.OPERATOR, values=P1),
    # What the scheduler did.
    _get(f"{CLUSTER}/snapshot"),
    _get(f"{CLUSTER}/snapshot/columns"),
    _get(f"{CLUSTER}/frames", query="?rv=0&seq=0"),
    _get(f"{CLUSTER}/timeline"),
    _get(f"{CLUSTER}/summary"),
    _get(f"{CLUSTER}/leadership"),
    _get(f"{CLUSTER}/digest"),
    Row(f"{POD}/eviction", "POST", Role.OPERATOR, status=None, values=P1, body=lambda world: {}),
    _get(f"{POD}/attempts", values=P1),
    _get(f"{POD}/history", values=P1),
    _get(f"{POD}/why", values=P1),
    _get(f"{POD}/evicted", status=404, values=P1),
    _get(f"{POD}/fits", values=P1),
    Row(f"{POD}/fits", "POST", Role.OPERATOR, 409, P1, body=lambda world: {"changes": [], "dry_run": True}),
    Row(f"{CLUSTER}/fits", "POST", Role.VIEWER, body=lambda world: rest.pod("fits-nowhere")),
    _get(f"{CLUSTER}/attempts"),
    _get(f"{CLUSTER}/attempts/<int:seq>", status=404),
    _get(f"{CLUSTER}/attempts/<int:seq>/again", status=404),
    _get(f"{CLUSTER}/attempts/<int:seq>/why", status=404),
    _get(f"{CLUSTER}/attempts/<int:seq>/changed", status=404),
    _get(f"{CLUSTER}/attempts/<int:seq>/preemption", status=404),
    _get(f"{CLUSTER}/throughput"),
    _get(f"{CLUSTER}/preemptions"),
    _get(f"{CLUSTER}/events"),
    _get(f"{CLUSTER}/object-events", query="?kind=Pod&namespace=default&name=p1"),
    _get(f"{CLUSTER}/workloads"),
    _get(
        f"{CLUSTER}/workloads/<str:kind>/<str:namespace>/<str:name>",
        status=404,
        values={"str:kind": "Deployment", "str:name": "none"},
    ),
    _get(
        f"{CLUSTER}/workloads/<str:kind>/<str:namespace>/<str:name>/fits",
        status=404,
        values={"str:kind": "Deployment", "str:name": "none"},
    ),
    Row(
        f"{CLUSTER}/workloads/<str:kind>/<str:namespace>/<str:name>/fits",
        "POST",
        Role.OPERATOR,
        404,
        {"str:kind": "Deployment", "str:name": "none"},
        body=lambda world: {"changes": [], "dry_run": True},
    ),
    _get(f"{CLUSTER}/refusals", query="?node=n1&plugin=TaintToleration"),
    _get(f"{CLUSTER}/pending"),
    _get(f"{CLUSTER}/pending/pods"),
    _get(f"{CLUSTER}/cache"),
    _get(f"{CLUSTER}/slowest"),
    *(
        _get(f"{CLUSTER}/lists/<str:what>{rest}", values={"str:what": "pods", "str:form": "csv"})
        for rest in ("", "/completion", "/export.<str:form>")
    ),
    _get(f"{CLUSTER}/history/export"),
    _get(f"{CLUSTER}/export/<str:what>.<str:form>", values={"str:what": "attempts", "str:form": "csv"}),
]

# Pages for people, asked apart: who may not see them is led to the login.
PAGES = {"", "login", "logout", "docs/known-limits"}


@dataclass(frozen=True)
class Principal:
    """A column. `role` is what counts in the end: the user's, or less when the token says so."""

    name: str
    known: bool = True
    role: Role | None = None
    person: bool = True
    creates: bool = False
    superuser: bool = False

    def may(self, needs: Role | str) -> bool:
        if needs == OPEN:
            return True
        if not self.known:
            return False
        if isinstance(needs, Role):
            return self.role is not None and self.role.includes(needs)
        return {LOGGED_IN: True, PERSON: self.person, CREATOR: self.creates, SUPERUSER: self.superuser}[needs]

    def __str__(self) -> str:
        return self.name


PRINCIPALS = [
    Principal("nobody", known=False),
    Principal("stranger"),
    Principal("viewer", role=Role.VIEWER),
    Principal("operator", role=Role.OPERATOR),
    Principal("admin", role=Role.ADMIN),
    Principal("creator", creates=True),
    Principal("superuser", role=Role.ADMIN, creates=True, superuser=True),
    Principal("closed account", known=False),
    Principal("admin's token", role=Role.ADMIN, person=False),
    Principal("admin's token for viewing", role=Role.VIEWER, person=False),
    Principal("viewer's token for everything", role=Role.VIEWER, person=False),
    Principal("superuser's token", role=Role.ADMIN, creates=True, person=False, superuser=True),
    Principal("superuser's token for operating", role=Role.OPERATOR, person=False),
    Principal("revoked token", known=False),
    Principal("token that has expired", known=False),
]
