"""Every row of the table of principals and endpoints, and that no endpoint is missing in it."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver
from django.utils import timezone
from rest_framework.test import APIClient

from kschedweb.accounts import services
from kschedweb.accounts.models import RoleBinding, Token
from kschedweb.cluster import services as cluster_services
from kschedweb.cluster.models import Cluster
from kschedweb.common import compression
from tests.web import rest
from tests.web.accounts.table import CLUSTER, OPEN, PAGES, POD, PRINCIPALS, ROWS, Principal, Row, World
from tests.web.scheduling.conftest import put

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
ROLES = ("viewer", "operator", "admin")
ELSEWHERE = "203.0.113.9"  # some views trust this machine
NO_CLUSTER = "the cluster does not exist"
# In transactions of their own kind; what would fit is only tried.
LASTING = {"api/forks", *(row.route for row in ROWS if row.route.endswith("/fits"))}
# They need more than an address.
NOT_PAGES = ("admin/login/", "admin/logout/", "admin/autocomplete/")


@dataclass(frozen=True)
class People:
    users: dict[str, User]
    secrets: dict[str, str]
    tokens: dict[str, int]  # the id of one that is each person's own
    clients: dict[str, APIClient] = field(default_factory=dict)

    def client(self, principal: Principal) -> APIClient:
        if principal.name in self.clients:
            return self.clients[principal.name]
        client = self.clients[principal.name] = APIClient()
        if principal.name in self.secrets:
            client.credentials(HTTP_AUTHORIZATION=f"Bearer {self.secrets[principal.name]}")
        elif principal.name in self.users:
            client.force_login(self.users[principal.name])
        return client


@pytest.fixture(scope="module")
def people(committed: None) -> People:
    names = [*ROLES, "stranger", "creator", "superuser", "closed account", "newcomer"]
    users = {name: User.objects.create_user(name) for name in names}
    User.objects.filter(username="superuser").update(is_superuser=True, is_staff=True)
    User.objects.filter(username="closed account").update(is_active=False)
    # Being staff opens nothing: the admin pages show all clusters.
    User.objects.filter(username="admin").update(is_staff=True)
    users["creator"].user_permissions.add(rest.permission("add_cluster"))
    tokens = {
        "admin's token": ("admin", "admin"),
        "admin's token for viewing": ("admin", "viewer"),
        "viewer's token for everything": ("viewer", "admin"),
        "superuser's token": ("superuser", "admin"),
        "superuser's token for operating": ("superuser", "operator"),
        "revoked token": ("superuser", "admin"),
        "token that has expired": ("superuser", "admin"),
    }
    secrets = {}
    for number, (name, (owner, cap)) in enumerate(tokens.items()):
        given: dict[str, Any] = {"name": f"t{number}", "max_role": cap, "days": 1, "actor": "test"}
        token, secrets[name] = services.token_create(user=users[owner], **given)
        if name == "revoked token":
            services.token_revoke(user=None, token_id=token.pk, actor="test")
        if name == "token that has expired":
            past = timezone.now() - timedelta(days=3)
            Token.objects.filter(pk=token.pk).update(created_at=past, expires_at=past + timedelta(days=1))
    found = {name: User.objects.get(username=name) for name in users}
    given = {"name": "own", "max_role": "viewer", "days": 1, "actor": "test"}
    own = {name: services.token_create(user=user, **given)[0].pk for name, user in found.items() if user.is_active}
    return People(found, secrets, own)


@pytest.fixture(scope="module")
def world(people: People) -> World:
    """One for all: what whoever may changes in it is undone."""
    cluster = cluster_services.cluster_create(name="c")
    with_roles = User.objects.filter(username__in=ROLES)
    RoleBinding.objects.bulk_create(
        RoleBinding(cluster=cluster, user=user, role=user.username, granted_by="test") for user in with_roles
    )
    put(cluster, rest.node(), rest.pod(namespace="default"))
    return World(cluster.pk, token_id=0)


@contextmanager
def undone() -> Iterator[None]:
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


def ask(client: Client, row: Row, world: World) -> Any:
    body = b"" if row.body is None else row.body(world)
    path = world.path(row.route, **row.values) + row.query
    if isinstance(body, bytes):
        return client.generic(row.method, path, body, content_type=row.content_type, REMOTE_ADDR=ELSEWHERE)
    content = rest.orjson.dumps(body)
    return client.generic(row.method, path, content, content_type=row.content_type, REMOTE_ADDR=ELSEWHERE)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row}{row.query}")
def test_row(people: People, world: World, row: Row) -> None:
    wrong = {}
    for number, principal in enumerate(PRINCIPALS):
        of_them = replace(world, token_id=people.tokens.get(principal.name, 0), serial=number)
        changes = row.method != "GET" and row.route not in LASTING and principal.may(row.needs)
        client = people.client(principal)  # logs in at the first time, which is not to be undone
        with undone() if changes else nullcontext():
            answer = ask(client, row, of_them)
        if not is_as_meant(row, principal, answer):
            wrong[str(principal)] = (answer.status_code, _message(answer))
        answer.close()  # of downloads nobody may have many
    assert wrong == {}
    untouched = Cluster.objects.get(pk=world.cluster_id)
    assert (untouched.pace, untouched.lifecycle_mode, untouched.config_version) == ("run", "frozen", 1)


def is_as_meant(row: Row, principal: Principal, answer: Any) -> bool:
    """Whether the answer is what the table says of this cell."""
    code, said = answer.status_code, _message(answer)
    if principal.may(row.needs):
        allowed = code not in (401, 403) if row.status is None else code == row.status
        return allowed and said != NO_CLUSTER
    if not principal.known:
        return code == 401 and answer.headers["WWW-Authenticate"] == "Bearer"
    if principal.role is None and "cluster_id" in row.route:
        # To whoever has no role in it a cluster is not there.
        return (code, said) == (404, NO_CLUSTER)
    return bool(code == 403)


def test_every_route_and_method_has_a_row() -> None:
    """A new endpoint fails here until the table says who may use it."""
    there = {
        (route, method)
        for route, view in routes()
        if route not in PAGES and not route.startswith("admin/")
        for method in methods(view)
    }
    assert there == {(row.route, row.method) for row in ROWS}


def test_every_cell_that_is_open_is_meant_to_be() -> None:
    assert {row.route for row in ROWS if row.needs == OPEN} == {
        "livez", "healthz", "readyz", "livez/<str:name>", "healthz/<str:name>", "readyz/<str:name>",
        "login/once/<str:token>", "api/csrf",
    }  # fmt: skip


@pytest.mark.parametrize("codec", ["gzip", "zstd"])
def test_answers_that_may_hold_a_secret_are_not_compressed(
    people: People, world: World, monkeypatch: pytest.MonkeyPatch, codec: str
) -> None:
    """The length of a compressed answer tells on what is in it: a new route with secrets belongs in this list."""
    monkeypatch.setattr(compression, "SMALLEST_BYTES", 0)
    client = Client()
    client.force_login(people.users["superuser"])
    plain = set()
    for row in ROWS:
        if row.method == "GET" and row.status in (200, None):
            path = world.path(row.route, **row.values) + row.query
            answer = client.get(path, HTTP_ACCEPT_ENCODING=codec)
            if answer.get("Content-Encoding") != codec:
                plain.add(row.route)
    assert plain == {
        "livez", "healthz", "readyz", "livez/<str:name>", "healthz/<str:name>", "readyz/<str:name>",
        "api/csrf", "api/search", "api/tokens", "api/me", "api/docs", "configz",
        f"{CLUSTER}/scheduler-config", f"{CLUSTER}/scheduler-config/versions/<int:version>",
        POD, f"{CLUSTER}/nodes/<str:name>", f"{CLUSTER}/history/export",
        f"{CLUSTER}/objects", f"{CLUSTER}/objects/<str:kind>/<str:namespace>/<str:name>",
    }  # fmt: skip
    for page in ("/", "/login", "/admin/", "/admin/accounts/token/", "/admin/auth/user/add/"):
        assert not client.get(page, HTTP_ACCEPT_ENCODING=codec).has_header("Content-Encoding"), page


@pytest.mark.parametrize("principal", PRINCIPALS, ids=str)
def test_dashboard_leads_to_the_login_unless_logged_in(people: People, principal: Principal) -> None:
    answer = people.client(principal).get("/")
    if principal.known and principal.person:
        assert answer.status_code == 200
    else:
        assert (answer.status_code, answer["Location"]) == (302, "/login?next=/")


@pytest.mark.parametrize("principal", PRINCIPALS, ids=str)
def test_admin_pages_are_for_superusers(people: People, principal: Principal) -> None:
    client = people.client(principal)
    for route, _ in routes():
        # What the service writes cannot be added by hand, by nobody.
        if not route.startswith("admin/") or "<" in route or route.endswith("/add/") or route in NOT_PAGES:
            continue
        answer = client.get(f"/{route}", follow=True)
        ended = answer.redirect_chain[-1][0].partition("?")[0] if answer.redirect_chain else f"/{route}"
        if principal.superuser and principal.person:
            assert (ended, answer.status_code) != ("/login", 200) and answer.status_code not in (401, 403), route
        elif principal.known and principal.person:
            assert answer.status_code in (403, 405), route
        else:
            assert ended == "/login" or answer.status_code == 405, route


@pytest.mark.django_db
def test_list_shows_only_the_clusters_one_has_a_role_in(people: People, world: World) -> None:
    people = replace(people, clients={})  # their sessions end with this test's transaction
    alone = cluster_services.cluster_create(name="not-for-everybody")
    for principal in PRINCIPALS:
        if principal.known:
            shown = {one["id"] for one in people.client(principal).get("/api/clusters?limit=1000").json()["results"]}
            assert (alone.pk in shown) == (people.users.get("superuser") is not None and "superuser" in principal.name)
            assert (world.cluster_id in shown) == (principal.role is not None)


def _message(answer: Any) -> str:
    if "json" not in answer.headers.get("Content-Type", ""):
        return ""
    body = answer.json()
    return str(body.get("message", "")) if isinstance(body, dict) else ""


def routes() -> Iterator[tuple[str, Any]]:
    def walk(prefix: str, patterns: list[Any]) -> Iterator[tuple[str, Any]]:
        for pattern in patterns:
            route = prefix + str(pattern.pattern)
            if isinstance(pattern, URLResolver):
                yield from walk(route, pattern.url_patterns)
            else:
                assert isinstance(pattern, URLPattern)
                yield route, pattern.callback

    return walk("", get_resolver().url_patterns)


def methods(view: Any) -> list[str]:
    """What a REST view answers; of a page, which is a function, the table asks GET."""
    if not hasattr(view, "cls"):
        return ["GET"]
    return [method for method in METHODS if hasattr(view.cls, method.lower())]
