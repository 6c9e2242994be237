"""Tokens: shown once, kept as hashes, ended by time and by hand; and the name of whoever writes in the log."""

from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.contrib.auth.models import User
from django.utils import timezone
from rest_framework.test import APIClient

from kschedweb.accounts import services
from kschedweb.accounts.models import AccessRecord, RoleBinding, Token
from kschedweb.cluster import services as cluster_services
from kschedweb.cluster.models import Change, Cluster
from tests.builders import scheduler_config
from tests.cases import cases
from tests.web import rest

pytestmark = pytest.mark.django_db


@pytest.fixture
def user() -> User:
    return User.objects.create_user("ada")


@pytest.fixture
def session(user: User) -> APIClient:
    client = APIClient()
    client.force_login(user)
    return client


def with_token(secret: str) -> APIClient:
    client = APIClient(enforce_csrf_checks=True)
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {secret}")
    return client


def make(session: APIClient, **given: Any) -> dict[str, Any]:
    answer = session.post("/api/tokens", {"name": "ci", **given})
    assert answer.status_code == 201, answer.content
    made: dict[str, Any] = answer.json()
    return made


def test_secret_is_shown_once_and_kept_as_a_hash(session: APIClient) -> None:
    answer = session.post("/api/tokens", {"name": "ci"})
    secret = answer.json()["secret"]
    assert secret.startswith("ksched_") and len(secret) > 40
    assert answer["Cache-Control"] == "no-store"
    row = Token.objects.values().get()
    assert secret not in str(row) and secret.removeprefix("ksched_") not in str(row)
    assert b"secret" not in session.get("/api/tokens").content
    assert with_token(secret).get("/api/me").json() == {
        "username": "ada", "is_superuser": False, "may_create_clusters": False, "token": "ci", "roles": {},
        "certificate": "",
    }  # fmt: skip


def test_token_ends_when_it_is_revoked(session: APIClient) -> None:
    made = make(session)
    assert session.delete(f"/api/tokens/{made['id']}").status_code == 204
    answer = with_token(made["secret"]).get("/api/me")
    assert (answer.status_code, answer.json()["code"]) == (401, "authentication_failed")
    assert session.get("/api/tokens").json()["results"][0]["is_over"] is True
    # Its name is free again, its row stays.
    make(session)
    assert Token.objects.count() == 2


def test_token_ends_when_its_time_is_over(session: APIClient) -> None:
    made = make(session, days=2)
    with time_machine.travel(timezone.now() + timedelta(days=2, seconds=1), tick=False):
        assert with_token(made["secret"]).get("/api/me").status_code == 401


def test_name_of_an_expired_token_is_free(session: APIClient) -> None:
    expires_at = timezone.now() + timedelta(days=2)
    make(session, days=2)
    with time_machine.travel(expires_at + timedelta(hours=1), tick=False):
        make(session, days=2)
    new, old = session.get("/api/tokens").json()["results"]
    assert (old["revoked_at"], old["is_over"]) == (old["expires_at"], True)
    assert new["revoked_at"] is None


def test_last_characters_of_a_token_are_kept(session: APIClient) -> None:
    made = make(session)
    assert made["last_characters"] == made["secret"][-4:]
    assert session.get("/api/tokens").json()["results"][0]["last_characters"] == made["secret"][-4:]


@pytest.mark.parametrize(("seconds", "want"), [(-1, False), (0, True)])
def test_token_is_over_from_the_moment_it_expires(session: APIClient, seconds: int, want: bool) -> None:
    make(session)
    token = Token.objects.get()
    with time_machine.travel(token.expires_at + timedelta(seconds=seconds), tick=False):
        assert token.is_over is want


def test_token_ends_with_the_account(session: APIClient, user: User) -> None:
    made = make(session)
    User.objects.update(is_active=False)
    assert with_token(made["secret"]).get("/api/me").status_code == 401


def test_use_is_noted_once_a_minute(session: APIClient) -> None:
    client = with_token(make(session)["secret"])
    start = timezone.now()
    seen = []
    for seconds in (1, 30, 62):
        with time_machine.travel(start + timedelta(seconds=seconds), tick=False):
            client.get("/api/me")
        seen.append((Token.objects.get().last_used_at - start).total_seconds())
    assert seen == [1, 1, 62]


@cases(
    "given, status",
    ("capital letters", {"name": "Ci"}, 422),
    ("the sign between token and user", {"name": "a@b"}, 422),
    ("no time", {"name": "ci", "days": 0}, 400),
    ("longer than a year", {"name": "ci", "days": 400}, 400),
    ("an unknown role", {"name": "ci", "max_role": "root"}, 400),
    ("a name in use", {"name": "taken"}, 409),
)
def test_token_is_not_made_when(session: APIClient, given: dict[str, Any], status: int) -> None:
    make(session, name="taken")
    assert session.post("/api/tokens", given).status_code == status


def test_token_of_somebody_else_is_not_there(session: APIClient) -> None:
    other, _ = services.token_create(
        user=User.objects.create_user("eve"), name="ci", max_role="admin", days=1, actor="test"
    )
    assert session.delete(f"/api/tokens/{other.pk}").status_code == 404
    assert session.get("/api/tokens").json()["results"] == []


def test_tokens_of_somebody_else_are_listed_and_ended_by_superusers_only(session: APIClient) -> None:
    made = make(session)
    root, eve = rest.logged_in("root"), APIClient()
    eve.force_login(User.objects.create_user("eve"))
    for username, status in (("ada", 403), ("nobody", 403), ("eve", 200)):
        assert eve.get("/api/tokens", {"username": username}).status_code == status
    assert eve.delete(f"/api/tokens/{made['id']}").status_code == 404
    assert root.get("/api/tokens").json()["results"] == []
    assert [one["name"] for one in root.get("/api/tokens?username=ada").json()["results"]] == ["ci"]
    assert root.get("/api/tokens?username=nobody").status_code == 404
    assert root.delete(f"/api/tokens/{made['id']}").status_code == 204
    assert with_token(made["secret"]).get("/api/me").status_code == 401
    record = AccessRecord.objects.latest("id")
    assert (record.actor, record.action, record.username) == ("root", "token_revoked", "ada")


@pytest.mark.parametrize("cap", ["viewer", "operator", "admin"])
@pytest.mark.parametrize("wanted", ["viewer", "operator", "admin"])
def test_token_makes_no_token_whatever_the_rights(cap: str, wanted: str) -> None:
    client = with_token(make(rest.logged_in("root"), max_role=cap)["secret"])
    assert client.post("/api/tokens", {"name": "another", "max_role": wanted}).status_code == 403
    assert client.get("/api/tokens?username=root").status_code == 403
    assert client.delete(f"/api/tokens/{Token.objects.get().pk}").status_code == 403
    assert Token.objects.filter(revoked_at=None).count() == 1


@pytest.mark.parametrize(
    "header",
    ["Bearer", "Bearer ", "Bearer  x", "Bearer ksched_", "bearer \u00e9", "Bearer a b", "Bearer \x00"],
    ids=ascii,
)
def test_header_that_is_no_token_is_refused(header: str) -> None:
    assert APIClient().get("/api/me", HTTP_AUTHORIZATION=header).status_code == 401


def test_token_in_an_address_is_nothing(session: APIClient) -> None:
    secret = make(session)["secret"]
    for name in ("token", "access_token", "authorization"):
        assert APIClient().get(f"/api/me?{name}={secret}").status_code == 401


@pytest.fixture
def cluster(user: User) -> Cluster:
    cluster = cluster_services.cluster_create(name="c")
    services.role_set(cluster=cluster, username="ada", role="admin", actor="test")
    return cluster


@pytest.mark.parametrize("kind, actor", [("session", "ada"), ("token", "token:ci@ada")])
def test_log_names_who_wrote(session: APIClient, cluster: Cluster, kind: str, actor: str) -> None:
    client = session if kind == "session" else with_token(make(session, max_role="admin")["secret"])
    before = Cluster.objects.get().rv
    path = f"/api/clusters/{cluster.pk}"
    objects = rest.items(rest.node(), rest.pod(namespace="default"))
    assert rest.upload(client, cluster, objects).status_code == 201
    for method, where, body in [
        ("post", "objects", rest.pod("p2", namespace="default")),
        ("post", "pace", {"pace": "pause"}),
        ("patch", "nodes/n1", {"unschedulable": True}),
        ("delete", "pods/default/p1", None),
        ("delete", "objects/Node/n1", None),
        ("put", "scheduler-config", None),
        ("patch", "", {"lifecycle_mode": "simulate"}),
        ("put", "roles/ada", {"role": "admin"}),
    ]:
        given = {} if body is None else {"data": body}
        if where == "scheduler-config":
            config = scheduler_config(parallelism=4)
            answer = client.generic("PUT", f"{path}/{where}", config, content_type="application/yaml")
        else:
            answer = getattr(client, method)(f"{path}/{where}".rstrip("/"), **given)
        assert answer.status_code < 300, (where, answer.content)
    written = Change.objects.filter(cluster_id=cluster.pk, rv__gt=before)
    assert written.count() >= 8
    assert set(written.values_list("actor", flat=True)) == {actor}
    assert RoleBinding.objects.get().granted_by == actor
    assert AccessRecord.objects.order_by("-id")[0].actor == actor


def test_whoever_makes_a_cluster_is_its_admin(session: APIClient, user: User) -> None:
    assert session.post("/api/clusters", {"name": "mine"}).status_code == 403
    user.user_permissions.add(rest.permission("add_cluster"))
    made = session.post("/api/clusters", {"name": "mine"})
    assert made.status_code == 201
    assert session.get("/api/me").json()["roles"] == {str(made.json()["id"]): "admin"}


def test_roles_are_given_and_taken_by_the_cluster_s_admin(session: APIClient, cluster: Cluster) -> None:
    User.objects.create_user("bob")
    bob = APIClient()
    bob.force_login(User.objects.get(username="bob"))
    path = f"/api/clusters/{cluster.pk}"
    assert bob.get(path).status_code == 404
    assert session.put(f"{path}/roles/bob", {"role": "viewer"}).json()["granted_by"] == "ada"
    assert bob.get(path).status_code == 200
    assert bob.post(f"{path}/pace", {"pace": "pause"}).status_code == 403
    assert session.put(f"{path}/roles/bob", {"role": "operator"}).status_code == 200
    assert bob.post(f"{path}/pace", {"pace": "pause"}).status_code == 200
    assert [one["username"] for one in session.get(f"{path}/roles").json()["results"]] == ["ada", "bob"]
    assert session.delete(f"{path}/roles/bob").status_code == 204
    assert bob.get(path).status_code == 404
    assert session.put(f"{path}/roles/nobody", {"role": "viewer"}).status_code == 404
    told = list(AccessRecord.objects.order_by("id").values_list("action", "username", "detail"))
    assert told[-3:] == [
        ("role_set", "bob", "viewer"),
        ("role_set", "bob", "operator"),
        ("role_removed", "bob", "operator"),
    ]


def test_log_of_access_outlives_the_cluster(session: APIClient, cluster: Cluster) -> None:
    assert session.delete(f"/api/clusters/{cluster.pk}").status_code == 204
    assert not RoleBinding.objects.exists()
    assert AccessRecord.objects.get().cluster_name == "c"


def test_admin_pages_make_a_token_and_show_it_once() -> None:
    client = rest.logged_in("root")
    root = User.objects.get(username="root")
    given = {"user": root.pk, "name": "by-hand", "max_role": "viewer", "days": 7}
    answer = client.post("/admin/accounts/token/add/", given, follow=True, format="multipart")
    secret = next(word for word in str(answer.content.decode()).split() if word.startswith("ksched_")).partition("<")[0]
    assert with_token(secret).get("/api/me").json()["token"] == "by-hand"
    assert secret not in client.get("/admin/accounts/token/").content.decode()
    token = Token.objects.get()
    assert client.get(f"/admin/accounts/token/{token.pk}/change/").status_code == 200
    chosen = {"action": "revoke", "_selected_action": [token.pk]}
    client.post("/admin/accounts/token/", chosen, format="multipart")
    assert with_token(secret).get("/api/me").status_code == 401
    assert list(AccessRecord.objects.order_by("id").values_list("actor", "action")) == [
        ("root", "token_created"), ("root", "token_revoked"),
    ]  # fmt: skip


def test_admin_pages_give_and_take_roles(cluster: Cluster) -> None:
    client = rest.logged_in("root")
    bob = User.objects.create_user("bob")
    given = {"user": bob.pk, "cluster": cluster.pk, "role": "operator"}
    client.post("/admin/accounts/rolebinding/add/", given, format="multipart")
    binding = RoleBinding.objects.get(user=bob)
    assert (binding.role, binding.granted_by) == ("operator", "root")
    client.post(f"/admin/accounts/rolebinding/{binding.pk}/change/", {"role": "viewer"}, format="multipart")
    assert RoleBinding.objects.get(user=bob).role == "viewer"
    client.post(f"/admin/accounts/rolebinding/{binding.pk}/delete/", {"post": "yes"}, format="multipart")
    assert not RoleBinding.objects.filter(user=bob).exists()
    assert AccessRecord.objects.filter(actor="root").count() == 3
