"""The schema: migrations say what the models say, and can be taken back."""

import pytest
from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

OWN_APPS = ("accounts", "cluster", "traces")


@pytest.mark.django_db
def test_models_have_all_their_migrations() -> None:
    call_command("makemigrations", check=True, dry_run=True, verbosity=0)


@pytest.mark.django_db
def test_migrations_can_all_be_taken_back() -> None:
    loader = MigrationExecutor(connection).loader
    stuck = [
        f"{app}.{name}: {operation.describe()}"
        for (app, name), migration in loader.disk_migrations.items()
        if app in OWN_APPS
        for operation in migration.operations
        if not operation.reversible
    ]
    assert stuck == []


@pytest.mark.django_db
def test_migrations_need_no_extension() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT extname FROM pg_extension WHERE extname <> 'plpgsql'")
        assert cursor.fetchall() == []
