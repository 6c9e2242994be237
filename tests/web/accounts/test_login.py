"""Login by password and by link, logout, and who may read what."""

import zlib
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import time_machine
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from rest_framework.test import APIClient

from kschedweb.accounts import services
from kschedweb.accounts.models import LoginLink
from kschedweb.cluster import services as cluster_services
from kschedweb.common.errors import NotFoundError
from tests.cases import cases
from tests.web.rest import logged_in

pytestmark = pytest.mark.django_db


@pytest.fixture
def user() -> User:
    return User.objects.create_user("ada", password="engine-of-1843")


def test_login_page_leads_to_the_dashboard_when_the_password_is_right(user: User) -> None:
    client = Client()
    assert client.get("/")["Location"] == "/login?next=/"
    page = client.get("/login?next=/")
    assert page.status_code == 200 and b"password" in page.content
    wrong = client.post("/login", {"username": "ada", "password": "wrong"})
    assert wrong.status_code == 200 and b'role="alert"' in wrong.content
    right = client.post("/login", {"username": "ada", "password": "engine-of-1843", "next": "/"})
    assert (right.status_code, right["Location"]) == (302, "/")
    assert client.get("/api/me").json() == {
        "username": "ada", "is_superuser": False, "may_create_clusters": False, "token": None, "roles": {},
        "certificate": "",
    }  # fmt: skip


def test_people_are_told_the_certificate_that_the_service_answers_with(
    user: User, settings: Any, tmp_path: Path
) -> None:
    (tmp_path / "c.pem").write_text("PEM")
    settings.ENVIRONMENT = settings.ENVIRONMENT.model_copy(update={"tls_cert": tmp_path / "c.pem"})
    client = Client()
    client.force_login(user)
    assert client.get("/api/me").json()["certificate"] == "PEM"
    (tmp_path / "c.pem").unlink()
    assert client.get("/api/me").json()["certificate"] == ""


def test_login_is_refused_when_the_form_brings_no_token(user: User) -> None:
    client = Client(enforce_csrf_checks=True)
    assert client.post("/login", {"username": "ada", "password": "engine-of-1843"}).status_code == 403


@pytest.mark.parametrize(
    "address",
    [
        "https://elsewhere.example/",
        "//elsewhere.example/#/clusters/1",
        "/\\elsewhere.example",
        "\\\\elsewhere.example",
        "https:elsewhere.example",
        "javascript:alert(1)",
        " //elsewhere.example",
        "/\t/elsewhere.example",
    ],
)
def test_login_does_not_lead_elsewhere_when_the_link_says_so(user: User, address: str) -> None:
    given = {"username": "ada", "password": "engine-of-1843"}
    # Tries are limited for each address.
    client = Client(REMOTE_ADDR=f"10.{zlib.crc32(address.encode()) % 250}.0.1")
    assert client.post("/login", {**given, "next": address})["Location"] == "/"
    client.force_login(user)
    assert client.get("/login", {"next": address})["Location"] == "/"


def test_login_leads_to_the_place_in_the_dashboard_that_the_link_names(user: User) -> None:
    place = "/#/clusters/1/pods/default/web-1/attempts/812"
    page = Client().get("/login", {"next": place})
    assert f'value="{place}"'.encode() in page.content
    # What stands after the # of its own address stays with the browser only where the form names no other.
    assert b'action=""' in page.content
    given = {"username": "ada", "password": "engine-of-1843", "next": place}
    assert Client().post("/login", given)["Location"] == place


def test_logout_ends_the_session(user: User) -> None:
    client = Client()
    client.force_login(user)
    assert client.get("/logout").status_code == 405
    assert client.post("/logout")["Location"] == "/login"
    assert client.get("/api/me").status_code == 401


def test_login_link_works_once(user: User) -> None:
    path = services.login_link_create(username="ada")
    assert path.startswith("/login/once/")
    token = path.rpartition("/")[2]
    assert token not in LoginLink.objects.get().token_hash
    client = Client()
    answer = client.get(path)
    assert (answer.status_code, answer["Location"]) == (302, "/")
    assert client.get("/api/me").json()["username"] == "ada"
    again = Client().get(path)
    assert again.status_code == 410 and b"has been used" in again.content


@cases(
    "make",
    ("it was never made", lambda path: "/login/once/" + "x" * 43),
    ("it is too old", lambda path: path),
)
def test_login_link_is_refused_when(user: User, make: object) -> None:
    path = make(services.login_link_create(username="ada"))  # type: ignore[operator]
    with time_machine.travel(timezone.now() + timedelta(minutes=10, seconds=1), tick=False):
        assert Client().get(path).status_code == 410


def test_login_link_is_refused_when_the_account_is_closed(user: User) -> None:
    path = services.login_link_create(username="ada")
    User.objects.update(is_active=False)
    assert Client().get(path).status_code == 410
    with pytest.raises(NotFoundError):
        services.login_link_create(username="ada")


def test_old_login_links_go_when_a_new_one_is_made(user: User) -> None:
    services.login_link_create(username="ada")
    with time_machine.travel(timezone.now() + timedelta(hours=1), tick=False):
        services.login_link_create(username="ada")
    assert LoginLink.objects.count() == 1


def test_api_is_closed_when_nobody_is_logged_in() -> None:
    cluster = cluster_services.cluster_create(name="c")
    client = APIClient()
    for path in ("", f"/{cluster.pk}", f"/{cluster.pk}/snapshot", f"/{cluster.pk}/digest", f"/{cluster.pk}/summary"):
        answer = client.get(f"/api/clusters{path}")
        assert (answer.status_code, answer.json()["code"]) == (401, "not_authenticated")
    assert client.post(f"/api/clusters/{cluster.pk}/import", b"{}", content_type="text/plain").status_code == 401


def test_unsafe_request_is_refused_when_it_brings_no_token() -> None:
    client = APIClient(enforce_csrf_checks=True)
    client.force_login(User.objects.create_superuser("root"))
    assert client.post("/api/clusters", {"name": "c"}).json()["code"] == "permission_denied"
    token = client.get("/api/csrf").json()["token"]
    client.credentials(HTTP_X_CSRFTOKEN=token)
    assert client.post("/api/clusters", {"name": "c"}).status_code == 201


def test_admin_shows_every_model_and_changes_no_result() -> None:
    admin = User.objects.create_superuser("root", password="x")
    client = Client()
    client.force_login(admin)
    cluster = cluster_services.cluster_create(name="c")
    for model in ("cluster", "node", "pod", "apiobject", "change", "event", "import"):
        assert client.get(f"/admin/cluster/{model}/").status_code == 200
        assert client.get(f"/admin/cluster/{model}/add/").status_code == 403
    for model in ("enginestep", "enginelog", "attempt", "nodeorder", "queuestate"):
        assert client.get(f"/admin/traces/{model}/").status_code == 200
    for path in ("/admin/auth/user/", "/admin/accounts/loginlink/", f"/admin/cluster/cluster/{cluster.pk}/change/"):
        assert client.get(path).status_code == 200
    # Of a cluster only how long its past is kept.
    values = {"name": "x", "pace": "pause", "retention_hours": 24, "retention_mb": 512}
    assert client.post(f"/admin/cluster/cluster/{cluster.pk}/change/", values).status_code == 302
    cluster.refresh_from_db()
    assert (cluster.name, cluster.pace, cluster.retention_hours) == ("c", "run", 24)


def test_me_names_the_user() -> None:
    assert logged_in("grace").get("/api/me").json()["username"] == "grace"
