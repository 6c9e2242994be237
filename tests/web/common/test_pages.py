"""The dashboard's page, the schema, the bound on bodies."""

from pathlib import Path
from typing import Any, get_args

import pytest
from django.contrib.auth.models import User
from django.test import Client

from kschedweb import views
from kschedweb.common.prose import as_html
from kschedweb.common.reading import one_state
from tests.cases import cases
from tests.web.rest import logged_in


@pytest.mark.django_db
def test_index_is_the_built_dashboard(settings: Any, tmp_path: Path) -> None:
    client = Client()
    client.force_login(User.objects.create_user("ada"))
    settings.BASE_DIR = tmp_path
    assert client.get("/").status_code == 503
    (tmp_path / "frontend" / "dist").mkdir(parents=True)
    (tmp_path / "frontend" / "dist" / "index.html").write_bytes(b"<title>kschedweb</title>")
    answer = client.get("/")
    assert answer.content == b"<title>kschedweb</title>"
    assert "ksched_csrf" in answer.cookies
    assert "default-src 'self'" in answer["Content-Security-Policy"]


@pytest.mark.django_db
def test_page_of_known_limits_has_a_heading_for_each_that_a_pod_may_tell(client: Client) -> None:
    assert client.get("/docs/known-limits").status_code == 302
    client.force_login(User.objects.create_user("ada"))
    page = client.get("/docs/known-limits").content.decode()
    assert all(f'<h3 id="{name}">' in page for name in get_args(views.KnownLimit))
    assert "<strong>Nothing is rebalanced.</strong>" in page and 'href="#namespaceselector-and-waiting"' in page
    assert "`" not in page and "](" not in page and "**" not in page


def test_prose_is_escaped_and_its_headings_are_anchors() -> None:
    assert as_html("# a <b>\n\n- `<i>` [x](#y)\n- **z & [w](other.md)**") == (
        '<h1 id="a-b">a &lt;b&gt;</h1>\n<ul>\n<li><code>&lt;i&gt;</code> <a href="#y">x</a></li>\n'
        "<li><strong>z &amp; <a>w</a></strong></li>\n</ul>\n"
    )


@pytest.mark.django_db
def test_schema_names_every_route_of_the_api() -> None:
    answer = logged_in().get("/api/schema?format=json")
    assert answer.status_code == 200
    paths = answer.json()["paths"]
    assert {"/api/clusters", "/api/clusters/{cluster_id}/import", "/api/me"} <= set(paths)


@pytest.mark.django_db(transaction=True)
def test_one_state_refuses_to_write() -> None:
    with pytest.raises(Exception, match="read-only"), one_state():
        User.objects.create_user("ada")


@cases(
    "path, content_type",
    ("programs get a refusal of the API's form", "/api/nothing", "application/json"),
    ("people get a line", "/nothing", "text/plain; charset=utf-8"),
)
@pytest.mark.django_db
def test_address_that_leads_nowhere(path: str, content_type: str) -> None:
    answer = Client().get(path)
    assert (answer.status_code, answer["Content-Type"]) == (404, content_type)
    if path.startswith("/api/"):
        assert answer.json()["code"] == "not_found"
