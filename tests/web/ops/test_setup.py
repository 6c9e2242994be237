"""What the first start does to the database, also when it was interrupted."""

import json
import stat
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from kschedweb.accounts.models import Token
from kschedweb.ops import setup

pytestmark = pytest.mark.django_db


@pytest.fixture
def data_dir(settings: Any, tmp_path: Path) -> Path:
    settings.DATA_DIR = tmp_path
    return tmp_path


def test_administrator_is_made_with_a_password_that_is_kept_hashed() -> None:
    user, password = setup.administrator(reset=True)
    assert (user.get_username(), user.is_superuser) == ("admin", True)
    assert len(password) >= 16
    assert user.check_password(password)
    assert password not in user.password


def test_administrator_gets_another_password_when_the_first_start_was_interrupted() -> None:
    first, lost = setup.administrator(reset=True)
    second, password = setup.administrator(reset=True)
    assert first.pk == second.pk
    assert password != lost
    assert second.check_password(password)


@pytest.mark.parametrize("logged_in", [pytest.param(True, id="logged in"), pytest.param(False, id="second start")])
def test_administrator_keeps_the_password_once_it_was_shown(logged_in: bool) -> None:
    user, password = setup.administrator(reset=True)
    if logged_in:
        Client().login(username="admin", password=password)
    again, shown = setup.administrator(reset=logged_in)
    assert (again.pk, shown) == (user.pk, "")
    assert again.check_password(password)


def test_credential_is_a_token_only_its_owner_can_read(data_dir: Path) -> None:
    user, _ = setup.administrator(reset=True)
    setup.write_credential(user)
    path = data_dir / setup.CREDENTIAL_FILE
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    client = Client(headers={"Authorization": f"Bearer {json.loads(path.read_text())['token']}"})
    assert client.get("/api/me").json()["token"] == "command-line"
    assert client.post("/api/clusters", {"name": "c"}, content_type="application/json").status_code == 201


def test_credential_of_the_last_start_ends(data_dir: Path) -> None:
    user, _ = setup.administrator(reset=True)
    setup.write_credential(user)
    first = json.loads((data_dir / setup.CREDENTIAL_FILE).read_text())["token"]
    setup.write_credential(user)
    assert Client(headers={"Authorization": f"Bearer {first}"}).get("/api/me").status_code == 401
    assert Token.objects.filter(revoked_at=None).count() == 1


def test_migrate_does_nothing_when_the_schema_is_up_to_date() -> None:
    assert setup.migrate() == 0
